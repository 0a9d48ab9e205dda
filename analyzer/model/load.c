/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a trace into a model. A column that a trace does not have reads as 0 or "", so that older and
 * newer traces go through the same lines. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "build.h"

struct loader {
    struct st_builder *builder;
    const struct st_chunk_head *head;
    const struct st_table *table;
    uint32_t row;
};

static int64_t get(const struct loader *at, unsigned column)
{
    return at->table->ints[column] ? at->table->ints[column][at->row] : 0;
}

static struct st_text get_text(const struct loader *at, unsigned column)
{
    return at->table->texts[column] ? at->table->texts[column][at->row] : (struct st_text){"", 0};
}

static const char *copy_text(const struct loader *at, unsigned column)
{
    struct st_text text = get_text(at, column);
    return st_builder_text(at->builder, text.bytes, text.length);
}

static bool load_call(struct loader *at)
{
    const int64_t *const *ints = at->table->ints;
    struct st_raw_call call = {.thread = at->head->thread};
    int64_t *const fields[] = {&call.call, &call.begin_ticks, &call.duration_ticks, &call.span, &call.result,
                               &call.flags, &call.a, &call.b, &call.c, &call.d};
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        *fields[i] = ints[i] ? ints[i][at->row] : 0;
    }
    return st_builder_call(at->builder, &call);
}
_Static_assert(ST_CALL_C_call == 0 && ST_CALL_C_begin_ticks == 1 && ST_CALL_C_span == 3 && ST_CALL_C_a == 6 &&
                   ST_CALL_C_d == 9,
               "load_call() lists the columns in order");

static bool load_span_begin(struct loader *at)
{
    return st_builder_span_begin(at->builder, &(struct st_raw_begin){.thread = at->head->thread,
                                                                     .role = get(at, ST_SPAN_BEGIN_C_role),
                                                                     .at_ticks = get(at, ST_SPAN_BEGIN_C_at_ticks),
                                                                     .span = get(at, ST_SPAN_BEGIN_C_span),
                                                                     .parent = get(at, ST_SPAN_BEGIN_C_parent),
                                                                     .name = get(at, ST_SPAN_BEGIN_C_name),
                                                                     .request = get(at, ST_SPAN_BEGIN_C_request),
                                                                     .rule = get(at, ST_SPAN_BEGIN_C_rule),
                                                                     .cpu_ns = get(at, ST_SPAN_BEGIN_C_cpu_ns),
                                                                     .late_ticks = get(at, ST_SPAN_BEGIN_C_late_ticks),
                                                                     .inferred = get(at, ST_SPAN_BEGIN_C_inferred)});
}

static bool load_span_end(struct loader *at)
{
    return st_builder_span_end(at->builder, &(struct st_raw_end){.how = get(at, ST_SPAN_END_C_how),
                                                                 .at_ticks = get(at, ST_SPAN_END_C_at_ticks),
                                                                 .span = get(at, ST_SPAN_END_C_span),
                                                                 .cpu_ns = get(at, ST_SPAN_END_C_cpu_ns),
                                                                 .late_ticks = get(at, ST_SPAN_END_C_late_ticks),
                                                                 .inferred = get(at, ST_SPAN_END_C_inferred)});
}

static bool load_mark(struct loader *at)
{
    return st_builder_mark(at->builder, &(struct st_raw_mark){.kind = get(at, ST_MARK_C_kind),
                                                              .at_ticks = get(at, ST_MARK_C_at_ticks),
                                                              .span = get(at, ST_MARK_C_span),
                                                              .a = get(at, ST_MARK_C_a),
                                                              .b = get(at, ST_MARK_C_b)});
}

static bool load_name(struct loader *at)
{
    struct st_text text = get_text(at, ST_NAME_C_text);
    int64_t key = get(at, ST_NAME_C_key);
    switch (get(at, ST_NAME_C_kind)) {
    case ST_NAME_ROW:
        return st_builder_row_name(at->builder, key, text.bytes, text.length);
    case ST_NAME_HOST_FUNCTION:
        return st_builder_host_name(at->builder, key, text.bytes, text.length);
    default:
        return true;
    }
}

static bool load_host_run(struct loader *at)
{
    return st_builder_host_run(at->builder,
                               &(struct st_raw_host_run){.function = get(at, ST_HOST_RUN_C_function),
                                                         .begin_ticks = get(at, ST_HOST_RUN_C_begin_ticks),
                                                         .duration_ticks = get(at, ST_HOST_RUN_C_duration_ticks),
                                                         .argument = get(at, ST_HOST_RUN_C_argument)});
}

static bool load_kernel(struct loader *at)
{
    return st_builder_op(at->builder, &(struct st_raw_op){.kind = ST_OP_KERNEL,
                                                          .stream = get(at, ST_KERNEL_C_stream),
                                                          .start_device = get(at, ST_KERNEL_C_start_device),
                                                          .duration_ns = get(at, ST_KERNEL_C_duration_ns),
                                                          .correlation = get(at, ST_KERNEL_C_correlation),
                                                          .device = get(at, ST_KERNEL_C_device),
                                                          .graph = get(at, ST_KERNEL_C_graph),
                                                          .name = get(at, ST_KERNEL_C_name)});
}

