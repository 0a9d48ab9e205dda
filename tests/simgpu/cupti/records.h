/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activity records as libcupti 13.0 writes them. Only public fields; names follow the public header, so that
 * tests/unit/simrt/check_headers.c can compare every layout with it. Records of older libraries are prefixes
 * of these (fields were only ever appended): layout.c holds the sizes.
 */
#ifndef SIMGPU_CUPTI_RECORDS_H
#define SIMGPU_CUPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum sim_kind {
    SIM_KIND_MEMCPY = 1,
    SIM_KIND_MEMSET = 2,
    SIM_KIND_DRIVER = 4,
    SIM_KIND_DEVICE = 8,
    SIM_KIND_CONCURRENT_KERNEL = 10,
    SIM_KIND_OVERHEAD = 17, /* of tools: nothing here has any, so there are no records */
    SIM_KIND_MEMCPY2 = 22, /* copies between two devices */
    SIM_KIND_EXTERNAL_CORRELATION = 39,
    SIM_KIND_GRAPH_TRACE = 51, /* one for each launch of a graph, in place of its nodes' records */
    SIM_KIND_LIMIT = 56,
};

struct sim_kernel_record { /* CUpti_ActivityKernel10 */
    uint32_t kind;
    uint8_t cacheConfig, sharedMemoryConfig;
    uint16_t registersPerThread;
    uint32_t partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted;
    uint64_t start, end, completed;
    uint32_t deviceId, contextId, streamId;
    int32_t gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory;
    uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
    int64_t gridId;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested, padding;
    uint32_t sharedMemoryExecuted;
    uint64_t graphNodeId;
    uint32_t shmemLimitConfig, graphId;
    void *pAccessPolicyWindow;
    uint32_t channelID, channelType, clusterX, clusterY, clusterZ, clusterSchedulingPolicy;
    uint64_t localMemoryTotal_v2;
    uint32_t maxPotentialClusterSize, maxActiveClusters;
    uint8_t isDeviceLaunched, padding3[7];
};

struct sim_external_record { /* CUpti_ActivityExternalCorrelation */
    uint32_t kind, externalKind;
    uint64_t externalId;
    uint32_t correlationId, reserved;
};

struct sim_memcpy_record { /* CUpti_ActivityMemcpy6 */
    uint32_t kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
    void *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId, channelID, channelType;
    uint8_t isDeviceLaunched, pad2[3];
    uint64_t copyCount;
};

struct sim_peer_record { /* CUpti_ActivityMemcpyPtoP4 */
    uint32_t kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, srcDeviceId, srcContextId, dstDeviceId, dstContextId, correlationId;
    void *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId, channelID, channelType;
};

struct sim_memset_record { /* CUpti_ActivityMemset4 */
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint16_t flags, memoryKind;
    uint32_t pad;
    void *reserved0;
    uint64_t graphNodeId;
    uint32_t graphId, channelID, channelType;
    uint8_t isDeviceLaunched, pad2[3];
};

struct sim_graph_record { /* CUpti_ActivityGraphTrace2 */
    uint32_t kind, correlationId;
    uint64_t start, end;
    uint32_t deviceId, graphId, contextId, streamId;
    void *reserved;
    uint32_t endDeviceId, endContextId;
};

struct sim_api_record { /* CUpti_ActivityAPI */
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t processId, threadId, correlationId, returnValue;
};

struct sim_device_record { /* CUpti_ActivityDevice5; what the simulator does not know stays 0 */
    uint32_t kind, flags;
    uint64_t globalMemoryBandwidth, globalMemorySize;
    uint32_t constantMemorySize, l2CacheSize, numThreadsPerWarp, coreClockRate, numMemcpyEngines, numMultiprocessors;
    uint32_t maxIPC, maxWarpsPerMultiprocessor, maxBlocksPerMultiprocessor, maxSharedMemoryPerMultiprocessor;
    uint32_t maxRegistersPerMultiprocessor, maxRegistersPerBlock, maxSharedMemoryPerBlock, maxThreadsPerBlock;
    uint32_t maxBlockDimX, maxBlockDimY, maxBlockDimZ, maxGridDimX, maxGridDimY, maxGridDimZ;
    uint32_t computeCapabilityMajor, computeCapabilityMinor, id, eccEnabled;
    uint8_t uuid[16];
    const char *name;
    uint8_t isCudaVisible, isMigEnabled, reserved[6];
    uint32_t gpuInstanceId, computeInstanceId;
    uint8_t migUuid[16];
    uint32_t isNumaNode, numaId;
};

/* What sets one version of the library apart. */
struct sim_layout {
    unsigned column; /* of the sizes in layout.c */
    long cuda_version;
    uint32_t api_version;
    int oldest_device, newest_device; /* compute capability: 10 * major + minor */
    int bad_kind;                     /* result for a record of unknown kind */
};

/* That of a CUDA version (12040: 12.4); -1, or one that is not known: what this library is built as. */
const struct sim_layout *sim_layout_of(long cuda_version);

/* Bytes of a record of that kind in the layout in use, 0 for an unknown kind. */
size_t sim_record_size(uint32_t kind);
/* Where the records of kinds whose `start` and `end` are device times have them (one behind the other); else 0. */
size_t sim_record_times_offset(uint32_t kind);

#endif
