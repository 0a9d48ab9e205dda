/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that libcupti claims to use: CLOCK_REALTIME, as the real one on Linux. The simulator's times are
 * CLOCK_MONOTONIC; the difference is measured once, when libcupti attaches, and stays constant, so that
 * durations in records are exact to the nanosecond.
 *
 * Fault clock-step: from 0.1 s after attaching, REALTIME as seen here is 2 s later. A registered timestamp
 * callback shifts the records by its difference to CLOCK_MONOTONIC at the moment of registration. Any thread.
 */
#include <stdatomic.h>
#include <time.h>

#include "cupti.h"

#define STEP_AFTER_NS 100000000ULL
#define STEP_NS 2000000000ULL
#define READINGS 16

static _Atomic uint64_t offset_ns, step_at_ns = UINT64_MAX;
static _Atomic(sim_timestamp_fn) callback;

static uint64_t read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

uint64_t sim_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* The tightest of some bracketed readings. */
static uint64_t measure_offset(void)
{
    uint64_t best = UINT64_MAX, offset = 0;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = read_clock(CLOCK_MONOTONIC), real = read_clock(CLOCK_REALTIME);
        uint64_t after = read_clock(CLOCK_MONOTONIC);
        if (after - before < best) {
            best = after - before;
            offset = real - (before + best / 2);
        }
    }
    return offset;
}

void sim_clock_start(void)
{
    if (!atomic_load(&callback)) {
        atomic_store(&offset_ns, measure_offset());
    }
    if (sim_faults()->clock_step) {
        atomic_store(&step_at_ns, sim_monotonic_ns() + STEP_AFTER_NS);
    }
}

static uint64_t step_at(uint64_t monotonic_ns)
{
    return monotonic_ns >= atomic_load(&step_at_ns) ? STEP_NS : 0;
}

uint64_t sim_record_time(uint64_t monotonic_ns)
{
    return monotonic_ns + atomic_load(&offset_ns) + step_at(monotonic_ns);
}

int cuptiGetTimestamp(uint64_t *timestamp)
{
    SIM_READER();
    if (!timestamp) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    sim_timestamp_fn own = atomic_load(&callback);
    *timestamp = own ? own() : read_clock(CLOCK_REALTIME) + step_at(sim_monotonic_ns());
    return SIM_CUPTI_SUCCESS;
}

/* As the real one: there is no way back once a callback is set. */
int cuptiActivityRegisterTimestampCallback(sim_timestamp_fn own)
{
    SIM_CALL();
    if (!own) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    atomic_store(&callback, own);
    atomic_store(&offset_ns, own() - sim_monotonic_ns());
    return SIM_CUPTI_SUCCESS;
}
