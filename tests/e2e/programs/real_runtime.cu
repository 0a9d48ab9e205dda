/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's own runtime, linked as nvcc does by default (static), on a driver that it can not start: says how. */
#include <cstdio>

__global__ void nothing()
{
}

int main()
{
    int count = -1;
    void *memory = nullptr;
    std::printf("count %d\n", cudaGetDeviceCount(&count));
    std::printf("malloc %d\n", cudaMalloc(&memory, 64));
    nothing<<<1, 1>>>();
    std::printf("launch %d\n", cudaGetLastError());
    return 0;
}
