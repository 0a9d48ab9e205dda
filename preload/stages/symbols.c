/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of every object that is loaded is held against the rules, a hundred thousand in a large library: a
 * look for a word that must be there (st_cxx_pattern_key) comes first, and the C++ name is made only where one is
 * found.
 */
#include "symbols.h"

#include <stdio.h>
#include <string.h>

#include "config/cxx_name.h"
#include "hidden.h"
#include "preload/record/thread.h"
#include "preload/watch/watch.h"
#include "stages.h"
#include "unwind.h"

#define MAX_KEYS 256

static const struct st_map *map;
static uint32_t rule_count;
static struct key {
    const char *text; /* in the pattern */
    size_t length;
} keys[MAX_KEYS];
static uint32_t key_count;
static bool has_keyless; /* a rule that could match any name */

/* ---- matching ---- */

static void add_key(const char *pattern)
{
    struct key key;

    key.length = st_cxx_pattern_key(pattern, &key.text);
    if (key.length == 0 || key_count == MAX_KEYS) {
        has_keyless = true;
        return;
    }
    for (uint32_t i = 0; i < key_count; i++)
        if (keys[i].length <= key.length && memmem(key.text, key.length, keys[i].text, keys[i].length) != NULL) return;
    keys[key_count++] = key;
}

void st_symbols_init(const struct st_map *of_session, uint32_t count)
{
    map = of_session;
    rule_count = count;
    for (uint32_t i = 0; i < count; i++)
        if (st_symbols_is_rule((uint16_t)i)) add_key(map->rules[i].pattern);
}

bool st_symbols_is_rule(uint16_t rule)
{
    return rule < rule_count && map->rules[rule].source == ST_MAP_SYMBOL;
}

static bool may_match(const char *symbol)
{
    size_t length = strlen(symbol);

    for (uint32_t i = 0; i < key_count; i++)
        if (memmem(symbol, length, keys[i].text, keys[i].length) != NULL) return true;
    return has_keyless;
}

bool st_symbols_match(const char *symbol, uint16_t *ret_rule, uint32_t *ret_name)
{
    char name[ST_CXX_NAME_BYTES];
    struct st_stage_match match;

    if (!may_match(symbol)) return false;
    const char *other = st_cxx_name(symbol, name, sizeof(name)) ? name : NULL;
    if (!st_stages_match_either(ST_MAP_SYMBOL, st_thread_current, symbol, other, &match)) return false;
    *ret_rule = match.rule;
    *ret_name = match.name;
    return true;
}

/* ---- why a rule met nothing ---- */

static struct reason {
    char object[96];
    uint64_t unbounded;
    bool is_dynamic, has_slot, is_hidden;
} reasons[ST_STAGES_MAX_RULES];
static bool has_looked_back;

static void set_object(struct reason *reason, const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(reason->object, sizeof(reason->object), "%s", path[0] == '\0' ? "the program" : slash ? slash + 1 : path);
}

static void note_stage(void *context, const struct st_watch_stage *stage)
{
    struct reason *reason = &reasons[stage->rule];

    if (!reason->is_dynamic || (stage->has_slot && !reason->has_slot)) set_object(reason, stage->object);
    reason->is_dynamic = true;
    reason->has_slot |= stage->has_slot;
    reason->unbounded += stage->unbounded;
}

static bool is_idle(uint16_t rule)
{
    return st_symbols_is_rule(rule) && st_stages_matched(rule) == 0;
}

void st_symbols_look_back(void)
{
    struct st_watch_stats stats;

    st_watch_get_stats(&stats);
    bool is_any_idle = stats.unbounded > 0;
    for (uint32_t i = 0; i < rule_count; i++) is_any_idle |= is_idle((uint16_t)i);
    if (!is_any_idle || has_looked_back) return;
    if (!st_hidden_update() || !st_watch_each_stage(true, note_stage, NULL)) return;
    for (uint32_t i = 0; i < rule_count; i++) {
        const char *where = st_hidden_where((uint16_t)i);
        if (where == NULL || reasons[i].is_dynamic) continue;
        reasons[i].is_hidden = true;
        set_object(&reasons[i], where);
    }
    has_looked_back = true;
}

static void explain(uint16_t rule, char *ret, size_t size)
{
    const struct reason *reason = &reasons[rule];
    const char *trouble = st_unwind_trouble(), *text = map->rules[rule].text;
    const char *next = !st_unwind_follows_all() ? "; `stagetap run --collect stacks` looks for it on the stacks"
                       : !is_idle(rule)         ? "; it was found on stacks"
                       : trouble[0] != '\0'     ? "; stacks can not be unwound"
                                                : "; it was on no stack at a CUDA call either";

    if (reason->unbounded > 0) {
        snprintf(ret, size, "%s: %llu calls of it in %s were let pass: it is not known how far their arguments reach "
                 "on the stack%s", text, (unsigned long long)reason->unbounded, reason->object, next);
    } else if (reason->has_slot) {
        snprintf(ret, size, "%s: defined in %s, and never called by way of its symbol", text, reason->object);
    } else if (reason->is_dynamic) {
        snprintf(ret, size, "%s: defined in %s, but no caller goes by its symbol (-Bsymbolic, inlined, or called "
                 "inside one object)%s", text, reason->object, next);
    } else if (reason->is_hidden) {
        snprintf(ret, size, "%s: in the .symtab of %s only (static or hidden); %s", text, reason->object,
                 trouble[0] != '\0' ? trouble : "it was on no stack at a CUDA call (inlined, or never called)");
    } else {
        snprintf(ret, size, "%s: no function of this name in any loaded object; inlined ones have no symbol%s", text,
                 st_hidden_stripped_count() > 0 ? ", nor have static and hidden ones of stripped files" : "");
    }
}

bool st_symbols_reason(uint32_t rule, char *ret, size_t size)
{
    if (!has_looked_back || (!is_idle((uint16_t)rule) && reasons[rule].unbounded == 0)) return false;
    explain((uint16_t)rule, ret, size);
    return true;
}
