/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First half of linking: clocks, threads, spans, requests, and to which group a moment belongs.
 *
 *   thread 1   [request 1        ]   save   [request 2      ]
 *   thread 2          work      work   work
 *   group      r1 …  r1   r1    between│     r2               save: "after request 1"
 *                                      └ a thread of its own: while exactly one request is open, that one
 */
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "vec.h"

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* An instant, and how much earlier it may have been: ticks, then ns. */
static void convert_edge(struct st_clock *clock, int64_t *at, int64_t *late)
{
    int64_t from = *at;
    *at = st_clock_convert(clock, from);
    *late = *late > 0 && *late < from ? *at - st_clock_convert(clock, from - *late) : 0;
}

bool st_link_times(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    struct st_clock *host = &builder->host, *device = &builder->device;
    int64_t end = 0;
    model->traces->clock_residual_known = host->count > 0;
    if (host->count > 0 && builder->has_start && !st_clock_add(host, host->origin, 0, 0)) {
        return false;
    }
    if (!st_clock_prepare(host) || !st_clock_prepare(device)) {
        return false;
    }
    model->traces->clock_residual_ns = later(st_clock_residual_ns(host), st_clock_residual_ns(device));
    for (size_t i = 0; i < builder->call_count; i++) {
        struct st_call *call = &builder->calls[i];
        call->begin_ns = st_clock_convert(host, call->begin_ns);
        call->end_ns = later(st_clock_convert(host, call->end_ns), call->begin_ns);
        end = later(end, call->end_ns);
    }
    for (size_t i = 0; i < builder->begin_count; i++) {
        struct st_raw_begin *begin = &builder->begins[i];
        convert_edge(host, &begin->at_ticks, &begin->late_ticks);
        end = later(end, begin->at_ticks);
    }
    for (size_t i = 0; i < builder->end_count; i++) {
        convert_edge(host, &builder->ends[i].at_ticks, &builder->ends[i].late_ticks);
        end = later(end, builder->ends[i].at_ticks);
    }
    for (size_t i = 0; i < builder->mark_count; i++) {
        struct st_raw_mark *mark = &builder->marks[i]; /* only ends of steps are kept */
        int64_t late = mark->b - 1;
        convert_edge(host, &mark->at_ticks, &late);
        mark->b = mark->b > 0 ? late + 1 : 0;
    }
    for (size_t i = 0; i < builder->graph_event_count; i++) {
        struct st_graph_event *event = &builder->graph_events[i];
        event->begin_ns = st_clock_convert(host, event->begin_ns);
        event->end_ns = later(st_clock_convert(host, event->end_ns), event->begin_ns);
    }
    for (size_t i = 0; i < builder->handed_count; i++) {
        builder->handed[i].begin_ns = st_clock_convert(host, builder->handed[i].begin_ns);
    }
    for (size_t i = 0; i < builder->host_run_count; i++) {
        struct st_handed *run = &builder->host_runs[i];
        run->begin_ns = st_clock_convert(host, run->begin_ns);
        run->end_ns = later(st_clock_convert(host, run->end_ns), run->begin_ns);
        end = later(end, run->end_ns);
    }
    for (size_t i = 0; i < builder->op_count; i++) {
        struct st_op *op = &builder->ops[i];
        op->start_ns = st_clock_convert(device, op->start_ns);
        op->end_ns = later(st_clock_convert(device, op->end_ns), op->start_ns);
        end = later(end, op->end_ns);
    }
    for (size_t i = 0; i < builder->api_count; i++) {
        builder->apis[i].start = st_clock_convert(device, builder->apis[i].start);
        builder->apis[i].end = later(st_clock_convert(device, builder->apis[i].end), builder->apis[i].start);
    }
    if (builder->has_end) {
        end = later(end, st_clock_convert(host, builder->end_ticks));
    }
    model->traces->end_ns = end;
    return true;
}

/* ---- threads ---- */

