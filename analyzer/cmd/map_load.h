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

/* Are there rules that this version parses and does not follow (log)? `ret`: how many, in one line. */
bool st_map_idle_rules(const struct st_map *map, char *ret, size_t size);

enum st_map_verdict { ST_MAP_RIGHT, ST_MAP_MISTAKEN, ST_MAP_NO_PRESET, ST_MAP_UNREADABLE };

/* Load for a check: every mistake of every part is told to `say`, one line each, and what is right is in *ret. The
 * verdict is that of the worst part. Finish either way. */
enum st_map_verdict st_map_load_all(const char *value, struct st_map *ret, void (*say)(const char *line));

/* Only the verdict. */
bool st_map_load_check(const char *value, char *why, size_t why_bytes);

#endif
