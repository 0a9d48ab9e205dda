/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the model's building: what build.c collects and link_*.c turn into the model. One thread. */
#ifndef ST_MODEL_LINK_H
#define ST_MODEL_LINK_H

#include "arena.h"
#include "build.h"
#include "clock.h"
#include "rows.h"

#define ST_MAX_DENSE_ID (1u << 22) /* string, row-name and thread ids above are not believed */

struct st_api { /* DRIVER_API */
    int64_t start, end; /* device clock, then ns */
    uint32_t correlation;
    uint32_t tid;
    uint32_t call_index; /* of calls[], found when asked; ST_NONE */
    int32_t call;        /* calldefs[], -1 = none of ours */
};
struct st_instant { /* requests open from here to the next instant */
    int64_t at_ns;
    uint32_t open;
    uint32_t sum; /* of their indices: the index itself where open == 1 */
};
struct st_span_raw {
    uint32_t request, name, parent_id; /* beside spans[], by the same index */
};

struct st_graph_event { /* what changed a graph: a call, or a mark of a capture */
    int64_t begin_ns, end_ns; /* ticks, then ns */
    uint64_t a, b, c, d;      /* as in CALL or MARK */
    uint64_t order;           /* in which they were met */
    uint8_t does;             /* enum st_call_does, or … */
};
enum { ST_GRAPH_EVENT_NODES = 128 /* ST_MARK_GRAPH_NODES */, ST_GRAPH_EVENT_CHILD = 129 /* ST_MARK_GRAPH_CHILD */ };

struct st_handed { /* a host function was handed over, or ran */
    uint64_t function, argument;
    int64_t begin_ns, end_ns; /* ticks, then ns */
    uint32_t thread;          /* of the call: THREAD.thread */
    bool is_runtime;          /* … and its layer */
};
struct st_host_name {
    uint64_t function;
    const char *text;
};

struct st_iteration { /* a step that a mark closed, see link_steps.c */
    int64_t begin_ns, end_ns;
    int64_t late_ns;  /* the true end is at most so much earlier … */
    bool is_inferred; /* … as it was concluded, not seen */
    uint32_t parent, span;       /* indices into spans[] once linked */
    uint32_t parent_id, span_id;
};

struct st_builder {
    struct st_model *model;
    bool failed; /* out of memory */
    struct st_clock host, device;

    size_t thread_capacity, calldef_capacity, name_capacity, rule_capacity, capability_capacity, seen_capacity,
        key_capacity, counter_capacity, missed_capacity, device_capacity;
    struct st_call *calls; /* ticks in begin_ns, end_ns; thread in `group`; span id in `span` */
    size_t call_count, call_capacity;
    struct st_raw_call *early; /* calls that came before their CALLDEF */
    size_t early_count, early_capacity;
    struct st_raw_begin *begins;
    size_t begin_count, begin_capacity;
    struct st_raw_end *ends;
    size_t end_count, end_capacity;
    struct st_raw_mark *marks; /* step-end only */
    size_t mark_count, mark_capacity;
    struct st_graph_event *graph_events;
    size_t graph_event_count, graph_event_capacity;
    struct st_handed *handed, *host_runs; /* calls; executions */
    size_t handed_count, handed_capacity, host_run_count, host_run_capacity;
    struct st_host_name *host_names;
    size_t host_name_count, host_name_capacity;
    struct st_op *ops; /* device clock; correlation in `call` */
    size_t op_count, op_capacity;
    struct st_api *apis;
    size_t api_count, api_capacity;
    int64_t end_ticks; /* END */
    bool has_end, has_start; /* has_start: the header's readings count as one more CLOCK row */
    const char **row_names; /* by NAME.key */
    size_t row_name_count;

    /* while linking */
    struct st_rows_table rows;
    uint32_t *thread_of_index; /* THREAD.thread -> threads[] */
    size_t thread_of_index_count;
    struct st_iteration *iterations; /* by parent, begin */
    size_t iteration_count;
    uint32_t *spans_by_id; /* indices into spans[], by id */
    struct st_span_raw *span_raw;
    struct st_instant *instants;
    size_t instant_count;
    int64_t last_request_end_ns;
    uint32_t *request_by_number; /* SPAN_BEGIN.request -> requests[] */
    size_t request_number_count;
};

/* Steps of st_builder_finish(), in this order; false: out of memory. */
bool st_link_times(struct st_builder *builder);    /* clocks; every time is ns afterwards */
bool st_link_threads(struct st_builder *builder);
bool st_link_spans(struct st_builder *builder);    /* spans, rows, requests, groups of spans */
bool st_link_calls(struct st_builder *builder);    /* order, span, group, what they count as */
bool st_link_graphs(struct st_builder *builder);   /* what graph launches run (graphs.c) */
bool st_link_host_runs(struct st_builder *builder); /* whose call, row, group */
bool st_link_ops(struct st_builder *builder);      /* launch, row, group; kernel rules */
bool st_link_requests(struct st_builder *builder); /* ends, steps; lists by group */

/* The lists by group of a model that has all else. False: out of memory. */
bool st_link_lists(struct st_model *model);

/* Threads by Linux id; an id that was used again has several. */
struct st_tids {
    struct st_tid {
        uint32_t tid, thread;
    } *entries;
    size_t count;
};
/* The caller frees entries. False: out of memory. */
bool st_link_list_tids(const struct st_model *model, struct st_tids *ret_tids);
/* Place of the first entry of `tid`, or of the next greater one. */
size_t st_link_first_of_tid(const struct st_tids *tids, uint32_t tid);

/* DRIVER_API records to their calls, where the order tells; sorts builder->apis. */
void st_link_pairs(struct st_builder *builder, const struct st_tids *tids, int64_t tolerance_ns);

/* ST_CALL_WAITED for launches that a full queue held up. False: out of memory. */
bool st_link_waiting_launches(struct st_model *model);
/* ST_CALL_WAITED for a call and the runtime call around it. */
void st_link_mark_waited(struct st_model *model, uint32_t call);

/* Steps that `NAME step-end` marks close: as more begins and ends, which make the spans anew when *ret_any. */
bool st_link_add_iterations(struct st_builder *builder, bool *ret_any);
void st_link_place_iterations(struct st_builder *builder); /* once the spans are made with them */
/* The iteration of spans[span] that holds `at_ns`, or `span` itself. */
uint32_t st_link_iteration_at(const struct st_builder *builder, uint32_t span, int64_t at_ns);

/* Index into threads[] of THREAD.thread `index`, or ST_NONE. */
uint32_t st_link_thread(const struct st_builder *builder, int64_t index);
/* THREAD.thread `index` is threads[thread]; false: out of memory. */
bool st_link_note_thread(struct st_builder *builder, uint32_t index, uint32_t thread);
/* Index into spans[] of span `id`, or ST_NONE. */
uint32_t st_link_span(const struct st_builder *builder, uint32_t id);
/* The group that something entered at `at_ns` inside spans[span] (ST_NONE: in none) belongs to. */
uint32_t st_link_group(const struct st_builder *builder, uint32_t span, int64_t at_ns);
/* The only request open at `at_ns`, or ST_NONE. */
uint32_t st_link_only_request(const struct st_builder *builder, int64_t at_ns);
/* The row of something on threads[thread] in spans[span] that belongs to `group`. */
uint32_t st_link_row(struct st_builder *builder, uint32_t thread, uint32_t span, uint32_t group);

#endif
