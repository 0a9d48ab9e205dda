/* SPDX-License-Identifier: Apache-2.0 */
/* The program behind the simgpu tests: runs the case named by its argument. test_simgpu.py sets the scene. */
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

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"default-stream", case_default_stream}, {"per-thread", case_per_thread}, {"events", case_events},
        {"copy-engines", case_copy_engines}, {"pageable", case_pageable}, {"queue", case_queue},
        {"host-function", case_host_function}, {"data-order", case_data_order}, {"arguments", case_arguments},
        {"geometry", case_geometry}, {"memory", case_memory}, {"peer", case_peer}, {"errors", case_errors},
        {"ptx", case_ptx}, {"launch-fail", case_launch_fail}, {"malloc-fail", case_malloc_fail},
        {"launches", case_launches}, {"fork", case_fork}, {"forever", case_forever}, {"init", case_init},
        {"serial", case_serial}, {"threads", case_threads},
        {"capture-basics", case_capture_basics}, {"capture-unsafe", case_capture_unsafe},
        {"capture-threads", case_capture_threads}, {"capture-legacy", case_capture_legacy},
        {"capture-events", case_capture_events}, {"graph-fork", case_graph_fork},
        {"graph-made", case_graph_made}, {"graph-update", case_graph_update},
        {"graph-nested", case_graph_nested}, {"graph-devices", case_graph_devices},
        {"graph-queue", case_graph_queue}, {"vmm", case_vmm}, {"vmm-handles", case_vmm_handles},
        {"pools", case_pools}, {"large-memory", case_large_memory},
    };

    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return 2;
}
