/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simgpu itself costs a call: ns per call of a getter, a launch, an event record, and how late a wait ends.
 * Run it once plain and once with SIMGPU_TRUTH=FILE: the difference is the price of the truth. One thread.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "cuda_min.h"
#include "driver_api.h"

enum { CALLS = 20000, BATCH = 500, WAITS = 200 };

static void check(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "bench_simgpu: %s: error %d\n", what, (int)result);
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* `launches`: kernel launches instead of event records. The fastest batch counts: others may use the machine. */
static double enqueue_ns(CUfunction kernel, CUevent event, bool launches)
{
    uint64_t best_ns = SIM_NEVER, spent_ns;

    for (int done = 0; done < CALLS; done += BATCH) {
        uint64_t begin_ns = sim_now_ns();

        for (int i = 0; i < BATCH; i++) {
            check(launches ? cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL)
                           : cuEventRecord(event, NULL),
                  "enqueue");
        }
        spent_ns = sim_now_ns() - begin_ns;
        best_ns = spent_ns < best_ns ? spent_ns : best_ns;
        check(cuCtxSynchronize(), "cuCtxSynchronize");
    }
    return (double)best_ns / BATCH;
}

static double getter_ns(void)
{
    uint64_t best_ns = SIM_NEVER, spent_ns;
    CUcontext context;

    for (int done = 0; done < CALLS; done += BATCH) {
        uint64_t begin_ns = sim_now_ns();

        for (int i = 0; i < BATCH; i++) {
            check(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
        }
        spent_ns = sim_now_ns() - begin_ns;
        best_ns = spent_ns < best_ns ? spent_ns : best_ns;
    }
    return (double)best_ns / BATCH;
}

/* How long after the simulated end (launch + latency + 300 us) a wait returns. */
static void print_lateness(CUfunction kernel)
{
    static uint64_t late_ns[WAITS];
    CUevent begin, end;

    check(cuEventCreate(&begin, 0), "cuEventCreate");
    check(cuEventCreate(&end, 0), "cuEventCreate");
    for (int i = 0; i < WAITS; i++) {
        uint64_t begin_ns = sim_now_ns(), took_ns;
        float modelled_ms;

        check(cuEventRecord(begin, NULL), "cuEventRecord");
        check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
        check(cuEventRecord(end, NULL), "cuEventRecord");
        check(cuCtxSynchronize(), "cuCtxSynchronize");
        took_ns = sim_now_ns() - begin_ns;
        check(cuEventElapsedTime(&modelled_ms, begin, end), "cuEventElapsedTime");
        late_ns[i] = took_ns - (uint64_t)((double)modelled_ms * 1e6);
    }
    qsort(late_ns, WAITS, sizeof(late_ns[0]), compare);
    printf("wait of 300 us ends late by %.1f us (median), %.1f us (p95)\n", (double)late_ns[WAITS / 2] / 1e3,
           (double)late_ns[WAITS * 95 / 100] / 1e3);
}

int main(void)
{
    static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry short_10ns() { ret; }\n"
                              ".entry long_300us() { ret; }\n";
    CUfunction quick, slow;
    CUcontext context;
    CUmodule module;
    CUevent event;

    check(cuInit(0), "cuInit");
    check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    check(cuModuleGetFunction(&quick, module, "short_10ns"), "cuModuleGetFunction");
    check(cuModuleGetFunction(&slow, module, "long_300us"), "cuModuleGetFunction");
    check(cuEventCreate(&event, 0), "cuEventCreate");
    printf("truth %s\n", getenv("SIMGPU_TRUTH") != NULL ? "on" : "off");
    printf("cuCtxGetCurrent %6.0f ns\n", getter_ns());
    printf("cuEventRecord   %6.0f ns\n", enqueue_ns(quick, event, false));
    printf("cuLaunchKernel  %6.0f ns\n", enqueue_ns(quick, event, true));
    print_lateness(slow);
    return 0;
}
