/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several traces of one run into one model. Each was linked by itself, so that whatever only its process can tell –
 * whose launch, whose span, which request was the only open one – is settled. Here they are only put side by side:
 *
 *   trace 1   |0   [request 1 ]        [request 2 ]             zero of the earliest
 *   trace 2        |0   [request 1 ]                            + (its start - the earliest start), CLOCK_MONOTONIC
 *   device 0        xxx  yyy xx yy      xxx                     by uuid; to a request the others' work is "other"
 *
 * Everything is copied once, and each source is freed when it was: memory holds at most one trace twice. The time is
 * that of sorting the operations by start.
 */
#include "merge.h"

#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "vec.h"

static int by_start(const void *left, const void *right)
{
    const struct st_trace_header *a = &(*(struct st_model *const *)left)->traces->header;
    const struct st_trace_header *b = &(*(struct st_model *const *)right)->traces->header;
    if (a->start_monotonic_ns != b->start_monotonic_ns) {
        return a->start_monotonic_ns < b->start_monotonic_ns ? -1 : 1;
    }
    return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
                            : memcmp(a->session, b->session, sizeof(a->session));
}

/* INT64_MIN and _MAX mean "none" where they occur. */
static int64_t shifted(int64_t at_ns, int64_t offset_ns)
{
    return at_ns == INT64_MIN || at_ns == INT64_MAX ? at_ns : at_ns + offset_ns;
}

/* ---- requests and groups ---- */

struct place {
    int64_t begin_ns;
    uint32_t model, index;
};

static int by_begin(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->model != b->model ? (a->model > b->model) - (a->model < b->model)
                                : (a->index > b->index) - (a->index < b->index);
}

static bool order_requests(struct st_model *const *models, size_t count, struct st_merge_map *maps,
                           struct st_model *model)
{
    size_t total = 0, at = 0;
    for (size_t m = 0; m < count; m++) {
        total += models[m]->request_count;
        maps[m].requests = malloc((models[m]->request_count + 1) * sizeof(*maps[m].requests));
        if (!maps[m].requests) {
            return false;
        }
    }
    struct place *places = malloc((total + 1) * sizeof(*places));
    model->requests = malloc((total + 1) * sizeof(*model->requests));
    model->request_count = total;
    for (size_t m = 0; places && m < count; m++) {
        for (size_t i = 0; i < models[m]->request_count; i++) {
            places[at++] =
                (struct place){shifted(models[m]->requests[i].begin_ns, maps[m].offset_ns), (uint32_t)m, (uint32_t)i};
        }
    }
    if (places) {
        st_vec_sort(places, total, sizeof(*places), by_begin);
    }
    for (size_t i = 0; places && i < total; i++) {
        maps[places[i].model].requests[places[i].index] = (uint32_t)i;
    }
    bool good = places && model->requests;
    free(places);
    return good;
}

static uint32_t group_of(const struct st_merge_map *map, uint32_t group)
{
    if (group == ST_NONE || group < ST_GROUP_FIRST_REQUEST) {
        return group;
    }
    uint32_t request = map->requests[(group - ST_GROUP_FIRST_REQUEST) / 2];
    return (group - ST_GROUP_FIRST_REQUEST) & 1 ? st_group_after_request(request) : st_group_of_request(request);
}

/* ---- one trace into the merged model ---- */

static void add_threads(const struct st_merge_map *map, uint32_t trace, struct st_model *source, struct st_model *model)
{
    for (size_t i = 0; i < source->thread_count; i++) {
        struct st_model_thread *thread = &model->threads[model->thread_count++];
        *thread = source->threads[i];
        thread->trace = trace;
        thread->driver_first += map->call_base;
        thread->runtime_first += map->call_base;
        thread->call_end += map->call_base;
        thread->foreign_row = thread->foreign_row == ST_NONE ? ST_NONE : map->rows[thread->foreign_row];
        for (uint32_t k = 0; k < thread->span_count; k++) {
            thread->spans[k] += map->span_base;
        }
    }
}

static void add_spans(const struct st_merge_map *map, const struct st_model *source, struct st_model *model)
{
    for (size_t i = 0; i < source->span_count; i++) {
        struct st_span *span = &model->spans[model->span_count++];
        *span = source->spans[i];
        span->begin_ns = shifted(span->begin_ns, map->offset_ns);
        span->end_ns = shifted(span->end_ns, map->offset_ns);
        span->parent += span->parent == ST_NONE ? 0 : map->span_base;
        span->thread += span->thread == ST_NONE ? 0 : map->thread_base;
        span->row = map->rows[span->row];
        span->group = group_of(map, span->group);
    }
}

