/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for libnvToolsExt.so.1, the library of older programs: the functions are its exports, and it looks for a tool
 * by the same variable and entry point as the header-only NVTX (seen with 11.8 and 12.4).
 */
#define nvtxRangePushA few_push
#define nvtxRangePop few_pop
#define nvtxRangeStartA few_start
#define nvtxRangeEnd few_end
#include "../../demo/nvtx_few.h"
#undef nvtxRangePushA
#undef nvtxRangePop
#undef nvtxRangeStartA
#undef nvtxRangeEnd

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int nvtxRangePushA(const char *text);
EXPORTED int nvtxRangePop(void);
EXPORTED nvtxRangeId_t nvtxRangeStartA(const char *text);
EXPORTED void nvtxRangeEnd(nvtxRangeId_t range);

int nvtxRangePushA(const char *text)
{
    few_push(text);
    return 0;
}

int nvtxRangePop(void)
{
    few_pop();
    return 0;
}

nvtxRangeId_t nvtxRangeStartA(const char *text)
{
    return few_start(text);
}

void nvtxRangeEnd(nvtxRangeId_t range)
{
    few_end(range);
}
