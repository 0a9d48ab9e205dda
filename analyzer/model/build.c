/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting the rows of a trace; see build.h. What they mean is found in link_*.c. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "vec.h"

enum { MAX_FACTS = 4096 }; /* different rules, counters, capabilities, devices; more are not believed */

#define RESERVE(builder, items, count, capacity)                                                                      \
    (st_vec_reserve((void **)&(items), &(capacity), (count), sizeof(*(items))) || !((builder)->failed = true))

struct st_builder *st_builder_create(const struct st_trace_header *header)
{
    struct st_builder *builder = calloc(1, sizeof(*builder));
    struct st_model *model = calloc(1, sizeof(*model));
    struct st_model_trace *trace = calloc(1, sizeof(*trace));
    struct st_arena *arena = st_arena_create();
    if (!builder || !model || !trace || !arena) {
        free(builder);
        free(model);
        free(trace);
        st_arena_destroy(arena);
        return NULL;
    }
    model->arena = arena;
    model->traces = trace;
    model->trace_count = 1;
    builder->model = model;
    builder->host.rate = builder->device.rate = 1;
    if (header) {
        trace->header = *header;
        builder->host.origin = (int64_t)header->start_ticks;
        builder->has_start = header->start_ticks > 0;
        /* a session that began right after the process has no estimate; the header's readings are one more point */
        builder->host.rate = header->ticks_per_second > 0 ? 1e9 / (double)header->ticks_per_second : 0;
        builder->failed = !st_clock_add(&builder->host, (int64_t)header->start_ticks, 0, 0);
    }
    return builder;
}

static void free_collected(struct st_builder *builder)
{
    st_clock_finish(&builder->host);
    st_clock_finish(&builder->device);
    free(builder->calls);
    free(builder->early);
    free(builder->begins);
    free(builder->ends);
    free(builder->marks);
    free(builder->window_marks);
    free(builder->pieces);
    free(builder->copies);
    free(builder->graph_events);
    free(builder->handed);
    free(builder->host_runs);
    free(builder->host_names);
    free(builder->iterations);
    free(builder->ops);
    free(builder->apis);
    free(builder->row_names);
    st_rows_table_finish(&builder->rows);
    free(builder->thread_of_index);
    free(builder->spans_by_id);
    free(builder->span_raw);
    free(builder->instants);
    free(builder->request_by_number);
    free(builder);
}

void st_builder_destroy(struct st_builder *builder)
{
    if (builder) {
        free(builder->rows.rows != builder->model->rows ? builder->rows.rows : NULL);
        st_model_destroy(builder->model);
        free_collected(builder);
    }
}

const char *st_builder_text(struct st_builder *builder, const char *text, size_t length)
{
    const char *copy = st_arena_text(builder->model->arena, text, length);
    builder->failed = builder->failed || !copy;
    return copy;
}

bool st_builder_thread(struct st_builder *builder, int64_t index, int64_t tid, const char *name, size_t length)
{
    struct st_model *model = builder->model;
    if (index < 0 || index >= ST_MAX_DENSE_ID) {
        return true;
    }
    uint32_t known = st_link_thread(builder, index);
    const char *text = st_builder_text(builder, name, length);
    if (!text) {
        return false;
    }
    if (known != ST_NONE) { /* the thread's name changed, or its ring says it again */
        model->threads[known].name = length > 0 ? text : model->threads[known].name;
        return true;
    }
    if (!RESERVE(builder, model->threads, model->thread_count, builder->thread_capacity) ||
        !st_link_note_thread(builder, (uint32_t)index, (uint32_t)model->thread_count)) {
        return false;
    }
    model->threads[model->thread_count++] = (struct st_model_thread){
        .index = (uint32_t)index, .tid = tid, .name = text, .foreign_row = ST_NONE};
    return true;
}

