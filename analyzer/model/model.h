/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of one run in memory, as the analyses need them. Glossary:
 *
 *   trace      what one process left behind; all that is numbered by the process (spans, threads, correlation,
 *              handles, its own device ordinals) is linked within it, and means nothing beside another trace
 *   span       one entry of a stage, step, request or load on a thread: begin, end, parent
 *   row        a line of the answer, a full path ("output/d2h"); a span opens an entry of its row
 *   request    what one request span encloses; numbered from 1 in order of begin, in each process
 *   group      whose table something counts in: a request, the time after it, or a part of "outside"
 *   call       a watched call of the CUDA driver or runtime, on the host
 *   operation  what a device did: a kernel, a copy, a memset
 *
 * Belonging (surface §4): an operation, and each call, belongs to the group and row of the innermost span
 * open on its thread when the (launching) call was entered, however late it runs. A thread in no request:
 * if exactly one request of the process is open then, to that one.
 *
 * All instants are int64 ns since the start of the earliest trace. A model of one trace is made by st_builder
 * (build.h), from a file by st_model_load(); st_model_merge() makes one of several. After that it is constant and
 * may be read by several threads. Columns are
 * compact (48 bytes an operation or call) and an analysis takes one request at a time
 * (st_request_view), so that a later model may hold one request at a time.
 */
#ifndef ST_MODEL_MODEL_H
#define ST_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/reader/reader.h"
#include "analyzer/reader/status.h"
#include "preload/trace/format.h"

#define ST_NONE UINT32_MAX /* no index */

/* ---- who and what ---- */

struct st_model_thread {
    uint32_t index; /* THREAD.thread */
    uint32_t trace; /* traces[] */
    int64_t tid;
    const char *name;
    /* calls[driver_first, runtime_first) are this thread's driver calls, calls[runtime_first, call_end) its
     * runtime calls; each part sorted by begin and free of overlap */
    uint32_t driver_first, runtime_first, call_end;
    uint32_t *spans; /* indices into spans[], by begin */
    uint32_t span_count;
    uint32_t foreign_row; /* "unattributed/NAME": its work without a stage in another's request; ST_NONE = none */
};

struct st_model_calldef {
    const char *name;
    uint8_t layer; /* enum st_layer; 0 = the trace does not say what this call is */
    uint8_t class; /* enum st_call_class */
    uint8_t does;  /* enum st_call_does */
    bool blocks;   /* may wait for the device by its contract */
};

/* Row 0 is "unattributed". Parents stand before their children. */
#define ST_ROW_UNATTRIBUTED 0u
struct st_model_row {
    const char *name;
    uint32_t parent; /* row, ST_NONE = top level */
    uint32_t top;    /* its top-level row (itself for one) */
    uint16_t depth;  /* 0 = top level */
    bool is_step;
};

enum st_group { /* fixed groups; then two for each request, see st_group_of_request() */
    ST_GROUP_BEFORE_FIRST = 0,
    ST_GROUP_BETWEEN = 1,
    ST_GROUP_AFTER_LAST = 2,
    ST_GROUP_FIRST_REQUEST = 3,
};

static inline uint32_t st_group_of_request(uint32_t request) /* index from 0 */
{
    return ST_GROUP_FIRST_REQUEST + 2 * request;
}
static inline uint32_t st_group_after_request(uint32_t request)
{
    return st_group_of_request(request) + 1;
}
/* Index of the request whose own group this is, or ST_NONE. */
static inline uint32_t st_request_of_group(uint32_t group)
{
    return group >= ST_GROUP_FIRST_REQUEST && ((group - ST_GROUP_FIRST_REQUEST) & 1) == 0
               ? (group - ST_GROUP_FIRST_REQUEST) / 2
               : ST_NONE;
}

/* ---- what happened ---- */

#define ST_MAX_SPAN_DEPTH 256 /* deeper nesting is cut: bounds every walk outwards */

struct st_span {
    int64_t begin_ns, end_ns;         /* an open span ends where the trace ends */
    int64_t begin_cpu_ns, end_cpu_ns; /* thread CPU clock; 0 = not read */
    int64_t doubt_ns; /* the true edges are at most so much earlier (the larger of the two) */
    uint32_t id, parent;              /* parent: index into spans[], ST_NONE = outermost */
    uint32_t row;                     /* request spans: ST_ROW_UNATTRIBUTED */
    uint32_t group;
    uint32_t thread; /* index into threads[] */
    uint32_t rule;
    uint16_t depth; /* enclosing spans */
    uint8_t role;   /* enum st_span_role */
    bool is_open;   /* no end was recorded */
    bool is_late;   /* the end is later than the true one (abandoned) */
    bool is_inferred; /* an edge was concluded, not seen */
    bool is_following; /* no entry of its own: its thread works for the one that entered the stage */
    bool is_nested; /* inside a span of the same row: no entry of its own */
};

