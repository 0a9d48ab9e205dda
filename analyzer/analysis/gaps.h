/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps: maximal intervals inside a request in which a device runs nothing, and why (surface §4). What is a
 * gap is drawn in gaps.c, how its cause is found in gapcause.c. One thread.
 */
#ifndef ST_ANALYSIS_GAPS_H
#define ST_ANALYSIS_GAPS_H

#include "analyzer/model/view.h"
#include "report.h"

/* Every cause that is told so far; names in st_cause_name(). */
enum st_cause {
    ST_CAUSE_UNKNOWN,
    ST_CAUSE_BEFORE_FIRST,
    ST_CAUSE_AFTER_LAST,
    ST_CAUSE_AFTER_SYNC,
    ST_CAUSE_AFTER_COPY,
    ST_CAUSE_OWN_CODE,
    ST_CAUSE_ALLOC_FREE,
    ST_CAUSE_MODULE_LOAD,
    ST_CAUSE_GRAPH_INSTANTIATE,
    ST_CAUSE_OTHER_CALL,
    ST_CAUSE_EVENT_WAIT,
    ST_CAUSE_HOST_FUNCTION,
    ST_CAUSE_PAGEABLE_STAGING,
    ST_CAUSE_LAUNCH_FLOOR,
    ST_CAUSE_UNSEEN_WORK,
    ST_CAUSE_WINDOW_EDGE,
    ST_CAUSES,
};
const char *st_cause_name(enum st_cause cause); /* "host_late.after_sync" … */

struct st_gap {
    int64_t device, start_ns, end_ns;
    uint32_t before; /* model->ops: the last to end, ST_NONE at the edge */
    uint32_t after;  /* the first to start, ST_NONE at the edge */
    enum st_cause cause; /* the largest part's */
    int64_t by_cause[ST_CAUSES];
    struct st_report_cause *parts; /* in order of time; of the list's memory */
    size_t part_count;
    const char *drained_why; /* static text, NULL = not known */
    uint32_t drained_call;   /* model->calls, ST_NONE */
};

struct st_gap_list {
    struct st_gap *gaps;
    size_t count, capacity;
    struct st_arena *arena; /* for the parts */
};

/* Append the gaps of one device during the view's request, in order of time. False: out of memory. */
bool st_gaps_find(const struct st_request_view *view, int64_t device, struct st_gap_list *list);

/* Fill cause, parts and drained_by of one gap. is_first: before the request's first own operation on this
 * device; is_last: after its last. */
bool st_gap_explain(const struct st_request_view *view, struct st_gap *gap, bool is_first, bool is_last,
                    struct st_arena *arena);

/* The row of an operation as the neighbour of a gap: its name, "other", or NULL at the edge. */
const char *st_gap_neighbour(const struct st_request_view *view, uint32_t op);

#endif
