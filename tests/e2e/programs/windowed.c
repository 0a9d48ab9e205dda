/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with steps, and the profiler switched on and off: windowed REQUESTS STEPS MODE. Mode `marks`: a step is
 * what lies between two calls of windowed_scheduler. The profiler is on from before step 2 of request 2 to behind its
 * step 3.
 */
#include <string.h>

#include "windowed.h"

static const char image[] = PTX_HEAD PTX_ENTRY("unet_200us") PTX_ENTRY("vae_100us");

int main(int argc, char **argv)
{
    struct windowed_work work = {.requests = argc > 3 ? atoi(argv[1]) : 0, .steps = argc > 3 ? atoi(argv[2]) : 0};
    CUmodule module;

    if (work.requests < 1 || work.steps < 1) {
        fprintf(stderr, "usage: %s REQUESTS STEPS steps|marks\n", argv[0]);
        return 2;
    }
    work.by_marks = strcmp(argv[3], "marks") == 0;
    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    work.unet = e2e_function(module, "unet_200us");
    work.vae = e2e_function(module, "vae_100us");
    CHECK(cuStreamCreate(&work.stream, E2E_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&work.buffer, 4096));
    for (work.number = 1; work.number <= work.requests; work.number++) {
        windowed_picture(&work);
        e2e_spin_us(300);
    }
    CHECK(cuCtxSynchronize());
    return 0;
}
