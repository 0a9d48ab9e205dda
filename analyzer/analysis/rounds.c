/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests may be averaged (surface §4 shape, phase; R1–R4).
 *
 *   load     [load]                                      [load]
 *   requests        r1     r2      r3      r4      r5            r6     r7
 *   shape           A      A       A       B       A             A      A
 *   warmup=1        first  warmup  steady  first   steady        first  warmup
 *
 * first: the first of its shape, or the first after a load, in its process: each process of a run warms up by itself.
 * Loads inside requests of the same shape are what every one of them does (CPU offload), and end no warm-up.
 * A shape is the set of stages, the steps, what was launched (kernel × count; not where only windows were recorded) and
 * whether a load ran inside.
 * stable=P%/K: warm-up ends where K rounds of one shape in a row lie within P % of the smallest. Incomplete requests
 * have no phase. The summary is over the steady requests of all processes.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"
#include "config/settings.h"
#include "stats.h"
#include "trend.h"

#define DEFAULT_RULE "warmup=1"

static uint64_t mix(uint64_t value)
{
    value ^= value >> 31;
    value *= 0x9E3779B97F4A7C15ull;
    value ^= value >> 29;
    value *= 0xBF58476D1CE4E5B9ull;
    return value ^ (value >> 32);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037ull;
    for (; *text; text++) {
        hash = (hash ^ (uint8_t)*text) * 1099511628211ull;
    }
    return mix(hash);
}

/* ---- shapes ---- */

struct function { /* a launched function and the name that the device's records gave it */
    uint32_t trace;
    uint64_t handle;
    uint64_t hash;
};

