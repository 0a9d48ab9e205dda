/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a rule could match, as they were met: for a user who has no map yet, and for rules that matched nothing
 * (`stagetap map names`, `map check`). At most ST_SEEN_NAMES of them; more are counted.
 */
#ifndef ST_STAGES_SEEN_H
#define ST_STAGES_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "config/map.h"

#define ST_SEEN_NAMES 2048
#define ST_SEEN_NAME_BYTES 120 /* longer names are cut */

/* `text` was met `count` times more. Any thread; lock-free, no libc, no allocation. */
void st_seen_add(enum st_map_source source, const char *text, uint64_t count);
/* `text` was met once more. Any thread; lock-free, no libc, no allocation. */
void st_seen_note(enum st_map_source source, const char *text);

/* The same in two steps, where a name is met often: its place (0: there is no room), and once more at that place. A
 * name that was not counted was seen 0 times. */
uint32_t st_seen_place(enum st_map_source source, const char *text);
void st_seen_count(uint32_t place);

/* The names keep their places, but have not been met. */
void st_seen_fork_child(void);

/* The n-th name, from 0, in the order they were met; false at the end. Any thread. */
bool st_seen_get(uint32_t n, enum st_map_source *ret_source, uint64_t *ret_count, const char **ret_text);
/* Names that there was no room for. */
uint64_t st_seen_untold(void);

#endif
