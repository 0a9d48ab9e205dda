/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operations do to memory, carried out in order of their simulated ends by the threads that observe the
 * device. One at a time, under a lock of its own (taken before the engine's). Any thread.
 */
#ifndef SIMGPU_EFFECTS_H
#define SIMGPU_EFFECTS_H

#include "engine.h"

/* Engine's lock held; takes over one reference. */
void sim_effects_add_locked(struct sim_op *op);
/* More are kept back than is reasonable, because the program never waits. */
bool sim_effects_many_locked(void);
/*
 * Applies every effect whose operation ends at or before `until_ns` and is over now. `early`: those too that
 * have started and that the host cannot see before their end. Returns when the next one becomes due (SIM_NEVER:
 * none before `until_ns`).
 */
uint64_t sim_effects_apply(uint64_t until_ns, bool early);
void sim_effects_fork(enum sim_fork side);

void sim_effect_copy(struct sim_op *op);
void sim_effect_zero(struct sim_op *op); /* writes zeros where the copy would have gone */
void sim_effect_fill(struct sim_op *op);
void sim_effect_kernel(struct sim_op *op);
void sim_effect_release(struct sim_op *op);

#endif