bool st_link_note_thread(struct st_builder *builder, uint32_t index, uint32_t thread)
{
    if (index >= builder->thread_of_index_count) {
        size_t wanted = (size_t)index + index / 2 + 16;
        uint32_t *grown = realloc(builder->thread_of_index, wanted * sizeof(*grown));
        if (!grown) {
            return false;
        }
        memset(grown + builder->thread_of_index_count, 0xff,
               (wanted - builder->thread_of_index_count) * sizeof(*grown));
        builder->thread_of_index = grown;
        builder->thread_of_index_count = wanted;
    }
    builder->thread_of_index[index] = thread;
    return true;
}

uint32_t st_link_thread(const struct st_builder *builder, int64_t index)
{
    return index >= 0 && (size_t)index < builder->thread_of_index_count ? builder->thread_of_index[index] : ST_NONE;
}

/* A thread that left events but whose THREAD row is missing. */
static bool know_thread(struct st_builder *builder, uint32_t index)
{
    if (st_link_thread(builder, index) != ST_NONE || index >= ST_MAX_DENSE_ID) {
        return true;
    }
    const char *name = st_arena_format(builder->model->arena, "thread %u", index);
    return name && st_builder_thread(builder, index, 0, name, strlen(name));
}

bool st_link_threads(struct st_builder *builder)
{
    bool good = true;
    for (size_t i = 0; good && i < builder->call_count; i++) {
        good = know_thread(builder, builder->calls[i].group);
    }
    for (size_t i = 0; good && i < builder->begin_count; i++) {
        good = know_thread(builder, builder->begins[i].thread);
    }
    struct st_model *model = builder->model;
    for (size_t i = 0; good && i < model->thread_count; i++) {
        if (model->threads[i].name[0] == 0) {
            model->threads[i].name = st_arena_format(model->arena, "tid %lld", (long long)model->threads[i].tid);
            good = model->threads[i].name != NULL;
        }
    }
    return good;
}

/* ---- spans ---- */

static int by_begin(const void *left, const void *right)
{
    const struct st_raw_begin *a = left, *b = right;
    if (a->at_ticks != b->at_ticks) {
        return a->at_ticks < b->at_ticks ? -1 : 1;
    }
    return (a->span > b->span) - (a->span < b->span);
}

static int by_span_id(const void *left, const void *right, void *context)
{
    const struct st_span *spans = context;
    uint32_t a = spans[*(const uint32_t *)left].id, b = spans[*(const uint32_t *)right].id;
    return (a > b) - (a < b);
}

