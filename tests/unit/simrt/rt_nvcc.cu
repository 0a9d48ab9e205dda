// SPDX-License-Identifier: Apache-2.0
// A program as people write them: <<<>>> compiled by nvcc, linked with the shared runtime. On simgpu the kernel's
// arithmetic comes from kernels.c by name.
#include <cstdio>
#include <cuda_runtime.h>

extern "C" __global__ void saxpy_50us(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

#define OK(call)                                                                              \
    do {                                                                                      \
        cudaError_t e_ = (call);                                                              \
        if (e_ != cudaSuccess) {                                                              \
            std::fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e_)); \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

int main()
{
    const int n = 1000;
    float x[n], y[n], *dx, *dy;
    for (int i = 0; i < n; i++) {
        x[i] = (float)i;
        y[i] = 3;
    }
    cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaMalloc(&dx, sizeof(x)));
    OK(cudaMalloc(&dy, sizeof(y)));
    OK(cudaMemcpy(dx, x, sizeof(x), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(dy, y, sizeof(y), cudaMemcpyDefault));
    saxpy_50us<<<(n + 255) / 256, 256>>>(2.0f, dx, dy, n);
    saxpy_50us<<<(n + 255) / 256, 256>>>(2.0f, dx, dy, n);
    OK(cudaGetLastError());
    OK(cudaMemcpy(y, dy, sizeof(y), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        if (y[i] != 3 + 4.0f * (float)i) {
            std::fprintf(stderr, "y[%d] is %g\n", i, y[i]);
            return 1;
        }
    }
    saxpy_50us<<<1, 4096>>>(2.0f, dx, dy, n);
    if (cudaGetLastError() != cudaErrorInvalidConfiguration) {
        std::fprintf(stderr, "a block of 4096 threads was not refused\n");
        return 1;
    }
    std::printf("%s warp %d\n", prop.name, prop.warpSize);
    return 0;
}
