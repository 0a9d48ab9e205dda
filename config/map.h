/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage-map grammar (design §4): one rule a line (or `;`): source, pattern, `->`, meaning.
 * Used by the preloaded library (rules in force) and by the analyzer (checks, kernel rules). Does not
 * print, does not allocate: the caller gives the memory, so that it also runs where malloc may not.
 */
#ifndef ST_CONFIG_MAP_H
#define ST_CONFIG_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum st_map_source { ST_MAP_NVTX = 1, ST_MAP_PYTHON = 2, ST_MAP_SYMBOL = 3, ST_MAP_KERNEL = 4, ST_MAP_LOG = 5 };

enum st_map_role {
    ST_MAP_STAGE = 1,    /* NAME */
    ST_MAP_REQUEST = 2,  /* request */
    ST_MAP_STEP = 3,     /* step | NAME step */
    ST_MAP_STEP_END = 4, /* NAME step-end */
    ST_MAP_BEGIN = 5,    /* begin NAME */
    ST_MAP_END = 6,      /* end NAME */
    ST_MAP_LOAD = 7,     /* load (row "load", kept apart from requests) */
    ST_MAP_OFF = 8,      /* off */
    ST_MAP_BEGIN_REQUEST = 9, /* begin request */
    ST_MAP_END_REQUEST = 10,  /* end request */
};

#define ST_MAP_MAX_CAPTURES 9
#define ST_MAP_MAX_NAME 64 /* bytes of a stage name as written in a rule */

/* Texts point into the arena given to st_map_parse() and are NUL-terminated. */
struct st_map_rule {
    uint8_t source; /* enum st_map_source */
    uint8_t role;   /* enum st_map_role */
    uint16_t line_number, column;
    const char *pattern; /* glob: `*` any run, `?` one character; the rest literal */
    const char *name;    /* stage name, may hold $1 … $9; "" where the role has none */
    const char *text;    /* the rule as written, without surplus blanks */
    const char *origin;  /* preset name, path, or "inline" */
};

struct st_map {
    struct st_map_rule *rules;
    uint32_t count, capacity;
    char *arena; /* texts */
    size_t arena_used, arena_bytes;
};

/* What the rule does. A line is an instant: with it a stage or request begins that has no end of its own, or an
 * iteration ends; of all other rules it is `role`. */
enum st_map_role st_map_role_in_force(const struct st_map_rule *rule);

struct st_map_error {
    int line, column; /* from 1; 0 = no place */
    char what[160];   /* one line: what is wrong and what is allowed */
};

/* The word of a rule for this source ("nvtx"); NULL: there is no such source. */
const char *st_map_source_name(enum st_map_source source);

/* A value of STAGETAP_MAP is presets, paths and, last, rules, joined with `+`. */
enum st_map_part_kind { ST_MAP_PART_PRESET, ST_MAP_PART_PATH, ST_MAP_PART_RULES };
struct st_map_part {
    enum st_map_part_kind kind;
    const char *text; /* in the value, not terminated */
    size_t length;    /* 0: nothing between two `+` */
};
/* The part at *at, which goes on to the next one and is NULL behind the last. False: there was none. */
bool st_map_next_part(const char **at, struct st_map_part *ret);

/* Append the rules of `text` to *map. The caller sets rules/capacity/arena/arena_bytes beforehand. On
 * failure nothing is appended and *ret_error says where and why. Any thread. */
bool st_map_parse(struct st_map *map, const char *text, size_t length, const char *origin,
                  struct st_map_error *ret_error);

/* Told of one mistake; *error is valid during the call. */
typedef void (*st_map_mistake_fn)(void *context, const struct st_map_error *error);

/* The same for a check of the whole text: goes on behind each mistake, tells every one of them to `each` and appends
 * the rules that are right. Returns how many mistakes there are. Any thread. */
int st_map_check(struct st_map *map, const char *text, size_t length, const char *origin, st_map_mistake_fn each,
                 void *context);

struct st_map_capture {
    const char *begin;
    size_t length;
};

/* Does `text` match the glob `pattern`? With captures (may be NULL, else ST_MAP_MAX_CAPTURES entries)
 * each `*` yields what it matched (shortest first). No allocation, linear in practice. */
bool st_map_glob(const char *pattern, const char *text, struct st_map_capture *ret_captures);

/* Does `pattern` match whatever `other` matches (both valid UTF-8)? False also where the two alone do not tell. */
bool st_map_covers(const char *pattern, const char *other);

/* Can this be the name of a stage: not empty, no word with a meaning of its own, `/` only between two names? What
 * st_map_expand() makes need not be. */
bool st_map_is_name(const char *name);

/* Expand $1 … $9 of `name` into `ret` (always NUL-terminated, cut at `size`). Returns the length. */
size_t st_map_expand(const char *name, const struct st_map_capture *captures, char *ret, size_t size);

#endif
