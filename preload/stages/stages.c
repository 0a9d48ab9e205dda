/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From rules to spans; see stages.h. st_stage_enter/leave/instant run between a function's caller and the
 * function, with its arguments still in registers: this file is compiled for general registers only, and
 * those three call nothing but the recorder. Everything else is plain C. The map is constant; counters are
 * atomic.
 */
#include "stages.h"

#include <stdatomic.h>
#include <string.h>

#include "config/cxx_name.h"
#include "log.h"
#include "nvtx.h"
#include "nvtx_ranges.h"
#include "preload/record/record.h"
#include "preload/record/window.h"
#include "preload/watch/watch.h"
#include "python.h"
#include "recognise.h"
#include "seen.h"
#include "symbols.h"
#include "unwind.h"

#define MAX_EXPANDED 64 /* row names made from $1 … $9; what comes later is "other" */
#define SOURCES (ST_MAP_LOG + 1)

static struct {
    const struct st_map *map;
    _Atomic uint32_t rule_count; /* rules below it are ready */
    _Atomic uint32_t rules_of_source[SOURCES];
    struct st_map *_Atomic automatic; /* the same map, if presets may be recognised; NULL when they were taken in */
    uint8_t owners[ST_STAGES_MAX_RULES]; /* see recognise.h */
    void (*on_request)(void);
    uint32_t names[ST_STAGES_MAX_RULES]; /* row name of a rule's name, 0 = none or to be expanded */
    bool is_expanded[ST_STAGES_MAX_RULES];
    uint8_t roles[ST_STAGES_MAX_RULES]; /* enum st_map_role, as it is in force (st_map_role_in_force) */
    _Atomic uint64_t matched[ST_STAGES_MAX_RULES];
    _Atomic uint32_t expanded[MAX_EXPANDED]; /* row names */
    _Atomic uint32_t expanded_count;
} stages;

static uint32_t rule_count(void)
{
    return atomic_load_explicit(&stages.rule_count, memory_order_acquire);
}

/* ---- matching ---- */

/* A row name made by expansion, as long as there are few of them. Two threads may rarely use up two places for one
 * name; that only makes the list a little shorter. */
static uint32_t expanded_name(struct st_thread *thread, const char *name, const struct st_map_capture *captures)
{
    char text[ST_MAX_ROW_NAME_BYTES];
    uint32_t count = atomic_load_explicit(&stages.expanded_count, memory_order_relaxed);
    uint32_t row;

    st_map_expand(name, captures, text, sizeof(text));
    if (!st_map_is_name(text)) return st_row_name(thread, "other");
    for (uint32_t i = 0; i < count && i < MAX_EXPANDED; i++) {
        row = atomic_load_explicit(&stages.expanded[i], memory_order_relaxed);
        if (row != 0 && strcmp(st_row_name_text(row), text) == 0) return row;
    }
    if (count >= MAX_EXPANDED) return st_row_name(thread, "other");
    row = st_row_name(thread, text);
    count = atomic_fetch_add_explicit(&stages.expanded_count, 1, memory_order_relaxed);
    if (count < MAX_EXPANDED) atomic_store_explicit(&stages.expanded[count], row, memory_order_relaxed);
    return row;
}

/* The first rule that matches `text` or, if there is one, `other`; false: none. */
static bool find_rule(enum st_map_source source, const char *text, const char *other,
                      struct st_map_capture *ret_captures, uint32_t *ret_rule)
{
    if (!st_stages_uses(source)) return false;
    if (source == ST_MAP_PYTHON) st_recognise_see(text);
    for (uint32_t i = 0, count = rule_count(); i < count; i++) {
        const struct st_map_rule *rule = &stages.map->rules[i];
        if (rule->source != source || !st_cxx_matches(rule->pattern, text, other, ret_captures)) continue;
        *ret_rule = i;
        return true;
    }
    return false;
}

