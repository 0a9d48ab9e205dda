/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which run a process belongs to when nobody says so (no `stagetap run`): all that were started, by however many steps,
 * by one process that has us in front – a shell with LD_PRELOAD, a Python program and its workers, an image before
 * exec. The id is made from that first one, whether it uses CUDA or not. The environment of the target stays as it is:
 * setenv() from here would race with its own getenv().
 *
 * Does not reach: a process whose parent ended before it used CUDA; parents whose /proc/PID/environ can not be read.
 */
#ifndef ST_WRITER_FAMILY_H
#define ST_WRITER_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/* `boot`: of this system start. False: there is no /proc, `ret_run` is untouched. Writer thread. */
bool st_family_run(const uint8_t boot[16], uint8_t ret_run[16]);

/* Of /proc/PID/stat; false: no such process, or no /proc. `ret_start_ticks`: since boot, field 22. */
bool st_family_stat(uint32_t pid, uint32_t *ret_parent, uint64_t *ret_start_ticks);

#endif
