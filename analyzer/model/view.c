/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a group; see view.h. */
#include "view.h"

/* First operation of model->ops that starts at or after `at_ns`. */
static size_t first_from(const struct st_model *model, int64_t at_ns)
{
    size_t low = 0, high = model->op_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->ops[middle].start_ns < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void widen(struct st_request_view *view, int64_t begin_ns, int64_t end_ns)
{
    view->begin_ns = begin_ns < view->begin_ns ? begin_ns : view->begin_ns;
    view->end_ns = end_ns > view->end_ns ? end_ns : view->end_ns;
}

void st_view_of_group(const struct st_model *model, uint32_t group, struct st_request_view *ret_view)
{
    uint32_t request = st_request_of_group(group);
    struct st_request_view view = {.model = model, .group = group, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    view.ops = model->ops_by_group + model->op_first[group];
    view.op_count = model->op_first[group + 1] - model->op_first[group];
    view.calls = model->calls_by_group + model->call_first[group];
    view.call_count = model->call_first[group + 1] - model->call_first[group];
    view.spans = model->spans_by_group + model->span_first[group];
    view.span_count = model->span_first[group + 1] - model->span_first[group];
    if (request != ST_NONE) {
        view.request = &model->requests[request];
        view.begin_ns = view.request->begin_ns;
        view.end_ns = view.request->end_ns;
    } else {
        for (size_t i = 0; i < view.op_count; i++) {
            widen(&view, model->ops[view.ops[i]].start_ns, model->ops[view.ops[i]].end_ns);
        }
        for (size_t i = 0; i < view.call_count; i++) {
            widen(&view, model->calls[view.calls[i]].begin_ns, model->calls[view.calls[i]].end_ns);
        }
        for (size_t i = 0; i < view.span_count; i++) {
            widen(&view, model->spans[view.spans[i]].begin_ns, model->spans[view.spans[i]].end_ns);
        }
        if (view.end_ns < view.begin_ns) {
            view.begin_ns = view.end_ns = 0;
        }
    }
    view.near_first = first_from(model, view.begin_ns - model->longest_op_ns);
    view.near_end = first_from(model, view.end_ns);
    *ret_view = view;
}

static size_t add_device(int64_t *devices, size_t count, size_t size, int64_t device)
{
    size_t at = 0;
    while (at < count && devices[at] < device) {
        at++;
    }
    if (count == size || (at < count && devices[at] == device)) {
        return count;
    }
    for (size_t i = count; i > at; i--) {
        devices[i] = devices[i - 1];
    }
    devices[at] = device;
    return count + 1;
}

size_t st_view_devices(const struct st_request_view *view, int64_t *ret, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < view->op_count; i++) {
        const struct st_op *op = &view->model->ops[view->ops[i]];
        count = add_device(ret, count, size, op->device);
        if (op->peer_device >= 0) {
            count = add_device(ret, count, size, op->peer_device);
        }
    }
    return count;
}
