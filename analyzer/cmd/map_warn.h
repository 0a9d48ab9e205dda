/* SPDX-License-Identifier: Apache-2.0 */
/* What is most likely a slip in a stage map whose rules are right one by one. Pure function; any thread. */
#ifndef ST_CMD_MAP_WARN_H
#define ST_CMD_MAP_WARN_H

#include "config/map.h"

struct st_map_warning {
    const struct st_map_rule *rule; /* NULL: of the whole map */
    const char *kind; /* duplicate, shadowed, step_without_stage, never_opened, no_request */
    char what[512];
};
typedef void (*st_map_warn_fn)(void *context, const struct st_map_warning *warning);

void st_map_warn(const struct st_map *map, st_map_warn_fn tell, void *context);

#endif
