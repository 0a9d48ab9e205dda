/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a device ran nothing. "The host" is the thread that enqueued the operation that ends the gap.
 *
 *   device    [a      ]#############################[b   ]
 *   host         (sync········)own code(alloc)own code(launch b)
 *   parts              |after_sync    |alloc  |after_ |  |launch_floor, if it is short
 *                      |              |_free  |sync   |  |
 *
 *   device    [a      ]#####[b   ]               b was enqueued in time: a dependency, the launch floor,
 *   host   (launch a)(launch b)                  or unknown
 *
 * Nothing is guessed: what the calls do not show is `unknown`. Where a request goes on at the edge of a window, nobody
 * knows what the device did: up to the window's first operation, and behind its last, time is excluded.
 */
#include <stdlib.h>

#include "analyzer/model/arena.h"
#include "gaps.h"

enum {
    LAUNCH_FLOOR_NS = 10000, /* surface §4 */
    UNSEEN_WAIT_NS = 50000,
    SLOW_LAUNCH_NS = 100000,
    WAKE_UP_NS = 2000, /* a wait may seem to end this much before the work it waited for: clock residual */
    MAX_PARTS = 256,
};

static const char *const names[ST_CAUSES] = {
    [ST_CAUSE_UNKNOWN] = "unknown",
    [ST_CAUSE_BEFORE_FIRST] = "before_first",
    [ST_CAUSE_AFTER_LAST] = "after_last",
    [ST_CAUSE_AFTER_SYNC] = "host_late.after_sync",
    [ST_CAUSE_AFTER_COPY] = "host_late.after_copy",
    [ST_CAUSE_OWN_CODE] = "host_late.own_code",
    [ST_CAUSE_ALLOC_FREE] = "host_late.alloc_free",
    [ST_CAUSE_MODULE_LOAD] = "host_late.module_load",
    [ST_CAUSE_GRAPH_INSTANTIATE] = "host_late.graph_instantiate",
    [ST_CAUSE_OTHER_CALL] = "host_late.other_call",
    [ST_CAUSE_EVENT_WAIT] = "dependency.event_wait",
    [ST_CAUSE_HOST_FUNCTION] = "dependency.host_function",
    [ST_CAUSE_PAGEABLE_STAGING] = "dependency.pageable_staging",
    [ST_CAUSE_LAUNCH_FLOOR] = "launch_floor",
    [ST_CAUSE_UNSEEN_WORK] = "unseen_work",
    [ST_CAUSE_WINDOW_EDGE] = "excluded.window_edge",
};

const char *st_cause_name(enum st_cause cause)
{
    return names[cause];
}

/* A gap being cut into parts, from left to right. */
struct cutter {
    const struct st_request_view *view;
    struct st_gap *gap;
    struct st_report_cause parts[MAX_PARTS];
    enum st_cause causes[MAX_PARTS];
    size_t count;
    int64_t at_ns; /* everything before is cut */
};

static void cut_to(struct cutter *cutter, int64_t to_ns, enum st_cause cause)
{
    int64_t end = to_ns < cutter->gap->end_ns ? to_ns : cutter->gap->end_ns;
    int64_t length = end - cutter->at_ns;
    if (length <= 0) {
        return;
    }
    bool same = cutter->count > 0 && cutter->causes[cutter->count - 1] == cause;
    if (!same && cutter->count == MAX_PARTS) { /* the sums by cause stay right, the list ends in one last part */
        cause = cutter->causes[MAX_PARTS - 1];
        same = true;
    }
    if (!same) {
        cutter->causes[cutter->count] = cause;
        cutter->parts[cutter->count++] = (struct st_report_cause){st_cause_name(cause), 0};
    }
    cutter->parts[cutter->count - 1].duration_ns += length;
    cutter->gap->by_cause[cause] += length;
    cutter->at_ns = end;
}

