/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation, registration and what pointers say of themselves. */
#include <stdint.h>
#include <string.h>

#include "call.h"
#include "context.h"
#include "driver_gen.h"
#include "engine.h"
#include "identity.h"
#include "memory.h"
#include "vmm.h"

static CUdeviceptr address_of(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes, uint32_t kind, unsigned flags)
{
    struct sim_context *context = sim_context_current();
    struct sim_range range = {.bytes = bytes, .kind = kind, .device = context->device, .context = context,
                              .flags = flags};
    CUresult result = sim_memory_map(&range);

    *address = result == CUDA_SUCCESS ? range.base : 0;
    return result;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    return address == NULL ? CUDA_ERROR_INVALID_VALUE : allocate(address, bytes, SIM_MEMORY_DEVICE, 0);
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    size_t row = (width + 511) & ~(size_t)511;

    if (address == NULL || pitch == NULL || (element != 4 && element != 8 && element != 16) ||
        (height != 0 && row > SIZE_MAX / height)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *pitch = row;
    return allocate(address, row * height, SIM_MEMORY_DEVICE, 0);
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    if (address == NULL || flags == 0 || flags > 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return allocate(address, bytes, SIM_MEMORY_MANAGED, flags);
}

CUresult sim_cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    CUdeviceptr memory;
    CUresult result;

    if (address == NULL || flags > 7) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = allocate(&memory, bytes, SIM_MEMORY_PINNED, flags);
    *address = (void *)(uintptr_t)memory;
    return result;
}

CUresult sim_cuMemAllocHost_v2(void **address, size_t bytes)
{
    return sim_cuMemHostAlloc(address, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult sim_cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    struct sim_context *context = sim_context_current();
    struct sim_range range = {.base = address_of(address), .bytes = bytes, .kind = SIM_MEMORY_PINNED,
                              .device = context->device, .context = context, .flags = flags, .registered = true};

    if (address == NULL || bytes == 0 || flags > 15) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return sim_memory_register(&range) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult sim_cuMemHostUnregister(void *address)
{
    struct sim_range range;

    if (!sim_memory_find(address_of(address), 1, &range) || range.base != address_of(address) || !range.registered ||
        range.mapping != NULL) {
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    sim_sync_context(range.context);
    sim_memory_unmap(range.base);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *address, unsigned flags)
{
    struct sim_range range;

    if (out == NULL || flags != 0 || !sim_memory_find(address_of(address), 1, &range) ||
        range.kind != SIM_MEMORY_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = address_of(address);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned *flags, void *address)
{
    struct sim_range range;

    if (flags == NULL || !sim_memory_find(address_of(address), 1, &range) || range.kind != SIM_MEMORY_PINNED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

/* Frees wait for the work of their context: it may still use the memory. */
static CUresult release(CUdeviceptr address, bool pinned)
{
    struct sim_range range;

    if (address == 0) {
        return CUDA_SUCCESS;
    }
    if (!sim_memory_find(address, 1, &range) || range.base != address || range.registered ||
        (range.kind == SIM_MEMORY_PINNED) != pinned) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_sync_context(range.context);
    sim_memory_unmap(address);
    return CUDA_SUCCESS;
}

CUresult sim_cuMemFree_v2(CUdeviceptr address)
{
    return release(address, false);
}

CUresult sim_cuMemFreeHost(void *address)
{
    return address == NULL ? CUDA_ERROR_INVALID_VALUE : release(address_of(address), true);
}

CUresult sim_cuMemGetInfo_v2(size_t *free, size_t *total)
{
    if (free == NULL || total == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *free = sim_memory_free_bytes(sim_context_current()->device);
    *total = sim_device_bytes;
    return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct sim_range range;

    if (!sim_memory_find(address, 1, &range)) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (base != NULL) {
        *base = range.base;
    }
    if (bytes != NULL) {
        *bytes = range.bytes;
    }
    return CUDA_SUCCESS;
}

/* ---- pointer attributes --------------------------------------------------------------------------------------- */

/* What the device of the current context may do with the memory, as bits: read, write. */
static int access_flags(const struct sim_range *range)
{
    const struct sim_context *context = sim_context_current();

    return range->mapping == NULL ? 3 : (int)sim_vmm_access(range, context != NULL ? context->device : range->device);
}

/* Where a pointer lies in what the program allocated, or reserved. */
static void find_whole(CUdeviceptr address, const struct sim_range *range, CUdeviceptr *base, size_t *bytes)
{
    *base = range->base;
    *bytes = range->bytes;
    if (range->mapping != NULL) {
        sim_vmm_reserved(address, base, bytes);
    }
}

static CUresult get_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address,
                              const struct sim_range *range)
{
    CUdeviceptr base;
    size_t bytes;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = (CUcontext)range->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = range->kind == SIM_MEMORY_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **)data = (void *)(uintptr_t)address;
        return range->kind == SIM_MEMORY_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(int *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(int *)data = range->kind == SIM_MEMORY_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = range->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = (int)range->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        find_whole(address, range, data, &bytes);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        find_whole(address, range, &base, data);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = range->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = range->bytes;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = range->mapping != NULL ? (uintptr_t)range->mapping : range->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(int *)data = access_flags(range);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(cuuint64_t *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = (CUmemoryPool)range->pool;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static size_t attribute_bytes(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return sizeof(int);
    default:
        return sizeof(void *);
    }
}

/* Addresses that are reserved and not mapped have these attributes only. */
static CUresult get_of_reserved(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUdeviceptr base;
    size_t bytes;

    if (!sim_vmm_reserved(address, &base, &bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = bytes;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Of any pointer; INVALID_VALUE when it is none of ours. */
static CUresult get_any(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct sim_range range;

    return sim_memory_find(address, 1, &range) ? get_attribute(data, attribute, address, &range)
                                               : get_of_reserved(data, attribute, address);
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    return data == NULL ? CUDA_ERROR_INVALID_VALUE : get_any(data, attribute, address);
}

/* As the real one: succeeds for any pointer, and sets what does not apply to zero (the ordinal to -2). */
CUresult sim_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
{
    if (count == 0 || attributes == NULL || data == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        if (get_any(data[i], attributes[i], address) == CUDA_SUCCESS) {
            continue;
        }
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
            *(int *)data[i] = -2;
        } else {
            memset(data[i], 0, attribute_bytes(attributes[i]));
        }
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct sim_range range;

    return value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !sim_memory_find(address, 1, &range)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

/* ---- managed memory: advice and prefetching change nothing here ------------------------------------------------- */

static CUresult check_managed(CUdeviceptr address, size_t bytes)
{
    struct sim_range range;

    return bytes > 0 && sim_memory_find(address, bytes, &range) && range.kind == SIM_MEMORY_MANAGED
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return check_managed(address, bytes);
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    return check_managed(address, bytes);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    return sim_stream_find(stream) == NULL ? CUDA_ERROR_INVALID_HANDLE : check_managed(address, bytes);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                                   CUstream stream)
{
    return sim_stream_find(stream) == NULL ? CUDA_ERROR_INVALID_HANDLE : check_managed(address, bytes);
}
