/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a program and standing in for it: signals go through, its status comes back. Main thread. */
#ifndef ST_CMD_LAUNCH_H
#define ST_CMD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct st_launch {
    pid_t pid;
    bool started; /* false: exec failed, exec_errno says why */
    int exec_errno;
    int exit_code; /* the program's, or 128 + signal; valid when started */
};

/* Who takes part. look: called now and then while the program runs, 0.2 s after its start, then each time after twice as
 * long. in_child (NULL: none): in the new process before it becomes the program; in_parent: here, when there is one. */
struct st_launch_watch {
    void (*look)(void *context, pid_t pid);
    void *context;
    void (*in_child)(void);
    void (*in_parent)(void);
};

/* Run argv (searched in PATH) in this environment and wait for it. Signals that reach this process while
 * it waits are passed on; when the program stops, this process stops with it. False: no process could be
 * made (errno). */
bool st_launch_run(char *const *argv, const struct st_launch_watch *watch, struct st_launch *ret);

#endif
