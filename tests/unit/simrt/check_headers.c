/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declarations against real headers (of CUDA 13, or 12 with SIM_CUDA_MAJOR): every structure's size and the
 * place of every field, every error code, every callback id. Nearly all of it happens at compile time.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <string.h>

#include "check.h"
#include "tests/simgpu/cupti/records.h"
#include "tests/simgpu/runtime/types.h"

#define SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours);
#define FIELD(ours, our_field, theirs, their_field)                                                                    \
    _Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field);                  \
    _Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field);
#define SAME(field) FIELD(OURS, field, THEIRS, field)
#define EACH2(f, a, b) f(a) f(b)
#define EACH4(f, a, b, c, d) EACH2(f, a, b) EACH2(f, c, d)
#define EACH8(f, a, b, c, d, e, g, h, i) EACH4(f, a, b, c, d) EACH4(f, e, g, h, i)

#define OURS struct sim_device_prop
#define THEIRS struct cudaDeviceProp
SIZE(OURS, THEIRS)
EACH8(SAME, name, uuid, luid, luidDeviceNodeMask, totalGlobalMem, sharedMemPerBlock, regsPerBlock, warpSize)
EACH8(SAME, memPitch, maxThreadsPerBlock, maxThreadsDim, maxGridSize, totalConstMem, major, minor, textureAlignment)
EACH8(SAME, texturePitchAlignment, multiProcessorCount, integrated, canMapHostMemory, maxTexture1D, maxTexture1DMipmap,
      maxTexture2D, maxTexture2DMipmap)
EACH8(SAME, maxTexture2DLinear, maxTexture2DGather, maxTexture3D, maxTexture3DAlt, maxTextureCubemap,
      maxTexture1DLayered, maxTexture2DLayered, maxTextureCubemapLayered)
EACH8(SAME, maxSurface1D, maxSurface2D, maxSurface3D, maxSurface1DLayered, maxSurface2DLayered, maxSurfaceCubemap,
      maxSurfaceCubemapLayered, surfaceAlignment)
EACH8(SAME, concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
      unifiedAddressing)
EACH8(SAME, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
      streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported, sharedMemPerMultiprocessor)
EACH8(SAME, regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported)
EACH8(SAME, canUseHostPointerForRegisteredMem, cooperativeLaunch, sharedMemPerBlockOptin,
      pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize, reservedSharedMemPerBlock)
EACH8(SAME, hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
      timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported, gpuDirectRDMAFlushWritesOptions,
      gpuDirectRDMAWritesOrdering)
EACH4(SAME, memoryPoolSupportedHandleTypes, deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch)
EACH2(SAME, unifiedFunctionPointers, reserved)
SIM_IN_12(EACH8(SAME, clockRate, deviceOverlap, kernelExecTimeoutEnabled, computeMode, maxTexture1DLinear,
                memoryClockRate, singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch))
SIM_IN_13(EACH8(SAME, deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId, gpuPciDeviceID, gpuPciSubsystemID,
                hostNumaMultinodeIpcSupported, reserved))
#undef OURS
#undef THEIRS

#define OURS struct sim_pointer_attributes
#define THEIRS struct cudaPointerAttributes
SIZE(OURS, THEIRS)
EACH4(SAME, type, device, devicePointer, hostPointer)
#undef OURS
#undef THEIRS

#define OURS struct sim_func_attributes
#define THEIRS struct cudaFuncAttributes
SIZE(OURS, THEIRS)
EACH8(SAME, sharedSizeBytes, constSizeBytes, localSizeBytes, maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion,
      cacheModeCA)
EACH8(SAME, maxDynamicSharedSizeBytes, preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth,
      requiredClusterHeight, requiredClusterDepth, clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed)
#undef OURS
#undef THEIRS

SIZE(struct sim_dim3, struct dim3)
#define OURS struct sim_launch_config
#define THEIRS cudaLaunchConfig_t
SIZE(OURS, THEIRS)
EACH4(SAME, gridDim, blockDim, dynamicSmemBytes, stream)
EACH2(SAME, attrs, numAttrs)
#undef OURS
#undef THEIRS

#define OURS struct sim_kernel_node_params
#define THEIRS struct cudaKernelNodeParams
SIZE(OURS, THEIRS)
EACH4(SAME, func, gridDim, blockDim, sharedMemBytes)
EACH2(SAME, kernelParams, extra)
#undef OURS
#undef THEIRS

#define OURS struct sim_memcpy3d_parms
#define THEIRS struct cudaMemcpy3DParms
SIZE(OURS, THEIRS)
EACH8(SAME, srcArray, srcPos, srcPtr, dstArray, dstPos, dstPtr, extent, kind)
#undef OURS
#undef THEIRS

#define OURS struct sim_kernel_record /* of 12 only what comes before the end of Kernel9 */
#define THEIRS SIM_IN_12(CUpti_ActivityKernel9) SIM_IN_13(CUpti_ActivityKernel10)
SIM_IN_13(SIZE(OURS, THEIRS))
EACH8(SAME, kind, cacheConfig, sharedMemoryConfig, registersPerThread, partitionedGlobalCacheRequested,
      partitionedGlobalCacheExecuted, start, end)
EACH8(SAME, completed, deviceId, contextId, streamId, gridX, gridY, gridZ, blockX)
EACH8(SAME, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal,
      correlationId, gridId)
