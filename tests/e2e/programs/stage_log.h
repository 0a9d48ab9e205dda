/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test programs' own log of where their host threads were: one JSON line a stage, the same form as
 * the demo's `--timings`. Any thread. Kept in memory, written at exit to the file that E2E_TIMINGS names.
 */
#ifndef E2E_STAGE_LOG_H
#define E2E_STAGE_LOG_H

#include <stdint.h>

/* In front of a stage function: always called, through the PLT where it is in another library. */
#define E2E_STAGE __attribute__((noinline))

/* CLOCK_MONOTONIC, ns. */
uint64_t e2e_now_ns(void);

/* The calling thread was in `stage` from `start_ns` until now. step < 0: no step. */
void e2e_log(const char *stage, int image, int step, uint64_t start_ns);

/* Own code on the CPU, for about so long. */
void e2e_spin_us(unsigned int duration_us);

#endif
