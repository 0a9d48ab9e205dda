/* SPDX-License-Identifier: Apache-2.0 */
/* Device queries. The values are those of a mid-size data-centre device of compute capability 8.0. */
#include "device.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "clock.h"
#include "context.h"
#include "driver_gen.h"
#include "engine.h"
#include "memory.h"
#include "model.h"
#include "pool.h"

/* By number; what is not listed is 0, which the API uses for "no" and "none". */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
    [1] = SIM_THREADS_PER_BLOCK, /* threads in a block; block and grid dimensions follow */
    [2] = 1024, [3] = 1024, [4] = 64, [5] = 2147483647, [6] = 65535, [7] = 65535,
    [8] = 49152,  /* shared memory of a block */
    [9] = 65536,  /* constant memory */
    [10] = 32,    /* warp */
    [11] = 2147483647, [12] = 65536, /* pitch; registers of a block */
    [13] = 1410000, [14] = 512, [15] = 1, /* clock in kHz; texture alignment; copies overlap */
    [16] = SIM_SM_COUNT,
    [19] = 1, [32] = 1, /* can map host memory; error correction */
    [21] = 131072, [22] = 131072, [23] = 65536, [24] = 16384, [25] = 16384, [26] = 16384, /* textures */
    [30] = 512, [31] = 1, /* surface alignment; concurrent kernels */
    [36] = 1215000, [37] = 5120, [38] = 41943040, /* memory clock in kHz, bus bits, L2 bytes */
    [39] = SIM_THREADS_PER_SM, [40] = 2, [41] = 1, /* copy engines; unified addresses */
    [51] = 32, /* texture pitch alignment */
    [75] = SIM_CAPABILITY_MAJOR, [76] = SIM_CAPABILITY_MINOR, [78] = 1, /* compute capability; priorities */
    [79] = 1, [80] = 1, /* caches */
    [81] = 167936, [82] = 65536, [83] = 1, /* shared memory and registers of an SM; managed memory */
    [87] = 2, [89] = 1, [90] = 1, [91] = 1, /* double ratio; managed access; preemption; registered pointers */
    [95] = 1, [96] = 1, /* cooperative launches */
    [97] = SIM_SHARED_OPTIN_BYTES,
    [99] = 1, [106] = 32, [111] = 1024, [113] = 1, /* host register; blocks of an SM; reserved; read-only register */
    [102] = 1, [103] = 1, /* virtual memory management, shared by file descriptor */
    [108] = 26214400, [109] = 134213632, /* persisting L2 bytes, window of an access policy */
    [115] = 1, /* memory pools */
    [126] = 1, [129] = 1, [134] = -1, /* memory domain; unified function pointers; no NUMA node */
};

bool sim_device_valid(CUdevice device)
{
    return device >= 0 && (uint32_t)device < sim_model.devices;
}

void sim_devices_start(void)
{
    uint64_t now_ns = sim_now_ns();

    sim_contexts_start();
    sim_pools_start();
    for (uint32_t device = 0; device < sim_model.devices; device++) {
        sim_engine_start_device(device, now_ns);
    }
}

void sim_tracer_devices(const struct simgpu_tracer *tracer)
{
    for (uint32_t device = 0; tracer->device != NULL && device < sim_model.devices; device++) {
        uint8_t uuid[16];

        sim_device_uuid(uuid, device);
        tracer->device(device, SIM_DEVICE_NAME, uuid);
    }
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
    if (device == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!sim_device_valid(ordinal)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetCount(int *count)
{
    if (count == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *count = (int)sim_model.devices;
    return CUDA_SUCCESS;
}

/* The check that most functions here begin with. */
static CUresult check(const void *out, CUdevice device)
{
    if (!sim_device_valid(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    return out == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult result = check(name, device);

    if (result == CUDA_SUCCESS && length <= 0) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        snprintf(name, (size_t)length, "%s", SIM_DEVICE_NAME);
    }
    return result;
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    CUresult result = check(uuid, device);

    if (result == CUDA_SUCCESS) {
        sim_device_uuid((uint8_t *)uuid->bytes, (uint32_t)device);
    }
    return result;
}

CUresult sim_cuDeviceGetLuid(char *luid, unsigned *node_mask, CUdevice device)
{
    return CUDA_ERROR_NOT_SUPPORTED; /* exists on Windows only */
}

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = check(value, device);

    if (result == CUDA_SUCCESS && (attribute == 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        *value = attribute == 33 ? (int)sim_device_bus((uint32_t)device) : attributes[attribute]; /* 33: the PCI bus */
    }
    return result;
}

CUresult sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult result = check(bytes, device);

    if (result == CUDA_SUCCESS) {
        *bytes = sim_device_bytes;
    }
    return result;
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult result = check(major, device);

    if (result == CUDA_SUCCESS && minor != NULL) {
        *major = attributes[75];
        *minor = attributes[76];
    }
    return minor == NULL ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult sim_cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
    CUresult result = check(properties, device);

    if (result == CUDA_SUCCESS) {
        *properties = (CUdevprop){
            .maxThreadsPerBlock = attributes[1], .maxThreadsDim = {attributes[2], attributes[3], attributes[4]},
            .maxGridSize = {attributes[5], attributes[6], attributes[7]}, .sharedMemPerBlock = attributes[8],
            .totalConstantMemory = attributes[9], .SIMDWidth = attributes[10], .memPitch = attributes[11],
            .regsPerBlock = attributes[12], .clockRate = attributes[13], .textureAlign = attributes[14],
        };
    }
    return result;
}

CUresult sim_cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    CUresult result = check(id, device);

    if (result == CUDA_SUCCESS && length < 13) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        snprintf(id, (size_t)length, SIM_PCI_FORMAT, sim_device_bus((uint32_t)device));
    }
    return result;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    if (device == NULL || id == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!sim_device_valid(sim_device_at(id))) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = sim_device_at(id);
    return CUDA_SUCCESS;
}

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    CUresult result = check(can, device);

    if (result == CUDA_SUCCESS && !sim_device_valid(peer)) {
        result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (result == CUDA_SUCCESS) {
        *can = device != peer;
    }
    return result;
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target)
{
    CUresult result = check(value, source);

    if (result == CUDA_SUCCESS && (!sim_device_valid(target) || source == target)) {
        result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (result == CUDA_SUCCESS) {
        *value = attribute == 2 || attribute == 4; /* access, and arrays over it */
    }
    return result;
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice device)
{
    CUresult result = check(value, device);

    if (result == CUDA_SUCCESS) {
        *value = 0;
    }
    return result;
}
