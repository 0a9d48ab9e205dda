/* SPDX-License-Identifier: Apache-2.0 */
/* The `symbol` rules: native functions by their names, and why a rule met none. */
#ifndef ST_STAGES_SYMBOLS_H
#define ST_STAGES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/map.h"

/* Prepare the quick look (kept; constant from now on). Constructor, by st_stages_init(). */
void st_symbols_init(const struct st_map *map, uint32_t rule_count);

/* The first symbol rule that matches, by the symbol or by the C++ name in it; for st_watch_set_matcher(). Plain C, no
 * allocation, inside a dl_iterate_phdr callback or not. */
bool st_symbols_match(const char *symbol, uint16_t *ret_rule, uint32_t *ret_name);

/* Is rule `rule` a symbol rule that can match? */
bool st_symbols_is_rule(uint16_t rule);

/* Find out why rules met nothing. Plain C; takes the loader's lock. At the end, once, before the last facts are
 * written. */
void st_symbols_look_back(void);

/* … and say it, with the rule in front. False: it met something, is no symbol rule, or nobody has looked. Any
 * thread. */
bool st_symbols_reason(uint32_t rule, char *ret, size_t size);

#endif
