// SPDX-License-Identifier: Apache-2.0
// Device code in several files (-rdc=true): a variable and a function of the other file, kernels of one name in both.
#include "check.cuh"
#include "units.cuh"

__device__ int rounds = 3;

static __global__ void work(float *values)
{
    values[threadIdx.x] = mix(values[threadIdx.x]);
}

int main()
{
    int before = 4, after = 0;
    float *device;
    OK(cudaMalloc(&device, 4096));
    work<<<1, 32>>>(device);
    launch_elsewhere(device);
    OK(cudaMemcpyToSymbol(rounds, &before, sizeof(before)));
    OK(cudaMemcpyFromSymbol(&after, rounds, sizeof(after)));
    SAME(after, before);
    std::puts("done");
    return 0;
}
