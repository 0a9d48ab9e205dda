/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends in order of time; see sweep.h. */
#include "sweep.h"

#include <stdlib.h>

#include "analyzer/model/vec.h"

static int64_t cut(const struct st_request_view *view, int64_t at_ns)
{
    return at_ns < view->begin_ns ? view->begin_ns : at_ns > view->end_ns ? view->end_ns : at_ns;
}

static int by_end(const void *left, const void *right, void *context)
{
    const struct st_op *ops = context;
    const struct st_op *a = &ops[*(const uint32_t *)left], *b = &ops[*(const uint32_t *)right];
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static bool belongs(const struct st_sweep *sweep, const struct st_op *op, int64_t device)
{
    const struct st_request_view *view = sweep->view;
    return (device == ST_SWEEP_ALL_DEVICES || st_op_is_on(op, device)) &&
           cut(view, op->start_ns) < cut(view, op->end_ns);
}

bool st_sweep_init(struct st_sweep *sweep, const struct st_request_view *view, int64_t device, bool own_only)
{
    const struct st_model *model = view->model;
    size_t most = own_only ? view->op_count : view->near_end - view->near_first;
    *sweep = (struct st_sweep){.view = view};
    sweep->by_start = malloc((most + 1) * sizeof(*sweep->by_start));
    sweep->by_end = malloc((most + 1) * sizeof(*sweep->by_end));
    if (!sweep->by_start || !sweep->by_end) {
        st_sweep_finish(sweep);
        return false;
    }
    for (size_t i = 0; i < most; i++) {
        uint32_t index = own_only ? view->ops[i] : (uint32_t)(view->near_first + i);
        if (belongs(sweep, &model->ops[index], device)) {
            sweep->by_start[sweep->count] = sweep->by_end[sweep->count] = index;
            sweep->count++;
        }
    }
    st_vec_sort_with(sweep->by_end, sweep->count, sizeof(*sweep->by_end), by_end, model->ops);
    return true;
}

void st_sweep_finish(struct st_sweep *sweep)
{
    free(sweep->by_start);
    free(sweep->by_end);
    *sweep = (struct st_sweep){0};
}

bool st_sweep_next(struct st_sweep *sweep, struct st_sweep_event *ret_event)
{
    const struct st_request_view *view = sweep->view;
    const struct st_op *ops = view->model->ops;
    if (sweep->end_at == sweep->count) {
        return false;
    }
    const struct st_op *ending = &ops[sweep->by_end[sweep->end_at]];
    const struct st_op *starting = sweep->start_at < sweep->count ? &ops[sweep->by_start[sweep->start_at]] : NULL;
    /* an operation never ends at the start of itself here, so its start always comes first */
    bool is_start = starting && cut(view, starting->start_ns) < cut(view, ending->end_ns);
    const struct st_op *op = is_start ? starting : ending;
    sweep->start_at += is_start;
    sweep->end_at += !is_start;
    *ret_event = (struct st_sweep_event){.at_ns = cut(view, is_start ? op->start_ns : op->end_ns),
                                         .op = op,
                                         .is_start = is_start,
                                         .is_own = op->group == view->group};
    return true;
}
