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

enum { SWITCHES = 3 }; /* attributes 1 to 3 are int switches, which change nothing here */

struct pool {
    struct sim_object object;
    uint32_t device;
    uint32_t readers, writers; /* a bit for each device that may */
    uint64_t release_threshold, most_bytes; /* at most; 0: no limit */
    int switches[SWITCHES];
    _Atomic uint64_t used, used_high;
};

static struct pool *defaults[SIM_DEVICES_MAX];
static _Atomic(struct pool *) current[SIM_DEVICES_MAX];

static struct pool *create(uint32_t device)
{
    struct pool *pool = sim_object_create(SIM_POOL);

    if (pool != NULL) {
        pool->device = device;
        pool->readers = pool->writers = 1u << device;
        for (int i = 0; i < SWITCHES; i++) {
            pool->switches[i] = 1;
        }
    }
    return pool;
}

static bool take(struct pool *pool, size_t bytes)
{
    uint64_t used = atomic_fetch_add(&pool->used, bytes) + bytes;
    uint64_t high = atomic_load(&pool->used_high);

    if (pool->most_bytes != 0 && used > pool->most_bytes) {
        atomic_fetch_sub(&pool->used, bytes);
        return false;
    }
    while (used > high && !atomic_compare_exchange_weak(&pool->used_high, &high, used)) {
    }
    return true;
}

void sim_pool_returned(struct sim_object *pool, size_t bytes)
{
    if (sim_object_check(pool, SIM_POOL) != NULL) {
        atomic_fetch_sub(&((struct pool *)pool)->used, bytes);
    }
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

    if (result == CUDA_SUCCESS && pool->device != (uint32_t)device) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        atomic_store(&current[device], pool);
    }
    return result;
}

/* The newer calls name a place and a kind of memory: pinned memory of a device is all that there are pools of. */
static CUresult check_place(const CUmemLocation *location, CUmemAllocationType type)
{
    if (location == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED
               ? CUDA_SUCCESS
               : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = check_place(location, type);

    return result != CUDA_SUCCESS ? result : sim_cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = check_place(location, type);

    return result != CUDA_SUCCESS ? result : sim_cuDeviceGetMemPool(pool, location->id);
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = check_place(location, type);

    return result != CUDA_SUCCESS ? result : sim_cuDeviceSetMemPool(location->id, pool);
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    struct pool *pool;
    CUresult result;

    if (out == NULL || properties == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = check_place(&properties->location, properties->allocType);
    if (result == CUDA_SUCCESS && properties->handleTypes != 0) {
        result = CUDA_ERROR_NOT_SUPPORTED; /* sharing with other processes */
    }
    if (result == CUDA_SUCCESS && !sim_device_valid(properties->location.id)) {
        result = CUDA_ERROR_INVALID_DEVICE;
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    pool = create((uint32_t)properties->location.id);
    *out = (CUmemoryPool)pool;
    if (pool == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->most_bytes = properties->maxSize;
    return CUDA_SUCCESS;
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

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || value == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute >= 1 && attribute <= SWITCHES) {
        pool->switches[attribute - 1] = *(const int *)value;
        return CUDA_SUCCESS;
    }
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = *(const cuuint64_t *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (*(const cuuint64_t *)value != 0) {
            return CUDA_ERROR_INVALID_VALUE; /* it can be reset only */
        }
        atomic_store(&pool->used_high, atomic_load(&pool->used));
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Nothing is kept back, so what is reserved is what is used. */
CUresult sim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || value == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute >= 1 && attribute <= SWITCHES) {
        *(int *)value = pool->switches[attribute - 1];
        return CUDA_SUCCESS;
    }
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = pool->release_threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(cuuint64_t *)value = atomic_load(&pool->used);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = atomic_load(&pool->used_high);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t count)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || map == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t device = (uint32_t)map[i].location.id, own = 1u << pool->device;

        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !sim_device_valid(map[i].location.id)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        pool->readers = (pool->readers & ~(1u << device)) | (map[i].flags & 1) << device | own;
        pool->writers = (pool->writers & ~(1u << device)) | (map[i].flags >> 1 & 1) << device | own;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    struct pool *pool = sim_object_check(handle, SIM_POOL);

    if (pool == NULL || flags == NULL || location == NULL || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !sim_device_valid(location->id)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = (pool->readers >> location->id & 1) | (pool->writers >> location->id & 1) << 1;
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
    result = CUDA_ERROR_OUT_OF_MEMORY;
    if (take(pool, bytes)) {
        result = sim_memory_map(&range);
        if (result != CUDA_SUCCESS) {
            sim_pool_returned(&pool->object, bytes);
        }
    }
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
    if (!sim_memory_find(address, 1, &range) || range.base != address || range.kind != SIM_MEMORY_DEVICE ||
        range.registered) {
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
