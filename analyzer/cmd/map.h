/* SPDX-License-Identifier: Apache-2.0 */
/* What `stagetap map check` and `stagetap map names` share. Main thread. */
#ifndef ST_CMD_MAP_H
#define ST_CMD_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/cmd/map_seen.h"
#include "analyzer/render/grid.h"

struct st_map_command {
    const char *words[3]; /* check MAP [FILE], names [FILE] */
    int word_count;
    bool json;
    int64_t top;       /* names of one source on the screen; 0 = all */
    uint8_t source;    /* only this one; 0 = all */
    struct st_style style;
};

/* A run that was read, with its names. */
struct st_map_run {
    struct st_model *model;
    struct st_map_names names;
};
/* `word`: FILE, a folder, a process id; NULL = the newest run here. Returns an exit code; on ST_EXIT_OK the caller
 * finishes *ret. Errors were said. */
int st_map_run_open(const char *word, struct st_map_run *ret);
void st_map_run_finish(struct st_map_run *run);

/* Each does its command and returns an exit code. */
int st_map_check_run(const struct st_map_command *command);
int st_map_names_run(const struct st_map_command *command);

#endif
