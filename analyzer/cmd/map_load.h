/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage map as users name it (STAGETAP_MAP, -m, `map check`): inline rules, files and presets joined
 * with `+`. The grammar itself is config/map.h.
 */
#ifndef ST_CMD_MAP_LOAD_H
#define ST_CMD_MAP_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "config/map.h"

/* Load the map that `value` names into *ret; false: `why` says what is wrong, with line and column where
 * the grammar objects. Finish either way. */
bool st_map_load(const char *value, struct st_map *ret, char *why, size_t why_bytes);
void st_map_load_finish(struct st_map *map);

enum st_map_verdict { ST_MAP_RIGHT, ST_MAP_MISTAKEN, ST_MAP_NO_PRESET, ST_MAP_UNREADABLE };

/* One thing that is wrong: of a rule (line, column from 1), or of a whole part (line 0). */
struct st_map_mistake {
    const char *origin; /* preset, path or "inline"; "" = the value itself */
    int line, column;
    const char *what;
};
typedef void (*st_map_say_fn)(void *context, const struct st_map_mistake *mistake);
/* In one line, as it is said. */
void st_map_mistake_text(const struct st_map_mistake *mistake, char *ret, size_t size);

/* Load for a check: every mistake of every part is told to `say`, and what is right is in *ret. The verdict is that of
 * the worst part. Finish either way. */
enum st_map_verdict st_map_load_all(const char *value, struct st_map *ret, st_map_say_fn say, void *context);

/* Only the verdict. */
bool st_map_load_check(const char *value, char *why, size_t why_bytes);

#endif
