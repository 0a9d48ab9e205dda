/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a model: rows as the trace has them go in one by one in any order, st_builder_finish() links them
 * (clock, spans, requests, launch → operation). st_model_load() feeds it from a file, unit tests by hand.
 * Times go in as in the trace: ticks for host rows, the device library's ns for device rows; without
 * CLOCK rows both count as nanoseconds of the trace. One thread.
 */
#ifndef ST_MODEL_BUILD_H
#define ST_MODEL_BUILD_H

#include "model.h"

struct st_builder;

/* `header` gives start and tick rate (NULL: starts at 0, ticks are ns). NULL: out of memory. */
struct st_builder *st_builder_create(const struct st_trace_header *header);
void st_builder_destroy(struct st_builder *builder); /* only when not finished; NULL is fine */

struct st_raw_call { /* CALL */
    uint32_t thread;
    int64_t call, begin_ticks, duration_ticks, span, result, flags, a, b, c, d;
};
struct st_raw_begin { /* SPAN_BEGIN */
    uint32_t thread;
    int64_t role, at_ticks, span, parent, name, request, rule, cpu_ns, late_ticks, inferred;
};
struct st_raw_end { /* SPAN_END */
    int64_t how, at_ticks, span, cpu_ns, late_ticks, inferred;
};
struct st_raw_mark { /* MARK */
    int64_t kind, at_ticks, span, a, b; /* step end: b > 0 was concluded, b - 1 = how late at most */
};
struct st_raw_host_run { /* HOST_RUN */
    int64_t function, begin_ticks, duration_ticks, argument;
};
struct st_raw_op { /* KERNEL, COPY, MEMSET */
    enum st_op_kind kind;
    int64_t stream, start_device, duration_ns, correlation, device, graph;
    int64_t name;                                                      /* kernel: STRING.string */
    int64_t bytes, direction, source_memory, target_memory, peer_device; /* copy; memset: bytes, target_memory */
};
struct st_raw_api { /* DRIVER_API */
    int64_t tid, start_device, duration_ns, correlation, call, result;
};
struct st_raw_clock { /* CLOCK */
    int64_t ticks, monotonic_ns, device_ns, width_ticks;
};

/* Each returns false when out of memory (then finish fails too). Texts are copied. */
bool st_builder_thread(struct st_builder *builder, int64_t index, int64_t tid, const char *name, size_t length);
bool st_builder_calldef(struct st_builder *builder, int64_t call, int64_t layer, int64_t class, int64_t blocks,
                        const char *name, size_t length);
/* CALLDEF.does of a call that has its row. */
void st_builder_call_does(struct st_builder *builder, int64_t call, int64_t does);
bool st_builder_string(struct st_builder *builder, int64_t id, const char *text, size_t length);
bool st_builder_row_name(struct st_builder *builder, int64_t key, const char *text, size_t length);
bool st_builder_call(struct st_builder *builder, const struct st_raw_call *call);
bool st_builder_span_begin(struct st_builder *builder, const struct st_raw_begin *begin);
bool st_builder_span_end(struct st_builder *builder, const struct st_raw_end *end);
bool st_builder_mark(struct st_builder *builder, const struct st_raw_mark *mark);
bool st_builder_host_run(struct st_builder *builder, const struct st_raw_host_run *run);
bool st_builder_host_name(struct st_builder *builder, int64_t function, const char *text, size_t length);
bool st_builder_op(struct st_builder *builder, const struct st_raw_op *op);
bool st_builder_api(struct st_builder *builder, const struct st_raw_api *api);
bool st_builder_clock(struct st_builder *builder, const struct st_raw_clock *clock);
bool st_builder_rule(struct st_builder *builder, const struct st_model_rule *rule);
bool st_builder_seen(struct st_builder *builder, const struct st_model_seen *seen);
bool st_builder_capability(struct st_builder *builder, const struct st_model_capability *capability);
bool st_builder_key(struct st_builder *builder, int64_t group, const char *key, const char *value);
bool st_builder_counter(struct st_builder *builder, const char *name, int64_t value);
bool st_builder_missed(struct st_builder *builder, const struct st_model_missed *missed);
bool st_builder_device(struct st_builder *builder, const struct st_model_device *device);
void st_builder_lost(struct st_builder *builder, int64_t cause, int64_t count);
void st_builder_end(struct st_builder *builder, int64_t at_ticks); /* the trace reaches at least to here */

/* A copy of the text that lives as long as the model; NULL: out of memory. */
const char *st_builder_text(struct st_builder *builder, const char *text, size_t length);

/* Link everything. `builder` is gone afterwards, also on failure (ST_NO_MEMORY). */
enum st_status st_builder_finish(struct st_builder *builder, const struct st_reader_summary *summary,
                                 const char *file, struct st_model **ret_model);

#endif
