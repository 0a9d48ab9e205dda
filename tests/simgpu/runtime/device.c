/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices: count, properties, attributes, flags, peers, entry points of the driver. Properties come from
 * cuDeviceGetAttribute through one table. Any thread.
 */
#include <string.h>

#include "runtime.h"

/* An int (or, where `wide`, size_t) field of cudaDeviceProp and the CUdevice_attribute that fills it. */
struct prop_field {
    unsigned short offset, attribute, wide;
};

#define INT(field, attribute)                                                                                          \
    {                                                                                                                  \
        offsetof(struct sim_device_prop, field), attribute, 0                                                          \
    }
#define SIZE(field, attribute)                                                                                         \
    {                                                                                                                  \
        offsetof(struct sim_device_prop, field), attribute, 1                                                          \
    }

/* clang-format off */
static const struct prop_field prop_fields[] = {
    SIZE(sharedMemPerBlock, 8), INT(regsPerBlock, 12), INT(warpSize, 10), SIZE(memPitch, 11),
    INT(maxThreadsPerBlock, 1), INT(maxThreadsDim[0], 2), INT(maxThreadsDim[1], 3), INT(maxThreadsDim[2], 4),
    INT(maxGridSize[0], 5), INT(maxGridSize[1], 6), INT(maxGridSize[2], 7), SIZE(totalConstMem, 9),
    INT(major, 75), INT(minor, 76), SIZE(textureAlignment, 14), SIZE(texturePitchAlignment, 51),
    INT(multiProcessorCount, 16), INT(integrated, 18), INT(canMapHostMemory, 19), INT(maxTexture1D, 21),
    INT(maxTexture1DMipmap, 77), INT(maxTexture2D[0], 22), INT(maxTexture2D[1], 23), INT(maxTexture2DMipmap[0], 73),
    INT(maxTexture2DMipmap[1], 74), INT(maxTexture2DLinear[0], 70), INT(maxTexture2DLinear[1], 71),
    INT(maxTexture2DLinear[2], 72), INT(maxTexture2DGather[0], 45), INT(maxTexture2DGather[1], 46),
    INT(maxTexture3D[0], 24), INT(maxTexture3D[1], 25), INT(maxTexture3D[2], 26), INT(maxTexture3DAlt[0], 47),
    INT(maxTexture3DAlt[1], 48), INT(maxTexture3DAlt[2], 49), INT(maxTextureCubemap, 52),
    INT(maxTexture1DLayered[0], 42), INT(maxTexture1DLayered[1], 43), INT(maxTexture2DLayered[0], 27),
    INT(maxTexture2DLayered[1], 28), INT(maxTexture2DLayered[2], 29), INT(maxTextureCubemapLayered[0], 53),
    INT(maxTextureCubemapLayered[1], 54), INT(maxSurface1D, 55), INT(maxSurface2D[0], 56), INT(maxSurface2D[1], 57),
    INT(maxSurface3D[0], 58), INT(maxSurface3D[1], 59), INT(maxSurface3D[2], 60), INT(maxSurface1DLayered[0], 61),
    INT(maxSurface1DLayered[1], 62), INT(maxSurface2DLayered[0], 63), INT(maxSurface2DLayered[1], 64),
    INT(maxSurface2DLayered[2], 65), INT(maxSurfaceCubemap, 66), INT(maxSurfaceCubemapLayered[0], 67),
    INT(maxSurfaceCubemapLayered[1], 68), SIZE(surfaceAlignment, 30), INT(concurrentKernels, 31),
    INT(ECCEnabled, 32), INT(pciBusID, 33), INT(pciDeviceID, 34), INT(pciDomainID, 50), INT(tccDriver, 35),
    INT(asyncEngineCount, 40), INT(unifiedAddressing, 41), INT(memoryBusWidth, 37), INT(l2CacheSize, 38),
    INT(persistingL2CacheMaxSize, 108), INT(maxThreadsPerMultiProcessor, 39), INT(streamPrioritiesSupported, 78),
    INT(globalL1CacheSupported, 79), INT(localL1CacheSupported, 80), SIZE(sharedMemPerMultiprocessor, 81),
    INT(regsPerMultiprocessor, 82), INT(managedMemory, 83), INT(isMultiGpuBoard, 84), INT(multiGpuBoardGroupID, 85),
    INT(hostNativeAtomicSupported, 86), INT(pageableMemoryAccess, 88), INT(concurrentManagedAccess, 89),
    INT(computePreemptionSupported, 90), INT(canUseHostPointerForRegisteredMem, 91), INT(cooperativeLaunch, 95),
    SIZE(sharedMemPerBlockOptin, 97), INT(pageableMemoryAccessUsesHostPageTables, 100),
    INT(directManagedMemAccessFromHost, 101), INT(maxBlocksPerMultiProcessor, 106),
    INT(accessPolicyMaxWindowSize, 109), SIZE(reservedSharedMemPerBlock, 111), INT(hostRegisterSupported, 99),
    INT(sparseCudaArraySupported, 112), INT(hostRegisterReadOnlySupported, 113),
    INT(timelineSemaphoreInteropSupported, 114), INT(memoryPoolsSupported, 115), INT(gpuDirectRDMASupported, 116),
    INT(gpuDirectRDMAFlushWritesOptions, 117), INT(gpuDirectRDMAWritesOrdering, 118),
    INT(memoryPoolSupportedHandleTypes, 119), INT(clusterLaunch, 120), INT(deferredMappingCudaArraySupported, 121),
    INT(ipcEventSupported, 125), INT(unifiedFunctionPointers, 129),
    SIM_IN_12(INT(clockRate, 13), INT(deviceOverlap, 15), INT(kernelExecTimeoutEnabled, 17), INT(computeMode, 20),)
    SIM_IN_12(INT(memoryClockRate, 36), INT(maxTexture1DLinear, 69), INT(singleToDoublePrecisionPerfRatio, 87),)
    SIM_IN_12(INT(cooperativeMultiDeviceLaunch, 96),)
    SIM_IN_13(INT(deviceNumaConfig, 130), INT(deviceNumaId, 131), INT(mpsEnabled, 133), INT(hostNumaId, 134),)
    SIM_IN_13(INT(gpuPciDeviceID, 139), INT(gpuPciSubsystemID, 140), INT(hostNumaMultinodeIpcSupported, 143),)
};
/* clang-format on */

