/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STAGETAP_WINDOW: full detail (calls, and what the device did for them) is recorded in the window only; boundaries –
 * requests, stages, steps – everywhere.
 *
 *   request    [                                              ]
 *   steps        [1][2] · [3][4] · [5][6]                            steps:3-4, in each request
 *   window                |~~~~~~|                                   from the entry of 3 to the exit of 4
 *
 * A thread is where its own request is; one without a request is where the only open request is, and in no window
 * of requests or steps while several are open or none. Until a rule names a request, the process is it.
 * Steps of `NAME step-end` run from mark to mark; the first from the entry of NAME. A window of steps ends at the
 * latest with the stage around them.
 *
 * What the window holds is written as marks (ST_MARK_WINDOW_OPEN, _CLOSE) into the ring of the thread at whose edge it
 * changed; windows of time by the writer (st_window_time). All of this runs at edges; a call asks one relaxed load.
 * General registers only, no libc. A request beyond ST_WINDOW_REQUESTS open ones at a time has no window.
 */
#ifndef ST_RECORD_WINDOW_H
#define ST_RECORD_WINDOW_H

#include <stdatomic.h>

#include "config/settings.h"
#include "thread.h"

#define ST_WINDOW_REQUESTS 64
#define ST_WINDOW_FLIPS 1024 /* a power of two; what the writer misses of them it is told */

extern _Atomic bool st_window_is_set; /* false: everything is recorded */

/* Constructor. `rule` is kept. has_requests: the map can name requests. */
void st_window_set(const struct st_window_rule *rule, bool has_requests);
/* `NAME step-end` is in the map; `name`: its row name. */
void st_window_add_iterated(uint32_t name);

/* Is what this thread does now recorded? Only where st_window_is_set. */
bool st_window_holds(const struct st_thread *thread);

/* ---- edges, by span.c ---- */
void st_window_request_begin(struct st_thread *thread, uint32_t number); /* before its first event */
void st_window_request_end(struct st_thread *thread, uint64_t ticks);    /* after its last */
void st_window_step_begin(struct st_thread *thread);                     /* before its first event */
void st_window_step_end(struct st_thread *thread, uint64_t ticks);   /* after its last */
void st_window_stage_begin(struct st_thread *thread, uint32_t name); /* it is open */
void st_window_popped(struct st_thread *thread, uint64_t ticks);     /* a span was closed */
/* Before the mark at `ticks` that closes an iteration of a stage that is open (after it: st_window_step_end). */
void st_window_before_mark(struct st_thread *thread, uint64_t ticks);

void st_window_profiler(bool is_on);

/* ---- for the writer's thread ---- */

/* The thread ended inside its request. */
void st_window_thread_ended(struct st_thread *thread);

/* Open or close windows of time, `now_ns` after the start of the trace. True: it changed, *ret_is_open to this. */
bool st_window_time(uint64_t now_ns, bool *ret_is_open);

enum st_window_kind { ST_WINDOW_REQUESTS_STEPS, ST_WINDOW_TIME, ST_WINDOW_PROFILER, ST_WINDOW_KINDS };

/* One change: +1 where a window of that kind opened, -1 where it closed. */
struct st_window_flip {
    uint64_t ticks;
    int step;
    enum st_window_kind kind;
};
/* The next change since the last call, in the order in which they were noted. False: no more. *ret_is_whole: none was
 * overwritten before it was looked at. */
bool st_window_next_flip(struct st_window_flip *ret_flip, bool *ret_is_whole);
/* What the rule asks for; NULL: no window is set. */
const struct st_window_rule *st_window_rule(void);

void st_window_fork_child(void);

#endif