uint32_t st_link_span(const struct st_builder *builder, uint32_t id)
{
    const struct st_model *model = builder->model;
    size_t low = 0, high = model->span_count;
    while (id != 0 && low < high) {
        size_t middle = low + (high - low) / 2;
        uint32_t span = builder->spans_by_id[middle];
        if (model->spans[span].id == id) {
            return span;
        }
        if (model->spans[span].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ST_NONE;
}

static uint32_t row_of_name(struct st_builder *builder, const struct st_raw_begin *begin)
{
    const char *name = begin->name > 0 && (size_t)begin->name < builder->row_name_count
                           ? builder->row_names[begin->name]
                           : NULL;
    if (begin->role == ST_ROLE_REQUEST || begin->role == ST_ROLE_OFF) {
        return ST_ROW_UNATTRIBUTED; /* the row of what is around it, once parents are known */
    }
    if (begin->name < 0 && (size_t)-begin->name < builder->row_name_count) { /* an iteration of this stage */
        name = builder->row_names[-begin->name];
        name = name ? st_arena_format(builder->model->arena, "%s/step", name) : NULL;
    }
    if (!name || !name[0]) {
        name = begin->role == ST_ROLE_LOAD ? "load" : begin->role == ST_ROLE_STEP ? "step" : "unnamed";
    }
    return st_rows_table_intern(&builder->rows, name);
}

static bool make_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    size_t count = builder->begin_count;
    model->spans = calloc(count + 1, sizeof(*model->spans));
    builder->span_raw = calloc(count + 1, sizeof(*builder->span_raw));
    builder->spans_by_id = malloc((count + 1) * sizeof(*builder->spans_by_id));
    if (!model->spans || !builder->span_raw || !builder->spans_by_id) {
        return false;
    }
    st_vec_sort(builder->begins, count, sizeof(*builder->begins), by_begin);
    for (size_t i = 0; i < count; i++) {
        const struct st_raw_begin *begin = &builder->begins[i];
        uint32_t row = row_of_name(builder, begin);
        if (row == ST_NONE) {
            return false;
        }
        model->spans[i] = (struct st_span){.begin_ns = begin->at_ticks,
                                           .end_ns = INT64_MAX,
                                           .begin_cpu_ns = begin->cpu_ns,
                                           .id = (uint32_t)begin->span,
                                           .parent = ST_NONE,
                                           .row = row,
                                           .thread = st_link_thread(builder, begin->thread),
                                           .rule = (uint32_t)begin->rule,
                                           .doubt_ns = begin->late_ticks,
                                           .is_inferred = begin->inferred != ST_EDGE_SEEN,
                                           .is_following = begin->inferred == ST_EDGE_FOLLOWING,
                                           .role = (uint8_t)begin->role,
                                           .is_open = true};
        builder->span_raw[i] = (struct st_span_raw){
            .request = begin->request > 0 && begin->request < ST_MAX_DENSE_ID ? (uint32_t)begin->request : 0,
            .parent_id = begin->parent > 0 && begin->parent <= UINT32_MAX ? (uint32_t)begin->parent : 0};
        builder->spans_by_id[i] = (uint32_t)i;
    }
    model->span_count = count;
    st_vec_sort_with(builder->spans_by_id, count, sizeof(*builder->spans_by_id), by_span_id, model->spans);
    return true;
}

static void close_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    for (size_t i = 0; i < builder->end_count; i++) {
        const struct st_raw_end *end = &builder->ends[i];
        uint32_t index = st_link_span(builder, (uint32_t)end->span);
        if (index == ST_NONE) {
            model->traces->faults.spans_without_begin++;
            continue;
        }
        struct st_span *span = &model->spans[index];
        span->end_ns = later(end->at_ticks, span->begin_ns);
        span->end_cpu_ns = end->cpu_ns;
        span->is_open = false;
        span->is_late = end->how == ST_END_ABANDONED;
        span->is_inferred = span->is_inferred || end->inferred != 0;
        span->doubt_ns = later(span->doubt_ns, end->late_ticks);
    }
    for (size_t i = 0; i < model->span_count; i++) { /* a parent begins earlier, so it is done before its child */
        struct st_span *span = &model->spans[i];
        uint32_t parent = st_link_span(builder, builder->span_raw[i].parent_id);
        if (parent != ST_NONE && parent < i && model->spans[parent].thread == span->thread &&
            model->spans[parent].depth < ST_MAX_SPAN_DEPTH) {
            span->parent = parent;
            span->depth = (uint16_t)(model->spans[parent].depth + 1);
        }
        if (span->is_open) { /* its end was lost, or the process ended first */
            bool outlived = span->parent != ST_NONE && !model->spans[span->parent].is_open;
            model->traces->faults.spans_without_end += outlived;
            span->end_ns = later(outlived ? model->spans[span->parent].end_ns : model->traces->end_ns, span->begin_ns);
        }
        if (span->parent != ST_NONE && span->role == ST_ROLE_OFF) {
            span->row = model->spans[span->parent].row;
        }
        for (uint32_t up = span->parent; up != ST_NONE && !span->is_nested; up = model->spans[up].parent) {
            span->is_nested = model->spans[up].row == span->row;
        }
    }
}

static void forget_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    free(model->spans);
    free(builder->span_raw);
    free(builder->spans_by_id);
    model->spans = NULL;
    builder->span_raw = NULL;
    builder->spans_by_id = NULL;
    model->span_count = 0;
    model->traces->faults.spans_without_begin = model->traces->faults.spans_without_end = 0;
}