static void add_calls(const struct st_merge_map *map, const struct st_model *source, struct st_model *model)
{
    for (size_t i = 0; i < source->call_count; i++) {
        struct st_call *call = &model->calls[model->call_count++];
        *call = source->calls[i];
        call->begin_ns = shifted(call->begin_ns, map->offset_ns);
        call->end_ns = shifted(call->end_ns, map->offset_ns);
        call->span += call->span == ST_NONE ? 0 : map->span_base;
        call->group = group_of(map, call->group);
        call->call = (uint16_t)map->calls[call->call];
    }
}

static void add_ops(const struct st_merge_map *map, uint32_t trace, const struct st_model *source,
                    struct st_model *model)
{
    for (size_t i = 0; i < source->op_count; i++) {
        struct st_op *op = &model->ops[model->op_count++];
        *op = source->ops[i];
        op->start_ns = shifted(op->start_ns, map->offset_ns);
        op->end_ns = shifted(op->end_ns, map->offset_ns);
        op->call += op->call == ST_NONE ? 0 : map->call_base;
        op->row = map->rows[op->row];
        op->group = group_of(map, op->group);
        op->device = (uint16_t)map->devices[op->device];
        op->peer_device = op->peer_device < 0 ? op->peer_device : (int16_t)map->devices[op->peer_device];
        op->trace = (uint16_t)trace;
        if (op->kind == ST_OP_KERNEL && op->name < source->name_count) {
            op->name = map->names[op->name];
        } else if (op->kind == ST_OP_KERNEL) {
            op->name = ST_NONE;
        }
    }
}

static void add_host_runs(const struct st_merge_map *map, const struct st_model *source, struct st_model *model)
{
    for (size_t i = 0; i < source->host_run_count; i++) {
        struct st_host_run *run = &model->host_runs[model->host_run_count++];
        *run = source->host_runs[i];
        run->begin_ns = shifted(run->begin_ns, map->offset_ns);
        run->end_ns = shifted(run->end_ns, map->offset_ns);
        run->call += run->call == ST_NONE ? 0 : map->call_base;
        run->row = run->row == ST_NONE ? ST_NONE : map->rows[run->row];
        run->group = group_of(map, run->group);
    }
}

static void add_requests(const struct st_merge_map *map, uint32_t trace, const struct st_model *source,
                         struct st_model *model)
{
    for (size_t i = 0; i < source->request_count; i++) {
        struct st_model_request *request = &model->requests[map->requests[i]];
        *request = source->requests[i];
        request->trace = trace;
        request->span += map->span_base;
        request->thread += request->thread == ST_NONE ? 0 : map->thread_base;
        request->window_of = request->window_of == ST_NONE ? ST_NONE : map->requests[request->window_of];
        request->begin_ns = shifted(request->begin_ns, map->offset_ns);
        request->host_end_ns = shifted(request->host_end_ns, map->offset_ns);
        request->device_end_ns = shifted(request->device_end_ns, map->offset_ns);
        request->end_ns = shifted(request->end_ns, map->offset_ns);
    }
}

/* The facts move over; an id that an earlier trace has – another image after exec – gets a number. */
static bool add_trace(const struct st_merge_map *map, uint32_t index, struct st_model *source, struct st_model *model)
{
    struct st_model_trace *trace = &model->traces[index];
    uint32_t earlier = 0;
    *trace = *source->traces;
    *source->traces = (struct st_model_trace){0};
    model->trace_count = index + 1;
    for (uint32_t i = 0; i < index; i++) {
        earlier += model->traces[i].header.pid == trace->header.pid;
    }
    if (earlier > 0) {
        trace->process = st_arena_format(model->arena, "%u.%u", trace->header.pid, earlier + 1);
    }
    trace->end_ns = shifted(trace->end_ns, map->offset_ns);
    trace->device_known_until_ns = shifted(trace->device_known_until_ns, map->offset_ns);
    trace->call_first = map->call_base;
    trace->call_end += map->call_base;
    trace->span_first = map->span_base;
    trace->span_end += map->span_base;
    model->longest_op_ns = source->longest_op_ns > model->longest_op_ns ? source->longest_op_ns : model->longest_op_ns;
    return trace->process && st_arena_join(model->arena, st_arena_share(source->arena));
}

