/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Python program is this? When no map was set, the rules of every preset that has a `# modules:` line are
 * taken in, and none of them counts until the first function of one of its modules is seen: then that preset is
 * recognised. A preset that another recognised one stands over (`# over:`) does not count, whichever came first.
 */
#ifndef ST_STAGES_RECOGNISE_H
#define ST_STAGES_RECOGNISE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/map.h"

enum { ST_RECOGNISE_MAX = 32 };

/* What is known of each owner of rules: bits that are only ever set, so that no order of threads matters. Owner 0 is
 * no preset: its rules always count. Read on the path of a stage edge. */
enum { ST_RECOGNISED = 1, ST_OVERRULED = 2 };
extern _Atomic uint8_t st_recognise_known[ST_RECOGNISE_MAX];

static inline bool st_recognise_counts(uint8_t owner)
{
    return atomic_load_explicit(&st_recognise_known[owner], memory_order_relaxed) == ST_RECOGNISED;
}

/* Append the rules of all presets that can be recognised; owners[i] becomes the owner of rule i of *map. Once. Plain
 * C, no allocation. */
void st_recognise_add_rules(struct st_map *map, uint8_t *owners, uint32_t owner_count);

/* A Python function, as module:qualname, was seen for the first time. Any thread, no lock; repeated calls do no
 * harm. Plain C. */
void st_recognise_see(const char *text);

/* How many presets were recognised so far. Any thread. */
uint32_t st_recognise_count(void);

/*
 * Those that count, in words: their names joined with "+", by what each was recognised, what they were checked
 * against (st_preset.checked). Empty texts if there is none. Writer thread.
 */
struct st_recognised {
    char names[128], why[512], checked[512];
};
void st_recognise_tell(struct st_recognised *ret);

#endif
