/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the source `log` share; see log.h. */
#ifndef ST_STAGES_LOG_PRIVATE_H
#define ST_STAGES_LOG_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/line.h"
#include "preload/watch/watch.h"
#include "stages.h"

/* ---- log_lines.c ---- */

enum { ST_LINES_OUT, ST_LINES_ERR, ST_LINES_CHANNELS };

/* What a thread printed to one of them. */
struct st_channel {
    uint64_t last_ticks; /* when it last printed there; 0 = never */
    struct st_line line;
};

/* What is kept for each thread that prints, in a page of its own; a thread that ended leaves it to a new one. */
struct st_lines {
    _Atomic uint32_t owner; /* thread id; 0 = a forked child's view of it */
    uint8_t as_fd;          /* what perror prints on a private FILE counts as on this one; 0 = nothing */
    void *held;             /* the FILE that is locked by us around a call that prints */
    bool is_busy;           /* a signal handler that prints now is not looked at */
    bool has_posted;        /* a rule matched a line of this thread … */
    uint64_t first_post;    /* … for the first time: its place among the posts */
    struct st_lines *next;
    struct st_channel channels[ST_LINES_CHANNELS];
};

/* Of the calling thread. get: NULL if there is none; make: NULL if there is no memory. */
struct st_lines *st_lines_get(void);
struct st_lines *st_lines_make(void);

/* Text was printed by the calling thread, in a call entered at `begin_ticks`. Keeps errno; signal-safe. */
void st_lines_add(int channel, const char *text, size_t length, uint64_t begin_ticks);

void st_lines_forget(void); /* in a forked child */

extern _Atomic uint64_t st_lines_unseen; /* bytes not looked at */
extern uint64_t st_lines_start_ticks;    /* when this process began to be listened to */

/* ---- log.c ---- */

/* A line of the calling thread matched; it was printed at `at_ticks`, in a call that is not over, or up to `late_ticks`
 * before that. */
void st_lines_matched(struct st_lines *lines, const struct st_stage_match *match, uint64_t at_ticks,
                      uint64_t late_ticks);

/* ---- log_tee.c ---- */

/* A line that the launcher copied. */
typedef void (*st_tee_fn)(const struct st_stage_match *match, uint64_t at_ticks, uint64_t late_ticks);

bool st_tee_start(const char *path); /* false: there is no such launcher */
void st_tee_forget(void);            /* what came until now; in a forked child */
bool st_tee_has_more(void);
void st_tee_read(st_tee_fn fn);
/* Until the launcher has read what this process printed, 50 ms at most: at the end of the program. */
void st_tee_wait(void);

/* ---- log_fds.c ---- */

extern const struct st_watch_redirect st_lines_fd_functions[];
extern const uint32_t st_lines_fd_function_count;
void st_fds_start(void); /* also in a forked child */

/* One bit for each file descriptor below 64 that leads to stdout or stderr. */
extern _Atomic uint64_t st_fds_watched;
static inline bool st_fd_is_watched(int fd)
{
    return (unsigned)fd < 64 && (atomic_load_explicit(&st_fds_watched, memory_order_relaxed) >> fd & 1);
}
/* The channel of a watched descriptor; -1: it leads elsewhere by now, and is not watched any more. */
int st_fd_channel(int fd);

/* ---- log_stdio.c ---- */

extern const struct st_watch_redirect st_lines_stdio_functions[];
extern const uint32_t st_lines_stdio_function_count;
extern const struct st_watch_redirect st_lines_file_write; /* in the tables of functions of libc's FILEs */
void st_stdio_end(void);

#endif