EACH8(SAME, name, reserved0, queued, submitted, launchType, isSharedMemoryCarveoutRequested,
      sharedMemoryCarveoutRequested, sharedMemoryExecuted)
EACH8(SAME, graphNodeId, shmemLimitConfig, graphId, pAccessPolicyWindow, channelID, channelType, clusterX, clusterY)
EACH4(SAME, clusterZ, clusterSchedulingPolicy, localMemoryTotal_v2, maxPotentialClusterSize)
SAME(maxActiveClusters)
SIM_IN_13(SAME(isDeviceLaunched))
#undef OURS
#undef THEIRS

#define OURS struct sim_memcpy_record
#define THEIRS CUpti_ActivityMemcpy6
SIZE(OURS, THEIRS)
EACH8(SAME, kind, copyKind, srcKind, dstKind, flags, bytes, start, end)
EACH8(SAME, deviceId, contextId, streamId, correlationId, runtimeCorrelationId, reserved0, graphNodeId, graphId)
EACH2(SAME, channelID, channelType)
SAME(copyCount)
SIM_IN_13(SAME(isDeviceLaunched))
#undef OURS
#undef THEIRS

#define OURS struct sim_peer_record
#define THEIRS CUpti_ActivityMemcpyPtoP4
SIZE(OURS, THEIRS)
EACH8(SAME, kind, copyKind, srcKind, dstKind, flags, bytes, start, end)
EACH8(SAME, deviceId, contextId, streamId, srcDeviceId, srcContextId, dstDeviceId, dstContextId, correlationId)
EACH4(SAME, graphNodeId, graphId, channelID, channelType)
#undef OURS
#undef THEIRS

#define OURS struct sim_memset_record
#define THEIRS CUpti_ActivityMemset4
SIZE(OURS, THEIRS)
EACH8(SAME, kind, value, bytes, start, end, deviceId, contextId, streamId)
EACH4(SAME, correlationId, flags, memoryKind, graphNodeId)
EACH4(SAME, graphId, channelID, channelType, reserved0)
SIM_IN_13(SAME(isDeviceLaunched))
#undef OURS
#undef THEIRS

#define OURS struct sim_graph_record
#define THEIRS CUpti_ActivityGraphTrace2
SIZE(OURS, THEIRS)
EACH8(SAME, kind, correlationId, start, end, deviceId, graphId, contextId, streamId)
EACH2(SAME, endDeviceId, endContextId)
#undef OURS
#undef THEIRS

#define OURS struct sim_api_record
#define THEIRS CUpti_ActivityAPI
SIZE(OURS, THEIRS)
EACH8(SAME, kind, cbid, start, end, processId, threadId, correlationId, returnValue)
#undef OURS
#undef THEIRS

#define OURS struct sim_device_record
#define THEIRS CUpti_ActivityDevice5
SIZE(OURS, THEIRS)
EACH8(SAME, kind, flags, globalMemoryBandwidth, globalMemorySize, constantMemorySize, l2CacheSize, numThreadsPerWarp,
      coreClockRate)
EACH8(SAME, numMemcpyEngines, numMultiprocessors, maxIPC, maxWarpsPerMultiprocessor, maxBlocksPerMultiprocessor,
      maxSharedMemoryPerMultiprocessor, maxRegistersPerMultiprocessor, maxRegistersPerBlock)
EACH8(SAME, maxSharedMemoryPerBlock, maxThreadsPerBlock, maxBlockDimX, maxGridDimZ, computeCapabilityMajor,
      computeCapabilityMinor, id, eccEnabled)
EACH8(SAME, uuid, name, isCudaVisible, isMigEnabled, gpuInstanceId, computeInstanceId, migUuid, numaId)
#undef OURS
#undef THEIRS

#define KIND(name) _Static_assert((int)SIM_KIND_##name == (int)CUPTI_ACTIVITY_KIND_##name, #name);
EACH2(KIND, MEMCPY, MEMCPY2)
KIND(GRAPH_TRACE)
EACH4(KIND, MEMSET, DRIVER, DEVICE, CONCURRENT_KERNEL)

/* Numbers of errors; their names are spelt by the same table, so a wrong pair does not compile. */
#define ERR(number, name, text) _Static_assert((int)name == number, #name);
#include "tests/simgpu/runtime/errors.def"
#undef ERR
#define RESULT(number, name) _Static_assert((int)name == number, #name);
#include "tests/simgpu/cupti/results.def"
#undef RESULT

#define DRIVER_ID(number, name) _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == number, #name);
#define RUNTIME_ID(number, name) _Static_assert(CUPTI_RUNTIME_TRACE_CBID_##name == number, #name);
#if SIM_CUDA_MAJOR == 12
#include "cupti12_cbids.inc"
#else
#include "cupti13_cbids.inc"
#endif

int main(void)
{
    /* what no static assertion can see: the two descriptions of a device are one block of bytes */
    struct cudaDeviceProp theirs;
    struct sim_device_prop ours;
    memset(&theirs, 0, sizeof(theirs));
    theirs.sharedMemPerBlockOptin = 166912;
    theirs.unifiedFunctionPointers = -1;
    memcpy(&ours, &theirs, sizeof(ours));
    CHECK_EQ(ours.sharedMemPerBlockOptin, 166912);
    CHECK_EQ(ours.unifiedFunctionPointers, -1);
    return 0;
}
