/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages of functions that no symbol leads to: the stack of a thread is walked before each of its outermost CUDA calls,
 * and before a stage of another kind is entered or left. A function that is on it is inside its stage, one that is not
 * any more has left: edges that are concluded, and late by at most the time since the walk before.
 *
 * The unwinder is that of libgcc_s.so.1 (loaded on demand, never linked): the one that exceptions use anyway.
 */
#ifndef ST_STAGES_UNWIND_H
#define ST_STAGES_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

struct st_thread;

/* `follows_all`: STAGETAP_COLLECT=stacks – every symbol rule, and names of functions are noted (seen.h). Else only
 * rules that no dynamic function matches. Constructor. */
void st_unwind_init(bool has_rules, bool follows_all);
bool st_unwind_follows_all(void);

/* Before the first CUDA call is recorded: if there is a reason to look at stacks, look at the files, load the unwinder
 * and have every call looked at (at_call.h). Plain C; once. */
void st_unwind_prepare(void);

/* An edge of another source is about to be made on this thread (void *: for st_watch_call_saved). Plain C. */
void st_unwind_before_edge(void *unused);

/* The process ends: stages that this thread has left since its last CUDA call. Plain C. */
void st_unwind_at_exit(void);

/* Why nothing can be found on stacks, "" = it can. Any thread. */
const char *st_unwind_trouble(void);
/* Stacks are walked: there is something to look for, and an unwinder. Any thread. */
extern _Atomic bool st_unwind_active;

/* The names of functions that were met on stacks become SEEN names. At the end; plain C with system calls. */
void st_unwind_tell_seen(void);

struct st_unwind_stats {
    uint64_t walks;   /* stacks walked */
    uint64_t known;   /* … that were as before, as the words on the stack said */
    uint64_t too_deep;
};
void st_unwind_get_stats(struct st_unwind_stats *ret);

#endif