enum st_call_kind { /* what a call counts as; operations only, once each (surface §4 "Counts") */
    ST_COUNTS_NOT = 0,
    ST_COUNTS_LAUNCH,
    ST_COUNTS_GRAPH_LAUNCH,
    ST_COUNTS_COPY,
    ST_COUNTS_MEMSET,
};

/* beside enum st_call_flags */
#define ST_CALL_HOST_NODES 0x20u /* a launch of a graph that runs host functions */
#define ST_CALL_FIRST_USE 0x80u /* the first launch of its function */
#define ST_CALL_WAITED 0x40u    /* a copy from or to pageable memory that returned when the copy was done, or a
                                 * launch that returned when its full queue had room again */

#define ST_GRAPH_UNKNOWN (-1) /* what the graph consists of was not seen, or can not be told beforehand */

struct st_call {
    int64_t begin_ns, end_ns;
    int64_t value;   /* copy, memset, alloc: bytes; sync: thread CPU ns inside; event record, stream wait: the event;
                      * host function: the function; graph launch: kernel nodes that it runs, or ST_GRAPH_UNKNOWN */
    uint64_t handle; /* launch: function; copy, memset, graph launch, event record, stream wait: stream; sync: object */
    uint32_t span;   /* index into spans[], ST_NONE = in none */
    uint32_t group;
    int32_t result;
    uint16_t call; /* calldefs[] */
    uint8_t flags; /* enum st_call_flags, ST_CALL_FIRST_USE, ST_CALL_WAITED, ST_CALL_HOST_NODES */
    uint8_t counts_as : 4; /* enum st_call_kind */
    uint8_t direction : 4; /* enum st_direction */
};

enum st_op_kind { ST_OP_KERNEL = 0, ST_OP_COPY = 1, ST_OP_MEMSET = 2 };

struct st_op {
    int64_t start_ns, end_ns;
    union {
        int64_t bytes; /* copy, memset */
        uint32_t name; /* kernel: index into names[] */
    };
    uint32_t call;       /* the launching call, ST_NONE = not known */
    uint32_t row;        /* a kernel rule wins over the span's row */
    uint32_t group;      /* ST_NONE: whose it is is not known */
    uint32_t stream;     /* the device library's id, unique in its context */
    uint16_t device;     /* st_model_device.device */
    int16_t peer_device; /* peer copy: the target; else -1 */
    uint8_t kind : 2;    /* enum st_op_kind */
    uint8_t direction : 3;
    uint8_t in_graph : 1;
    uint8_t source_memory : 4; /* enum st_memory */
    uint8_t target_memory : 4;
    uint16_t trace; /* traces[] */
};

_Static_assert(sizeof(struct st_call) <= 48, "calls stay compact");
_Static_assert(sizeof(struct st_op) <= 48, "operations stay compact");

struct st_host_run { /* a thread of the driver ran a function of the program */
    int64_t begin_ns, end_ns;
    const char *name; /* symbol, or object + offset */
    uint32_t call;    /* that handed it over, ST_NONE: it is in a graph, or that call was not recorded */
    uint32_t row;     /* of that call; ST_NONE with it */
    uint32_t group;
};

struct st_model_request {
    int64_t id;    /* from 1, in order of begin in its process */
    uint32_t span; /* its outermost span */
    uint32_t thread;
    uint32_t trace; /* traces[] */
    bool is_complete; /* its return and the end of its device work are known */
    uint32_t load_count; /* spans of loads inside */
    int64_t begin_ns, host_end_ns;
    int64_t device_end_ns; /* end of the last operation launched in it; begin_ns if there is none */
    int64_t end_ns;        /* later of the two: the end of the wall */
    int64_t steps;
};

struct st_model_rule {
    uint32_t rule;
    uint8_t source, role; /* enum st_map_source, st_map_role */
    int64_t matched;
    const char *pattern, *name, *line;
};
struct st_model_seen { /* a name that a rule could match */
    uint8_t source; /* enum st_map_source */
    int64_t count;
    const char *name;
};
struct st_model_capability {
    const char *kind, *source, *why;
    uint8_t state; /* enum st_capability_state */
};
struct st_model_key {
    uint8_t group; /* enum st_key_group */
    const char *key, *value;
};
struct st_model_counter {
    const char *name;
    int64_t value;
};
struct st_model_missed {
    const char *symbol, *caller;
    int64_t version, flags;
};
struct st_model_device {
    int64_t device;  /* number in this model: one uuid, one number */
    int64_t ordinal; /* number in its process */
    const char *name, *uuid; /* "" = not recorded */
};

/* What the linking found that the trace could not carry or that did not fit together. */
struct st_model_faults {
    int64_t unmatched_device;  /* operations whose launching call is not known */
    int64_t matched_by_time;   /* … of which thread and time of the launch are known, so that they have a row */
    int64_t spans_without_end; /* not counting those open at the end of the trace */
    int64_t spans_without_begin;
    int64_t launches_without_record; /* that ran, while device time was collected */
    int64_t requests_uncovered;      /* returned, but the trace ends before the records of their last work */
    int64_t invalid_times;     /* records dropped: end before begin */
    int64_t lost_by_cause[ST_LOST_CAUSES]; /* LOST rows */
};

