/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which run a process belongs to when nobody says so (no `stagetap run`, no inherited variable): that of its
 * nearest ancestor that is writing a trace – found by the ancestor's ring in shared memory, which names its
 * file. The environment of the target stays as it is: setenv() from here would race with its own getenv().
 *
 * Reaches: children by fork, vfork, posix_spawn and exec, and a second image of the same process. Does not
 * reach: a child whose parents ended, or had not used CUDA before; rings that are not in /dev/shm.
 */
#ifndef ST_WRITER_FAMILY_H
#define ST_WRITER_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/* False: no ancestor writes a trace, `ret_run` is untouched. Reads /proc and /dev/shm. Writer thread. */
bool st_family_run(uint8_t ret_run[16]);

/* Of /proc/PID/stat; false: no such process, or no /proc. `ret_start_ticks`: since boot, field 22. */
bool st_family_stat(uint32_t pid, uint32_t *ret_parent, uint64_t *ret_start_ticks);

#endif
