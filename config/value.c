/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of STAGETAP_MAP: presets, paths and rules, joined with `+`. Pure functions of their arguments: any thread,
 * no allocation.
 */
#include <string.h>

#include "config/map.h"

/* No preset has such a name: whoever wrote this meant a rule, if with mistakes. */
static bool begins_as_rule(const char *text)
{
    text += strspn(text, " \t\r\n;");
    if (*text == '#') return true;
    for (int source = ST_MAP_NVTX; source <= ST_MAP_LOG; source++) {
        const char *name = st_map_source_name((enum st_map_source)source);
        size_t length = strlen(name);
        if (strncmp(text, name, length) == 0 && (text[length] == ' ' || text[length] == '\t')) return true;
    }
    return false;
}

bool st_map_next_part(const char **at, struct st_map_part *ret)
{
    const char *text = *at;

    if (text == NULL) return false;
    *ret = (struct st_map_part){.text = text, .length = strcspn(text, "+")};
    bool is_path = memchr(text, '/', ret->length) != NULL ||
                   (ret->length > 4 && strncmp(text + ret->length - 4, ".map", 4) == 0);
    bool is_rule = begins_as_rule(text), has_arrow = strstr(text, "->") != NULL;
    bool may_be_rule = is_rule || memmem(text, ret->length, "->", 2) != NULL ||
                       (!is_path && strcspn(text, " \t\n") < ret->length);
    ret->kind = is_path ? ST_MAP_PART_PATH : ST_MAP_PART_PRESET;
    if ((is_rule && !is_path) || (may_be_rule && has_arrow)) { /* to the end: a pattern may hold any character */
        ret->kind = ST_MAP_PART_RULES;
        ret->length = strlen(text);
    }
    *at = text[ret->length] == '+' ? text + ret->length + 1 : NULL;
    return true;
}
