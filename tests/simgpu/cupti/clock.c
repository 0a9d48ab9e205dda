/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock that libcupti claims to use: CLOCK_REALTIME, as the real one on Linux. The simulator's times are
 * CLOCK_MONOTONIC; the difference is measured once, when libcupti attaches, and stays constant, so that
 * durations in records are exact to the nanosecond.
 *
 * Fault clock-step: from 0.1 s after attaching, REALTIME as seen here is 2 s later.
 *
 * A registered timestamp callback may count anything – PyTorch's counts processor cycles. Records are then in its
 * units: its reading at the registration, and from there on at the rate that readings apart from each other show. The
 * rate is measured again each time that the distance has doubled. Any thread.
 */
#include <stdatomic.h>
#include <time.h>

#include "cupti.h"

#define STEP_AFTER_NS 100000000ULL
#define STEP_NS 2000000000ULL
#define READINGS 16

#define FIRST_DISTANCE_NS 1000000ULL

static _Atomic uint64_t offset_ns, step_at_ns = UINT64_MAX;
static _Atomic(sim_timestamp_fn) callback;
static struct {
    uint64_t monotonic_ns, reading; /* taken together at the registration */
    _Atomic double rate;            /* counts a nanosecond */
    _Atomic uint64_t measure_at_ns;
} own_clock;

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

/* The tightest of some bracketed readings of the callback. */
static void read_own(sim_timestamp_fn own, uint64_t *monotonic_ns, uint64_t *reading)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = sim_monotonic_ns(), now = own(), after = sim_monotonic_ns();
        if (after - before < best) {
            best = after - before;
            *monotonic_ns = before + best / 2;
            *reading = now;
        }
    }
}

static void measure_rate(sim_timestamp_fn own)
{
    uint64_t monotonic_ns = 0, reading = 0;
    read_own(own, &monotonic_ns, &reading);
    uint64_t distance_ns = monotonic_ns - own_clock.monotonic_ns;
    if (distance_ns > 0) {
        atomic_store(&own_clock.rate, (double)(reading - own_clock.reading) / (double)distance_ns);
        atomic_store(&own_clock.measure_at_ns, monotonic_ns + distance_ns);
    }
}

uint64_t sim_record_time(uint64_t monotonic_ns)
{
    sim_timestamp_fn own = atomic_load(&callback);
    if (own) {
        if (sim_monotonic_ns() >= atomic_load(&own_clock.measure_at_ns)) {
            measure_rate(own);
        }
        double since_ns = (double)(int64_t)(monotonic_ns - own_clock.monotonic_ns);
        return own_clock.reading + (uint64_t)(int64_t)(since_ns * atomic_load(&own_clock.rate));
    }
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
    read_own(own, &own_clock.monotonic_ns, &own_clock.reading);
    while (sim_monotonic_ns() < own_clock.monotonic_ns + FIRST_DISTANCE_NS) {
    }
    measure_rate(own);
    atomic_store(&callback, own);
    return SIM_CUPTI_SUCCESS;
}
