/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request (or another group) as an analysis sees it: what belongs to it, and what else ran on the
 * devices during it. Analyses ask for nothing outside a view, so that a later model may hold one request in
 * memory at a time. Borrowed from the model; constant.
 */
#ifndef ST_MODEL_VIEW_H
#define ST_MODEL_VIEW_H

#include "model.h"

struct st_request_view {
    const struct st_model *model;
    const struct st_model_request *request; /* NULL: not a request's own group */
    uint32_t group;
    int64_t begin_ns, end_ns;               /* the wall; other groups: first to last instant of what is in it */
    const uint32_t *ops, *calls, *spans;    /* indices into the model's arrays; operations by start */
    size_t op_count, call_count, span_count;
    size_t near_first, near_end;            /* model->ops[near_first, near_end) holds all that overlap the wall */
};

void st_view_of_group(const struct st_model *model, uint32_t group, struct st_request_view *ret_view);

/* Is this operation on `device`, as its own or as the target of a peer copy? */
static inline bool st_op_is_on(const struct st_op *op, int64_t device)
{
    return op->device == device || op->peer_device == device;
}

/* The devices that the group's operations used, ascending, into `ret` (of `size`). Returns how many. */
size_t st_view_devices(const struct st_request_view *view, int64_t *ret, size_t size);

#define ST_MAX_DEVICES 64 /* further ones of one request are not reported */

#endif
