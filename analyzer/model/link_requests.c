/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Last of linking: where each request ends on the device, and the lists by group. Also the small questions
 * that a finished model answers.
 */
#include <stdlib.h>
#include <string.h>

#include "link.h"

static bool is_operation_done(const struct st_model *model, const struct st_op *op)
{
    return op->group != ST_NONE && st_request_of_group(op->group) != ST_NONE &&
           st_request_of_group(op->group) < model->request_count;
}

static void end_requests(struct st_model *model)
{
    for (size_t i = 0; i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        int64_t length = op->end_ns - op->start_ns;
        model->longest_op_ns = length > model->longest_op_ns ? length : model->longest_op_ns;
        if (is_operation_done(model, op)) {
            struct st_model_request *request = &model->requests[st_request_of_group(op->group)];
            request->device_end_ns = op->end_ns > request->device_end_ns ? op->end_ns : request->device_end_ns;
        }
    }
    for (size_t i = 0; i < model->span_count; i++) {
        const struct st_span *span = &model->spans[i];
        uint32_t request = st_request_of_group(span->group);
        if (request != ST_NONE && request < model->request_count) {
            model->requests[request].steps += span->role == ST_ROLE_STEP && !span->is_nested;
            model->requests[request].load_count += span->role == ST_ROLE_LOAD;
        }
    }
    for (size_t i = 0; i < model->request_count; i++) {
        struct st_model_request *request = &model->requests[i];
        request->end_ns =
            request->device_end_ns > request->host_end_ns ? request->device_end_ns : request->host_end_ns;
        model->traces->end_ns = request->end_ns > model->traces->end_ns ? request->end_ns : model->traces->end_ns;
    }
}

static bool has_run(const struct st_call *call)
{
    return call->counts_as != ST_COUNTS_NOT && call->result == 0 && !(call->flags & ST_CALL_CAPTURED);
}

/*
 * Device records reach the file some time after the work. In a trace that just ends (killed, still running) the
 * last launches have none yet:
 *
 *   thread   L1 L2   [request 8: L3 L4 ]      records of L1, L2 are there: "covered" up to L2
 *
 * Request 8 has returned, but when its work was done is not known: it is as incomplete as one without a return.
 */
static bool find_uncovered(struct st_model *model)
{
    bool *has_record = calloc(model->call_count + 1, sizeof(*has_record));
    int64_t covered_ns = INT64_MIN;
    if (!has_record) {
        return false;
    }
    for (size_t i = 0; i < model->op_count; i++) {
        uint32_t call = model->ops[i].call;
        if (call != ST_NONE) {
            has_record[call] = true;
            covered_ns = model->calls[call].begin_ns > covered_ns ? model->calls[call].begin_ns : covered_ns;
        }
    }
    for (size_t i = 0; i < model->call_count; i++) {
        const struct st_call *call = &model->calls[i];
        if (!has_run(call) || has_record[i]) {
            continue;
        }
        uint32_t request = st_request_of_group(call->group);
        bool is_late = !model->traces->summary.has_end && call->begin_ns > covered_ns;
        bool is_to_come = is_late && model->traces->is_live; /* not lost */
        model->traces->faults.launches_without_record += call->counts_as == ST_COUNTS_LAUNCH && !is_to_come;
        if (is_late && request != ST_NONE && model->requests[request].is_complete) {
            model->requests[request].is_complete = false;
            model->traces->faults.requests_uncovered++;
        }
    }
    model->traces->device_known_until_ns = covered_ns;
    free(has_record);
    return true;
}