/* One process of the run. */
struct st_model_trace {
    const char *file;
    const char *process; /* "4711"; a further image or process of that id "4711.2" */
    struct st_trace_header header;
    struct st_reader_summary summary;
    int64_t end_ns; /* last instant seen */
    bool is_live;
    int64_t clock_residual_ns;
    bool clock_residual_known;
    bool has_device_time; /* it holds device records, or says that it would, and nothing shows that it does not */
    bool lacks_records;   /* it says that it would, work was launched, and it ends without a single one */
    int64_t device_known_until_ns; /* entry of the last call whose operation has a record; INT64_MIN: there is none */
    uint32_t call_first, call_end; /* its part of calls[] … */
    uint32_t span_first, span_end; /* … and of spans[] */
    size_t op_count;

    struct st_model_rule *rules;
    size_t rule_count;
    struct st_model_capability *capabilities;
    size_t capability_count;
    struct st_model_seen *seen;
    size_t seen_count;
    struct st_model_key *keys;
    size_t key_count;
    struct st_model_counter *counters;
    size_t counter_count;
    struct st_model_missed *missed;
    size_t missed_count;
    struct st_model_device *devices;
    size_t device_count;
    struct st_model_faults faults;
};

#define ST_MAX_TRACES UINT16_MAX

struct st_model {
    struct st_model_trace *traces; /* at least one; by start */
    size_t trace_count;

    struct st_model_thread *threads; /* by trace */
    size_t thread_count;
    struct st_model_calldef *calldefs; /* of one trace: by CALLDEF.call */
    size_t calldef_count;
    const char **names; /* kernel names */
    size_t name_count;
    struct st_model_row *rows;
    size_t row_count;

    struct st_span *spans; /* by trace, begin */
    size_t span_count;
    struct st_call *calls; /* by thread, layer, begin */
    size_t call_count;
    struct st_op *ops; /* by start */
    size_t op_count;
    int64_t longest_op_ns;
    struct st_host_run *host_runs; /* by begin */
    size_t host_run_count;

    struct st_model_request *requests; /* by begin */
    size_t request_count;
    uint32_t *ops_by_group; /* indices into ops[], each group's by start */
    uint32_t *op_first;     /* group -> first index in ops_by_group; group_count + 1 entries */
    uint32_t *calls_by_group;
    uint32_t *call_first;
    uint32_t *spans_by_group;
    uint32_t *span_first;
    size_t group_count;

    struct st_arena *arena;
};

/* Read the trace at `path` (see st_reader_find) into a new model. Damage and loss are counted in it, not
 * failures. Fails with what the reader fails with. */
enum st_status st_model_load(const char *path, struct st_model **ret_model, struct st_err *err);
void st_model_destroy(struct st_model *model); /* NULL is fine */

/*
 * Put `count` models of one trace each, of one run and one machine, on one time line; see merge.c. They are gone
 * afterwards, also on failure: ST_NO_MEMORY, or ST_USAGE for more than one model can hold.
 */
enum st_status st_model_merge(struct st_model **models, size_t count, struct st_model **ret_model,
                              struct st_err *err);

/* Texts and figures that were recorded; NULL / false when they were not. Borrowed from the model. */
const char *st_model_key(const struct st_model_trace *trace, enum st_key_group group, const char *key);
bool st_model_counter(const struct st_model_trace *trace, const char *name, int64_t *ret_value);
const struct st_model_capability *st_model_capability(const struct st_model_trace *trace, const char *kind);
/* Does any of the traces tell when devices worked? */
bool st_model_has_device_time(const struct st_model *model);

/* Index into spans[] of the innermost span open on threads[thread] at `at_ns`, or ST_NONE. */
uint32_t st_model_span_at(const struct st_model *model, uint32_t thread, int64_t at_ns);
/* The row of a span index (ST_NONE: ST_ROW_UNATTRIBUTED). */
uint32_t st_model_row_of_span(const struct st_model *model, uint32_t span);
/* Index into threads[] of a call. */
uint32_t st_model_thread_of_call(const struct st_model *model, uint32_t call);
/* The runtime call that an inner driver call lies in, or ST_NONE. */
uint32_t st_model_outer_call(const struct st_model *model, uint32_t call);
/* Did the call wait for a device: by its contract, or as the device's record of it shows? */
static inline bool st_model_call_waits(const struct st_model *model, const struct st_call *call)
{
    const struct st_model_calldef *def = &model->calldefs[call->call];
    return def->blocks || def->class == ST_CLASS_SYNC || (call->flags & ST_CALL_WAITED);
}
/* The row a call counts in: its span's; a thread without a stage inside a request: "unattributed/THREAD". */
uint32_t st_model_row_of_call(const struct st_model *model, uint32_t call);

#endif