int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count)
{
    if (!count) {
        return sim_rt_leave(SIM_INVALID_VALUE);
    }
    *count = 0;
    SIM_FRAME(SIM_DRIVER, 0, drv->cuDeviceGetCount(count))
}

static int check_device(const struct sim_driver *drv, int device)
{
    int handle;
    return drv->cuDeviceGet(&handle, device) == SIM_SUCCESS ? SIM_SUCCESS : SIM_INVALID_DEVICE;
}

static int get_properties(const struct sim_driver *drv, struct sim_device_prop *prop, int device)
{
    int result = prop ? check_device(drv, device) : SIM_INVALID_VALUE;
    if (result != SIM_SUCCESS) {
        return result;
    }
    memset(prop, 0, sizeof(*prop));
    drv->cuDeviceGetName(prop->name, sizeof(prop->name), device);
    drv->cuDeviceGetUuid(&prop->uuid, device);
    drv->cuDeviceTotalMem(&prop->totalGlobalMem, device);
    for (size_t i = 0; i < sizeof(prop_fields) / sizeof(prop_fields[0]); i++) {
        const struct prop_field *f = &prop_fields[i];
        int value = 0;
        if (drv->cuDeviceGetAttribute(&value, f->attribute, device) != SIM_SUCCESS) {
            continue; /* an attribute that the driver does not know stays 0 */
        }
        char *field = (char *)prop + f->offset;
        size_t wide = (unsigned)value;
        memcpy(field, f->wide ? (void *)&wide : (void *)&value, f->wide ? sizeof(wide) : sizeof(value));
    }
    return SIM_SUCCESS;
}

SIM_API(SIM_DRIVER, SIM_NEWER(cudaGetDeviceProperties, _v2), (prop, device), struct sim_device_prop *prop, int device)
{
    return get_properties(drv, prop, device);
}

