/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second half of linking: calls to spans, device operations to the calls that launched them.
 *
 *   thread    ──[ CALL cuLaunchKernel        ]──        the call as our library saw it
 *                  [ DRIVER_API  corr 7 ]               the same call as the device library saw it
 *   device                                   [KERNEL corr 7]
 *
 * The operation's correlation id names the DRIVER_API record; its place in the order of its thread names the
 * CALL (link_pairs.c), or else its thread and the middle of its interval. The two clocks may miss each other by the
 * residual, hence the search of the neighbours.
 */
#include <stdlib.h>
#include <string.h>

#include "config/map.h"
#include "link.h"
#include "vec.h"

enum { JOIN_TOLERANCE_NS = 20000 }; /* beside the clock residual; far below two calls of one name and thread */

/* ---- calls ---- */

static enum st_call_kind counts_as(const struct st_model_calldef *def, const struct st_call *call)
{
    if (def->layer == ST_LAYER_RUNTIME && (call->flags & ST_CALL_HAS_INNER)) {
        return ST_COUNTS_NOT; /* its driver call is the operation */
    }
    switch (def->class) {
    case ST_CLASS_LAUNCH:
        return ST_COUNTS_LAUNCH;
    case ST_CLASS_GRAPH_LAUNCH:
        return ST_COUNTS_GRAPH_LAUNCH;
    case ST_CLASS_COPY:
        return ST_COUNTS_COPY;
    case ST_CLASS_MEMSET:
        return ST_COUNTS_MEMSET;
    default:
        return ST_COUNTS_NOT;
    }
}

