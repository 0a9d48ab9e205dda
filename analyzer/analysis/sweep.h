/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The starts and ends of device operations in order of time, cut to a window:
 *
 *   ops       [a      ]        [c   ]
 *                  [b      ]
 *   events    +a   +b  -a  -b  +c   -c       ends before starts at the same instant
 *
 * An operation of no length inside the window gives no events. One thread.
 */
#ifndef ST_ANALYSIS_SWEEP_H
#define ST_ANALYSIS_SWEEP_H

#include "analyzer/model/view.h"

struct st_sweep {
    const struct st_request_view *view;
    uint32_t *by_start, *by_end; /* indices into model->ops */
    size_t count, start_at, end_at;
};

struct st_sweep_event {
    int64_t at_ns;
    const struct st_op *op;
    bool is_start;
    bool is_own; /* belongs to the view's group */
};

#define ST_SWEEP_ALL_DEVICES (-1)

/* All operations on `device` that touch the view's window; `own_only`: those of its group. False: no memory. */
bool st_sweep_init(struct st_sweep *sweep, const struct st_request_view *view, int64_t device, bool own_only);
void st_sweep_finish(struct st_sweep *sweep);
bool st_sweep_next(struct st_sweep *sweep, struct st_sweep_event *ret_event); /* false: no more */

#endif