#if SIM_CUDA_MAJOR == 12
/* The structure of CUDA 11, which 12 added to at the end. */
SIM_API(SIM_DRIVER, cudaGetDeviceProperties, (prop, device), void *prop, int device)
{
    struct sim_device_prop now;
    int result = prop ? get_properties(drv, &now, device) : SIM_INVALID_VALUE;
    if (result == SIM_SUCCESS) {
        memcpy(prop, &now, offsetof(struct sim_device_prop, hostRegisterSupported));
    }
    return result;
}
#endif

SIM_API(SIM_DRIVER, cudaDeviceGetAttribute, (value, attribute, device), int *value, int attribute, int device)
{
    int result = value ? check_device(drv, device) : SIM_INVALID_VALUE;
    return result == SIM_SUCCESS ? drv->cuDeviceGetAttribute(value, attribute, device) : result;
}

/* Every simulated device is alike: the first one matches any wish. */
SIM_API(SIM_DRIVER, cudaChooseDevice, (device, prop), int *device, const struct sim_device_prop *prop)
{
    if (!device || !prop) {
        return SIM_INVALID_VALUE;
    }
    *device = 0;
    return SIM_SUCCESS;
}

SIM_API(SIM_DRIVER, cudaSetDeviceFlags, (flags), unsigned flags)
{
    return drv->cuDevicePrimaryCtxSetFlags(sim_rt_device(), flags);
}

static int get_flags(const struct sim_driver *drv, unsigned *flags)
{
    int active = 0;
    return flags ? drv->cuDevicePrimaryCtxGetState(sim_rt_device(), flags, &active) : SIM_INVALID_VALUE;
}

int cudaGetDeviceFlags(unsigned *flags);
int cudaGetDeviceFlags(unsigned *flags)
{
    SIM_FRAME(SIM_DRIVER, 0, get_flags(drv, flags))
}

static int peer_access(int peer, int (*change)(const struct sim_driver *, void *, unsigned),
                       const struct sim_driver *drv, unsigned flags)
{
    void *context = NULL;
    int result = check_device(drv, peer);
    if (result == SIM_SUCCESS) {
        result = sim_rt_primary(peer, &context);
    }
    return result == SIM_SUCCESS ? change(drv, context, flags) : result;
}

static int enable_peer(const struct sim_driver *drv, void *context, unsigned flags)
{
    return drv->cuCtxEnablePeerAccess(context, flags);
}

static int disable_peer(const struct sim_driver *drv, void *context, unsigned flags)
{
    return drv->cuCtxDisablePeerAccess(context);
}

SIM_API(SIM_CONTEXT, cudaDeviceEnablePeerAccess, (peer, flags), int peer, unsigned flags)
{
    return peer_access(peer, enable_peer, drv, flags);
}

SIM_API(SIM_CONTEXT, cudaDeviceDisablePeerAccess, (peer), int peer)
{
    return peer_access(peer, disable_peer, drv, 0);
}

/*
 * The answers are the driver's own pointers. `status` has the same numbers in both APIs; a name that is not
 * found is success with a NULL pointer. In the per-thread variant the default flag means per-thread.
 */
static int entry_point(const char *symbol, void **function, unsigned version, unsigned long long flags, int *status,
                       int per_thread)
{
    if (!symbol || !function) {
        return SIM_INVALID_VALUE;
    }
    int found_status = 0;
    *function = NULL;
    if (flags == 0 && per_thread) {
        flags = 2;
    }
    int result = sim_rt_proc_address(symbol, function, (int)version, flags, &found_status);
    if (status) {
        *status = found_status;
    }
    return result;
}

SIM_API_SZ(SIM_DRIVER, cudaGetDriverEntryPointByVersion, _ptsz, (symbol, function, version, flags, status),
           const char *symbol, void **function, unsigned version, unsigned long long flags, int *status)
{
    return entry_point(symbol, function, version, flags, status, drv == &sim_driver_table[1]);
}

SIM_API_SZ(SIM_DRIVER, cudaGetDriverEntryPoint, _ptsz, (symbol, function, flags, status), const char *symbol,
           void **function, unsigned long long flags, int *status)
{
    return entry_point(symbol, function, SIM_CUDA_VERSION, flags, status, drv == &sim_driver_table[1]);
}
