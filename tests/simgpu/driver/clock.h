/* SPDX-License-Identifier: Apache-2.0 */
/* simgpu's clock: integer nanoseconds of CLOCK_MONOTONIC, the time line of everything simulated. Any thread. */
#ifndef SIMGPU_CLOCK_H
#define SIMGPU_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SIM_NEVER UINT64_MAX

static inline uint64_t sim_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns at `when_ns` or a few microseconds later: sleeps, then spins for the last stretch. errno is kept. */
void sim_sleep_until(uint64_t when_ns);

static inline struct timespec sim_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

#endif
