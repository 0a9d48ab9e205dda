/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and the stream-ordered allocations from them. */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "capture.h"
#include "context.h"
#include "device.h"
#include "driver_gen.h"
#include "effects.h"
#include "memory.h"
#include "model.h"

struct pool {
    struct sim_object object;
    uint32_t device;
    uint64_t release_threshold;
};

static struct pool *defaults[SIM_DEVICES_MAX];
static _Atomic(struct pool *) current[SIM_DEVICES_MAX];

static struct pool *create(uint32_t device)
{
    struct pool *pool = sim_object_create(SIM_POOL);

    if (pool != NULL) {
        pool->device = device;
    }
    return pool;
}

void sim_pools_start(void)
{
    for (uint32_t device = 0; device < sim_model.devices; device++) {
        defaults[device] = create(device);
        atomic_store(&current[device], defaults[device]);
    }
}

static CUresult check(const void *out, CUdevice device)
{
    return !sim_device_valid(device) ? CUDA_ERROR_INVALID_DEVICE
           : out == NULL             ? CUDA_ERROR_INVALID_VALUE
                                     : CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    CUresult result = check(pool, device);

    if (result == CUDA_SUCCESS) {
        *pool = (CUmemoryPool)defaults[device];
    }
    return result;
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    CUresult result = check(pool, device);

    if (result == CUDA_SUCCESS) {
        *pool = (CUmemoryPool)atomic_load(&current[device]);
    }
    return result;
}

CUresult sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);
    CUresult result = check(pool, device);

    if (result == CUDA_SUCCESS) {
        atomic_store(&current[device], pool);
    }
    return result;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    struct sim_context *context = sim_context_current();
    struct pool *pool;

    if (out == NULL || properties == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pool = create(context != NULL ? context->device : 0);
    *out = (CUmemoryPool)pool;
    return pool == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool handle)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || pool == defaults[pool->device]) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (atomic_load(&current[pool->device]) == pool) {
        atomic_store(&current[pool->device], defaults[pool->device]);
    }
    sim_object_destroy(pool);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes)
{
    return sim_object_check(handle, SIM_POOL) == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Attribute 4 is the release threshold; 1 to 3 are int switches, 5 to 8 are counters of which none is kept. */
CUresult sim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || value == NULL || attribute < 1 || attribute > 8) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute == 4) {
        pool->release_threshold = *(cuuint64_t *)value;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || value == NULL || attribute < 1 || attribute > 8) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute <= 3) {
        *(int *)value = 1;
    } else {
        *(cuuint64_t *)value = attribute == 4 ? pool->release_threshold : 0;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    return sim_object_check(handle, SIM_POOL) == NULL || map == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    if (sim_object_check(handle, SIM_POOL) == NULL || flags == NULL || location == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = 3; /* read and write */
    return CUDA_SUCCESS;
}

/* Allocations are no nodes of a graph here. */
static CUresult refuse_while_capturing(struct sim_stream *stream)
{
    bool captured;
    CUresult result = sim_capture_check(stream, &captured);

    return result == CUDA_SUCCESS && captured ? sim_capture_refuse(stream) : result;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, struct pool *pool, CUstream handle)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_range range;
    CUresult result;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (address == NULL || pool == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = refuse_while_capturing(stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    range = (struct sim_range){.bytes = bytes, .kind = SIM_MEMORY_DEVICE, .device = pool->device,
                               .context = stream->context, .pool = &pool->object};
    result = sim_memory_map(&range);
    *address = result == CUDA_SUCCESS ? range.base : 0;
    return result;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    return allocate(address, bytes, atomic_load(&current[sim_context_current()->device]), stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    return allocate(address, bytes, sim_object_check(pool, SIM_POOL), stream);
}

CUresult sim_cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_range range;
    CUresult result;
    struct sim_op *op;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!sim_memory_find(address, 1, &range) || range.base != address || range.kind != SIM_MEMORY_DEVICE) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = refuse_while_capturing(stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    op = sim_op_create(SIM_OP_MARKER, stream);
    if (op == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->effect = sim_effect_release;
    op->host_sees_effect = true;
    op->u.release = address;
    sim_enqueue(op, NULL);
    sim_op_release(op);
    return CUDA_SUCCESS;
}
