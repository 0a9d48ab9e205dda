/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads of the process are there because of us: the writer, and what the device library started when
 * we loaded it. When a program ends its main thread with pthread_exit(), glibc ends the process with its last
 * thread; ours must not keep it alive.
 */
#ifndef ST_WRITER_THREADS_H
#define ST_WRITER_THREADS_H

#include <stdbool.h>
#include <stdint.h>

void st_threads_add_own(uint32_t tid);

/* Around something of ours that may start threads: those that are new at the end and block all signals, as the calling
 * thread does meanwhile, are ours – and not what another thread of the program starts at that time. One caller at a
 * time. */
void st_threads_before(void);
void st_threads_after(void);

/* In a forked child: none is. */
void st_threads_fork_child(void);

/* Has the main thread ended while the process goes on, and are all other threads ours? Writer thread. */
bool st_threads_only_ours_left(void);

#endif
