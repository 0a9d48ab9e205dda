/* SPDX-License-Identifier: Apache-2.0 */
/* Counting matches, and near misses; see map_match.h. */
#include "analyzer/cmd/map_match.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how often ---- */

/* The n-th rule of `source`, or map->count. */
static uint32_t rule_of_source(const struct st_map *map, uint8_t source, size_t n)
{
    uint32_t i = 0;

    for (; i < map->count; i++) {
        if (map->rules[i].source == source && n-- == 0) break;
    }
    return i;
}

/* Are the rules of this source the same ones, in the same order, in the map and in the trace's own? */
static bool is_in_force(const struct st_map *map, const struct st_model_trace *trace, uint8_t source)
{
    size_t n = 0;

    for (size_t i = 0; i < trace->rule_count; i++) {
        const struct st_model_rule *there = &trace->rules[i];
        uint32_t here;

        if (there->source != source) continue;
        here = rule_of_source(map, source, n++);
        if (here == map->count || map->rules[here].role != there->role ||
            strcmp(map->rules[here].pattern, there->pattern) != 0 || strcmp(map->rules[here].name, there->name) != 0) {
            return false;
        }
    }
    return rule_of_source(map, source, n) == map->count;
}

static void add_result(struct st_map_result *result, enum st_map_counted counted, int64_t matched)
{
    result->matched += matched;
    if (result->counted == ST_MAP_NOT_KNOWN) result->counted = counted;
}

static void take_recorded(const struct st_map *map, const struct st_model *model, uint32_t number, uint8_t source,
                          struct st_map_result *ret)
{
    const struct st_model_trace *trace = &model->traces[number];
    size_t n = 0;

    for (size_t i = 0; i < trace->rule_count; i++) {
        int64_t count;

        if (trace->rules[i].source != source) continue;
        uint32_t rule = rule_of_source(map, source, n++);
        if (!st_map_rule_entries(model, number, &trace->rules[i], &count)) continue;
        add_result(&ret[rule], ST_MAP_RECORDED, count);
    }
}

bool st_map_globs_meet(const char *pattern, const char *name)
{
    enum { MOST = 255 };
    bool rows[2][MOST + 1]; /* does the pattern so far meet the first n bytes of the name? */
    bool *above = rows[0], *row = rows[1];
    size_t length = strlen(name);

    if (length > MOST) return false;
    above[0] = true;
    for (size_t n = 0; n < length; n++) above[n + 1] = above[n] && name[n] == '*';
    for (; *pattern != '\0'; pattern++) {
        bool *last = above;

        row[0] = above[0] && *pattern == '*';
        for (size_t n = 0; n < length; n++) {
            if (*pattern == '*' || name[n] == '*') { /* one of the two takes nothing, or all that the other has */
                row[n + 1] = above[n + 1] || row[n];
            } else {
                row[n + 1] = above[n] && (*pattern == '?' || *pattern == name[n]);
            }
        }
        above = row;
        row = last;
    }
    return above[length];
}

/* Stacks are looked at now and then, so functions of which there is no sample may have run. */
static bool is_sampled(uint8_t source)
{
    return source == ST_MAP_PYTHON || source == ST_MAP_SYMBOL;
}

/* A name that was cut may match a pattern that goes on where it ends. */
static bool matches(const struct st_map_rule *rule, const struct st_map_name *name)
{
    if (st_map_glob(rule->pattern, name->text, NULL)) return true;
    if (rule->source == ST_MAP_PYTHON && st_map_globs_meet(rule->pattern, name->text)) return true;
    return name->is_cut && strncmp(rule->pattern, name->text, strlen(name->text)) == 0;
}

static void match_names(const struct st_map *map, const struct st_map_names *names, uint8_t source,
                        struct st_map_result *ret)
{
    for (size_t i = 0; i < names->count; i++) {
        bool is_taken = false;

        if (names->items[i].source != source) continue;
        for (uint32_t rule = 0; rule < map->count; rule++) {
            if (map->rules[rule].source != source) continue;
            ret[rule].is_sampled = is_sampled(source);
            if (!is_sampled(source)) add_result(&ret[rule], ST_MAP_EVALUATED, 0); /* now 0 means something */
            if (is_taken || !matches(&map->rules[rule], &names->items[i])) continue;
            add_result(&ret[rule], ST_MAP_EVALUATED, names->items[i].count);
            is_taken = true;
        }
    }
}

static bool match_trace(const struct st_map *map, const struct st_model *model, uint32_t number,
                        struct st_map_result *ret)
{
    struct st_map_names names;
    bool good = st_map_names_collect(model, number, &names);

    for (uint8_t source = ST_MAP_NVTX; good && source <= ST_MAP_LOG; source++) {
        if (source != ST_MAP_KERNEL && is_in_force(map, &model->traces[number], source)) {
            take_recorded(map, model, number, source, ret);
        } else {
            match_names(map, &names, source, ret);
        }
    }
    st_map_names_finish(&names);
    return good;
}

