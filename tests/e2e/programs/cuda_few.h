/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few driver calls that the test programs make, declared here so that they build without a toolkit.
 * A program that includes this is an ordinary client of libcuda.so.1 and knows nothing of stagetap.
 */
#ifndef E2E_CUDA_FEW_H
#define E2E_CUDA_FEW_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

/* As CUlaunchConfig of cuda.h; the attributes are never used here. */
struct e2e_launch_config {
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    CUstream stream;
    void *attributes;
    unsigned int attribute_count;
};

CUresult cuInit(unsigned int flags);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemAllocHost_v2(void **address, size_t bytes);
CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream stream);
CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void **params, void **extra);
CUresult cuLaunchKernelEx(const struct e2e_launch_config *config, CUfunction function, void **params, void **extra);

#define E2E_NON_BLOCKING 1u /* CU_STREAM_NON_BLOCKING */

static inline void e2e_check(CUresult result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: error %d\n", what, result);
        exit(1);
    }
}
#define CHECK(call) e2e_check((call), #call)

#define PTX_HEAD ".version 6.0\n.target sm_50\n.address_size 64\n"
#define PTX_ENTRY(name) ".visible .entry " name "()\n{\n\tret;\n}\n"

/* Primary context of device 0, current on the calling thread. */
static inline CUcontext e2e_context(void)
{
    CUdevice device;
    CUcontext context;

    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    return context;
}

static inline CUfunction e2e_function(CUmodule module, const char *name)
{
    CUfunction function;

    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static inline void e2e_launch(CUfunction function, CUstream stream)
{
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

#endif
