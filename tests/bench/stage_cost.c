/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stage function costs the target, by the way in which it is followed, in one process; each burst beside one of
 * counter reads. Medians over the bursts, ns:
 *
 *   stage_cost [BURSTS [WHICH]]    prints "clock_pair plain exact same fresh"
 *
 * plain  a call of a library's function that no rule names
 * exact  … that a rule names
 * same   a launch 20 frames below a hidden stage function, from the place of the one before
 * fresh  … each time called anew, from another place than before: the stack is walked
 *
 * WHICH: that kind only, without pauses and figures – for counting instructions.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda.h"

enum { CALLS = 1500, DEPTH = 20, MAX_BURSTS = 1000, PAUSE_MS = 25 };

void stage_plain(int number);
void stage_exact(int number);

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
#else
    return now_ns();
#endif
}

static __attribute__((noinline)) void clock_pair(int number)
{
    uint64_t first = counter();

    __asm__ volatile("" ::"r"(counter() - first) : "memory");
}

static void launch(void)
{
    cuLaunchKernel((void *)0x1000, 64, 1, 1, 256, 1, 1, 0, NULL, NULL, NULL);
}

static __attribute__((noinline)) void deeper(int depth, int launches)
{
    if (depth > 0)
        deeper(depth - 1, launches);
    else
        for (int i = 0; i < launches; i++) launch();
    __asm__ volatile("");
}

static __attribute__((noinline)) void stage_hidden(int launches)
{
    deeper(DEPTH, launches);
    __asm__ volatile("");
}

static double burst_of(void (*fn)(int))
{
    uint64_t begin_ns = now_ns();

    for (int i = 0; i < CALLS; i++) fn(i);
    return (double)(now_ns() - begin_ns) / CALLS;
}

static void fresh(int number)
{
    if (number & 1) {
        stage_hidden(1);
        __asm__ volatile("/* one */");
    } else {
        stage_hidden(1);
        __asm__ volatile("/* other */");
    }
}

static double burst_of_same(void)
{
    uint64_t begin_ns = now_ns();

    stage_hidden(CALLS);
    return (double)(now_ns() - begin_ns) / CALLS;
}

static double burst(int which)
{
    switch (which) {
    case 0: return burst_of(clock_pair);
    case 1: return burst_of(stage_plain);
    case 2: return burst_of(stage_exact);
    case 3: return burst_of_same();
    default: return burst_of(fresh);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"clock_pair", "plain", "exact", "same", "fresh"};
    static double found[5][MAX_BURSTS];
    int bursts = argc > 1 ? atoi(argv[1]) : 40;
    struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};

    if (bursts < 1 || bursts > MAX_BURSTS || cuInit(0) != 0) return 2;
    launch();
    for (int i = 0; i < bursts; i++) {
        for (int which = 0; which < 5; which++) {
            if (argc > 2 && strcmp(argv[2], kinds[which]) != 0) continue;
            found[which][i] = burst(which);
            if (argc <= 2) nanosleep(&pause, NULL);
        }
    }
    for (int which = 0; which < 5 && argc <= 2; which++) {
        qsort(found[which], (size_t)bursts, sizeof(double), compare_doubles);
        printf("%.2f%c", found[which][bursts / 2], which < 4 ? ' ' : '\n');
    }
    return 0;
}
