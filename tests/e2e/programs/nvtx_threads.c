/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A range that is started on one thread and ended on another. The first thread launches 2 kernels while it is open,
 * and 3 after the other one has closed it, with no NVTX call of its own in between; then a pop too many.
 */
#include <pthread.h>

#include "../../demo/nvtx_few.h"

#include "cuda_few.h"

static const char image[] = PTX_HEAD PTX_ENTRY("dot_20us");
static nvtxRangeId_t range;

static void *end_range(void *unused)
{
    nvtxRangeEnd(range);
    return unused;
}

int main(void)
{
    CUmodule module;
    CUfunction dot;
    pthread_t thread;

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    dot = e2e_function(module, "dot_20us");
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("request");
        range = nvtxRangeStartA("decode");
        for (int k = 0; k < 2; k++)
            e2e_launch(dot, NULL);
        pthread_create(&thread, NULL, end_range, NULL);
        pthread_join(thread, NULL);
        for (int k = 0; k < 3; k++)
            e2e_launch(dot, NULL);
        CHECK(cuCtxSynchronize());
        nvtxRangePop();
        nvtxRangePop();
    }
    return 0;
}
