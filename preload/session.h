/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a trace in this process: nothing until the process uses CUDA (or enters a request), then a
 * file, rings and the writer; settled when exit() begins, closed by our destructor. Also what fork() does to it.
 */
#ifndef ST_PRELOAD_SESSION_H
#define ST_PRELOAD_SESSION_H

#include <stdbool.h>

/* Note what only the constructor knows. No system call but getcwd. */
void st_session_prepare(int argc, char **argv);

/* Start the trace if it has not started. Plain C; the calling thread's private ring becomes shared. Returns
 * whether there is a trace. A second thread waits (at most 2 s) until the first is done. */
bool st_session_start(void);

/* Hooks of preload/watch: before the first watched CUDA call, after the first successful cuInit. */
void st_session_on_first_call(void);
void st_session_on_init(void);

/* The process is about to end, the driver is still there: everything so far goes to the trace, and the device library
 * is asked for the last time. Exit handlers and destructors of the program that follow are still recorded. */
void st_session_settle(void);

/* Close the trace: from our destructor, which is the last one, or by quick_exit(). Once. */
void st_session_finish(void);

/* At the end: CUDA libraries that were out of reach are reason enough for a trace that says so. */
void st_session_tell_unreached(void);

/* At the end of a process without a trace: tell the `stagetap run` that it belongs to what was there. */
void st_session_tell_run(void);

/* pthread_atfork child handler: the child starts clean. */
void st_session_fork_child(void);

#endif
