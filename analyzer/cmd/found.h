/* SPDX-License-Identifier: Apache-2.0 */
/* Which trace files a run has left behind. One thread. */
#ifndef ST_CMD_FOUND_H
#define ST_CMD_FOUND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct st_found {
    char **paths; /* all traces of the run, that of the first process in front */
    size_t count;
};

/* Look for the traces whose header carries `run`, where STAGETAP_OUT = `out` (NULL = default) lets them be
 * and in the folders the library falls back to. `pid`: the process whose trace is preferred. */
struct st_found st_found_search(const char *out, const uint8_t run[16], pid_t pid);
void st_found_finish(struct st_found *found);

#endif