bool st_stages_match_either(enum st_map_source source, struct st_thread *thread, const char *text, const char *other,
                            struct st_stage_match *ret_match)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];
    uint32_t rule;

    if (!find_rule(source, text, other, captures, &rule)) return false;
    ret_match->rule = (uint16_t)rule;
    ret_match->name = stages.is_expanded[rule] ? expanded_name(thread, stages.map->rules[rule].name, captures)
                                               : stages.names[rule];
    return true;
}

bool st_stages_match(enum st_map_source source, struct st_thread *thread, const char *text,
                     struct st_stage_match *ret_match)
{
    return st_stages_match_either(source, thread, text, NULL, ret_match);
}

bool st_stages_match_part(enum st_map_source source, const char *text, struct st_stage_match *ret_match)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];
    uint32_t rule;

    if (!find_rule(source, text, NULL, captures, &rule) || stages.is_expanded[rule]) return false;
    *ret_match = (struct st_stage_match){(uint16_t)rule, stages.names[rule]};
    return true;
}

bool st_stages_uses(enum st_map_source source)
{
    return atomic_load_explicit(&stages.rules_of_source[source], memory_order_relaxed) > 0;
}

const struct st_map_rule *st_stages_rule(uint32_t n)
{
    return n < rule_count() ? &stages.map->rules[n] : NULL;
}

bool st_stages_rule_counts(uint32_t rule)
{
    return st_recognise_counts(stages.owners[rule]);
}

/* Make the rules of the map that are not ready yet ready. */
static void take_rules(const struct st_map *map)
{
    uint32_t end = map->count < ST_STAGES_MAX_RULES ? map->count : ST_STAGES_MAX_RULES;
    uint32_t count[SOURCES] = {0};

    for (uint32_t i = rule_count(); i < end; i++) {
        const struct st_map_rule *rule = &map->rules[i];
        count[rule->source]++;
        stages.roles[i] = (uint8_t)st_map_role_in_force(rule);
        stages.is_expanded[i] = strchr(rule->name, '$') != NULL;
        if (rule->name[0] != '\0' && !stages.is_expanded[i]) stages.names[i] = st_row_name(NULL, rule->name);
        if (rule->role == ST_MAP_STEP_END) st_window_add_iterated(stages.names[i]);
    }
    atomic_store_explicit(&stages.rule_count, end, memory_order_release);
    for (int i = 0; i < SOURCES; i++)
        atomic_fetch_add_explicit(&stages.rules_of_source[i], count[i], memory_order_relaxed);
}

void st_stages_init(struct st_map *map, bool is_automatic)
{
    stages.map = map;
    take_rules(map);
    atomic_store_explicit(&stages.automatic, is_automatic ? map : NULL, memory_order_release);
    st_symbols_init(map, rule_count());
    if (st_stages_uses(ST_MAP_SYMBOL)) st_watch_set_matcher(st_symbols_match);
    if (st_stages_uses(ST_MAP_NVTX)) st_nvtx_init();
}

bool st_stages_wants_python(void)
{
    return atomic_load_explicit(&stages.automatic, memory_order_acquire) != NULL || st_stages_uses(ST_MAP_PYTHON);
}

bool st_stages_add_python(void)
{
    struct st_map *map = atomic_load_explicit(&stages.automatic, memory_order_relaxed);

    if (map != NULL) {
        st_recognise_add_rules(map, stages.owners, ST_STAGES_MAX_RULES);
        take_rules(map);
        atomic_store_explicit(&stages.automatic, NULL, memory_order_release);
    }
    return st_stages_uses(ST_MAP_PYTHON);
}

void st_stages_start(void (*on_request)(void), const char *tee)
{
    stages.on_request = on_request;
    if (st_stages_uses(ST_MAP_LOG)) st_lines_start(tee);
}

void st_stages_end(void)
{
    if (st_stages_uses(ST_MAP_LOG)) st_lines_end();
}

/* ---- entering and leaving ---- */

/*
 * A token holds what leaving needs: the rule (+ 1) in the upper half; in the lower half the span that was
 * opened, or for `step-end` the row name.
 */
