/* SPDX-License-Identifier: Apache-2.0 */
/* Three objects with NVTX ranges, each with a table of its own: the program and two libraries. */
#include "../../demo/nvtx_few.h"

#include "cuda_few.h"

void range_encode(CUfunction function);
void range_decode(CUfunction function);

static const char image[] = PTX_HEAD PTX_ENTRY("dot_20us");

int main(void)
{
    CUmodule module;
    CUfunction dot;

    e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    dot = e2e_function(module, "dot_20us");
    for (int i = 0; i < 3; i++) {
        nvtxRangePushA("picture");
        range_encode(dot);
        nvtxRangePushA("sample");
        e2e_launch(dot, NULL);
        nvtxRangePop();
        range_decode(dot);
        CHECK(cuCtxSynchronize());
        nvtxRangePop();
    }
    return 0;
}
