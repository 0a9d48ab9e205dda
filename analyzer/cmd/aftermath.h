/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a run left no trace, or one without CUDA work: what `stagetap run` sees while it waits, and what processes of the
 * run note at their end (preload/trace/notes.h). Main thread.
 */
#ifndef ST_CMD_AFTERMATH_H
#define ST_CMD_AFTERMATH_H

#include <stdbool.h>
#include <sys/types.h>

#include "analyzer/doctor/program.h"

struct st_aftermath {
    char notes[64]; /* the file; "" = none could be made */
    /* of the processes below the target that ran without the library: the one that speaks most */
    pid_t stranger;
    char stranger_name[32];
    enum st_fault stranger_fault;
    char stranger_seen[ST_SEEN_BYTES];
    bool stranger_used_cuda; /* it had a CUDA library mapped */
};

enum { ST_REASON_BYTES = 8192 }; /* with paths */

/* Before the target starts. `run`: the run id as 32 hex digits. */
void st_aftermath_begin(struct st_aftermath *aftermath, const char *run);
/* While it runs: look at the processes below `target`. A few reads in /proc; the processes do not notice. */
void st_aftermath_look(void *aftermath, pid_t target);
/* After it ended without any trace: why, in one line without its end. `command` is what was run. */
void st_aftermath_explain(const struct st_aftermath *aftermath, const char *command, char ret[ST_REASON_BYTES]);
/* At the end, always: removes the notes. */
void st_aftermath_end(struct st_aftermath *aftermath);

/* Traces of a run without one launch, copy or memset in them? Then why, as far as they tell. */
bool st_aftermath_lacks_work(char *const *paths, size_t count, char ret[ST_REASON_BYTES]);

#endif