bool st_builder_calldef(struct st_builder *builder, int64_t call, int64_t layer, int64_t class, int64_t blocks,
                        const char *name, size_t length)
{
    struct st_model *model = builder->model;
    if (call < 0 || call > UINT16_MAX) {
        return true;
    }
    while (model->calldef_count <= (size_t)call) {
        if (!RESERVE(builder, model->calldefs, model->calldef_count, builder->calldef_capacity)) {
            return false;
        }
        model->calldefs[model->calldef_count++] = (struct st_model_calldef){0};
    }
    const char *text = st_builder_text(builder, name, length);
    model->calldefs[call] = (struct st_model_calldef){
        .name = text, .layer = (uint8_t)layer, .class = (uint8_t)class, .blocks = blocks != 0};
    return text != NULL;
}

void st_builder_call_does(struct st_builder *builder, int64_t call, int64_t does)
{
    if (call >= 0 && (size_t)call < builder->model->calldef_count && does > 0 && does <= ST_DOES_SWITCH_NODE) {
        builder->model->calldefs[call].does = (uint8_t)does;
    }
}

/* Put `text` at texts[id], growing the table as needed. */
static bool put_text(struct st_builder *builder, const char ***texts, size_t *count, int64_t id, const char *text,
                     size_t length)
{
    if (id < 0 || id >= ST_MAX_DENSE_ID) {
        return true;
    }
    if ((size_t)id >= *count) {
        size_t wanted = (size_t)id + (size_t)id / 2 + 64;
        const char **grown = realloc(*texts, wanted * sizeof(*grown));
        if (!grown) {
            builder->failed = true;
            return false;
        }
        memset(grown + *count, 0, (wanted - *count) * sizeof(*grown));
        *texts = grown;
        *count = wanted;
    }
    (*texts)[id] = st_builder_text(builder, text, length);
    return (*texts)[id] != NULL;
}

bool st_builder_string(struct st_builder *builder, int64_t id, const char *text, size_t length)
{
    return put_text(builder, &builder->model->names, &builder->model->name_count, id, text, length);
}

bool st_builder_row_name(struct st_builder *builder, int64_t key, const char *text, size_t length)
{
    return put_text(builder, &builder->row_names, &builder->row_name_count, key, text, length);
}