/* ---- requests ---- */

static bool find_requests(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    uint32_t largest = 0;
    size_t count = 0;
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].role == ST_ROLE_REQUEST) {
            count++;
            largest = builder->span_raw[i].request > largest ? builder->span_raw[i].request : largest;
        }
    }
    model->requests = calloc(count + 1, sizeof(*model->requests));
    builder->request_by_number = malloc(((size_t)largest + 1) * sizeof(*builder->request_by_number));
    if (!model->requests || !builder->request_by_number) {
        return false;
    }
    memset(builder->request_by_number, 0xff, ((size_t)largest + 1) * sizeof(*builder->request_by_number));
    builder->request_number_count = (size_t)largest + 1;
    for (size_t i = 0; i < model->span_count; i++) {
        struct st_span *span = &model->spans[i];
        uint32_t number = builder->span_raw[i].request;
        if (span->role != ST_ROLE_REQUEST || number == 0 || builder->request_by_number[number] != ST_NONE) {
            continue;
        }
        builder->request_by_number[number] = (uint32_t)model->request_count;
        model->requests[model->request_count] = (struct st_model_request){.id = (int64_t)model->request_count + 1,
                                                                          .span = (uint32_t)i,
                                                                          .thread = span->thread,
                                                                          .is_complete = !span->is_open,
                                                                          .begin_ns = span->begin_ns,
                                                                          .host_end_ns = span->end_ns,
                                                                          .device_end_ns = span->begin_ns};
        model->request_count++;
        builder->last_request_end_ns = later(builder->last_request_end_ns, span->end_ns);
    }
    return true;
}

struct edge {
    int64_t at_ns;
    int32_t step; /* +1 begin, -1 end */
    uint32_t request;
};

static int by_edge_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return (a->step > b->step) - (a->step < b->step); /* ends first */
}

static bool make_instants(struct st_builder *builder)
{
    const struct st_model *model = builder->model;
    size_t count = 2 * model->request_count;
    struct edge *edges = malloc((count + 1) * sizeof(*edges));
    builder->instants = malloc((count + 1) * sizeof(*builder->instants));
    if (!edges || !builder->instants) {
        free(edges);
        return false;
    }
    for (size_t i = 0; i < model->request_count; i++) {
        const struct st_model_request *request = &model->requests[i];
        edges[2 * i] = (struct edge){request->begin_ns, 1, (uint32_t)i};
        edges[2 * i + 1] = (struct edge){request->is_complete ? request->host_end_ns : INT64_MAX, -1, (uint32_t)i};
    }
    st_vec_sort(edges, count, sizeof(*edges), by_edge_time);
    uint32_t open = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        open += (uint32_t)edges[i].step;
        sum += (uint32_t)edges[i].step * edges[i].request;
        builder->instants[i] = (struct st_instant){edges[i].at_ns, open, sum};
    }
    builder->instant_count = count;
    free(edges);
    return true;
}

