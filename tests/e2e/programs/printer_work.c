/* SPDX-License-Identifier: Apache-2.0 */
/* See printer.h. */
#include "printer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cuda_few.h"

static CUfunction kernel;

void printer_launch(int count)
{
    static CUcontext context;

    if (!context) {
        static const char ptx[] = PTX_HEAD PTX_ENTRY("paint");
        CUmodule module;

        context = e2e_context();
        CHECK(cuModuleLoadData(&module, ptx));
        kernel = e2e_function(module, "paint");
    }
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < count; i++)
        e2e_launch(kernel, NULL);
}

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static struct {
    void (*say)(const char *line);
    FILE *times;
    long pause_ns;
} run;

static void tell(const char *line)
{
    long long before = now_ns();

    run.say(line);
    long long after = now_ns();

    if (run.pause_ns)
        nanosleep(&(struct timespec){.tv_nsec = run.pause_ns}, NULL);
    if (run.times)
        fprintf(run.times, "%lld %lld %s\n", before, after, line);
}

void printer_run(void (*say)(const char *line))
{
    char line[64];
    const char *path = getenv("E2E_TIMES"), *pause = getenv("E2E_PAUSE_MS");

    run.say = say;
    run.times = path ? fopen(path, "w") : NULL;
    run.pause_ns = pause ? atol(pause) * 1000000 : 0;

    snprintf(line, sizeof(line), "terminals %d %d", isatty(1), isatty(2));
    tell(line);
    printer_launch(1);
    for (int picture = 1; picture <= PRINTER_PICTURES; picture++) {
        snprintf(line, sizeof(line), "picture %d", picture);
        tell(line);
        tell("encode");
        printer_launch(3);
        tell("sample");
        for (int step = 1; step <= PRINTER_STEPS; step++) {
            printer_launch(2);
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            snprintf(line, sizeof(line), "step %d/%d", step, PRINTER_STEPS);
            tell(line);
        }
        tell("decode");
        printer_launch(5);
        tell("saved");
    }
    CHECK(cuCtxSynchronize());
    if (run.times)
        fclose(run.times);
}
