/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches that waited because their queue was full. No record says so; it is seen afterwards:
 *
 *   thread   (L1)(L2) … (L1024)(L1025 ········)     long, and it returns just when an operation of the same
 *   device   [1                              ][2    stream has ended, while more is still to do
 *
 * A thread that lost the CPU inside the call looks the same, and where operations are short one always ends just then.
 * So the queue must have been full by all that the trace shows: at the call's entry about as many operations of the
 * stream were unfinished (`depth`) as at the deepest launch that returned at once – that one had room. And the end must
 * tell something: that of a long operation, or in front of a queue so deep that a driver may stop there.
 */
#include <stdlib.h>

#include "link.h"
#include "vec.h"

enum {
    LONG_LAUNCH_NS = 50000,
    LATE_NS = 20000, /* the call may return this much after the end on the device … */
    EARLY_NS = 5000, /* … or seem to return this much before it: clock residual */
    TELLING_NS = 10 * (LATE_NS + EARLY_NS), /* of an operation this long a return at its end is hardly chance */
    DEEP = 256, /* operations; drivers hold about 1024 a stream */
};
/* A depth in front of a full queue is at least this part of the deepest with room: events take places, too, and have no
 * record. */
static bool is_as_deep(uint32_t depth, uint32_t deepest)
{
    return depth >= deepest - deepest / 8;
}

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

static bool is_launch(const struct st_call *call)
{
    return call->counts_as == ST_COUNTS_LAUNCH || call->counts_as == ST_COUNTS_GRAPH_LAUNCH;
}

/* A long launch whose operation did not start before it returned, or not much. The first launch of a function is long
 * for another reason. */
static bool may_have_waited(const struct st_model *model, const struct st_op *op)
{
    const struct st_call *call = op->call == ST_NONE ? NULL : &model->calls[op->call];
    return call && is_launch(call) && !(call->flags & (ST_CALL_FIRST_USE | ST_CALL_WAITED)) &&
           call->end_ns - call->begin_ns > LONG_LAUNCH_NS && op->start_ns + LATE_NS > call->end_ns;
}

static bool is_of_stream(const struct st_op *a, const struct st_op *b)
{
    return a->device == b->device && a->stream == b->stream;
}

/* The operation of op's stream that ended just before op's call returned, or NULL. by_end: all operations by stream
 * and end. */
static const struct st_op *end_before_return(const struct st_model *model, const uint32_t *by_end,
                                             const struct st_op *op)
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
    return last && is_of_stream(last, op) && last->end_ns > call->begin_ns && last->end_ns >= call->end_ns - LATE_NS
               ? last
               : NULL;
}

/* ---- how deep was the queue? ---- */

struct launched { /* the work of one call in one stream */
    uint32_t op;
    int64_t at_ns, end_ns; /* entry of the call; end of the last operation */
};

static int by_launch(const void *left, const void *right, void *context)
{
    const struct st_op *ops = context;
    const struct launched *x = left, *y = right;
    const struct st_op *a = &ops[x->op], *b = &ops[y->op];
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    return x->at_ns != y->at_ns ? (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns)
                                : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* depths[op]: the calls whose work in op's stream was enqueued before op's call was entered, and not done then. Streams
 * run in order, so that what is done is a first part. *ret_deepest: of the launches that returned at once. */
static bool find_depths(const struct st_model *model, uint32_t *depths, uint32_t *ret_deepest)
{
    const struct st_op *ops = model->ops;
    struct launched *list = malloc((model->op_count + 1) * sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; list && i < model->op_count; i++) {
        if (ops[i].call != ST_NONE) {
            list[count++] = (struct launched){(uint32_t)i, model->calls[ops[i].call].begin_ns, ops[i].end_ns};
        }
    }
    if (!list) {
        return false;
    }
    st_vec_sort_with(list, count, sizeof(*list), by_launch, model->ops);
    *ret_deepest = 0;
    uint32_t before = 0, done = 0; /* calls of the stream so far; … and of these */
    size_t next_done = 0;          /* in list */
    for (size_t i = 0; i < count; i++) {
        const struct st_op *op = &ops[list[i].op];
        bool is_first = i == 0 || !is_of_stream(&ops[list[i - 1].op], op);
        bool is_same_call = !is_first && ops[list[i - 1].op].call == op->call;
        if (is_first) {
            before = done = 0;
            next_done = i;
        } else if (!is_same_call) {
            before++;
        }
        for (; next_done < i && list[next_done].end_ns <= list[i].at_ns; next_done++) {
            done += ops[list[next_done].op].call != ops[list[next_done + 1].op].call;
        }
        depths[list[i].op] = before - done;
        const struct st_call *call = &model->calls[op->call];
        if (is_launch(call) && call->end_ns - call->begin_ns <= LONG_LAUNCH_NS && before - done > *ret_deepest) {
            *ret_deepest = before - done;
        }
    }
    free(list);
    return true;
}

static bool has_waited(const struct st_model *model, const struct st_op *op, const uint32_t *by_end, uint32_t depth,
                       uint32_t deepest)
{
    const struct st_op *ended = may_have_waited(model, op) ? end_before_return(model, by_end, op) : NULL;
    return ended && depth > 0 && is_as_deep(depth, deepest) &&
           (depth >= DEEP || ended->end_ns - ended->start_ns >= TELLING_NS);
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
    uint32_t *depths = calloc(model->op_count, sizeof(*depths));
    uint32_t deepest = 0;
    if (!by_end || !depths || !find_depths(model, depths, &deepest)) {
        free(by_end);
        free(depths);
        return false;
    }
    for (size_t i = 0; i < model->op_count; i++) {
        by_end[i] = (uint32_t)i;
    }
    st_vec_sort_with(by_end, model->op_count, sizeof(*by_end), by_stream_end, model->ops);
    for (size_t i = 0; i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        if (has_waited(model, op, by_end, depths[i], deepest)) {
            st_link_mark_waited(model, op->call);
        }
    }
    free(by_end);
    free(depths);
    return true;
}
