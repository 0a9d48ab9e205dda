/* SPDX-License-Identifier: Apache-2.0 */
/* The stage log of the test programs, see stage_log.h. One write() a line, so threads need no lock. */
#include "stage_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t e2e_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void e2e_log(const char *stage, int image, int step, uint64_t start_ns)
{
    uint64_t end_ns = e2e_now_ns();
    const char *path = getenv("E2E_TIMINGS");
    char line[256], step_text[16] = "null";
    int file, length;

    if (!path)
        return;
    if (step >= 0)
        snprintf(step_text, sizeof step_text, "%d", step);
    length = snprintf(line, sizeof line,
                      "{\"stage\":\"%s\",\"image\":%d,\"step\":%s,\"thread\":%ld,\"start_ns\":%llu,\"end_ns\":%llu}\n",
                      stage, image, step_text, (long)syscall(SYS_gettid), (unsigned long long)start_ns,
                      (unsigned long long)end_ns);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || write(file, line, (size_t)length) != length) {
        fprintf(stderr, "%s: cannot write the stage log\n", path);
        exit(1);
    }
    close(file);
}

void e2e_spin_us(unsigned int duration_us)
{
    uint64_t end_ns = e2e_now_ns() + duration_us * 1000ull;

    while (e2e_now_ns() < end_ns) {
    }
}
