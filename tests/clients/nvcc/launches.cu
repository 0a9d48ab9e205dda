// SPDX-License-Identifier: Apache-2.0
// Launches that are not <<<>>>: cooperative, with attributes, with much shared memory, by cudaLaunchKernel. Managed
// memory and variables.
#include <cooperative_groups.h>

#include "check.cuh"

__managed__ int both_sides;

__global__ void together(int *values)
{
    cooperative_groups::this_grid().sync();
    values[blockIdx.x] = gridDim.x;
}

__global__ void with_attributes(int *values, double by)
{
    extern __shared__ int room[];
    room[threadIdx.x] = (int)by;
    values[threadIdx.x] = room[threadIdx.x];
}

static void attributes(int *device, cudaStream_t stream)
{
    cudaLaunchAttribute attribute[2] = {};
    cudaLaunchConfig_t config = {};
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    attribute[1].id = cudaLaunchAttributePriority;
    config.gridDim = dim3(4);
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = 64 << 10;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 2;
    OK(cudaFuncSetAttribute(with_attributes, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
    OK(cudaLaunchKernelEx(&config, with_attributes, device, 2.0));
}

static void cooperative(int *device, cudaStream_t stream)
{
    int blocks = 0;
    void *arguments[] = {&device};
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, together, 64, 0));
    SAME(blocks > 0, true);
    OK(cudaLaunchCooperativeKernel(together, dim3(8), dim3(64), arguments, 0, stream));
    OK(cudaLaunchKernel((const void *)together, dim3(1), dim3(64), arguments, 0, stream));
}

static void managed(cudaStream_t stream)
{
    int *both;
    OK(cudaMallocManaged(&both, 1 << 20));
    both[0] = 42;
    both_sides = 5;
    together<<<1, 1, 0, stream>>>(both + 1);
    OK(cudaStreamSynchronize(stream));
    SAME(both[0], 42);
    SAME(both_sides, 5);
    OK(cudaMemset(both, 0, 1 << 20));
    OK(cudaDeviceSynchronize());
    SAME(both[0], 0);
    OK(cudaFree(both));
}

int main()
{
    cudaStream_t stream;
    int *device;
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0));
    OK(cudaMalloc(&device, 65536));
    cooperative(device, stream);
    attributes(device, stream);
    managed(stream);
    OK(cudaStreamDestroy(stream));
    std::puts("done");
    return 0;
}
