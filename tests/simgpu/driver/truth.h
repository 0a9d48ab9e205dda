/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIMGPU_TRUTH: one JSON line for each driver call, device operation and idle interval; a killed process loses
 * at most the last 20 ms of it. Any thread; own locks, taken last.
 */
#ifndef SIMGPU_TRUTH_H
#define SIMGPU_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "fork.h"
#include "tracer.h"

/* CUpti_ActivityMemoryKind values, as in struct simgpu_op. */
enum { SIM_MEMORY_PAGEABLE = 1, SIM_MEMORY_PINNED = 2, SIM_MEMORY_DEVICE = 3, SIM_MEMORY_MANAGED = 5 };

bool sim_truth_on(void);
void sim_truth_call(const char *name, uint32_t thread, uint64_t start_ns, uint64_t end_ns, int result);
void sim_truth_op(const struct simgpu_op *op);
void sim_truth_idle(uint32_t device, uint64_t start_ns, uint64_t end_ns, const char *why);
/* For a thread that is about to wait: writes what has gathered. */
void sim_truth_flush(void);
/* The process ends: from here on each line is written at once. */
void sim_truth_finish(void);
void sim_truth_fork(enum sim_fork side);

#endif
