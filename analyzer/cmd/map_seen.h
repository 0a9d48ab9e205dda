/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a trace that a rule of a stage map could match. One thread. */
#ifndef ST_CMD_MAP_SEEN_H
#define ST_CMD_MAP_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/model.h"
#include "config/map.h"

struct st_map_name {
    uint8_t source;   /* enum st_map_source */
    bool is_cut;      /* `text` is only the begin of the name */
    const char *text; /* borrowed from the model */
    int64_t count;    /* ranges, kernels, entries; of Python and native functions mostly samples of stacks */
    int64_t device_ns; /* kernels: how long they ran; else 0 */
    const struct st_model_rule *rule; /* of the trace's own map, that matches it; NULL = none */
};
struct st_map_names {
    struct st_map_name *items; /* by source, then text; each name of a source once */
    size_t count;
};

/* The names of traces[trace], or with ST_NONE of all of them together. False: out of memory. The caller finishes *ret
 * either way; the texts live as long as the model. */
bool st_map_names_collect(const struct st_model *model, uint32_t trace, struct st_map_names *ret);
void st_map_names_finish(struct st_map_names *names);

/* Times that the rule opened something, as the trace tells. False: the trace was not closed and shows none yet, so that
 * 0 would be a guess. Not for kernel rules. */
bool st_map_rule_entries(const struct st_model *model, uint32_t trace, const struct st_model_rule *rule,
                         int64_t *ret_count);

#endif