/* ---- near misses ---- */

static void lower(const char *text, char *ret, size_t size)
{
    size_t used = 0;

    for (; *text != '\0' && used + 1 < size; text++) ret[used++] = (char)tolower((unsigned char)*text);
    ret[used] = '\0';
}

/* The last component: behind the last `.`, `:` or `/`, without stars. */
static void last_part(const char *text, char *ret, size_t size)
{
    size_t used = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (strchr(".:/", *at) != NULL && at[1] != '\0') text = at + 1;
    }
    for (; *text != '\0' && used + 1 < size; text++) {
        if (*text != '*') ret[used++] = *text;
    }
    ret[used] = '\0';
}

/* Insertions, deletions and exchanges from one text to the other; both shorter than 128 bytes. */
static int edits(const char *from, const char *to)
{
    int row[128], columns = (int)strlen(to);

    for (int i = 0; i <= columns; i++) row[i] = i;
    for (int line = 1; *from != '\0'; from++, line++) {
        int diagonal = row[0];

        row[0] = line;
        for (int i = 1; i <= columns; i++) {
            int above = row[i], best = diagonal + (*from != to[i - 1]);

            if (above + 1 < best) best = above + 1;
            if (row[i - 1] + 1 < best) best = row[i - 1] + 1;
            diagonal = above;
            row[i] = best;
        }
    }
    return row[columns];
}

/* Does the pattern match once something stands in front of it, a module, a class, a namespace? */
static bool lacks_prefix(enum st_map_source source, const char *pattern, const char *name)
{
    char wider[520];
    const char *colon = source == ST_MAP_PYTHON ? strchr(pattern, ':') : NULL;
    static const char *const between[] = {":", ".", "/", "_", " "};

    if (colon != NULL) { /* any module, any class */
        snprintf(wider, sizeof(wider), "*%s", colon);
        if (st_map_glob(wider, name, NULL)) return true;
        pattern = colon + 1;
    }
    for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
        snprintf(wider, sizeof(wider), "*%s%s", between[i], pattern);
        if (st_map_glob(wider, name, NULL)) return true;
    }
    return false;
}

int st_map_distance(enum st_map_source source, const char *pattern, const char *name)
{
    char low_pattern[512], low_name[512], pattern_part[128], name_part[128], wider[516];
    int distance, most;

    lower(pattern, low_pattern, sizeof(low_pattern));
    lower(name, low_name, sizeof(low_name));
    if (st_map_glob(low_pattern, low_name, NULL)) return 0; /* but for upper and lower case */
    if (lacks_prefix(source, low_pattern, low_name)) return 1;
    snprintf(wider, sizeof(wider), "%s*", low_pattern);
    if (st_map_glob(wider, low_name, NULL)) return 2; /* the name goes on */
    last_part(low_pattern, pattern_part, sizeof(pattern_part));
    last_part(low_name, name_part, sizeof(name_part));
    most = (int)strlen(pattern_part) / 3;
    if (most == 0) return ST_MAP_FAR;
    distance = edits(pattern_part, name_part);
    return distance <= most ? 3 + distance : ST_MAP_FAR;
}

struct nearness {
    const struct st_map_name *name;
    int distance;
};

static bool is_nearer(const struct nearness *a, const struct nearness *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->name->count > b->name->count;
}

static void find_near(const struct st_map_rule *rule, const struct st_map_names *names, struct st_map_result *result)
{
    struct nearness best[ST_MAP_NEAR];
    uint32_t count = 0;

    for (size_t i = 0; i < names->count; i++) {
        struct nearness next = {&names->items[i], ST_MAP_FAR};
        uint32_t place;

        if (names->items[i].source != rule->source) continue;
        next.distance = st_map_distance((enum st_map_source)rule->source, rule->pattern, names->items[i].text);
        if (next.distance >= ST_MAP_FAR) continue;
        for (place = count; place > 0 && is_nearer(&next, &best[place - 1]); place--) {
            if (place < ST_MAP_NEAR) best[place] = best[place - 1];
        }
        if (place < ST_MAP_NEAR) best[place] = next;
        if (count < ST_MAP_NEAR) count++;
    }
    result->near_count = count;
    for (uint32_t i = 0; i < count; i++) result->near[i] = best[i].name;
}

bool st_map_match(const struct st_map *map, const struct st_model *model, const struct st_map_names *names,
                  struct st_map_result *ret)
{
    bool good = true;

    memset(ret, 0, map->count * sizeof(*ret));
    for (uint32_t i = 0; good && i < model->trace_count; i++) good = match_trace(map, model, i, ret);
    for (uint32_t i = 0; good && i < map->count; i++) {
        if (ret[i].matched == 0) find_near(&map->rules[i], names, &ret[i]);
    }
    return good;
}
