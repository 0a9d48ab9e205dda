/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sources of stages do before each outermost CUDA call: st_watch_hooks.before_call, shared by several. Nothing is
 * called, and a call costs nothing more, until the first one asks for it.
 */
#ifndef ST_STAGES_AT_CALL_H
#define ST_STAGES_AT_CALL_H

#include <stdint.h>

struct st_thread;

/* As st_watch_hooks.before_call: what may be done there is written there. */
typedef void (*st_at_call_fn)(struct st_thread *thread, const uint64_t *words);

/* Have `fn` called from now on, behind those asked for earlier. A second time: nothing. Any thread, any time. */
void st_at_call(st_at_call_fn fn);

#endif