static int by_place(const void *left, const void *right, void *context)
{
    const struct st_call *a = left, *b = right;
    const struct st_model_calldef *defs = context;
    if (a->group != b->group) { /* still the thread */
        return a->group < b->group ? -1 : 1;
    }
    int layer_a = defs[a->call].layer == ST_LAYER_RUNTIME, layer_b = defs[b->call].layer == ST_LAYER_RUNTIME;
    if (layer_a != layer_b) {
        return layer_a - layer_b;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* Where each thread's calls lie; `group` is still the thread. */
static void set_thread_ranges(struct st_model *model)
{
    uint32_t at = 0;
    for (size_t i = 0; i < model->thread_count; i++) {
        struct st_model_thread *thread = &model->threads[i];
        thread->driver_first = at;
        while (at < model->call_count && model->calls[at].group == i &&
               model->calldefs[model->calls[at].call].layer != ST_LAYER_RUNTIME) {
            at++;
        }
        thread->runtime_first = at;
        while (at < model->call_count && model->calls[at].group == i) {
            at++;
        }
        thread->call_end = at;
    }
}

static int by_function(const void *left, const void *right, void *context)
{
    const struct st_call *calls = context;
    const struct st_call *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
    if (a->handle != b->handle) {
        return a->handle < b->handle ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static bool mark_first_launches(struct st_model *model)
{
    uint32_t *launches = malloc((model->call_count + 1) * sizeof(*launches));
    size_t count = 0;
    for (size_t i = 0; launches && i < model->call_count; i++) {
        if (model->calls[i].counts_as == ST_COUNTS_LAUNCH) {
            launches[count++] = (uint32_t)i;
        }
    }
    if (launches) {
        st_vec_sort_with(launches, count, sizeof(*launches), by_function, model->calls);
    }
    for (size_t i = 0; launches && i < count; i++) {
        if (i == 0 || model->calls[launches[i]].handle != model->calls[launches[i - 1]].handle) {
            model->calls[launches[i]].flags |= ST_CALL_FIRST_USE;
        }
    }
    bool good = launches != NULL;
    free(launches);
    return good;
}

/* A window has copies of the spans. */
static uint32_t span_in_group(const struct st_builder *builder, uint32_t span, uint32_t group)
{
    uint32_t request = st_request_of_group(group);
    bool is_window = span != ST_NONE && request != ST_NONE && builder->model->requests[request].window_of != ST_NONE;
    return is_window ? st_link_copy_of(builder, request, span) : span;
}

bool st_link_calls(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    size_t kept = 0;
    for (size_t i = 0; i < builder->call_count; i++) {
        uint32_t thread = st_link_thread(builder, builder->calls[i].group);
        if (thread != ST_NONE) {
            builder->calls[kept] = builder->calls[i];
            builder->calls[kept++].group = thread;
        }
    }
    if (kept >= ST_NONE) {
        return false;
    }
    st_vec_sort_with(builder->calls, kept, sizeof(*builder->calls), by_place, model->calldefs);
    model->calls = builder->calls;
    model->call_count = kept;
    builder->calls = NULL;
    set_thread_ranges(model);
    for (size_t i = 0; i < kept; i++) {
        struct st_call *call = &model->calls[i];
        uint32_t thread = call->group;
        call->span = st_link_iteration_at(builder, st_link_span(builder, call->span), call->begin_ns);
        call->span = call->span != ST_NONE ? call->span : st_link_implicit_at(builder, thread, call->begin_ns);
        call->group = st_link_group(builder, call->span, call->begin_ns);
        call->span = span_in_group(builder, call->span, call->group);
        call->counts_as = (uint8_t)counts_as(&model->calldefs[call->call], call) & 15;
        if (st_link_row(builder, thread, call->span, call->group) == ST_NONE) {
            return false;
        }
    }
    return model->traces->window || mark_first_launches(model); /* the first may not have been recorded */
}

uint32_t st_model_thread_of_call(const struct st_model *model, uint32_t call)
{
    size_t low = 0, high = model->thread_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct st_model_thread *thread = &model->threads[middle];
        if (call < thread->driver_first) {
            high = middle;
        } else if (call >= thread->call_end) {
            low = middle + 1;
        } else {
            return (uint32_t)middle;
        }
    }
    return ST_NONE;
}

/* ---- operations ---- */

static int by_correlation(const void *left, const void *right)
{
    const struct st_api *a = left, *b = right;
    if (a->correlation != b->correlation) {
        return a->correlation < b->correlation ? -1 : 1;
    }
    return (a->start > b->start) - (a->start < b->start);
}

static bool class_fits(const struct st_model *model, int32_t call, unsigned kind)
{
    static const uint8_t wanted[] = {
        [ST_OP_KERNEL] = ST_CLASS_LAUNCH, [ST_OP_COPY] = ST_CLASS_COPY, [ST_OP_MEMSET] = ST_CLASS_MEMSET};
    if (call < 0 || (size_t)call >= model->calldef_count) {
        return false;
    }
    uint8_t class = model->calldefs[call].class;
    return class == wanted[kind] || class == ST_CLASS_GRAPH_LAUNCH;
}

/* The record of the call that launched an operation. One runtime call may make several driver calls under
 * the same id, then the one of the fitting class. */
static struct st_api *find_api(const struct st_builder *builder, uint32_t correlation, unsigned kind)
{
    size_t low = 0, high = builder->api_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (builder->apis[middle].correlation < correlation) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct st_api *best = NULL;
    for (; low < builder->api_count && builder->apis[low].correlation == correlation; low++) {
        struct st_api *api = &builder->apis[low];
        if (class_fits(builder->model, api->call, kind)) {
            return api;
        }
        best = best && best->call >= 0 ? best : api;
    }
    return best;
}

/* Distance between an instant and a call's interval, 0 inside. */
static int64_t distance(const struct st_call *call, int64_t at_ns)
{
    return at_ns < call->begin_ns ? call->begin_ns - at_ns : at_ns > call->end_ns ? at_ns - call->end_ns : 0;
}

/* The call among calls[first, end) (by begin, no overlap) that `at_ns` lies in or, within `tolerance`,
 * nearest to; `id` >= 0: only a call of this name. ST_NONE: none. */
static uint32_t call_at(const struct st_model *model, uint32_t first, uint32_t end, int64_t at_ns, int32_t id,
                        int64_t tolerance)
{
    enum { NEIGHBOURS = 3 };
    uint32_t low = first, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model->calls[middle].begin_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t from = low - first > NEIGHBOURS ? low - NEIGHBOURS : first;
    uint32_t to = end - low > NEIGHBOURS ? low + NEIGHBOURS : end;
    uint32_t best = ST_NONE;
    for (uint32_t i = from; i < to; i++) {
        const struct st_call *call = &model->calls[i];
        if (distance(call, at_ns) <= tolerance && (id < 0 || call->call == id) &&
            (best == ST_NONE || distance(call, at_ns) < distance(&model->calls[best], at_ns))) {
            best = i;
        }
    }
    return best;
}

struct joiner {
    struct st_builder *builder;
    struct st_tids tids;
    int64_t tolerance;
};

/* The call and the thread of one DRIVER_API record. A thread id may have been used again by a later thread. */
static uint32_t call_of_api(const struct joiner *joiner, const struct st_api *api, uint32_t *ret_thread)
{
    const struct st_model *model = joiner->builder->model;
    int64_t middle_ns = api->start + (api->end - api->start) / 2;
    *ret_thread = ST_NONE;
    size_t low = st_link_first_of_tid(&joiner->tids, api->tid);
    for (; low < joiner->tids.count && joiner->tids.entries[low].tid == api->tid; low++) {
        const struct st_model_thread *thread = &model->threads[joiner->tids.entries[low].thread];
        uint32_t call = call_at(model, thread->driver_first, thread->runtime_first, middle_ns, api->call,
                                joiner->tolerance);
        if (call == ST_NONE) { /* the driver call was not recorded, the runtime call around it may be */
            call = call_at(model, thread->runtime_first, thread->call_end, middle_ns, -1, 0);
        }
        *ret_thread = joiner->tids.entries[low].thread;
        if (call != ST_NONE) {
            return call;
        }
    }
    return ST_NONE;
}

/* Group and row of an operation from its launch; what is not known stays with nobody. */
static void place_op(const struct joiner *joiner, struct st_op *op)
{
    struct st_builder *builder = joiner->builder;
    struct st_model *model = builder->model;
    struct st_api *api = op->call ? find_api(builder, op->call, op->kind) : NULL;
    op->call = ST_NONE;
    op->row = ST_ROW_UNATTRIBUTED;
    if (!api) {
        bool is_nobodys = model->request_count > 0 && builder->implicit_span == 0 &&
                          st_link_only_request(builder, op->start_ns) == ST_NONE;
        op->group = is_nobodys ? ST_NONE : st_link_group(builder, ST_NONE, op->start_ns);
        model->traces->faults.unmatched_device++;
        return;
    }
    uint32_t thread = ST_NONE, span;
    if (api->call_index == ST_NONE && !api->is_settled) {
        api->call_index = call_of_api(joiner, api, &thread);
    } else if (api->call_index != ST_NONE) {
        thread = st_model_thread_of_call(model, api->call_index);
    }
    if (api->call_index != ST_NONE) {
        const struct st_call *call = &model->calls[api->call_index];
        op->call = api->call_index;
        op->group = call->group;
        span = call->span;
    } else {
        span = thread == ST_NONE ? ST_NONE : st_model_span_at(model, thread, api->start);
        op->group = st_link_group(builder, span, api->start);
        model->traces->faults.matched_by_time++;
    }
    op->row = st_link_row(builder, thread, span, op->group);
}

/* A copy from or to pageable memory waits for its own end, whatever its name says. */
static void mark_waiting_copy(struct st_model *model, const struct st_op *op)
{
    enum { EARLY_NS = 5000 }; /* the call may seem to return this much before: clock residual */
    if (op->kind == ST_OP_COPY && op->call != ST_NONE && !op->in_graph &&
        (op->source_memory == ST_MEM_PAGEABLE || op->target_memory == ST_MEM_PAGEABLE) &&
        model->calls[op->call].end_ns + EARLY_NS >= op->end_ns) {
        st_link_mark_waited(model, op->call);
    }
}

/* ---- kernel rules ---- */

/* Row names that $1 … $9 made. Of more than these, as in the library, the rest is "other". */
struct made_names {
    char names[64][128];
    uint32_t count;
};

static const char *row_name(const struct st_model_rule *rule, const struct st_map_capture *captures,
                            struct made_names *made)
{
    char name[sizeof(made->names[0])];
    if (!strchr(rule->name, '$')) {
        return rule->name;
    }
    st_map_expand(rule->name, captures, name, sizeof(name));
    for (uint32_t i = 0; i < made->count; i++) {
        if (strcmp(made->names[i], name) == 0) {
            return made->names[i];
        }
    }
    if (!st_map_is_name(name) || made->count == sizeof(made->names) / sizeof(made->names[0])) {
        return "other";
    }
    return strcpy(made->names[made->count++], name);
}

/* For each kernel name the row that a `kernel` rule gives it, or ST_NONE. */
static uint32_t *rule_rows(struct st_builder *builder, const char *const *names, size_t count)
{
    const struct st_model_trace *trace = builder->model->traces;
    uint32_t *rows = malloc((count + 1) * sizeof(*rows));
    struct made_names made = {.count = 0};
    for (size_t i = 0; rows && i < count; i++) {
        rows[i] = ST_NONE;
        for (size_t r = 0; names[i] && r < trace->rule_count; r++) {
            struct st_map_capture captures[ST_MAP_MAX_CAPTURES] = {{0}};
            if (trace->rules[r].source == ST_MAP_KERNEL && st_map_glob(trace->rules[r].pattern, names[i], captures)) {
                rows[i] = st_rows_table_intern(&builder->rows, row_name(&trace->rules[r], captures, &made));
                trace->rules[r].matched++;
                break;
            }
        }
    }
    return rows;
}

static bool apply_kernel_rules(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    const struct st_model_trace *trace = model->traces;
    bool any = false;
    for (size_t r = 0; r < trace->rule_count; r++) {
        any = any || trace->rules[r].source == ST_MAP_KERNEL;
    }
    if (!any) {
        return true;
    }
    uint32_t *rows = rule_rows(builder, model->names, model->name_count);
    for (size_t i = 0; rows && i < builder->op_count; i++) {
        struct st_op *op = &builder->ops[i];
        if (op->kind == ST_OP_KERNEL && op->name < model->name_count && rows[op->name] != ST_NONE) {
            op->row = rows[op->name];
        }
    }
    bool good = rows != NULL;
    free(rows);
    return good;
}

static int by_start(const void *left, const void *right)
{
    const struct st_op *a = left, *b = right;
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* What has no call was launched outside of the window, or nearly: nothing beside it is known there. */
static void leave_out_rest(struct st_builder *builder)
{
    struct st_model_faults *faults = &builder->model->traces->faults;
    size_t kept = 0;
    for (size_t i = 0; i < builder->op_count; i++) {
        if (builder->ops[i].call != ST_NONE) {
            builder->ops[kept++] = builder->ops[i];
        }
    }
    faults->outside_window = (int64_t)(builder->op_count - kept);
    faults->unmatched_device = faults->matched_by_time = 0;
    builder->op_count = kept;
}

bool st_link_ops(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    struct joiner joiner = {.builder = builder, .tolerance = model->traces->clock_residual_ns + JOIN_TOLERANCE_NS};
    if (builder->op_count >= ST_NONE || !st_link_list_tids(model, &joiner.tids)) {
        return false;
    }
    if (!st_link_pairs(builder, &joiner.tids, joiner.tolerance)) {
        free(joiner.tids.entries);
        return false;
    }
    st_vec_sort(builder->apis, builder->api_count, sizeof(*builder->apis), by_correlation);
    for (size_t i = 0; i < builder->op_count; i++) {
        place_op(&joiner, &builder->ops[i]);
        mark_waiting_copy(model, &builder->ops[i]);
    }
    free(joiner.tids.entries);
    if (model->traces->window) {
        leave_out_rest(builder);
    }
    if (!apply_kernel_rules(builder)) {
        return false;
    }
    st_vec_sort(builder->ops, builder->op_count, sizeof(*builder->ops), by_start);
    model->ops = builder->ops;
    model->op_count = builder->op_count;
    builder->ops = NULL;
    return st_link_waiting_launches(model);
}