/* Indices of items by group, in their order: a counting sort. group_at(i) is ST_NONE for no group. */
#define LIST_BY_GROUP(model, items, item_count, list, first)                                                          \
    do {                                                                                                               \
        (first) = calloc((model)->group_count + 2, sizeof(*(first)));                                                  \
        (list) = malloc(((item_count) + 1) * sizeof(*(list)));                                                         \
        if (!(first) || !(list)) {                                                                                     \
            return false;                                                                                              \
        }                                                                                                              \
        for (size_t i_ = 0; i_ < (item_count); i_++) {                                                                 \
            if ((items)[i_].group < (model)->group_count) {                                                            \
                (first)[(items)[i_].group + 2]++;                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (size_t g_ = 2; g_ < (model)->group_count + 2; g_++) {                                                     \
            (first)[g_] += (first)[g_ - 1];                                                                            \
        }                                                                                                              \
        for (size_t i_ = 0; i_ < (item_count); i_++) {                                                                 \
            if ((items)[i_].group < (model)->group_count) {                                                            \
                (list)[(first)[(items)[i_].group + 1]++] = (uint32_t)i_;                                               \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

bool st_link_lists(struct st_model *model)
{
    model->group_count = ST_GROUP_FIRST_REQUEST + 2 * model->request_count;
    LIST_BY_GROUP(model, model->ops, model->op_count, model->ops_by_group, model->op_first);
    LIST_BY_GROUP(model, model->calls, model->call_count, model->calls_by_group, model->call_first);
    LIST_BY_GROUP(model, model->spans, model->span_count, model->spans_by_group, model->span_first);
    return true;
}

/* A process that ended without its last records may have written none at all: then nothing is known of its device time,
 * and its requests end where the host says. */
static void look_for_records(struct st_model *model)
{
    struct st_model_trace *trace = model->traces;
    int64_t launches = 0;
    bool any_work = false;
    for (size_t i = 0; i < model->call_count; i++) {
        any_work = any_work || has_run(&model->calls[i]);
        launches += has_run(&model->calls[i]) && model->calls[i].counts_as == ST_COUNTS_LAUNCH;
    }
    if (trace->has_device_time && model->op_count == 0 && any_work && !trace->is_live) {
        trace->has_device_time = false;
        trace->lacks_records = true;
        trace->faults.launches_without_record = launches;
    }
}

bool st_link_requests(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    struct st_model_trace *trace = model->traces;
    model->rows = builder->rows.rows;
    model->row_count = builder->rows.count;
    end_requests(model);
    const struct st_model_capability *kernels = st_model_capability(trace, "kernel");
    trace->has_device_time = trace->has_device_time || (kernels && (kernels->state == ST_CAP_ACCEPTED ||
                                                                    kernels->state == ST_CAP_SEEN));
    trace->device_known_until_ns = INT64_MIN;
    trace->call_end = (uint32_t)model->call_count;
    trace->span_end = (uint32_t)model->span_count;
    trace->op_count = model->op_count;
    look_for_records(model);
    if (trace->has_device_time && !find_uncovered(model)) {
        return false;
    }
    for (size_t i = 0; i < model->name_count; i++) {
        model->names[i] = model->names[i] ? model->names[i] : "unnamed";
    }
    return st_link_lists(model);
}

void st_model_destroy(struct st_model *model)
{
    if (!model) {
        return;
    }
    free(model->threads);
    free(model->calldefs);
    free(model->names);
    free(model->rows);
    free(model->spans);
    free(model->calls);
    free(model->ops);
    free(model->host_runs);
    free(model->requests);
    free(model->ops_by_group);
    free(model->op_first);
    free(model->calls_by_group);
    free(model->call_first);
    free(model->spans_by_group);
    free(model->span_first);
    for (size_t i = 0; i < model->trace_count; i++) {
        free(model->traces[i].rules);
        free(model->traces[i].capabilities);
        free(model->traces[i].seen);
        free(model->traces[i].keys);
        free(model->traces[i].counters);
        free(model->traces[i].missed);
        free(model->traces[i].devices);
    }
    free(model->traces);
    st_arena_destroy(model->arena);
    free(model);
}

const char *st_model_key(const struct st_model_trace *trace, enum st_key_group group, const char *key)
{
    for (size_t i = trace->key_count; i-- > 0;) {
        if (trace->keys[i].group == group && strcmp(trace->keys[i].key, key) == 0) {
            return trace->keys[i].value;
        }
    }
    return NULL;
}

bool st_model_counter(const struct st_model_trace *trace, const char *name, int64_t *ret_value)
{
    for (size_t i = 0; i < trace->counter_count; i++) {
        if (strcmp(trace->counters[i].name, name) == 0) {
            *ret_value = trace->counters[i].value;
            return true;
        }
    }
    return false;
}

const struct st_model_capability *st_model_capability(const struct st_model_trace *trace, const char *kind)
{
    for (size_t i = 0; i < trace->capability_count; i++) {
        if (strcmp(trace->capabilities[i].kind, kind) == 0) {
            return &trace->capabilities[i];
        }
    }
    return NULL;
}

bool st_model_has_device_time(const struct st_model *model)
{
    for (size_t i = 0; i < model->trace_count; i++) {
        if (model->traces[i].has_device_time) {
            return true;
        }
    }
    return false;
}

uint32_t st_model_span_at(const struct st_model *model, uint32_t thread, int64_t at_ns)
{
    const struct st_model_thread *owner = &model->threads[thread];
    size_t low = 0, high = owner->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->spans[owner->spans[middle]].begin_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t span = low > 0 ? owner->spans[low - 1] : ST_NONE;
    while (span != ST_NONE && model->spans[span].end_ns <= at_ns) { /* over: what is around it */
        span = model->spans[span].parent;
    }
    return span;
}

uint32_t st_model_outer_call(const struct st_model *model, uint32_t call)
{
    uint32_t thread = st_model_thread_of_call(model, call);
    if (thread == ST_NONE) {
        return ST_NONE;
    }
    uint32_t first = model->threads[thread].runtime_first, low = first, high = model->threads[thread].call_end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model->calls[middle].begin_ns <= model->calls[call].begin_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > first && model->calls[low - 1].end_ns >= model->calls[call].end_ns ? low - 1 : ST_NONE;
}

uint32_t st_model_row_of_span(const struct st_model *model, uint32_t span)
{
    return span == ST_NONE ? ST_ROW_UNATTRIBUTED : model->spans[span].row;
}

uint32_t st_model_row_of_call(const struct st_model *model, uint32_t call)
{
    const struct st_call *asked = &model->calls[call];
    uint32_t request = st_request_of_group(asked->group);
    uint32_t thread = st_model_thread_of_call(model, call);
    if (asked->span != ST_NONE || request == ST_NONE || thread == ST_NONE ||
        thread == model->requests[request].thread || model->threads[thread].foreign_row == ST_NONE) {
        return st_model_row_of_span(model, asked->span);
    }
    return model->threads[thread].foreign_row;
}
