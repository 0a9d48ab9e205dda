/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap run --tee`: what the target prints to stdout and stderr goes through this process, which copies it byte for
 * byte and hands the lines that a log rule matches to the library in the target (config/tee.h). For programs that print
 * by system calls of their own, and for what static programs say about the programs that they start.
 *
 * Stdout and stderr become pipes, or terminals where they are terminals; one for both where both are the same open file,
 * so that the order of the bytes stays. A closed one stays closed. One object a process.
 */
#ifndef ST_CMD_TEE_H
#define ST_CMD_TEE_H

#include <stdbool.h>

#include "config/map.h"

/* Make the ring and the channels, name the ring in the environment, begin to copy in a thread of its own. `map` has a log
 * rule, and lives on. False: `why` says what failed. Main thread, before the target is started. */
bool st_tee_open(const struct st_map *map, char *why, size_t why_bytes);

/* In the child, before it becomes the target. */
void st_tee_enter_child(void);
/* In this process, when there is a child. */
void st_tee_let_go(void);

/* The target has ended: what it printed is copied to the end; of others that still print, what comes within 0.2 s. */
void st_tee_finish(void);

#endif
