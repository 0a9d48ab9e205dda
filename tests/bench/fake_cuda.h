/* SPDX-License-Identifier: Apache-2.0 */
/* The few functions of the do-nothing driver, see fake_cuda.c. */
#ifndef BENCH_FAKE_CUDA_H
#define BENCH_FAKE_CUDA_H

extern volatile unsigned long bench_launches;

int cuInit(unsigned int flags);
int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
                   unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, void *stream, void **params,
                   void **extra);
int bench_plain_launch(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                       void *stream, void **params, void **extra);

#endif