static bool load_copy(struct loader *at)
{
    return st_builder_op(at->builder, &(struct st_raw_op){.kind = ST_OP_COPY,
                                                          .stream = get(at, ST_COPY_C_stream),
                                                          .start_device = get(at, ST_COPY_C_start_device),
                                                          .duration_ns = get(at, ST_COPY_C_duration_ns),
                                                          .correlation = get(at, ST_COPY_C_correlation),
                                                          .device = get(at, ST_COPY_C_device),
                                                          .graph = get(at, ST_COPY_C_graph),
                                                          .bytes = get(at, ST_COPY_C_bytes),
                                                          .direction = get(at, ST_COPY_C_direction),
                                                          .source_memory = get(at, ST_COPY_C_source_memory),
                                                          .target_memory = get(at, ST_COPY_C_target_memory),
                                                          .peer_device = get(at, ST_COPY_C_peer_device)});
}

static bool load_memset(struct loader *at)
{
    return st_builder_op(at->builder, &(struct st_raw_op){.kind = ST_OP_MEMSET,
                                                          .stream = get(at, ST_MEMSET_C_stream),
                                                          .start_device = get(at, ST_MEMSET_C_start_device),
                                                          .duration_ns = get(at, ST_MEMSET_C_duration_ns),
                                                          .correlation = get(at, ST_MEMSET_C_correlation),
                                                          .device = get(at, ST_MEMSET_C_device),
                                                          .graph = get(at, ST_MEMSET_C_graph),
                                                          .bytes = get(at, ST_MEMSET_C_bytes),
                                                          .target_memory = get(at, ST_MEMSET_C_memory),
                                                          .peer_device = -1});
}

static bool load_api(struct loader *at)
{
    return st_builder_api(at->builder, &(struct st_raw_api){.tid = get(at, ST_DRIVER_API_C_thread),
                                                            .start_device = get(at, ST_DRIVER_API_C_start_device),
                                                            .duration_ns = get(at, ST_DRIVER_API_C_duration_ns),
                                                            .correlation = get(at, ST_DRIVER_API_C_correlation),
                                                            .call = get(at, ST_DRIVER_API_C_call),
                                                            .result = get(at, ST_DRIVER_API_C_result)});
}

static bool load_device(struct loader *at)
{
    struct st_model_device device = {.device = get(at, ST_DEVICE_C_device),
                                     .name = copy_text(at, ST_DEVICE_C_name),
                                     .uuid = copy_text(at, ST_DEVICE_C_uuid)};
    return device.name && device.uuid && st_builder_device(at->builder, &device);
}

static bool load_string(struct loader *at)
{
    struct st_text text = get_text(at, ST_STRING_C_text);
    return st_builder_string(at->builder, get(at, ST_STRING_C_string), text.bytes, text.length);
}

static bool load_thread(struct loader *at)
{
    struct st_text name = get_text(at, ST_THREAD_C_name);
    return st_builder_thread(at->builder, get(at, ST_THREAD_C_thread), get(at, ST_THREAD_C_tid), name.bytes,
                             name.length);
}

static bool load_calldef(struct loader *at)
{
    struct st_text name = get_text(at, ST_CALLDEF_C_name);
    int64_t call = get(at, ST_CALLDEF_C_call);
    bool good = st_builder_calldef(at->builder, call, get(at, ST_CALLDEF_C_layer), get(at, ST_CALLDEF_C_class),
                                   get(at, ST_CALLDEF_C_blocks), name.bytes, name.length);
    st_builder_call_does(at->builder, call, get(at, ST_CALLDEF_C_does));
    return good;
}

static bool load_clock(struct loader *at)
{
    return st_builder_clock(at->builder, &(struct st_raw_clock){.ticks = get(at, ST_CLOCK_C_ticks),
                                                                .monotonic_ns = get(at, ST_CLOCK_C_monotonic_ns),
                                                                .device_ns = get(at, ST_CLOCK_C_device_ns),
                                                                .width_ticks = get(at, ST_CLOCK_C_width_ticks)});
}

static bool load_key(struct loader *at)
{
    const char *key = copy_text(at, ST_KEY_C_key), *value = copy_text(at, ST_KEY_C_value);
    return key && value && st_builder_key(at->builder, get(at, ST_KEY_C_group), key, value);
}

static bool load_counter(struct loader *at)
{
    struct st_text text = get_text(at, ST_COUNTER_C_name);
    char name[128];
    size_t length = text.length < sizeof(name) ? text.length : sizeof(name) - 1;
    memcpy(name, text.bytes, length);
    name[length] = 0;
    return st_builder_counter(at->builder, name, get(at, ST_COUNTER_C_value));
}

