/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime functions that the test programs call, declared by hand: no toolkit is needed to build them. */
#ifndef SIMRT_CUDART_API_H
#define SIMRT_CUDART_API_H

#include "tests/simgpu/runtime/types.h"

#if SIM_CUDA_MAJOR == 12 /* as the headers of 12 do */
#define cudaGetDeviceProperties cudaGetDeviceProperties_v2
#endif

/* A kernel's host address: what nvcc makes for each __global__ function. */
#define HOST_STUB(name)                                                                                                \
    static void name##_stub(void)                                                                                      \
    {                                                                                                                  \
        __asm__ volatile("" ::: "memory");                                                                             \
    }

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            void *tid, void *bid, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global);
unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared_bytes, void *stream);
int __cudaPopCallConfiguration(struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared_bytes, void *stream);
int __cudaGetKernel(void **kernel, const void *function);
int __cudaLaunchKernel(void *kernel, struct sim_dim3 grid, struct sim_dim3 block, void **args, size_t shared_bytes,
                       void *stream);
int cudaLaunchKernel(const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **args,
                     size_t shared_bytes, void *stream);
int cudaLaunchKernel_ptsz(const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **args,
                          size_t shared_bytes, void *stream);
int cudaLaunchKernelExC(const struct sim_launch_config *config, const void *function, void **args);
int cudaLaunchCooperativeKernel(const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **args,
                                size_t shared_bytes, void *stream);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaGetDeviceProperties(struct sim_device_prop *prop, int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaDriverGetVersion(int *version);
int cudaRuntimeGetVersion(int *version);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMallocHost(void **pointer, size_t bytes);
int cudaMallocManaged(void **pointer, size_t bytes, unsigned flags);
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int cudaMallocAsync(void **pointer, size_t bytes, void *stream);
int cudaFreeAsync(void *pointer, void *stream);
int cudaFree(void *pointer);
int cudaFreeHost(void *pointer);
int cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
int cudaHostRegister(void *pointer, size_t bytes, unsigned flags);
int cudaHostUnregister(void *pointer);
int cudaPointerGetAttributes(struct sim_pointer_attributes *attributes, const void *pointer);
int cudaMemcpy(void *target, const void *source, size_t bytes, int kind);
int cudaMemcpy_ptds(void *target, const void *source, size_t bytes, int kind);
int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind, void *stream);
int cudaMemcpyAsync_ptsz(void *target, const void *source, size_t bytes, int kind, void *stream);
int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
                 size_t height, int kind);
int cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device, size_t bytes);
int cudaMemcpyToSymbol(const void *symbol, const void *source, size_t bytes, size_t offset, int kind);
int cudaMemcpyFromSymbol(void *target, const void *symbol, size_t bytes, size_t offset, int kind);
int cudaGetSymbolSize(size_t *bytes, const void *symbol);
int cudaMemset(void *pointer, int value, size_t bytes);
int cudaMemsetAsync(void *pointer, int value, size_t bytes, void *stream);
int cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height);
int cudaStreamCreate(void **stream);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamDestroy(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaStreamSynchronize_ptsz(void *stream);
int cudaStreamQuery(void *stream);
int cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int cudaStreamIsCapturing(void *stream, int *status);
int cudaEventCreate(void **event);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventQuery(void *event);
int cudaEventSynchronize(void *event);
int cudaEventElapsedTime(float *milliseconds, void *begin, void *end);
int cudaFuncGetAttributes(struct sim_func_attributes *attributes, const void *function);
int cudaFuncGetName(const char **name, const void *function);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                  size_t shared_bytes);
int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version, unsigned long long flags,
                                     int *status);
int cudaGraphicsMapResources(void);

#endif
