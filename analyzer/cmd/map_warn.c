/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings; see map_warn.h. */
#include "analyzer/cmd/map_warn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct warner {
    const struct st_map *map;
    st_map_warn_fn tell;
    void *context;
};

__attribute__((format(printf, 4, 5))) static void warn(const struct warner *warner, const struct st_map_rule *rule,
                                                       const char *kind, const char *format, ...)
{
    struct st_map_warning warning = {.rule = rule, .kind = kind};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(warning.what, sizeof(warning.what), format, arguments);
    va_end(arguments);
    warner->tell(warner->context, &warning);
}

/* The first rule counts, so one behind it for the same names, or some of them, never does. */
static void warn_if_hidden(const struct warner *warner, const struct st_map_rule *rule)
{
    const char *source = st_map_source_name((enum st_map_source)rule->source);
    const struct st_map_rule *cover = NULL;

    for (const struct st_map_rule *first = warner->map->rules; first < rule; first++) {
        if (first->source != rule->source || !st_map_covers(first->pattern, rule->pattern)) continue;
        if (strcmp(first->pattern, rule->pattern) == 0) {
            warn(warner, rule, "duplicate",
                 "%s %.160s stands in %.160s, line %u already; the first one counts, this one never does", source,
                 rule->pattern, first->origin, first->line_number);
            return;
        }
        if (cover == NULL) cover = first;
    }
    if (cover == NULL) return;
    warn(warner, rule, "shadowed",
         "%s %.120s is covered by %s %.120s in %.120s, line %u; the first one counts: put this one before it", source,
         rule->pattern, source, cover->pattern, cover->origin, cover->line_number);
}

static bool has_captures(const char *name)
{
    return strchr(name, '$') != NULL;
}

/* Does a rule open a stage `name` (NULL: any)? */
static bool opens_stage(const struct st_map *map, const char *name)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct st_map_rule *rule = &map->rules[i];

        if (rule->source == ST_MAP_KERNEL ||
            (rule->role != ST_MAP_STAGE && rule->role != ST_MAP_BEGIN && rule->role != ST_MAP_LOAD)) {
            continue;
        }
        if (name == NULL || has_captures(rule->name) || strcmp(rule->name, name) == 0) return true;
    }
    return false;
}

static bool begins_stage(const struct st_map *map, const char *name)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct st_map_rule *rule = &map->rules[i];

        if (st_map_role_in_force(rule) == ST_MAP_BEGIN &&
            (has_captures(rule->name) || strcmp(rule->name, name) == 0)) return true;
    }
    return false;
}

static bool has_role(const struct st_map *map, enum st_map_role role)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (st_map_role_in_force(&map->rules[i]) == role) return true;
    }
    return false;
}

static void warn_if_homeless(const struct warner *warner, const struct st_map_rule *rule)
{
    const struct st_map *map = warner->map;

    if (has_captures(rule->name)) return;
    if (rule->role == ST_MAP_STEP && rule->name[0] == '\0' && !opens_stage(map, NULL)) {
        warn(warner, rule, "step_without_stage", "a step of the stage around it, but no rule opens a stage");
    } else if ((rule->role == ST_MAP_STEP || rule->role == ST_MAP_STEP_END) && rule->name[0] != '\0' &&
               !opens_stage(map, rule->name)) {
        warn(warner, rule, "step_without_stage", "a step of %s, but no rule opens %s", rule->name, rule->name);
    } else if (rule->role == ST_MAP_END && !begins_stage(map, rule->name)) {
        warn(warner, rule, "never_opened", "ends %s, but no rule is `begin %s`", rule->name, rule->name);
    } else if (rule->role == ST_MAP_END_REQUEST && !has_role(map, ST_MAP_BEGIN_REQUEST)) {
        warn(warner, rule, "never_opened", "ends a request, but no rule is `begin request`");
    }
}

void st_map_warn(const struct st_map *map, st_map_warn_fn tell, void *context)
{
    struct warner warner = {map, tell, context};

    for (uint32_t i = 0; i < map->count; i++) {
        warn_if_hidden(&warner, &map->rules[i]);
        warn_if_homeless(&warner, &map->rules[i]);
    }
    if (map->count > 0 && !has_role(map, ST_MAP_REQUEST) && !has_role(map, ST_MAP_BEGIN_REQUEST)) {
        warn(&warner, NULL, "no_request",
             "no rule says what a request is (`-> request`): all that the process does after loading counts as one");
    }
}
