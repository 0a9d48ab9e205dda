/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of our own. Only since glibc 2.34 are they a part of libc itself; before, they are in libpthread, which a
 * program that uses CUDA has and another may not have. So the functions are not imported but looked for when needed.
 */
#ifndef ST_WRITER_SPAWN_H
#define ST_WRITER_SPAWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Gives the process's function of that name, or NULL. To be set before the first st_spawn(). */
extern void *(*st_spawn_find)(const char *name);

/* Start a detached thread that gets no signals: the target's are not for it. `stack_bytes` 0: the usual. */
bool st_spawn(void *(*run)(void *), size_t stack_bytes, pthread_t *ret_thread);

#endif
