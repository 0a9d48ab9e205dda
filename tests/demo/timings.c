/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generator tells of its stages: its own log, one JSON line each, written at the end; NVTX ranges; lines for
 * people. One thread.
 */
#include "demo.h"
#include "nvtx_few.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct timing {
    const char *stage;
    int image, step; /* 0: none */
    uint64_t start_ns, end_ns;
};

static struct timing *timings;
static size_t timing_count, timing_capacity;

uint64_t demo_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void keep(const char *stage, const struct demo *demo, uint64_t start_ns, uint64_t end_ns)
{
    if (timing_count == timing_capacity) {
        size_t capacity = timing_capacity ? timing_capacity * 2 : 1024;
        struct timing *grown = realloc(timings, capacity * sizeof(*grown));
        if (!grown) {
            fprintf(stderr, "generate: out of memory for timings\n");
            exit(1);
        }
        timings = grown;
        timing_capacity = capacity;
    }
    timings[timing_count++] = (struct timing){stage, demo->image, demo->step, start_ns, end_ns};
}

uint64_t demo_stage_begin(const struct demo *demo, const char *stage)
{
    uint64_t start_ns = demo_now_ns();
    nvtxRangePushA(stage);
    if (demo->settings.progress && !demo->step) {
        printf("%s ...\n", stage);
        fflush(stdout);
    }
    return start_ns;
}

/* Steps are a bar that is drawn over itself. */
void demo_stage_end(const struct demo *demo, const char *stage, uint64_t start_ns)
{
    uint64_t end_ns = demo_now_ns();
    nvtxRangePop();
    if (demo->settings.progress && demo->step) {
        printf("\r  step %d/%d%s", demo->step, demo->settings.steps, demo->step == demo->settings.steps ? "\n" : "");
        fflush(stdout);
    }
    keep(stage, demo, start_ns, end_ns);
}

bool demo_timings_write(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        return false;
    }
    for (size_t i = 0; i < timing_count; i++) {
        const struct timing *t = &timings[i];
        fprintf(file, "{\"stage\":\"%s\",\"image\":%d,\"step\":%d,\"thread\":%d,\"start_ns\":%llu,\"end_ns\":%llu}\n",
                t->stage, t->image, t->step, (int)gettid(), (unsigned long long)t->start_ns,
                (unsigned long long)t->end_ns);
    }
    return fclose(file) == 0;
}
