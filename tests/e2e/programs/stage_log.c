/* SPDX-License-Identifier: Apache-2.0 */
/* The stage log of the test programs, see stage_log.h. Entries are taken with one atomic add, written at exit. */
#include "stage_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ENTRIES = 4096 };

static struct entry {
    const char *stage;
    int image, step;
    long thread;
    uint64_t start_ns, end_ns;
} entries[MAX_ENTRIES];
static _Atomic int entry_count;

uint64_t e2e_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void e2e_log(const char *stage, int image, int step, uint64_t start_ns)
{
    uint64_t end_ns = e2e_now_ns();
    int index = atomic_fetch_add(&entry_count, 1);

    if (index >= MAX_ENTRIES) {
        fputs("the stage log is full\n", stderr);
        exit(1);
    }
    entries[index] = (struct entry){stage, image, step, syscall(SYS_gettid), start_ns, end_ns};
}

__attribute__((destructor)) static void write_log(void)
{
    const char *path = getenv("E2E_TIMINGS");
    FILE *file = path ? fopen(path, "w") : NULL;
    int count = atomic_load(&entry_count);

    if (path && !file)
        perror(path);
    for (int i = 0; file && i < count && i < MAX_ENTRIES; i++) {
        const struct entry *e = &entries[i];

        fprintf(file,
                "{\"stage\":\"%s\",\"image\":%d,\"step\":%d,\"thread\":%ld,\"start_ns\":%llu,\"end_ns\":%llu}\n",
                e->stage, e->image, e->step, e->thread, (unsigned long long)e->start_ns,
                (unsigned long long)e->end_ns);
    }
    if (file && fclose(file) != 0)
        perror(path);
}

void e2e_spin_us(unsigned int duration_us)
{
    uint64_t end_ns = e2e_now_ns() + duration_us * 1000ull;

    while (e2e_now_ns() < end_ns) {
    }
}
