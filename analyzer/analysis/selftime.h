/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a request's time goes: the rows of a group with their host and device figures, and the identity of
 * each device (surface §4). The definitions are drawn in selftime.c and hosttime.c. One thread.
 */
#ifndef ST_ANALYSIS_SELFTIME_H
#define ST_ANALYSIS_SELFTIME_H

#include "rowset.h"

struct st_arena;

/* One device of one group. */
struct st_device_sums {
    int64_t device;
    int64_t busy_ns, self_ns, shared_ns, unattributed_ns, other_ns, overlap_other_ns;
    struct st_report_cause *shared_by_set;
    size_t shared_count;
};

/* Calls, launches, copies and host times of every row of the view. False: out of memory. */
bool st_hosttime(const struct st_request_view *view, struct st_rowset *set);

/* Busy, compute, copies alone and self of every row on devices[0 … count), and the sums of each device. */
bool st_selftime(const struct st_request_view *view, struct st_rowset *set, struct st_arena *arena,
                 struct st_device_sums *devices, size_t count);

/* wall_share_ns of every row; *ret_shared_ns: the part of instants in which several stages' work ran. A
 * request's own group only. */
bool st_wallshare(const struct st_request_view *view, struct st_rowset *set, int64_t *ret_shared_ns);

#endif