uint32_t st_link_only_request(const struct st_builder *builder, int64_t at_ns)
{
    size_t low = 0, high = builder->instant_count; /* the last instant at or before at_ns is low - 1 */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (builder->instants[middle].at_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && builder->instants[low - 1].open == 1 ? builder->instants[low - 1].sum : ST_NONE;
}

static uint32_t outside_at(const struct st_builder *builder, int64_t at_ns)
{
    const struct st_model *model = builder->model;
    if (model->request_count == 0 || at_ns < model->requests[0].begin_ns) {
        return ST_GROUP_BEFORE_FIRST;
    }
    if (at_ns < model->requests[model->request_count - 1].begin_ns) {
        return ST_GROUP_BETWEEN;
    }
    return at_ns >= builder->last_request_end_ns ? ST_GROUP_AFTER_LAST : ST_GROUP_BETWEEN;
}

uint32_t st_link_group(const struct st_builder *builder, uint32_t span, int64_t at_ns)
{
    const struct st_model *model = builder->model;
    if (span != ST_NONE) {
        uint32_t number = builder->span_raw[span].request;
        if (number < builder->request_number_count && builder->request_by_number[number] != ST_NONE) {
            return st_group_of_request(builder->request_by_number[number]);
        }
        uint32_t group = model->spans[span].group;
        if (group >= ST_GROUP_FIRST_REQUEST && st_request_of_group(group) == ST_NONE) {
            return group; /* after a request */
        }
    }
    uint32_t only = st_link_only_request(builder, at_ns);
    return only != ST_NONE ? st_group_of_request(only) : outside_at(builder, at_ns);
}

/* Groups of all spans, in order of begin, so that the last request of each thread is known. */
static bool group_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    uint32_t *last_of_thread = malloc((model->thread_count + 1) * sizeof(*last_of_thread));
    if (!last_of_thread) {
        return false;
    }
    memset(last_of_thread, 0xff, (model->thread_count + 1) * sizeof(*last_of_thread));
    for (size_t i = 0; i < model->span_count; i++) {
        struct st_span *span = &model->spans[i];
        uint32_t number = builder->span_raw[i].request;
        bool has_request = number < builder->request_number_count && builder->request_by_number[number] != ST_NONE;
        uint32_t last = span->thread != ST_NONE ? last_of_thread[span->thread] : ST_NONE;
        if (span->role == ST_ROLE_REQUEST && has_request && span->thread != ST_NONE) {
            last_of_thread[span->thread] = builder->request_by_number[number];
        }
        if (!has_request && span->parent != ST_NONE) {
            span->group = model->spans[span->parent].group;
        } else if (!has_request && last != ST_NONE && span->role != ST_ROLE_LOAD &&
                   span->begin_ns >= model->requests[last].host_end_ns) {
            span->group = st_group_after_request(last);
        } else {
            span->group = ST_GROUP_BETWEEN;
            span->group = st_link_group(builder, (uint32_t)i, span->begin_ns);
        }
    }
    free(last_of_thread);
    return true;
}

static bool list_thread_spans(struct st_model *model)
{
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].thread != ST_NONE) {
            model->threads[model->spans[i].thread].span_count++;
        }
    }
    for (size_t i = 0; i < model->thread_count; i++) {
        struct st_model_thread *thread = &model->threads[i];
        thread->spans = st_arena_array(model->arena, thread->span_count, sizeof(*thread->spans));
        thread->span_count = 0;
        if (!thread->spans) {
            return false;
        }
    }
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].thread != ST_NONE) {
            struct st_model_thread *thread = &model->threads[model->spans[i].thread];
            thread->spans[thread->span_count++] = (uint32_t)i;
        }
    }
    return true;
}

bool st_link_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    if (!st_rows_table_init(&builder->rows, model->arena) || !make_spans(builder)) {
        return false;
    }
    close_spans(builder);
    bool any = false;
    if (!st_link_add_iterations(builder, &any)) {
        return false;
    }
    if (any) {
        forget_spans(builder);
        if (!make_spans(builder)) {
            return false;
        }
        close_spans(builder);
        st_link_place_iterations(builder);
    }
    return find_requests(builder) && make_instants(builder) && group_spans(builder) && list_thread_spans(model);
}

uint32_t st_link_row(struct st_builder *builder, uint32_t thread, uint32_t span, uint32_t group)
{
    struct st_model *model = builder->model;
    uint32_t request = st_request_of_group(group);
    if (span != ST_NONE) {
        return model->spans[span].row;
    }
    if (request == ST_NONE || thread == ST_NONE || thread == model->requests[request].thread) {
        return ST_ROW_UNATTRIBUTED;
    }
    if (model->threads[thread].foreign_row == ST_NONE) {
        const char *path = st_arena_format(model->arena, "unattributed/%s", model->threads[thread].name);
        model->threads[thread].foreign_row = path ? st_rows_table_intern(&builder->rows, path) : ST_NONE;
    }
    return model->threads[thread].foreign_row;
}
