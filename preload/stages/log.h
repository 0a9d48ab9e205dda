/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage source `log`: rules matched against the lines that the program prints to stdout and stderr. Functions of
 * libc that print are redirected to ours (st_watch_redirect), which call them and then look at what was printed; no byte,
 * result or order changes. Without a log rule nothing of it is there.
 *
 *   log_fds.c, log_stdio.c   what was printed, on which of the two, since when        (the functions of libc)
 *   log_lines.c              → lines, per thread                                       → matched by rules
 *   log_tee.c                what a launcher saw, instead                             → matched by rules
 *   log.c                    → stages of the thread that printed, or of those that launch
 */
#ifndef ST_STAGES_LOG_H
#define ST_STAGES_LOG_H

#include <stdbool.h>

#include "preload/trace/format.h"

/* Redirect libc's functions; or, where `tee` names the ring of a launcher that copies (config/tee.h), read that. NULL: it
 * does not. Constructor, after st_watch_start(), if there is a log rule. */
void st_lines_start(const char *tee);
/* In the child of fork(). */
void st_lines_fork_child(void);
/* Look at what is still in the buffers of stdout and stderr, which libc writes after the last destructor. */
void st_lines_end(void);

/* For the capability row. Any thread. */
enum st_capability_state st_lines_state(bool is_matched, const char **ret_why);

#endif
