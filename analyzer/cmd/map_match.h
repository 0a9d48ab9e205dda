/* SPDX-License-Identifier: Apache-2.0 */
/* A stage map against a trace: how often each rule matched, and what was meant by those that never did. One thread. */
#ifndef ST_CMD_MAP_MATCH_H
#define ST_CMD_MAP_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/cmd/map_seen.h"

enum { ST_MAP_NEAR = 3 };

enum st_map_counted {
    ST_MAP_NOT_KNOWN, /* the trace has no names of this source: nothing can be said */
    ST_MAP_RECORDED,  /* the rules of this source were in force: what they opened was counted */
    ST_MAP_EVALUATED, /* compared now with the names that were seen */
};

struct st_map_result { /* of one rule */
    enum st_map_counted counted;
    int64_t matched; /* entries, ranges, lines; kernel rules: kernels that ran; 0 where not known */
    const struct st_map_name *near[ST_MAP_NEAR]; /* of a rule that never matched: names that are like its pattern */
    uint32_t near_count;
    bool is_sampled; /* there are names of its source, but not of all functions that ran: no match means not known */
};

/*
 * Match the rules of `map` against `model`. A source whose rules are those of the trace's own map has the counts that
 * were recorded; else the names that were seen are matched anew, each by the first rule of its source that fits.
 * `names`: of the whole model (st_map_names_collect); ret[] has map->count entries and borrows from `names`. False: out
 * of memory.
 */
bool st_map_match(const struct st_map *map, const struct st_model *model, const struct st_map_names *names,
                  struct st_map_result *ret);

/* Is there a text that both match? Of a Python function seen at a CUDA call the module may be known in part, and stands
 * as a glob, too. */
bool st_map_globs_meet(const char *pattern, const char *name);

/* How unlike a pattern and a name are; the lower the nearer, ST_MAP_FAR and above: no relation. */
enum { ST_MAP_FAR = 100 };
int st_map_distance(enum st_map_source source, const char *pattern, const char *name);

#endif