static bool add(struct st_merge_map *map, uint32_t index, struct st_model *source, struct st_model *model)
{
    add_threads(map, index, source, model);
    add_spans(map, source, model);
    add_calls(map, source, model);
    add_ops(map, index, source, model);
    add_host_runs(map, source, model);
    add_requests(map, index, source, model);
    return add_trace(map, index, source, model);
}

/* ---- all ---- */

static int by_time(const void *left, const void *right)
{
    const struct st_op *a = left, *b = right;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int by_run_begin(const void *left, const void *right)
{
    const struct st_host_run *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Where each trace's part begins, and room for all of them. False: out of memory, or more than there are numbers. */
static bool make_room(struct st_model *const *models, size_t count, struct st_merge_map *maps, struct st_model *model)
{
    size_t threads = 0, calls = 0, spans = 0, ops = 0, host_runs = 0;
    uint64_t zero_ns = models[0]->traces->header.start_monotonic_ns;
    for (size_t m = 0; m < count; m++) {
        maps[m].offset_ns = (int64_t)(models[m]->traces->header.start_monotonic_ns - zero_ns);
        maps[m].thread_base = (uint32_t)threads;
        maps[m].call_base = (uint32_t)calls;
        maps[m].span_base = (uint32_t)spans;
        threads += models[m]->thread_count;
        calls += models[m]->call_count;
        spans += models[m]->span_count;
        ops += models[m]->op_count;
        host_runs += models[m]->host_run_count;
    }
    if (threads >= ST_NONE || calls >= ST_NONE || spans >= ST_NONE / 4 || ops >= ST_NONE) {
        return false;
    }
    model->traces = calloc(count, sizeof(*model->traces));
    model->threads = malloc((threads + 1) * sizeof(*model->threads));
    model->calls = malloc((calls + 1) * sizeof(*model->calls));
    model->spans = malloc((spans + 1) * sizeof(*model->spans));
    model->ops = malloc((ops + 1) * sizeof(*model->ops));
    model->host_runs = malloc((host_runs + 1) * sizeof(*model->host_runs));
    return model->traces && model->threads && model->calls && model->spans && model->ops && model->host_runs;
}

static bool merge(struct st_model **models, size_t count, struct st_merge_map *maps, struct st_model *model)
{
    bool good = make_room(models, count, maps, model) && st_merge_rows(models, count, maps, model) &&
                st_merge_names(models, count, maps, model) && st_merge_calls(models, count, maps, model) &&
                model->calldef_count <= UINT16_MAX + 1 && st_merge_devices(models, count, maps) &&
                order_requests(models, count, maps, model);
    for (size_t m = 0; good && m < count; m++) {
        good = add(&maps[m], (uint32_t)m, models[m], model);
        st_model_destroy(models[m]);
        models[m] = NULL;
    }
    if (good) {
        st_vec_sort(model->ops, model->op_count, sizeof(*model->ops), by_time);
        st_vec_sort(model->host_runs, model->host_run_count, sizeof(*model->host_runs), by_run_begin);
    }
    return good && st_link_lists(model);
}

enum st_status st_model_merge(struct st_model **models, size_t count, struct st_model **ret_model, struct st_err *err)
{
    struct st_merge_map *maps = calloc(count, sizeof(*maps));
    struct st_model *model = calloc(1, sizeof(*model));
    bool good = maps && model && count <= ST_MAX_TRACES && (model->arena = st_arena_create()) != NULL;
    st_vec_sort(models, count, sizeof(*models), by_start);
    good = good && merge(models, count, maps, model);
    for (size_t m = 0; m < count; m++) {
        if (maps) {
            free(maps[m].rows);
            free(maps[m].calls);
            free(maps[m].names);
            free(maps[m].requests);
            free(maps[m].devices);
        }
        st_model_destroy(models[m]);
    }
    free(maps);
    if (!good) {
        st_model_destroy(model);
        return st_fail(err, ST_NO_MEMORY, NULL, -1, "show fewer files at once",
                       "the %zu files together are more than memory holds", count);
    }
    *ret_model = model;
    return ST_OK;
}
