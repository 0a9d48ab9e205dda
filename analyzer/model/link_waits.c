/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that waited because their queue was full. No record says so; it is seen afterwards:
 *
 *   thread   (L1)(L2) … (L1024)(L1025 ········)     long, and it returns just when an operation of the same
 *   device   [1                              ][2    stream has ended, while more is still to do
 */
#include <stdlib.h>

#include "link.h"
#include "vec.h"

enum {
    LONG_LAUNCH_NS = 50000,
    LATE_NS = 20000, /* the call may return this much after the end on the device … */
    EARLY_NS = 5000, /* … or seem to return this much before it: clock residual */
};

void st_link_mark_waited(struct st_model *model, uint32_t call)
{
    model->calls[call].flags |= ST_CALL_WAITED;
    uint32_t outer = (model->calls[call].flags & ST_CALL_INNER) ? st_model_outer_call(model, call) : ST_NONE;
    if (outer != ST_NONE) {
        model->calls[outer].flags |= ST_CALL_WAITED;
    }
}

static int by_stream_end(const void *left, const void *right, void *context)
{
    const struct st_op *ops = context;
    const struct st_op *a = &ops[*(const uint32_t *)left], *b = &ops[*(const uint32_t *)right];
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* A long launch whose operation did not start before it returned, or not much. The first launch of a function is long
 * for another reason. */
static bool may_have_waited(const struct st_model *model, const struct st_op *op)
{
    const struct st_call *call = op->call == ST_NONE ? NULL : &model->calls[op->call];
    return call && (call->counts_as == ST_COUNTS_LAUNCH || call->counts_as == ST_COUNTS_GRAPH_LAUNCH) &&
           !(call->flags & (ST_CALL_FIRST_USE | ST_CALL_WAITED)) && call->end_ns - call->begin_ns > LONG_LAUNCH_NS &&
           op->start_ns + LATE_NS > call->end_ns;
}

/* Did an operation of op's stream end just before op's call returned? by_end: all operations by stream and end. */
static bool follows_an_end(const struct st_model *model, const uint32_t *by_end, const struct st_op *op)
{
    const struct st_op *ops = model->ops;
    const struct st_call *call = &model->calls[op->call];
    size_t low = 0, high = model->op_count; /* the first of the stream that ends after the return */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct st_op *other = &ops[by_end[middle]];
        bool before = other->device != op->device   ? other->device < op->device
                      : other->stream != op->stream ? other->stream < op->stream
                                                    : other->end_ns <= call->end_ns + EARLY_NS;
        if (before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct st_op *last = low > 0 ? &ops[by_end[low - 1]] : NULL;
    return last && last->device == op->device && last->stream == op->stream && last->end_ns > call->begin_ns &&
           last->end_ns >= call->end_ns - LATE_NS;
}

bool st_link_waiting_launches(struct st_model *model)
{
    size_t candidates = 0;
    for (size_t i = 0; i < model->op_count; i++) {
        candidates += may_have_waited(model, &model->ops[i]);
    }
    if (candidates == 0) {
        return true;
    }
    uint32_t *by_end = malloc(model->op_count * sizeof(*by_end));
    if (!by_end) {
        return false;
    }
    for (size_t i = 0; i < model->op_count; i++) {
        by_end[i] = (uint32_t)i;
    }
    st_vec_sort_with(by_end, model->op_count, sizeof(*by_end), by_stream_end, model->ops);
    for (size_t i = 0; i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        if (may_have_waited(model, op) && follows_an_end(model, by_end, op)) {
            st_link_mark_waited(model, op->call);
        }
    }
    free(by_end);
    return true;
}
