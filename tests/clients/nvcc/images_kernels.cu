// SPDX-License-Identifier: Apache-2.0
// What images.cu loads at run time.
__device__ int setting = 11;

extern "C" __global__ void first(int *values, short by)
{
    values[threadIdx.x] = by + setting;
}

template <int N> __global__ void other(double *values)
{
    values[threadIdx.x] = N;
}

template __global__ void other<3>(double *values);