static bool finish(struct cutter *cutter, struct st_arena *arena)
{
    struct st_gap *gap = cutter->gap;
    int64_t longest = -1;
    gap->parts = st_arena_array(arena, cutter->count, sizeof(*gap->parts));
    if (!gap->parts) {
        return false;
    }
    for (size_t i = 0; i < cutter->count; i++) {
        gap->parts[i] = cutter->parts[i];
    }
    gap->part_count = cutter->count;
    for (int cause = 0; cause < ST_CAUSES; cause++) {
        if (gap->by_cause[cause] > longest) {
            longest = gap->by_cause[cause];
            gap->cause = (enum st_cause)cause;
        }
    }
    return true;
}

static const struct st_model_calldef *def_of(const struct st_model *model, uint32_t call)
{
    return &model->calldefs[model->calls[call].call];
}

static bool is_wait(const struct st_model *model, uint32_t call)
{
    uint8_t class = def_of(model, call)->class;
    return st_model_call_waits(model, &model->calls[call]) &&
           (class == ST_CLASS_SYNC || class == ST_CLASS_COPY || class == ST_CLASS_MEMSET || class == ST_CLASS_FREE);
}

/* The first call of a sorted range that ends after `at_ns`. */
static uint32_t first_ending_after(const struct st_model *model, uint32_t first, uint32_t end, int64_t at_ns)
{
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (model->calls[middle].end_ns <= at_ns) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* The call of the range that waited for the device, was entered before the gap and left in it (or, by the
 * clocks' error, a little before it): the one that drained the queue. ST_NONE: none. */
static uint32_t draining_wait(const struct st_model *model, uint32_t first, uint32_t end, const struct st_gap *gap)
{
    uint32_t found = ST_NONE;
    for (uint32_t i = first_ending_after(model, first, end, gap->start_ns - WAKE_UP_NS);
         i < end && model->calls[i].begin_ns < gap->start_ns; i++) {
        found = is_wait(model, i) ? i : found;
    }
    return found;
}

static enum st_cause cause_of_call(const struct st_model *model, uint32_t call)
{
    switch (def_of(model, call)->class) {
    case ST_CLASS_ALLOC:
    case ST_CLASS_FREE:
        return ST_CAUSE_ALLOC_FREE;
    case ST_CLASS_MODULE:
        return ST_CAUSE_MODULE_LOAD;
    case ST_CLASS_GRAPH:
        return ST_CAUSE_GRAPH_INSTANTIATE;
    default:
        return ST_CAUSE_OTHER_CALL;
    }
}

/* Is another device at work for the process somewhere in [from, to)? Then a wait there may be for that one. */
static bool others_busy(const struct st_request_view *view, uint32_t trace, int64_t device, int64_t from, int64_t to)
{
    const struct st_model *model = view->model;
    for (size_t i = view->near_first; i < view->near_end && model->ops[i].start_ns < to; i++) {
        if (model->ops[i].end_ns > from && model->ops[i].trace == trace && !st_op_is_on(&model->ops[i], device)) {
            return true;
        }
    }
    return false;
}

/*
 * Did a spinning wait lose its CPU for about as long as it overran? Then it returned late, that is all:
 *
 *   device   [k          ]###########
 *   wait        (~~~~~~~~~ · · · · ·)     ~ on a CPU (together SYNC.d), · off
 *
 * A wait that sleeps tells nothing: it is off the CPU either way.
 */
static bool lost_cpu(const struct st_model *model, uint32_t call, int64_t overrun_ns)
{
    const struct st_call *wait = &model->calls[call];
    int64_t length = wait->end_ns - wait->begin_ns;
    int64_t spun_short_ns = length - overrun_ns - wait->value;
    return def_of(model, call)->class == ST_CLASS_SYNC && wait->value > UNSEEN_WAIT_NS &&
           spun_short_ns < UNSEEN_WAIT_NS && spun_short_ns > -UNSEEN_WAIT_NS;
}

/* A copy's call waits for the copy, and that is the operation whose end began the gap. */
static bool is_over(const struct st_model *model, uint32_t call, uint32_t before)
{
    uint32_t launch = before == ST_NONE ? ST_NONE : model->ops[before].call;
    return launch != ST_NONE && def_of(model, call)->class == ST_CLASS_COPY &&
           (launch == call ||
            ((model->calls[launch].flags & ST_CALL_INNER) && st_model_outer_call(model, launch) == call));
}

/* The part of a wait that lies in the gap: waking up when short; else the device did something unseen. */
static enum st_cause cause_of_wait(const struct cutter *cutter, uint32_t call, enum st_cause idle_code)
{
    const struct st_model *model = cutter->view->model;
    int64_t end = model->calls[call].end_ns < cutter->gap->end_ns ? model->calls[call].end_ns : cutter->gap->end_ns;
    if (end - cutter->at_ns <= UNSEEN_WAIT_NS || is_over(model, call, cutter->gap->before) ||
        lost_cpu(model, call, end - cutter->at_ns)) {
        return idle_code;
    }
    uint32_t trace = model->threads[st_model_thread_of_call(model, call)].trace;
    return others_busy(cutter->view, trace, cutter->gap->device, cutter->at_ns, end) ? ST_CAUSE_OTHER_CALL
                                                                                    : ST_CAUSE_UNSEEN_WORK;
}

/* From the gap's start to the entry of the launching call: what did the thread do? Both layers' calls are
 * walked together; of nested calls the inner one, which comes first by end, is left to the outer one. */
static void cut_host_late(struct cutter *cutter, const struct st_model_thread *thread, uint32_t launch, uint32_t drain)
{
    const struct st_model *model = cutter->view->model;
    int64_t begin_ns = model->calls[launch].begin_ns;
    int64_t until = begin_ns < cutter->gap->end_ns ? begin_ns : cutter->gap->end_ns;
    enum st_cause idle_code = drain == ST_NONE                                ? ST_CAUSE_OWN_CODE
                              : def_of(model, drain)->class == ST_CLASS_COPY ? ST_CAUSE_AFTER_COPY
                                                                              : ST_CAUSE_AFTER_SYNC;
    uint32_t driver = first_ending_after(model, thread->driver_first, thread->runtime_first, cutter->at_ns);
    uint32_t runtime = first_ending_after(model, thread->runtime_first, thread->call_end, cutter->at_ns);
    while (cutter->at_ns < until) {
        uint32_t next = ST_NONE;
        while (driver < thread->runtime_first && model->calls[driver].end_ns <= cutter->at_ns) {
            driver++;
        }
        while (runtime < thread->call_end && model->calls[runtime].end_ns <= cutter->at_ns) {
            runtime++;
        }
        if (runtime < thread->call_end && model->calls[runtime].begin_ns < until) {
            next = runtime;
        }
        if (driver < thread->runtime_first && model->calls[driver].begin_ns < until && driver != launch &&
            (next == ST_NONE || model->calls[driver].begin_ns < model->calls[next].begin_ns)) {
            next = driver;
        }
        if (next == ST_NONE || model->calls[next].end_ns > until) {
            break; /* own code, or the runtime call around the launch */
        }
        cut_to(cutter, model->calls[next].begin_ns, idle_code);
        cut_to(cutter, model->calls[next].end_ns,
               is_wait(model, next) ? cause_of_wait(cutter, next, idle_code) : cause_of_call(model, next));
    }
    cut_to(cutter, until, idle_code);
}

/* The driver copies the host's bytes aside before the device may start. */
static bool is_staged(const struct st_op *op)
{
    return op->kind == ST_OP_COPY && op->source_memory == ST_MEM_PAGEABLE;
}

/* A function's first launch loads it: then the device starts when the slow call is over. */
static bool is_slow_first_launch(const struct st_model *model, const struct st_op *op)
{
    const struct st_call *call = &model->calls[op->call];
    return (call->flags & ST_CALL_FIRST_USE) && call->end_ns - call->begin_ns >= SLOW_LAUNCH_NS &&
           op->start_ns >= call->begin_ns + (call->end_ns - call->begin_ns) / 2;
}

/* Did the thread, between its previous launch into the same stream and this one, make the stream wait? */
static enum st_cause stream_waits(const struct st_model *model, const struct st_model_thread *thread, uint32_t launch)
{
    enum { LOOK_BACK = 64 };
    const struct st_call *call = &model->calls[launch];
    uint64_t stream = def_of(model, launch)->class == ST_CLASS_LAUNCH ? (uint64_t)call->value : call->handle;
    uint32_t stop = launch - thread->driver_first > LOOK_BACK ? launch - LOOK_BACK : thread->driver_first;
    for (uint32_t i = launch; i-- > stop;) {
        const struct st_call *before = &model->calls[i];
        uint8_t class = def_of(model, i)->class;
        if (before->flags & ST_CALL_CAPTURED) {
            continue;
        }
        if (class == ST_CLASS_STREAM_WAIT && before->handle == stream) {
            return ST_CAUSE_EVENT_WAIT;
        }
        if (class == ST_CLASS_HOST_FUNC && before->handle == stream) {
            return ST_CAUSE_HOST_FUNCTION;
        }
        if (before->counts_as != ST_COUNTS_NOT &&
            (class == ST_CLASS_LAUNCH ? (uint64_t)before->value : before->handle) == stream) {
            break;
        }
    }
    return call->flags & ST_CALL_HOST_NODES ? ST_CAUSE_HOST_FUNCTION : ST_CAUSE_UNKNOWN;
}

/* From the call's entry (or the gap's start, if the call came earlier) to the operation's start. */
static void cut_after_entry(struct cutter *cutter, const struct st_op *op, const struct st_model_thread *thread)
{
    enum st_cause cause = ST_CAUSE_LAUNCH_FLOOR;
    if (is_staged(op)) {
        cause = ST_CAUSE_PAGEABLE_STAGING;
    } else if (is_slow_first_launch(cutter->view->model, op)) {
        cause = ST_CAUSE_MODULE_LOAD;
    } else if (cutter->gap->end_ns - cutter->at_ns >= LAUNCH_FLOOR_NS) {
        cause = op->call < thread->runtime_first ? stream_waits(cutter->view->model, thread, op->call)
                                                 : ST_CAUSE_UNKNOWN;
    }
    cut_to(cutter, cutter->gap->end_ns, cause);
}

bool st_gap_explain(const struct st_request_view *view, struct st_gap *gap, bool is_first, bool is_last,
                    struct st_arena *arena)
{
    const struct st_model *model = view->model;
    struct cutter cutter = {.view = view, .gap = gap, .at_ns = gap->start_ns};
    const struct st_op *op = gap->after == ST_NONE ? NULL : &model->ops[gap->after];
    if (view->request && ((is_first && view->request->is_cut_before) || (is_last && view->request->is_cut_after))) {
        cut_to(&cutter, gap->end_ns, ST_CAUSE_WINDOW_EDGE);
        return finish(&cutter, arena);
    }
    if (is_first || is_last) {
        cut_to(&cutter, gap->end_ns, is_first ? ST_CAUSE_BEFORE_FIRST : ST_CAUSE_AFTER_LAST);
        gap->drained_why = !is_first ? "nothing more to do" : view->request ? "request begin" : "process begin";
        return finish(&cutter, arena);
    }
    uint32_t thread_index = op && op->call != ST_NONE ? st_model_thread_of_call(model, op->call) : ST_NONE;
    if (thread_index == ST_NONE) {
        cut_to(&cutter, gap->end_ns, ST_CAUSE_UNKNOWN);
        return finish(&cutter, arena);
    }
    const struct st_model_thread *thread = &model->threads[thread_index];
    if (model->calls[op->call].begin_ns > gap->start_ns) {
        uint32_t drain = draining_wait(model, thread->runtime_first, thread->call_end, gap);
        drain = drain != ST_NONE ? drain : draining_wait(model, thread->driver_first, thread->runtime_first, gap);
        gap->drained_call = drain;
        gap->drained_why = drain != ST_NONE ? "wait" : "host slower than device";
        cut_host_late(&cutter, thread, op->call, drain);
    }
    cut_after_entry(&cutter, op, thread);
    return finish(&cutter, arena);
}
