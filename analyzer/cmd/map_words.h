/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a stage map in words: for people, and as text that is a rule again. Pure functions; any thread. */
#ifndef ST_CMD_MAP_WORDS_H
#define ST_CMD_MAP_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "config/map.h"

#define ST_MAP_SENTENCE_BYTES 1024

/* The word for a role: "stage", "begin request" … */
const char *st_map_role_name(enum st_map_role role);

/* What the rule means, as a sentence of plain English. Cut at `size`. */
void st_map_sentence(const struct st_map_rule *rule, char *ret, size_t size);

/* What stands behind `->`: "encode", "sample step", "begin request" … Cut at `size`. */
void st_map_meaning(enum st_map_role role, const char *name, char *ret, size_t size);

/* A rule for exactly this name (of which only the begin is known, if it is cut), to be pasted: quoted where need be. */
void st_map_rule_for(enum st_map_source source, const char *name, bool is_cut, const char *meaning, char *ret,
                     size_t size);

#endif
