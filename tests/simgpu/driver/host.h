/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions (cuLaunchHostFunc, cuStreamAddCallback) run on one driver thread, which starts with the first. */
#ifndef SIMGPU_HOST_H
#define SIMGPU_HOST_H

#include "engine.h"

/* Engine's lock held: everything before `op` is known; it may run at `ready_ns`. */
void sim_host_add_locked(struct sim_op *op, uint64_t ready_ns);

#endif
