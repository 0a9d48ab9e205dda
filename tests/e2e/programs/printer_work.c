/* SPDX-License-Identifier: Apache-2.0 */
/* See printer.h. */
#include "printer.h"

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

void printer_run(void (*say)(const char *line))
{
    char line[64];

    snprintf(line, sizeof(line), "terminals %d %d", isatty(1), isatty(2));
    say(line);
    printer_launch(1);
    for (int picture = 1; picture <= PRINTER_PICTURES; picture++) {
        snprintf(line, sizeof(line), "picture %d", picture);
        say(line);
        say("encode");
        printer_launch(3);
        say("sample");
        for (int step = 1; step <= PRINTER_STEPS; step++) {
            printer_launch(2);
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            snprintf(line, sizeof(line), "step %d/%d", step, PRINTER_STEPS);
            say(line);
        }
        say("decode");
        printer_launch(5);
        say("saved");
    }
    CHECK(cuCtxSynchronize());
}
