/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of the simgpu tests share. Each case is a function that ends the process on the first failure. */
#ifndef SIMGPU_CASES_H
#define SIMGPU_CASES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cuda_min.h"
#include "driver_api.h"

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define OK(call) REQUIRE_RESULT(call, CUDA_SUCCESS)

#define REQUIRE_RESULT(call, wanted)                                                               \
    do {                                                                                           \
        CUresult got_ = (call);                                                                    \
        if (got_ != (wanted)) {                                                                    \
            fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, (int)got_);      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct kernels {
    CUcontext context;
    CUmodule module;
    CUfunction wait_1ms, wait_5ms, wait_50ms, add, twice, disagrees;
};

/* cuInit, the primary context of device 0 made current, and the test module. */
struct kernels start(void);
void launch(CUfunction function, CUstream stream);
void launch_add(const struct kernels *kernels, CUdeviceptr data, int32_t value, int32_t count, CUstream stream);
CUevent record(CUstream stream);
/* Simulated time between two events, after waiting for both. */
double elapsed_ms(CUevent begin, CUevent end);

void case_default_stream(void);
void case_per_thread(void);
void case_events(void);
void case_copy_engines(void);
void case_pageable(void);
void case_queue(void);
void case_host_function(void);
void case_data_order(void);
void case_arguments(void);
void case_geometry(void);
void case_device(void);
void case_memory(void);
void case_peer(void);
void case_errors(void);
void case_ptx(void);
void case_launch_fail(void);
void case_malloc_fail(void);
void case_launches(void);
void case_fork(void);
void case_forever(void);
void case_init(void);
void case_serial(void);
void case_threads(void);
void case_capture_basics(void);
void case_capture_unsafe(void);
void case_capture_threads(void);
void case_capture_legacy(void);
void case_capture_events(void);
void case_graph_fork(void);
void case_graph_made(void);
void case_graph_update(void);
void case_graph_nested(void);
void case_graph_devices(void);
void case_graph_queue(void);
void case_graph_objects(void);
void case_vmm(void);
void case_vmm_handles(void);
void case_pools(void);
void case_large_memory(void);
void case_argument_time(void);
void case_small_d2h(void);
void case_nvml(void);

#endif
