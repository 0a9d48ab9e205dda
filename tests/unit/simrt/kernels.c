/* SPDX-License-Identifier: Apache-2.0 */
/* The test programs' kernels as host functions: a plug-in for simgpu (tests/simgpu/kernels.h). */
#include "tests/simgpu/kernels.h"

static void saxpy(void *const *params, const unsigned grid[3], const unsigned block[3])
{
    float a = *(float *)params[0];
    const float *x = *(const float **)params[1];
    float *y = *(float **)params[2];
    int n = *(int *)params[3];
    for (unsigned i = 0; i < grid[0] * block[0] && i < (unsigned)n; i++) {
        y[i] = a * x[i] + y[i];
    }
}

__attribute__((visibility("default"))) const struct simgpu_kernel simgpu_kernels[] = {
    {"saxpy_50us", saxpy, 4, {sizeof(float), sizeof(float *), sizeof(float *), sizeof(int)}},
    {0},
};