static int by_handle(const void *left, const void *right)
{
    const struct function *a = left, *b = right;
    if (a->trace != b->trace) {
        return a->trace < b->trace ? -1 : 1;
    }
    if (a->handle != b->handle) {
        return a->handle < b->handle ? -1 : 1;
    }
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Launch calls are counted, as device records may be missing; names make shapes comparable between runs. */
static struct function *name_functions(const struct st_model *model, size_t *ret_count)
{
    struct function *functions = malloc((model->op_count + 1) * sizeof(*functions));
    size_t count = 0, kept = 0;
    for (size_t i = 0; functions && i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        if (op->kind == ST_OP_KERNEL && op->call != ST_NONE && op->name < model->name_count &&
            model->calls[op->call].counts_as == ST_COUNTS_LAUNCH) {
            functions[count++] = (struct function){op->trace, model->calls[op->call].handle, op->name};
        }
    }
    if (functions) {
        st_vec_sort(functions, count, sizeof(*functions), by_handle);
    }
    for (size_t i = 0; functions && i < count; i++) {
        if (kept == 0 || functions[kept - 1].handle != functions[i].handle ||
            functions[kept - 1].trace != functions[i].trace) {
            functions[kept].trace = functions[i].trace;
            functions[kept].handle = functions[i].handle;
            functions[kept++].hash = hash_text(model->names[functions[i].hash]);
        }
    }
    *ret_count = kept;
    return functions;
}

static uint64_t function_hash(const struct function *functions, size_t count, uint32_t trace, uint64_t handle)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct function *function = &functions[middle];
        if (function->trace == trace && function->handle == handle) {
            return function->hash;
        }
        if (function->trace < trace || (function->trace == trace && function->handle < handle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return mix(handle);
}

/* Sums, so that the order does not matter. `seen` holds for each row the request that last had it. */
static uint64_t shape_of(const struct st_request_view *view, uint32_t *seen, uint32_t mark,
                         const struct function *functions, size_t function_count)
{
    const struct st_model *model = view->model;
    uint64_t hash = mix((uint64_t)view->request->steps * 2 + (view->request->load_count > 0));
    for (size_t i = 0; i < view->span_count; i++) {
        uint32_t row = model->spans[view->spans[i]].row;
        if (seen[row] != mark) {
            seen[row] = mark;
            hash += hash_text(model->rows[row].name);
        }
    }
    bool has_calls = !model->traces[view->request->trace].window; /* else of some requests only */
    for (size_t i = 0; has_calls && i < view->call_count; i++) {
        const struct st_call *call = &model->calls[view->calls[i]];
        if (call->result != 0 || (call->flags & ST_CALL_CAPTURED)) {
            continue;
        }
        if (call->counts_as == ST_COUNTS_LAUNCH) {
            hash += function_hash(functions, function_count, view->request->trace, call->handle);
        } else if (call->counts_as == ST_COUNTS_GRAPH_LAUNCH) {
            hash += mix(3);
        }
    }
    return mix(hash);
}

static bool find_shapes(struct st_answer *answer, uint64_t *hashes)
{
    const struct st_model *model = answer->model;
    size_t function_count = 0;
    struct function *functions = name_functions(model, &function_count);
    uint32_t *seen = calloc(model->row_count + 1, sizeof(*seen));
    bool good = functions && seen;
    for (size_t i = 0; good && i < model->request_count; i++) {
        struct st_request_view view;
        st_view_of_group(model, st_group_of_request((uint32_t)i), &view);
        hashes[i] = shape_of(&view, seen, (uint32_t)i + 1, functions, function_count);
        answer->shapes[i] = st_arena_format(answer->arena, "%08llx", (unsigned long long)(hashes[i] >> 32));
        good = answer->shapes[i] != NULL;
    }
    free(functions);
    free(seen);
    return good;
}

/* ---- phases ---- */

struct shape_state {
    uint64_t hash;
    uint32_t rounds;        /* after its first */
    uint32_t last;          /* index of its latest request */
    bool is_steady;
    int64_t loads_seen;     /* loads of others that had begun by its latest request */
    int64_t own_loads;      /* loads inside its requests */
    int64_t window[64];     /* stable rule: the latest walls, a ring */
    uint32_t window_ids[64];
    uint32_t window_count;
};

/* Do the latest K walls lie within P % of the smallest? */
static bool is_stable(const struct shape_state *state, const struct st_rounds_rule *rule)
{
    uint32_t wanted = rule->stable_count;
    int64_t least = INT64_MAX, most = 0;
    if (wanted == 0 || wanted > 64 || state->window_count < wanted) {
        return false;
    }
    for (uint32_t i = 0; i < wanted; i++) {
        int64_t wall = state->window[(state->window_count - 1 - i) % 64];
        least = wall < least ? wall : least;
        most = wall > most ? wall : most;
    }
    return (double)(most - least) <= (double)least * rule->stable_percent / 100;
}

static enum st_phase next_phase(struct st_answer *answer, struct shape_state *state, uint32_t request,
                                const struct st_rounds_rule *rule)
{
    const struct st_model_request *round = &answer->model->requests[request];
    state->rounds++;
    if (!rule->is_stable_rule) {
        return state->rounds > rule->warmup_count ? ST_PHASE_STEADY : ST_PHASE_WARMUP;
    }
    state->window[state->window_count % 64] = round->end_ns - round->begin_ns;
    state->window_ids[state->window_count % 64] = request;
    state->window_count++;
    if (!state->is_steady && is_stable(state, rule)) {
        state->is_steady = true;
        for (uint32_t i = 1; i < rule->stable_count; i++) { /* the whole window is steady, its earlier rounds too */
            answer->phases[state->window_ids[(state->window_count - 1 - i) % 64]] = ST_PHASE_STEADY;
        }
    }
    return state->is_steady ? ST_PHASE_STEADY : ST_PHASE_WARMUP;
}

static struct shape_state *find_state(struct shape_state *states, size_t *count, size_t size, uint64_t hash)
{
    enum { LOOK_BACK = 256 }; /* of more shapes at once none repeats usefully */
    for (size_t i = *count; i-- > 0 && *count - i <= LOOK_BACK;) {
        if (states[i].hash == hash) {
            return &states[i];
        }
    }
    if (*count == size) {
        return NULL;
    }
    states[*count] = (struct shape_state){.hash = hash, .loads_seen = -1};
    return &states[(*count)++];
}

/* How many loads of the process had begun by `at_ns`; its spans are in order of begin. */
static int64_t loads_until(const struct st_model *model, uint32_t trace, int64_t at_ns, size_t *at, int64_t *count)
{
    for (; *at < model->traces[trace].span_end && model->spans[*at].begin_ns <= at_ns; ++*at) {
        *count += model->spans[*at].role == ST_ROLE_LOAD && !model->spans[*at].is_following;
    }
    return *count;
}

/* The phases of one process. states: `size` of them. */
static void find_phases_of(struct st_answer *answer, uint32_t trace, const uint64_t *hashes,
                           const struct st_rounds_rule *rule, struct shape_state *states, size_t size)
{
    const struct st_model *model = answer->model;
    size_t count = 0, span = model->traces[trace].span_first;
    int64_t load_count = 0;
    for (size_t i = 0; i < model->request_count; i++) {
        const struct st_model_request *request = &model->requests[i];
        if (request->trace != trace || request->window_of != ST_NONE) {
            continue;
        }
        int64_t loads = loads_until(model, trace, request->begin_ns, &span, &load_count);
        struct shape_state *state = request->is_complete ? find_state(states, &count, size, hashes[i]) : NULL;
        if (!state) {
            answer->phases[i] = request->is_complete ? ST_PHASE_FIRST : ST_PHASE_NONE;
            continue;
        }
        int64_t foreign = loads - state->own_loads;
        state->own_loads += request->load_count;
        if (foreign > state->loads_seen) { /* the first of its shape, or a load came between */
            *state = (struct shape_state){.hash = hashes[i], .loads_seen = foreign, .own_loads = state->own_loads};
            answer->phases[i] = ST_PHASE_FIRST;
        } else {
            answer->phases[i] = next_phase(answer, state, (uint32_t)i, rule);
        }
    }
}

static bool find_phases(struct st_answer *answer, const uint64_t *hashes, const struct st_rounds_rule *rule)
{
    enum { MOST_STATES = 4096 };
    size_t count = answer->model->request_count, size = count < MOST_STATES ? count : MOST_STATES;
    struct shape_state *states = malloc((size + 1) * sizeof(*states));
    for (size_t i = 0; states && i < answer->model->trace_count; i++) {
        find_phases_of(answer, (uint32_t)i, hashes, rule, states, size);
    }
    bool good = states != NULL;
    free(states);
    return good;
}

/* ---- summary ---- */

static bool list_phase(struct st_answer *answer, enum st_phase phase, struct st_report_id **ret_ids,
                       size_t *ret_count)
{
    struct st_report_id *ids = st_arena_array(answer->arena, answer->model->request_count, sizeof(*ids));
    for (size_t i = 0; ids && i < answer->model->request_count; i++) {
        if (answer->phases[i] == phase) {
            ids[(*ret_count)++] = st_answer_id(answer, (uint32_t)i);
        }
    }
    *ret_ids = ids;
    return ids != NULL;
}

static const char *process_of(const struct st_model *model, uint32_t span)
{
    size_t trace = 0;
    while (trace + 1 < model->trace_count && span >= model->traces[trace].span_end) {
        trace++;
    }
    return model->traces[trace].process;
}

static bool list_loads(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report_rounds *rounds = &answer->report->rounds;
    size_t count = 0;
    for (size_t i = 0; i < model->span_count; i++) {
        count += model->spans[i].role == ST_ROLE_LOAD;
    }
    rounds->load_ns = st_arena_array(answer->arena, count, sizeof(*rounds->load_ns));
    if (model->trace_count > 1) {
        rounds->load_processes = st_arena_array(answer->arena, count, sizeof(*rounds->load_processes));
    }
    for (size_t i = 0; rounds->load_ns && i < model->span_count; i++) {
        const struct st_span *span = &model->spans[i];
        if (span->role == ST_ROLE_LOAD && !span->is_nested && !span->is_following && !span->is_open &&
            st_request_of_group(span->group) == ST_NONE) {
            if (rounds->load_processes) {
                rounds->load_processes[rounds->load_count] = process_of(model, (uint32_t)i);
            }
            rounds->load_ns[rounds->load_count++] = span->end_ns - span->begin_ns;
        }
    }
    return rounds->load_ns != NULL;
}

/* The shape that most steady requests have. False: out of memory. */
static bool main_shape(const struct st_answer *answer, const uint64_t *hashes, uint64_t *ret_shape, bool *ret_several)
{
    int64_t *steady = malloc((answer->model->request_count + 1) * sizeof(*steady));
    size_t count = 0, best_run = 0, run = 0;
    if (!steady) {
        return false;
    }
    for (size_t i = 0; i < answer->model->request_count; i++) {
        if (answer->phases[i] == ST_PHASE_STEADY) {
            steady[count++] = (int64_t)hashes[i];
        }
    }
    st_sort(steady, count);
    for (size_t i = 0; i < count; i++) {
        run = i > 0 && steady[i] == steady[i - 1] ? run + 1 : 1;
        *ret_several = *ret_several || steady[i] != steady[0];
        if (run > best_run) {
            best_run = run;
            *ret_shape = (uint64_t)steady[i];
        }
    }
    free(steady);
    return true;
}

static bool sum_up(struct st_answer *answer, const uint64_t *hashes)
{
    const struct st_model *model = answer->model;
    struct st_report_rounds *rounds = &answer->report->rounds;
    int64_t *walls = malloc((3 * model->request_count + 1) * sizeof(*walls));
    if (!walls) {
        return false;
    }
    int64_t *returns = walls + model->request_count, *devices = returns + model->request_count;
    uint64_t shape = 0;
    size_t count = 0, return_count = 0, device_count = 0;
    if (!main_shape(answer, hashes, &shape, &rounds->several_shapes)) {
        free(walls);
        return false;
    }
    bool any_whole = false;
    for (size_t i = 0; i < model->request_count; i++) {
        any_whole = any_whole || (answer->phases[i] == ST_PHASE_STEADY && hashes[i] == shape &&
                                  !model->requests[i].is_partial);
    }
    for (size_t i = 0; i < model->request_count; i++) {
        const struct st_model_request *request = &model->requests[i];
        if (answer->phases[i] != ST_PHASE_STEADY || hashes[i] != shape || (request->is_partial && any_whole)) {
            continue;
        }
        returns[return_count++] = request->host_end_ns - request->begin_ns;
        if (request->is_partial) {
            continue; /* when its device work was done is not known */
        }
        walls[count++] = request->end_ns - request->begin_ns;
        if (request->device_end_ns > request->begin_ns) {
            devices[device_count++] = request->device_end_ns - request->begin_ns;
        }
    }
    rounds->steady_n = (int64_t)count;
    if (!st_trend_tell(answer, walls, count)) {
        free(walls);
        return false;
    }
    if (count > 0) {
        st_sort(walls, count);
        rounds->steady_median_ns = st_known(st_median(walls, count));
        rounds->steady_min_ns = st_known(walls[0]);
        rounds->steady_max_ns = st_known(walls[count - 1]);
    }
    if (return_count > 0) {
        st_sort(returns, return_count);
        rounds->steady_host_return_median_ns = st_known(st_median(returns, return_count));
    }
    if (count > 1) {
        rounds->steady_spread_ppm = st_known(st_spread_ppm(walls, count));
    }
    if (device_count > 0 && device_count == count) {
        st_sort(devices, device_count);
        rounds->steady_device_done_median_ns = st_known(st_median(devices, device_count));
    }
    free(walls);
    return true;
}

/* The rule that the run was started with: of its processes the first that says one. */
static const char *recorded_rule(const struct st_model *model)
{
    const char *rule = NULL;
    for (size_t i = 0; !rule && i < model->trace_count; i++) {
        rule = st_model_key(&model->traces[i], ST_KEY_SETTING, "rounds");
    }
    return rule;
}

/* One rule goes for all; a process that was started with another one is named. */
static bool note_other_rules(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    bool good = true, is_told = answer->options->rounds || model->trace_count == 1;
    for (size_t i = 0; good && !is_told && i < model->trace_count; i++) {
        const char *rule = st_model_key(&model->traces[i], ST_KEY_SETTING, "rounds");
        if (rule && strcmp(rule, answer->report->rounds.rule) != 0) {
            good = st_answer_note(answer, st_arena_format(answer->arena, "process %s was run with the rule %s",
                                                          model->traces[i].process, rule));
        }
    }
    return good;
}

enum st_status st_answer_rounds(struct st_answer *answer, struct st_err *err)
{
    struct st_report_rounds *rounds = &answer->report->rounds;
    const char *recorded = recorded_rule(answer->model);
    const char *text = answer->options->rounds ? answer->options->rounds : recorded ? recorded : DEFAULT_RULE;
    struct st_rounds_rule rule;
    if (!st_parse_rounds(text, &rule)) {
        if (answer->options->rounds) {
            return st_fail(err, ST_USAGE, NULL, -1, "use warmup=N or stable=P%/K", "steady rule \"%.80s\"", text);
        }
        text = DEFAULT_RULE;
        st_parse_rounds(text, &rule);
    }
    rounds->rule = st_arena_text(answer->arena, text, strlen(text));
    rounds->chosen_afterwards = answer->options->rounds && (!recorded || strcmp(recorded, text) != 0);
    uint64_t *hashes = calloc(answer->model->request_count + 1, sizeof(*hashes));
    bool good = rounds->rule && hashes && find_shapes(answer, hashes) && find_phases(answer, hashes, &rule) &&
                list_phase(answer, ST_PHASE_FIRST, &rounds->first, &rounds->first_count) &&
                list_phase(answer, ST_PHASE_WARMUP, &rounds->warmup, &rounds->warmup_count) &&
                list_phase(answer, ST_PHASE_STEADY, &rounds->steady, &rounds->steady_count) && list_loads(answer) &&
                sum_up(answer, hashes) && note_other_rules(answer);
    free(hashes);
    return good ? ST_OK : st_fail(err, ST_NO_MEMORY, NULL, -1, NULL, "out of memory");
}