static bool load_missed(struct loader *at)
{
    struct st_model_missed missed = {.version = get(at, ST_NOT_INTERCEPTED_C_version),
                                     .flags = get(at, ST_NOT_INTERCEPTED_C_flags),
                                     .symbol = copy_text(at, ST_NOT_INTERCEPTED_C_symbol),
                                     .caller = copy_text(at, ST_NOT_INTERCEPTED_C_caller)};
    return missed.symbol && missed.caller && st_builder_missed(at->builder, &missed);
}

static bool load_rule(struct loader *at)
{
    struct st_model_rule rule = {.rule = (uint32_t)get(at, ST_RULE_C_rule),
                                 .source = (uint8_t)get(at, ST_RULE_C_source),
                                 .role = (uint8_t)get(at, ST_RULE_C_role),
                                 .matched = get(at, ST_RULE_C_matched),
                                 .pattern = copy_text(at, ST_RULE_C_pattern),
                                 .name = copy_text(at, ST_RULE_C_name),
                                 .line = copy_text(at, ST_RULE_C_line)};
    return rule.pattern && rule.name && rule.line && st_builder_rule(at->builder, &rule);
}

static bool load_seen(struct loader *at)
{
    struct st_model_seen seen = {.source = (uint8_t)get(at, ST_SEEN_C_source),
                                 .count = get(at, ST_SEEN_C_count),
                                 .name = copy_text(at, ST_SEEN_C_name)};
    return seen.name && st_builder_seen(at->builder, &seen);
}

static bool load_capability(struct loader *at)
{
    struct st_model_capability capability = {.state = (uint8_t)get(at, ST_CAPABILITY_C_state),
                                             .kind = copy_text(at, ST_CAPABILITY_C_kind),
                                             .source = copy_text(at, ST_CAPABILITY_C_source),
                                             .why = copy_text(at, ST_CAPABILITY_C_why)};
    return capability.kind && capability.source && capability.why &&
           st_builder_capability(at->builder, &capability);
}

static bool load_lost(struct loader *at)
{
    st_builder_lost(at->builder, get(at, ST_LOST_C_cause), get(at, ST_LOST_C_count));
    return true;
}

static bool load_end(struct loader *at)
{
    st_builder_end(at->builder, get(at, ST_END_C_at_ticks));
    return true;
}

static bool (*const loaders[])(struct loader *) = {
    [ST_T_CALL] = load_call,     [ST_T_SPAN_BEGIN] = load_span_begin,
    [ST_T_SPAN_END] = load_span_end, [ST_T_NAME] = load_name,
    [ST_T_MARK] = load_mark,     [ST_T_HOST_RUN] = load_host_run,
    [ST_T_KERNEL] = load_kernel, [ST_T_COPY] = load_copy,
    [ST_T_MEMSET] = load_memset, [ST_T_DRIVER_API] = load_api,
    [ST_T_DEVICE] = load_device, [ST_T_STRING] = load_string,
    [ST_T_THREAD] = load_thread, [ST_T_CALLDEF] = load_calldef,
    [ST_T_CLOCK] = load_clock,   [ST_T_KEY] = load_key,
    [ST_T_COUNTER] = load_counter, [ST_T_NOT_INTERCEPTED] = load_missed,
    [ST_T_RULE] = load_rule,     [ST_T_CAPABILITY] = load_capability,
    [ST_T_LOST] = load_lost,     [ST_T_END] = load_end,
    [ST_T_SEEN] = load_seen,
};

static enum st_status load_table(void *context, const struct st_chunk_head *head, const struct st_table *table)
{
    struct loader loader = {.builder = context, .head = head, .table = table};
    if (table->id >= sizeof(loaders) / sizeof(loaders[0]) || !loaders[table->id] || !table->def) {
        return ST_OK; /* of a later version, or one that no analysis uses */
    }
    for (loader.row = 0; loader.row < table->rows; loader.row++) {
        if (!loaders[table->id](&loader)) {
            return ST_NO_MEMORY;
        }
    }
    return ST_OK;
}

enum st_status st_model_load(const char *path, struct st_model **ret_model, struct st_err *err)
{
    struct st_reader *reader;
    enum st_status status = st_reader_open(path, &reader, err);
    if (status != ST_OK) {
        return status;
    }
    struct st_builder *builder = st_builder_create(st_reader_header(reader));
    status = builder ? st_reader_run(reader, load_table, builder, err)
                     : st_fail(err, ST_NO_MEMORY, path, -1, NULL, "out of memory");
    if (status == ST_OK) {
        status = st_builder_finish(builder, st_reader_summary(reader), path, ret_model);
        builder = NULL;
        if (status != ST_OK) {
            st_fail(err, status, path, -1, NULL, "out of memory");
        }
    }
    st_builder_destroy(builder);
    st_reader_close(reader);
    return status;
}
