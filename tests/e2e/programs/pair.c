/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that uses two devices and returns before either is done: its wall ends on the device.
 *
 *   host      |encode|sample----|            returns after 2 ms
 *   device 0    PPPPPPPPPPPPPP               3 × 2 ms
 *   device 1           RRRRRRRRRRRRRRRRRR    2 × 4 ms
 */
#include "pair.h"

static const char image[] = PTX_HEAD PTX_ENTRY("prepare_2ms") PTX_ENTRY("refine_4ms");

int main(void)
{
    struct pair_work work = {0};
    CUfunction *functions[2] = {&work.prepare, &work.refine};
    const char *const names[2] = {"prepare_2ms", "refine_4ms"};

    CHECK(cuInit(0));
    for (int ordinal = 0; ordinal < 2; ordinal++) {
        CUdevice device;
        CUmodule module;

        CHECK(cuDeviceGet(&device, ordinal));
        CHECK(cuDevicePrimaryCtxRetain(&work.contexts[ordinal], device));
        CHECK(cuCtxSetCurrent(work.contexts[ordinal]));
        CHECK(cuModuleLoadData(&module, image));
        *functions[ordinal] = e2e_function(module, names[ordinal]);
        CHECK(cuStreamCreate(&work.streams[ordinal], E2E_NON_BLOCKING));
    }
    for (work.number = 0; work.number < 5; work.number++) {
        pair_render(&work);
        for (int ordinal = 0; ordinal < 2; ordinal++) {
            CHECK(cuCtxSetCurrent(work.contexts[ordinal]));
            CHECK(cuCtxSynchronize());
        }
    }
    return 0;
}