static uint64_t make_token(uint16_t rule, uint32_t low)
{
    return (uint64_t)(rule + 1u) << 32 | low;
}

static void call_on_request(void *unused)
{
    stages.on_request();
}

static uint64_t enter_span(struct st_thread *thread, enum st_span_role role, uint16_t rule, uint32_t name)
{
    uint32_t span = st_span_enter(thread, role, name, rule);
    return span != 0 ? make_token(rule, span) : ST_WATCH_BYPASS;
}

void st_stage_mark(struct st_thread *thread, uint16_t rule, uint32_t name)
{
    switch ((enum st_map_role)stages.roles[rule]) {
    case ST_MAP_BEGIN:
        st_span_begin(thread, name, rule);
        return;
    case ST_MAP_END:
        st_span_end(thread, name);
        return;
    case ST_MAP_STEP_END:
        st_span_step_end(thread, name);
        return;
    case ST_MAP_BEGIN_REQUEST:
        st_span_begin_request(thread, rule);
        return;
    case ST_MAP_END_REQUEST:
        st_span_end_request(thread);
        return;
    default: /* has an extent */
        return;
    }
}

enum st_map_role st_stages_role(uint16_t rule)
{
    return (enum st_map_role)stages.roles[rule];
}

void st_stages_count(uint16_t rule)
{
    atomic_fetch_add_explicit(&stages.matched[rule], 1, memory_order_relaxed);
}

uint64_t st_stage_enter(uint16_t rule, uint32_t name)
{
    enum st_map_role role = (enum st_map_role)stages.roles[rule];
    struct st_thread *thread;

    if (st_suppress > 0 || !st_stages_rule_counts(rule)) return ST_WATCH_BYPASS;
    if (atomic_load_explicit(&st_unwind_active, memory_order_relaxed)) st_watch_call_saved(st_unwind_before_edge, NULL);
    st_stages_count(rule);
    if ((role == ST_MAP_REQUEST || role == ST_MAP_BEGIN_REQUEST) && stages.on_request != NULL)
        st_watch_call_saved(call_on_request, NULL);
    thread = st_thread_self();
    if (thread == NULL) return ST_WATCH_BYPASS;
    switch (role) {
    case ST_MAP_STAGE:
        return enter_span(thread, ST_ROLE_STAGE, rule, name);
    case ST_MAP_REQUEST:
        return enter_span(thread, ST_ROLE_REQUEST, rule, 0);
    case ST_MAP_STEP:
        return enter_span(thread, ST_ROLE_STEP, rule, name);
    case ST_MAP_LOAD:
        return enter_span(thread, ST_ROLE_LOAD, rule, name);
    case ST_MAP_OFF:
        return enter_span(thread, ST_ROLE_OFF, rule, 0);
    case ST_MAP_STEP_END:
        return make_token(rule, name);
    case ST_MAP_BEGIN:
    case ST_MAP_END:
    case ST_MAP_BEGIN_REQUEST:
    case ST_MAP_END_REQUEST:
        st_stage_mark(thread, rule, name);
        return ST_WATCH_BYPASS;
    }
    return ST_WATCH_BYPASS;
}

void st_stage_leave(uint64_t token, int how)
{
    struct st_thread *thread = st_thread_current;
    uint32_t rule = (uint32_t)(token >> 32) - 1;

    if (thread == NULL || token == ST_WATCH_BYPASS) return;
    if (how == ST_END_RETURN && atomic_load_explicit(&st_unwind_active, memory_order_relaxed))
        st_watch_call_saved(st_unwind_before_edge, NULL);
    if (stages.roles[rule] == ST_MAP_STEP_END) {
        st_span_step_end(thread, (uint32_t)token);
    } else {
        st_span_leave(thread, (uint32_t)token, (enum st_span_end)how);
    }
}

