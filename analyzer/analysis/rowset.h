/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows that occur in one group, numbered densely, and the sums that the analyses collect for each.
 * Adding a row adds its parents, so that a row's parent always has a smaller local number. One thread.
 */
#ifndef ST_ANALYSIS_ROWSET_H
#define ST_ANALYSIS_ROWSET_H

#include "analyzer/model/view.h"
#include "report.h"

struct st_row_transfers {
    int64_t count, bytes, busy_ns;
};

/* All but *_self include the rows below (surface §4). */
struct st_row_sums {
    uint32_t row;    /* model->rows */
    uint32_t parent; /* local number, ST_NONE */
    int64_t first_ns; /* of anything in it or below */
    int64_t calls;
    int64_t host_inclusive_ns, host_self_ns;
    /* the parts of inclusive; unsplit: own code of which the part on a CPU is not known */
    int64_t own_cpu_ns, off_cpu_ns, unsplit_ns, in_cuda_ns, waiting_ns;
    bool is_foreign;            /* of threads, or outside requests, without a span: no host time */
    bool is_inferred;           /* an edge is later than the true one … */
    bool is_unbounded;          /* … nobody knows how much, */
    int64_t doubt_ns;           /* or at most so much */
    int64_t wall_share_ns;
    int64_t launches, launches_self, graph_launches, graph_nodes, captured, failed;
    int64_t graph_nodes_told, graphs_untold; /* from what the graphs consist of; launches of graphs not known */
    struct st_row_transfers memsets, copies[ST_COPY_KINDS];
    struct st_report_row_device *devices; /* of the arena; one for each device of the group */
};

struct st_rowset {
    const struct st_model *model;
    uint32_t *local; /* model row -> local number, ST_NONE */
    struct st_row_sums *sums;
    size_t count, capacity;
    bool failed; /* out of memory */
};

bool st_rowset_init(struct st_rowset *set, const struct st_model *model);
void st_rowset_finish(struct st_rowset *set);
/* Forget all rows; keeps the memory. */
void st_rowset_reset(struct st_rowset *set);
/* Local number of a model row, added if need be. On lack of memory: set->failed, and some valid number. */
uint32_t st_rowset_add(struct st_rowset *set, uint32_t row, int64_t at_ns);

#endif
