/* SPDX-License-Identifier: Apache-2.0 */
/* A library with an NVTX of its own, as each object that includes the headers has: one range with a launch. */
#include "../../demo/nvtx_few.h"

#include "cuda_few.h"

__attribute__((visibility("default"))) void RANGE_PART(CUfunction function);

void RANGE_PART(CUfunction function)
{
    nvtxRangePushA(RANGE_NAME);
    for (int i = 0; i < RANGE_LAUNCHES; i++)
        e2e_launch(function, NULL);
    nvtxRangePop();
}
