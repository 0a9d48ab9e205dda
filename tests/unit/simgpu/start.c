/* SPDX-License-Identifier: Apache-2.0 */
/* What all cases begin with: a context, and a module of kernels whose names say how long they take. */
#include "cases.h"

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    "// .entry not_this_one()\n/* .entry nor_this() */\n"
    ".global .align 4 .f32 table[16];\n.const .align 8 .b8 limits[24] = {1, 2};\n"
    ".visible .entry wait_1ms() { ret; }\n"
    ".visible .entry wait_5ms()\n.maxntid 256, 1, 1\n{ .reg .b32 %r<3>; { ret; } }\n"
    ".visible .entry add_1ms(\n\t.param .u64 .ptr .global .align 4 add_param_0,\n\t.param .u32 add_param_1,\n"
    "\t.param .u32 add_param_2\n)\n{ ret; }\n"
    ".visible .entry twice_1ms(.param .align 8 .b8 twice_param_0[24]) { ret; }\n"
    ".visible .entry wait_50ms() { ret; }\n"
    ".visible .entry disagrees_1ms(.param .u64 a, .param .u64 b) { ret; }\n";

struct kernels start(void)
{
    struct kernels kernels;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&kernels.context, 0));
    OK(cuCtxSetCurrent(kernels.context));
    OK(cuModuleLoadData(&kernels.module, ptx));
    OK(cuModuleGetFunction(&kernels.wait_1ms, kernels.module, "wait_1ms"));
    OK(cuModuleGetFunction(&kernels.wait_5ms, kernels.module, "wait_5ms"));
    OK(cuModuleGetFunction(&kernels.wait_50ms, kernels.module, "wait_50ms"));
    OK(cuModuleGetFunction(&kernels.add, kernels.module, "add_1ms"));
    OK(cuModuleGetFunction(&kernels.twice, kernels.module, "twice_1ms"));
    OK(cuModuleGetFunction(&kernels.disagrees, kernels.module, "disagrees_1ms"));
    return kernels;
}

void launch(CUfunction function, CUstream stream)
{
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

void launch_add(const struct kernels *kernels, CUdeviceptr data, int32_t value, int32_t count, CUstream stream)
{
    void *params[] = {&data, &value, &count};

    OK(cuLaunchKernel(kernels->add, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
}

CUevent record(CUstream stream)
{
    CUevent event;

    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, stream));
    return event;
}

double elapsed_ms(CUevent begin, CUevent end)
{
    float ms;

    OK(cuEventSynchronize(begin));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&ms, begin, end));
    return ms;
}
