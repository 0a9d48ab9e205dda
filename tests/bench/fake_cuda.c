/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does nothing: SONAME libcuda.so.1, its launch only counts. Lies in a private folder and is
 * used by call_cost alone. `bench_plain_launch` is the same function under a name that nobody watches.
 */
#include "fake_cuda.h"

volatile unsigned long bench_launches;

int cuInit(unsigned int flags)
{
    return 0;
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                   unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, void *stream, void **params,
                   void **extra)
{
    bench_launches++;
    return 0;
}

int bench_plain_launch(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                       void *stream, void **params, void **extra)
{
    bench_launches++;
    return 0;
}
