/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public structures of the runtime API that this libcudart fills or reads, declared here so that no toolkit
 * is needed to build it. tests/unit/simrt/check_headers.c compares every layout with real headers where there are
 * some.
 */
#ifndef SIMGPU_RUNTIME_TYPES_H
#define SIMGPU_RUNTIME_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "../cuda_major.h"

/* Error codes: runtime and driver agree in number wherever both have one. */
enum {
    SIM_SUCCESS = 0,
    SIM_INVALID_VALUE = 1,
    SIM_OUT_OF_MEMORY = 2,
    SIM_NOT_INITIALIZED = 3,
    SIM_INVALID_CONFIGURATION = 9,
    SIM_INVALID_SYMBOL = 13,
    SIM_INVALID_MEMCPY_DIRECTION = 21,
    SIM_INSUFFICIENT_DRIVER = 35,
    SIM_MISSING_CONFIGURATION = 52,
    SIM_INVALID_DEVICE_FUNCTION = 98,
    SIM_INVALID_DEVICE = 101,
    SIM_INVALID_CONTEXT = 201,
    SIM_NO_KERNEL_IMAGE = 209,
    SIM_NOT_FOUND = 500,
    SIM_NOT_SUPPORTED = 801,
};

enum sim_memcpy_kind { SIM_HOST_TO_HOST, SIM_HOST_TO_DEVICE, SIM_DEVICE_TO_HOST, SIM_DEVICE_TO_DEVICE, SIM_DEFAULT };

struct sim_dim3 {
    unsigned x, y, z;
};

struct sim_uuid {
    char bytes[16];
};

/* cudaDeviceProp; field names as in the public header. */
struct sim_device_prop {
    char name[256];
    struct sim_uuid uuid;
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    SIM_IN_12(int clockRate;)
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    SIM_IN_12(int deviceOverlap;)
    int multiProcessorCount;
    SIM_IN_12(int kernelExecTimeoutEnabled;)
    int integrated, canMapHostMemory;
    SIM_IN_12(int computeMode;)
    int maxTexture1D, maxTexture1DMipmap;
    SIM_IN_12(int maxTexture1DLinear;)
    int maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3];
    int maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2];
    int maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2], maxSurface3D[3];
    int maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing;
    SIM_IN_12(int memoryClockRate;)
    int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
    SIM_IN_12(int singleToDoublePrecisionPerfRatio;)
    int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
    int canUseHostPointerForRegisteredMem, cooperativeLaunch;
    SIM_IN_12(int cooperativeMultiDeviceLaunch;)
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    SIM_IN_13(int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;)
    SIM_IN_13(unsigned gpuPciDeviceID, gpuPciSubsystemID;)
    SIM_IN_13(int hostNumaMultinodeIpcSupported;)
    int reserved[SIM_IN_12(63) SIM_IN_13(56)];
};

struct sim_pointer_attributes {
    int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
    int device;
    void *devicePointer, *hostPointer;
    SIM_IN_13(long reserved[8];)
};

struct sim_func_attributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight;
    int requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

/* cudaLaunchConfig_t; its attribute list has the layout of CUlaunchConfig's. */
struct sim_launch_config {
    struct sim_dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    void *stream;
    void *attrs;
    unsigned numAttrs;
};

struct sim_pitched_ptr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct sim_extent {
    size_t width, height, depth;
};

/* cudaMemcpy3DParms */
struct sim_memcpy3d_parms {
    void *srcArray;
    size_t srcPos[3];
    struct sim_pitched_ptr srcPtr;
    void *dstArray;
    size_t dstPos[3];
    struct sim_pitched_ptr dstPtr;
    struct sim_extent extent;
    int kind;
};

struct sim_kernel_node_params { /* cudaKernelNodeParams */
    void *func;
    struct sim_dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};

/* What nvcc puts in .nvFatBinSegment and hands to __cudaRegisterFatBinary. */
struct sim_fatbin_wrapper {
    int magic, version;
    const void *data;
    void *filename_or_fatbins;
};
#define SIM_FATBIN_WRAPPER_MAGIC 0x466243b1

#endif
