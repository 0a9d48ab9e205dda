/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage map against any bytes. An input is a map, and behind its first zero byte a name to match. What must hold:
 * no byte beyond the arena, texts inside it; a map that parses has no mistakes for the check, and the other way round;
 * each rule as it is shown parses to the same rule; globs agree with a slow matcher; captures lie in the name.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/map.h"

enum { MOST_RULES = 64, ARENA_BYTES = 8192, GUARD = 0x5a };

#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

struct room {
    struct st_map_rule rules[MOST_RULES];
    char arena[ARENA_BYTES + 1];
    struct st_map map;
};

static void make_room(struct room *room, uint32_t capacity, size_t bytes)
{
    room->map = (struct st_map){.rules = room->rules, .capacity = capacity, .arena = room->arena, .arena_bytes = bytes};
    room->arena[bytes] = GUARD;
}

static void check_text(const struct st_map *map, const char *text)
{
    if (text[0] == '\0') return; /* may be a constant */
    HOLDS(text >= map->arena && text < map->arena + map->arena_used);
    HOLDS(memchr(text, '\0', (size_t)(map->arena + map->arena_used - text)) != NULL);
}

static void check_room(const struct room *room)
{
    HOLDS(room->map.arena_used <= room->map.arena_bytes && room->map.count <= room->map.capacity);
    HOLDS(room->arena[room->map.arena_bytes] == GUARD);
    for (uint32_t i = 0; i < room->map.count; i++) {
        const struct st_map_rule *rule = &room->map.rules[i];

        check_text(&room->map, rule->pattern);
        check_text(&room->map, rule->name);
        check_text(&room->map, rule->text);
        HOLDS(st_map_source_name((enum st_map_source)rule->source) != NULL);
        HOLDS(rule->role >= ST_MAP_STAGE && rule->role <= ST_MAP_END_REQUEST);
        HOLDS(rule->line_number >= 1 && rule->column >= 1 && strlen(rule->name) <= ST_MAP_MAX_NAME);
    }
}

static void count_mistake(void *context, const struct st_map_error *error)
{
    int *count = context;

    HOLDS(error->line >= 1 && error->column >= 1 && error->what[0] != '\0');
    HOLDS(memchr(error->what, '\0', sizeof(error->what)) != NULL);
    ++*count;
}

static bool is_same_rule(const struct st_map_rule *a, const struct st_map_rule *b)
{
    return a->source == b->source && a->role == b->role && strcmp(a->pattern, b->pattern) == 0 &&
           strcmp(a->name, b->name) == 0;
}

/* A rule as it is shown is the rule. */
static void check_shown(const struct st_map_rule *rule)
{
    static struct room again;
    struct st_map_error error;

    make_room(&again, 2, ARENA_BYTES);
    HOLDS(st_map_parse(&again.map, rule->text, strlen(rule->text), "again", &error));
    HOLDS(again.map.count == 1 && is_same_rule(rule, &again.rules[0]));
}

static const char *after(const char *text)
{
    for (text++; ((unsigned char)*text & 0xC0) == 0x80; text++) continue;
    return text;
}

/* All ways, one after another; `steps` bounds them. */
static bool glob_slowly(const char *pattern, const char *text, int *steps)
{
    if (--*steps < 0) return false;
    if (*pattern == '\0') return *text == '\0';
    if (*pattern == '*') {
        if (glob_slowly(pattern + 1, text, steps)) return true;
        return *text != '\0' && glob_slowly(pattern, text + 1, steps);
    }
    if (*text == '\0') return false;
    if (*pattern == '?') return glob_slowly(pattern + 1, after(text), steps);
    return *pattern == *text && glob_slowly(pattern + 1, text + 1, steps);
}

static void check_glob(const char *pattern, const char *text)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];
    bool matches = st_map_glob(pattern, text, captures);
    int steps = 20000;
    bool slowly = glob_slowly(pattern, text, &steps);
    char together[4096];

    if (steps > 0) HOLDS(matches == slowly);
    if (!matches) return;
    HOLDS(st_map_expand("$1$2$3$4$5$6$7$8$9", captures, together, sizeof(together)) < sizeof(together));
    HOLDS(strlen(together) <= strlen(text));
    for (int i = 0; i < ST_MAP_MAX_CAPTURES; i++) {
        if (captures[i].length > 0) {
            HOLDS(captures[i].begin >= text && captures[i].begin + captures[i].length <= text + strlen(text));
        }
    }
    for (size_t size = 1; size < 8; size++) HOLDS(st_map_expand("a$1b", captures, together, size) < size);
}

static bool is_ascii(const char *text)
{
    while (*text > 0) text++;
    return *text == '\0';
}

/* What is no valid UTF-8 has no characters that `?` could stand for: no more than that nothing is read too far. */
static void check_covers(const struct st_map *map, const char *text)
{
    for (uint32_t i = 0; i < map->count && i < 8; i++) {
        HOLDS(st_map_covers("*", map->rules[i].pattern));
        for (uint32_t k = 0; k < map->count && k < 8; k++) {
            if (is_ascii(map->rules[i].pattern) && is_ascii(map->rules[k].pattern) && is_ascii(text) &&
                st_map_covers(map->rules[i].pattern, map->rules[k].pattern) &&
                st_map_glob(map->rules[k].pattern, text, NULL)) {
                HOLDS(st_map_glob(map->rules[i].pattern, text, NULL));
            }
            HOLDS(i != k || !is_ascii(map->rules[i].pattern) ||
                  st_map_covers(map->rules[i].pattern, map->rules[i].pattern));
        }
    }
}

static void check_value(const char *value)
{
    const char *at = value, *end = value + strlen(value);
    struct st_map_part part;

    while (st_map_next_part(&at, &part)) {
        HOLDS(part.text >= value && part.text + part.length <= end);
        HOLDS(at == NULL || (at > part.text && at <= end));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct room room, checked;
    size_t length = size > 0 ? strnlen((const char *)data, size) : 0;
    char *text = strndup(size > 0 ? (const char *)data : "", length);
    char *name = length < size ? strndup((const char *)data + length + 1, size - length - 1) : strdup("");
    struct st_map_error error;
    int mistakes = 0;

    HOLDS(text != NULL && name != NULL);
    make_room(&room, length % 7 == 0 ? 1 : MOST_RULES, length % 5 == 0 ? length : ARENA_BYTES);
    make_room(&checked, room.map.capacity, room.map.arena_bytes);
    bool parsed = st_map_parse(&room.map, text, length, "fuzz", &error);
    HOLDS(parsed || (room.map.count == 0 && room.map.arena_used == 0));
    check_room(&room);
    HOLDS(st_map_check(&checked.map, text, length, "fuzz", count_mistake, &mistakes) == mistakes);
    HOLDS(parsed == (mistakes == 0) && (!parsed || checked.map.count == room.map.count));
    check_room(&checked);
    for (uint32_t i = 0; i < checked.map.count; i++) {
        check_shown(&checked.map.rules[i]);
        check_glob(checked.map.rules[i].pattern, name);
        check_glob(checked.map.rules[i].pattern, checked.map.rules[i].name);
    }
    check_glob(text, name);
    check_covers(&checked.map, name);
    check_value(text);
    free(text);
    free(name);
    return 0;
}
