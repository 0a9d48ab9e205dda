/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in libcuda.so.1 as on a machine without a device: cuInit says so. */
int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return 100; /* CUDA_ERROR_NO_DEVICE */
}
