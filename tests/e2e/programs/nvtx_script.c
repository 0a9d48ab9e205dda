/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that does what its arguments say, in their order: +NAME opens a range, - closes the last one, k launches a
 * kernel, wait waits to be killed.
 */
#include <unistd.h>

#include "../../demo/nvtx_few.h"

#include "cuda_few.h"

static const char image[] = PTX_HEAD PTX_ENTRY("dot_20us");

int main(int argc, char **argv)
{
    CUmodule module;
    CUfunction dot;

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    dot = e2e_function(module, "dot_20us");
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '+')
            nvtxRangePushA(argv[i] + 1);
        else if (argv[i][0] == '-')
            nvtxRangePop();
        else if (argv[i][0] == 'w')
            pause();
        else
            e2e_launch(dot, NULL);
    }
    CHECK(cuCtxSynchronize());
    return 0;
}