void st_stage_leave_for_ended(uint64_t token, uint64_t at_ticks)
{
    struct st_thread *thread = st_thread_self();
    uint32_t rule = (uint32_t)(token >> 32) - 1;

    if (thread != NULL && token != ST_WATCH_BYPASS && stages.map->rules[rule].role != ST_MAP_STEP_END)
        st_span_leave_for_ended(thread, (uint32_t)token, at_ticks);
}

void st_stage_instant(uint16_t rule, uint32_t name)
{
    enum st_map_role role = (enum st_map_role)stages.roles[rule];

    if (role != ST_MAP_BEGIN && role != ST_MAP_END && role != ST_MAP_STEP_END && role != ST_MAP_BEGIN_REQUEST &&
        role != ST_MAP_END_REQUEST)
        return;
    st_stage_leave(st_stage_enter(rule, name), ST_END_MARKED);
}

void st_stages_fork_child(void)
{
    for (uint32_t i = 0; i < ST_STAGES_MAX_RULES; i++)
        atomic_store_explicit(&stages.matched[i], 0, memory_order_relaxed);
    st_seen_fork_child();
    st_nvtx_fork_child();
    if (st_stages_uses(ST_MAP_LOG)) st_lines_fork_child();
}

/* ---- facts ---- */

uint64_t st_stages_matched(uint32_t rule)
{
    return rule < ST_STAGES_MAX_RULES ? atomic_load_explicit(&stages.matched[rule], memory_order_relaxed) : 0;
}

static bool is_source_seen(enum st_map_source source)
{
    for (uint32_t i = 0, count = rule_count(); i < count; i++)
        if (stages.map->rules[i].source == source && st_stages_matched(i) > 0) return true;
    return false;
}

static void add_capability(struct st_rows *rows, const char *kind, enum st_capability_state state, const char *why)
{
    const struct st_text texts[] = {{kind, (uint32_t)strlen(kind)}, {"host", 4}, {why, (uint32_t)strlen(why)}};
    st_rows_add(rows, (const int64_t[ST_COUNT_C_CAPABILITY]){[ST_CAPABILITY_C_state] = state}, texts);
}

static void add_stacks(struct st_rows *rows)
{
    const char *trouble = st_unwind_trouble();
    struct st_unwind_stats stats;

    st_unwind_get_stats(&stats);
    if (trouble[0] != '\0') {
        add_capability(rows, "stacks", ST_CAP_NOT_COLLECTED, trouble);
    } else if (stats.walks > 0) {
        add_capability(rows, "stacks", ST_CAP_SEEN, "");
    } else if (st_unwind_active) {
        add_capability(rows, "stacks", ST_CAP_ACCEPTED, "no CUDA call was made");
    }
}

void st_stages_capabilities(struct st_rows *rows)
{
    const char *why = "";
    enum st_capability_state state = ST_CAP_NOT_COLLECTED;

    if (!st_stages_uses(ST_MAP_SYMBOL)) {
        add_capability(rows, "symbol", ST_CAP_NOT_COLLECTED, "no symbol rule in the map");
    } else if (is_source_seen(ST_MAP_SYMBOL)) {
        add_capability(rows, "symbol", ST_CAP_SEEN, "");
    } else {
        add_capability(rows, "symbol", ST_CAP_ACCEPTED, "no function of that name was called");
    }
    add_stacks(rows);
    if (!st_stages_uses(ST_MAP_NVTX)) {
        why = "no nvtx rule in the map";
    } else if (is_source_seen(ST_MAP_NVTX)) {
        state = ST_CAP_SEEN;
    } else {
        state = st_nvtx_state(&why);
    }
    add_capability(rows, "nvtx", state, why);
    if (st_stages_uses(ST_MAP_PYTHON)) {
        state = st_python_state(&why);
        if (is_source_seen(ST_MAP_PYTHON)) {
            state = ST_CAP_SEEN;
            why = st_python_description();
        }
        add_capability(rows, "python", state, why);
    }
    if (st_stages_uses(ST_MAP_LOG)) {
        state = st_lines_state(is_source_seen(ST_MAP_LOG), &why);
        add_capability(rows, "log", state, why);
    }
}
