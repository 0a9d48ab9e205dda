// SPDX-License-Identifier: Apache-2.0
// What image_cases.c finds in the images that nvcc makes of this: kernels with parameters, and variables.
struct settings {
    char bytes[24];
};

struct large {
    char bytes[3000];
};

__device__ float table[16];
__constant__ int limits[6];
__device__ __managed__ int counter;
__device__ int started = 5;

__device__ __noinline__ int helper(int value)
{
    return value * 3 + limits[1];
}

extern "C" __global__ void wait_3ms()
{
}

__global__ void unet_2ms(float *data, int count, struct settings settings, double scale)
{
    __shared__ float shared[64];

    shared[threadIdx.x] = (float)limits[0];
    __syncthreads();
    data[count] = table[count] + shared[count] + (float)(counter + settings.bytes[count]) * (float)scale;
}

extern "C" __global__ void mixed(int a, char b, short c, long long d, struct large large)
{
    table[a] = (float)(helper(b) + c + (int)d + started + large.bytes[a]);
}

#define TEN(x) float *x##0, float *x##1, float *x##2, float *x##3, float *x##4, float *x##5, float *x##6, float *x##7, \
    float *x##8, float *x##9

extern "C" __global__ void many(TEN(a), TEN(b), TEN(c), TEN(d))
{
    *a0 = *d9;
}
