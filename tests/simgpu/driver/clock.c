/* SPDX-License-Identifier: Apache-2.0 */
/* Precise waiting. The kernel may wake a sleeper late by the thread's timer slack (50 us by default) and by the
 * time a core needs to leave its idle state, so the sleep ends early and the rest is spun. */
#include "clock.h"

#include <errno.h>
#include <sys/prctl.h>

enum { SPIN_NS = 40000 };

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void sim_sleep_until(uint64_t when_ns)
{
    int saved_errno = errno;

    if (when_ns > sim_now_ns() + SPIN_NS) {
        int slack_ns = prctl(PR_GET_TIMERSLACK);
        struct timespec until = sim_timespec(when_ns - SPIN_NS);

        prctl(PR_SET_TIMERSLACK, 1);
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
        if (slack_ns > 0) {
            prctl(PR_SET_TIMERSLACK, slack_ns);
        }
    }
    while (sim_now_ns() < when_ns) {
        relax();
    }
    errno = saved_errno;
}
