/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace clock. Ticks are the processor's counter where it has one of constant rate (x86_64: the invariant
 * TSC; aarch64: always, the generic timer's virtual count), else nanoseconds of CLOCK_MONOTONIC_RAW from the
 * vDSO (never through the PLT: another preload may fake it). Budget of st_ticks(): one instruction and a
 * predicted branch. Neither counter is read behind a barrier: that would cost more than the nanoseconds by
 * which the processor may move the reading.
 */
#ifndef ST_RECORD_CLOCK_H
#define ST_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef int (*st_clock_gettime_fn)(clockid_t, struct timespec *);

struct st_clock {
    bool is_tsc; /* ticks are those of the processor's counter */
    st_clock_gettime_fn gettime; /* the vDSO's */
};
extern struct st_clock st_clock;

/* Simultaneous readings; width_ticks = from before the first to after the last. */
struct st_clock_sample {
    uint64_t ticks, monotonic_ns, raw_ns, realtime_ns, width_ticks;
    uint64_t device_ns; /* 0 = not read */
};

/* Before a thread's first st_ticks(): finds the vDSO's function and decides for the counter. Idempotent; threads that
 * race here come to the same decision before each goes on. */
void st_clock_init(void);

/* The tightest of a few tries, with the device library's clock among the readings (NULL: without). Any thread
 * that may call that clock; ~2 µs without it. */
void st_clock_read(uint64_t (*device_clock)(void), struct st_clock_sample *ret_sample);

/* Ticks per second from two samples, or 0 if they are too close together. */
uint64_t st_clock_rate(const struct st_clock_sample *first, const struct st_clock_sample *last);

static inline uint64_t st_clock_ns(clockid_t clock)
{
    struct timespec now;
    st_clock.gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t st_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(st_clock.is_tsc, 1)) {
        return __builtin_ia32_rdtsc();
    }
#elif defined(__aarch64__)
    if (__builtin_expect(st_clock.is_tsc, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return st_clock_ns(CLOCK_MONOTONIC_RAW);
}

#endif
