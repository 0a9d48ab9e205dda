/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one watched call costs the target, against two reads of the processor's counter, in one process: bursts
 * of launches of a driver that only counts, of the same function under an unwatched name, and of counter reads,
 * interleaved. A burst fits a thread's ring, and the pause after it lets the writer drain it, so that every
 * call is recorded.
 *
 *   call_cost [BURSTS [PAUSE_MS]]     prints "plain_ns launch_ns clock_pair_ns", medians over the bursts
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fake_cuda.h"

enum { BURST_CALLS = 6000, MAX_BURSTS = 1000, DEFAULT_PAUSE_MS = 25 };

typedef int launch_function(void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                            unsigned int, void *, void **, void **);

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return now_ns();
#endif
}

static double burst_of_launches(launch_function *launch)
{
    uint64_t begin_ns = now_ns();

    for (int i = 0; i < BURST_CALLS; i++)
        launch((void *)0x1000, 64, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL);
    return (double)(now_ns() - begin_ns) / BURST_CALLS;
}

static double burst_of_clock_pairs(void)
{
    uint64_t begin_ns = now_ns(), sum = 0;

    for (int i = 0; i < BURST_CALLS; i++) {
        uint64_t first = counter();

        __asm__ volatile("" ::: "memory");
        sum += counter() - first;
    }
    __asm__ volatile("" ::"r"(sum)); /* keeps the readings */
    return (double)(now_ns() - begin_ns) / BURST_CALLS;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static double plain[MAX_BURSTS], launch[MAX_BURSTS], pair[MAX_BURSTS];
    int bursts = argc > 1 ? atoi(argv[1]) : 60, pause_ms = argc > 2 ? atoi(argv[2]) : DEFAULT_PAUSE_MS;
    struct timespec pause = {.tv_nsec = pause_ms * 1000000L};

    if (bursts < 1 || bursts > MAX_BURSTS || pause_ms < 0 || pause_ms > 999) {
        fprintf(stderr, "usage: call_cost [1…%d [0…999]]\n", MAX_BURSTS);
        return 2;
    }
    if (cuInit(0) != 0)
        return 1;
    burst_of_launches(cuLaunchKernel); /* the thread's first events are not what is measured */
    for (int i = 0; i < bursts; i++) {
        if (pause_ms)
            nanosleep(&pause, NULL);
        plain[i] = burst_of_launches(bench_plain_launch);
        pair[i] = burst_of_clock_pairs();
        launch[i] = burst_of_launches(cuLaunchKernel);
    }
    printf("%.2f %.2f %.2f\n", median(plain, bursts), median(launch, bursts), median(pair, bursts));
    return 0;
}