static int64_t sum_limited(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* What of a … d an analysis needs, by class; see enum st_call_class. */
static void take_words(struct st_call *call, uint8_t class, const struct st_raw_call *raw)
{
    switch (class) {
    case ST_CLASS_LAUNCH:
        call->handle = (uint64_t)raw->a;
        call->value = raw->b;
        break;
    case ST_CLASS_COPY:
    case ST_CLASS_MEMSET:
        call->handle = (uint64_t)raw->d;
        call->value = raw->c;
        break;
    case ST_CLASS_SYNC:
        call->handle = (uint64_t)raw->a;
        call->value = raw->d;
        break;
    case ST_CLASS_ALLOC:
        call->handle = (uint64_t)raw->a;
        call->value = raw->c;
        break;
    case ST_CLASS_GRAPH_LAUNCH:
    case ST_CLASS_EVENT_RECORD:
    case ST_CLASS_STREAM_WAIT:
    case ST_CLASS_HOST_FUNC:
        call->handle = (uint64_t)raw->b;
        call->value = raw->a;
        break;
    default:
        call->handle = (uint64_t)raw->a;
    }
}

static bool add_graph_event(struct st_builder *builder, const struct st_graph_event *event)
{
    if (!RESERVE(builder, builder->graph_events, builder->graph_event_count, builder->graph_event_capacity)) {
        return false;
    }
    builder->graph_events[builder->graph_event_count] = *event;
    builder->graph_events[builder->graph_event_count].order = builder->graph_event_count;
    builder->graph_event_count++;
    return true;
}

/* Did it do what it says, and was that not told by another call? Of driver and runtime the driver's call counts, the
 * runtime's where none was seen inside. */
static bool is_first_told(const struct st_model_calldef *def, const struct st_raw_call *raw)
{
    return raw->result == 0 && (def->layer == ST_LAYER_DRIVER || !(raw->flags & ST_CALL_HAS_INNER));
}

static bool add_handed(struct st_builder *builder, const struct st_raw_call *raw, uint8_t layer)
{
    if (!RESERVE(builder, builder->handed, builder->handed_count, builder->handed_capacity)) {
        return false;
    }
    builder->handed[builder->handed_count++] = (struct st_handed){.function = (uint64_t)raw->a,
                                                                  .argument = (uint64_t)raw->c,
                                                                  .begin_ns = raw->begin_ticks,
                                                                  .thread = raw->thread,
                                                                  .is_runtime = layer == ST_LAYER_RUNTIME};
    return true;
}

static bool add_call(struct st_builder *builder, const struct st_raw_call *raw, uint8_t class)
{
    const struct st_model_calldef *def = &builder->model->calldefs[raw->call];
    if (def->does != ST_DOES_NOTHING && is_first_told(def, raw) &&
        !add_graph_event(builder, &(struct st_graph_event){.begin_ns = raw->begin_ticks,
                                                           .end_ns = sum_limited(raw->begin_ticks, raw->duration_ticks),
                                                           .a = (uint64_t)raw->a,
                                                           .b = (uint64_t)raw->b,
                                                           .c = (uint64_t)raw->c,
                                                           .d = (uint64_t)raw->d,
                                                           .does = def->does})) {
        return false;
    }
    if (class == ST_CLASS_HOST_FUNC && is_first_told(def, raw) && !(raw->flags & ST_CALL_CAPTURED) &&
        !add_handed(builder, raw, def->layer)) {
        return false;
    }
    if (!RESERVE(builder, builder->calls, builder->call_count, builder->call_capacity)) {
        return false;
    }
    struct st_call *call = &builder->calls[builder->call_count++];
    *call = (struct st_call){.begin_ns = raw->begin_ticks,
                             .end_ns = sum_limited(raw->begin_ticks, raw->duration_ticks),
                             .span = (uint32_t)raw->span,
                             .group = raw->thread,
                             .result = (int32_t)raw->result,
                             .call = (uint16_t)raw->call,
                             .flags = (uint8_t)raw->flags &
                                      (uint8_t)~(ST_CALL_FIRST_USE | ST_CALL_WAITED | ST_CALL_HOST_NODES),
                             .direction = (uint8_t)(raw->flags >> ST_CALL_DIRECTION_SHIFT) & 7};
    take_words(call, class, raw);
    return true;
}

bool st_builder_call(struct st_builder *builder, const struct st_raw_call *raw)
{
    const struct st_model *model = builder->model;
    if (raw->call < 0 || raw->call > UINT16_MAX || raw->span < 0 || raw->span > UINT32_MAX || raw->duration_ticks < 0) {
        builder->model->traces->faults.invalid_times += raw->duration_ticks < 0;
        return true;
    }
    if ((size_t)raw->call < model->calldef_count && model->calldefs[raw->call].layer != 0) {
        return add_call(builder, raw, model->calldefs[raw->call].class);
    }
    if (!RESERVE(builder, builder->early, builder->early_count, builder->early_capacity)) {
        return false;
    }
    builder->early[builder->early_count++] = *raw;
    return true;
}

bool st_builder_span_begin(struct st_builder *builder, const struct st_raw_begin *begin)
{
    if (begin->span <= 0 || begin->span > UINT32_MAX) {
        return true;
    }
    if (!RESERVE(builder, builder->begins, builder->begin_count, builder->begin_capacity)) {
        return false;
    }
    builder->begins[builder->begin_count++] = *begin;
    return true;
}

bool st_builder_span_end(struct st_builder *builder, const struct st_raw_end *end)
{
    if (end->span <= 0 || end->span > UINT32_MAX) {
        return true;
    }
    if (!RESERVE(builder, builder->ends, builder->end_count, builder->end_capacity)) {
        return false;
    }
    builder->ends[builder->end_count++] = *end;
    return true;
}

bool st_builder_mark(struct st_builder *builder, const struct st_raw_mark *mark)
{
    if (mark->kind == ST_MARK_GRAPH_NODES || mark->kind == ST_MARK_GRAPH_CHILD) {
        return add_graph_event(builder, &(struct st_graph_event){.begin_ns = mark->at_ticks,
                                                                 .end_ns = mark->at_ticks,
                                                                 .a = (uint64_t)mark->a,
                                                                 .b = (uint64_t)mark->b,
                                                                 .does = mark->kind == ST_MARK_GRAPH_NODES
                                                                             ? ST_GRAPH_EVENT_NODES
                                                                             : ST_GRAPH_EVENT_CHILD});
    }
    if (mark->kind == ST_MARK_WINDOW_OPEN || mark->kind == ST_MARK_WINDOW_CLOSE ||
        mark->kind == ST_MARK_PROFILER_START || mark->kind == ST_MARK_PROFILER_STOP) {
        if (!RESERVE(builder, builder->window_marks, builder->window_mark_count, builder->window_mark_capacity)) {
            return false;
        }
        builder->window_marks[builder->window_mark_count++] = *mark;
        return true;
    }
    if (mark->kind != ST_MARK_STEP_END || mark->span <= 0 || mark->span > UINT32_MAX) {
        return true; /* what no analysis uses, or a step of nothing */
    }
    if (!RESERVE(builder, builder->marks, builder->mark_count, builder->mark_capacity)) {
        return false;
    }
    builder->marks[builder->mark_count++] = *mark;
    return true;
}

bool st_builder_host_run(struct st_builder *builder, const struct st_raw_host_run *run)
{
    if (run->duration_ticks < 0) {
        builder->model->traces->faults.invalid_times++;
        return true;
    }
    if (!RESERVE(builder, builder->host_runs, builder->host_run_count, builder->host_run_capacity)) {
        return false;
    }
    builder->host_runs[builder->host_run_count++] =
        (struct st_handed){.function = (uint64_t)run->function,
                           .argument = (uint64_t)run->argument,
                           .begin_ns = run->begin_ticks,
                           .end_ns = sum_limited(run->begin_ticks, run->duration_ticks)};
    return true;
}

bool st_builder_host_name(struct st_builder *builder, int64_t function, const char *text, size_t length)
{
    const char *copy = st_builder_text(builder, text, length);
    if (!copy || builder->host_name_count == MAX_FACTS) {
        return copy != NULL;
    }
    if (!RESERVE(builder, builder->host_names, builder->host_name_count, builder->host_name_capacity)) {
        return false;
    }
    builder->host_names[builder->host_name_count++] = (struct st_host_name){(uint64_t)function, copy};
    return true;
}

bool st_builder_op(struct st_builder *builder, const struct st_raw_op *raw)
{
    builder->model->traces->has_device_time = true;
    if (raw->duration_ns < 0 || raw->device < 0 || raw->device > INT16_MAX) {
        builder->model->traces->faults.invalid_times++;
        return true;
    }
    if (!RESERVE(builder, builder->ops, builder->op_count, builder->op_capacity)) {
        return false;
    }
    struct st_op *op = &builder->ops[builder->op_count++];
    *op = (struct st_op){.start_ns = raw->start_device,
                         .end_ns = sum_limited(raw->start_device, raw->duration_ns),
                         .call = raw->correlation > 0 && raw->correlation < UINT32_MAX ? (uint32_t)raw->correlation : 0,
                         .stream = (uint32_t)raw->stream,
                         .device = (uint16_t)raw->device,
                         .peer_device = -1,
                         .kind = (uint8_t)raw->kind,
                         .in_graph = raw->graph != 0,
                         .target_memory = (uint8_t)raw->target_memory & 15};
    if (raw->kind == ST_OP_KERNEL) {
        op->name = raw->name >= 0 && raw->name < ST_MAX_DENSE_ID ? (uint32_t)raw->name : ST_NONE;
        return true;
    }
    op->bytes = raw->bytes > 0 ? raw->bytes : 0;
    if (raw->kind == ST_OP_COPY) {
        op->direction = (uint8_t)raw->direction & 7;
        op->source_memory = (uint8_t)raw->source_memory & 15;
        if (raw->direction == ST_DIR_P2P && raw->peer_device >= 0 && raw->peer_device <= INT16_MAX &&
            raw->peer_device != raw->device) {
            op->peer_device = (int16_t)raw->peer_device;
        }
    }
    return true;
}

bool st_builder_api(struct st_builder *builder, const struct st_raw_api *raw)
{
    if (raw->correlation <= 0 || raw->correlation >= UINT32_MAX || raw->duration_ns < 0) {
        return true;
    }
    if (!RESERVE(builder, builder->apis, builder->api_count, builder->api_capacity)) {
        return false;
    }
    builder->apis[builder->api_count++] = (struct st_api){.start = raw->start_device,
                                                          .end = sum_limited(raw->start_device, raw->duration_ns),
                                                          .correlation = (uint32_t)raw->correlation,
                                                          .tid = (uint32_t)raw->tid,
                                                          .call_index = ST_NONE,
                                                          .call = raw->call >= 0 && raw->call <= UINT16_MAX
                                                                      ? (int32_t)raw->call
                                                                      : -1};
    return true;
}

bool st_builder_clock(struct st_builder *builder, const struct st_raw_clock *raw)
{
    int64_t at = raw->monotonic_ns - (int64_t)builder->model->traces->header.start_monotonic_ns;
    int64_t width = (int64_t)((double)raw->width_ticks * (builder->host.rate > 0 ? builder->host.rate : 1));
    bool good = st_clock_add(&builder->host, raw->ticks, at, width) &&
                (raw->device_ns == 0 || st_clock_add(&builder->device, raw->device_ns, at, width));
    builder->failed = builder->failed || !good;
    return good;
}

bool st_builder_rule(struct st_builder *builder, const struct st_model_rule *rule)
{
    struct st_model_trace *trace = builder->model->traces;
    for (size_t i = 0; i < trace->rule_count; i++) {
        if (trace->rules[i].rule == rule->rule) { /* written again with the final count */
            trace->rules[i].matched = rule->matched;
            return true;
        }
    }
    if (trace->rule_count == MAX_FACTS) {
        return true;
    }
    if (!RESERVE(builder, trace->rules, trace->rule_count, builder->rule_capacity)) {
        return false;
    }
    trace->rules[trace->rule_count++] = *rule;
    return true;
}

bool st_builder_seen(struct st_builder *builder, const struct st_model_seen *seen)
{
    struct st_model_trace *trace = builder->model->traces;
    for (size_t i = 0; i < trace->seen_count; i++) {
        if (trace->seen[i].source == seen->source && strcmp(trace->seen[i].name, seen->name) == 0) {
            trace->seen[i].count = seen->count; /* written again at the end */
            return true;
        }
    }
    if (trace->seen_count == MAX_FACTS) {
        return true;
    }
    if (!RESERVE(builder, trace->seen, trace->seen_count, builder->seen_capacity)) {
        return false;
    }
    trace->seen[trace->seen_count++] = *seen;
    return true;
}

bool st_builder_capability(struct st_builder *builder, const struct st_model_capability *capability)
{
    struct st_model_trace *trace = builder->model->traces;
    for (size_t i = 0; i < trace->capability_count; i++) {
        if (strcmp(trace->capabilities[i].kind, capability->kind) == 0) {
            trace->capabilities[i] = *capability;
            return true;
        }
    }
    if (trace->capability_count == MAX_FACTS) {
        return true;
    }
    if (!RESERVE(builder, trace->capabilities, trace->capability_count, builder->capability_capacity)) {
        return false;
    }
    trace->capabilities[trace->capability_count++] = *capability;
    return true;
}

bool st_builder_key(struct st_builder *builder, int64_t group, const char *key, const char *value)
{
    struct st_model_trace *trace = builder->model->traces;
    if (!RESERVE(builder, trace->keys, trace->key_count, builder->key_capacity)) {
        return false;
    }
    trace->keys[trace->key_count++] = (struct st_model_key){.group = (uint8_t)group, .key = key, .value = value};
    return true;
}

bool st_builder_counter(struct st_builder *builder, const char *name, int64_t value)
{
    struct st_model_trace *trace = builder->model->traces;
    for (size_t i = 0; i < trace->counter_count; i++) {
        if (strcmp(trace->counters[i].name, name) == 0) { /* running totals: the last one counts */
            trace->counters[i].value = value;
            return true;
        }
    }
    if (trace->counter_count == MAX_FACTS) {
        return true;
    }
    const char *text = st_builder_text(builder, name, strlen(name));
    if (!text || !RESERVE(builder, trace->counters, trace->counter_count, builder->counter_capacity)) {
        return false;
    }
    trace->counters[trace->counter_count++] = (struct st_model_counter){text, value};
    return true;
}

bool st_builder_missed(struct st_builder *builder, const struct st_model_missed *missed)
{
    struct st_model_trace *trace = builder->model->traces;
    if (!RESERVE(builder, trace->missed, trace->missed_count, builder->missed_capacity)) {
        return false;
    }
    trace->missed[trace->missed_count++] = *missed;
    return true;
}

bool st_builder_device(struct st_builder *builder, const struct st_model_device *device)
{
    struct st_model_trace *trace = builder->model->traces;
    for (size_t i = 0; i < trace->device_count; i++) {
        if (trace->devices[i].device == device->device) {
            trace->devices[i].name = device->name;
            trace->devices[i].uuid = device->uuid;
            return true;
        }
    }
    if (trace->device_count == MAX_FACTS) {
        return true;
    }
    if (!RESERVE(builder, trace->devices, trace->device_count, builder->device_capacity)) {
        return false;
    }
    trace->devices[trace->device_count] = *device;
    trace->devices[trace->device_count++].ordinal = device->device;
    return true;
}

void st_builder_lost(struct st_builder *builder, int64_t cause, int64_t count)
{
    if (cause > 0 && cause < ST_LOST_CAUSES && count > 0) {
        int64_t *sum = &builder->model->traces->faults.lost_by_cause[cause];
        *sum = sum_limited(*sum, count);
    }
}

void st_builder_end(struct st_builder *builder, int64_t at_ticks)
{
    builder->end_ticks = at_ticks;
    builder->has_end = true;
}

/* Calls that came before their CALLDEF; what still has none is kept as a call of unknown class. */
static bool add_early_calls(struct st_builder *builder)
{
    const struct st_model *model = builder->model;
    for (size_t i = 0; i < builder->early_count; i++) {
        int64_t call = builder->early[i].call;
        bool known = (size_t)call < model->calldef_count;
        if (!known && !st_builder_calldef(builder, call, 0, 0, 0, "", 0)) {
            return false;
        }
        if (!add_call(builder, &builder->early[i], model->calldefs[call].class)) {
            return false;
        }
    }
    return true;
}

enum st_status st_builder_finish(struct st_builder *builder, const struct st_reader_summary *summary,
                                 const char *file, struct st_model **ret_model)
{
    struct st_model *model = builder->model;
    if (summary) {
        model->traces->summary = *summary;
        model->traces->is_live = summary->live;
    }
    model->traces->file = st_builder_text(builder, file ? file : "", file ? strlen(file) : 0);
    model->traces->process = st_arena_format(model->arena, "%u", model->traces->header.pid);
    bool good = !builder->failed && add_early_calls(builder) && st_link_times(builder) && st_link_threads(builder) &&
                st_link_spans(builder) && st_link_calls(builder) && st_link_graphs(builder) && st_link_ops(builder) && st_link_host_runs(builder) &&
                st_link_requests(builder) && !st_arena_failed(model->arena);
    if (!good) {
        st_builder_destroy(builder);
        return ST_NO_MEMORY;
    }
    free_collected(builder);
    *ret_model = model;
    return ST_OK;
}
