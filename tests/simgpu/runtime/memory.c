/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation, questions about pointers, memsets, and the two or three creation functions whose flags are
 * implied. Any thread.
 */
#include <string.h>

#include "runtime.h"

SIM_API(SIM_CONTEXT, cudaMalloc, (pointer, bytes), void **pointer, size_t bytes)
{
    if (!pointer) {
        return SIM_INVALID_VALUE;
    }
    *pointer = NULL;
    return bytes ? drv->cuMemAlloc((uint64_t *)pointer, bytes) : SIM_SUCCESS;
}

SIM_API(SIM_CONTEXT, cudaMallocManaged, (pointer, bytes, flags), void **pointer, size_t bytes, unsigned flags)
{
    return pointer && bytes ? drv->cuMemAllocManaged((uint64_t *)pointer, bytes, flags) : SIM_INVALID_VALUE;
}

SIM_API(SIM_CONTEXT, cudaMallocPitch, (pointer, pitch, width, height), void **pointer, size_t *pitch, size_t width,
        size_t height)
{
    return pointer && pitch ? drv->cuMemAllocPitch((uint64_t *)pointer, pitch, width, height, 4) : SIM_INVALID_VALUE;
}

SIM_API(SIM_CONTEXT, cudaMalloc3D, (pitched, extent), struct sim_pitched_ptr *pitched, struct sim_extent extent)
{
    if (!pitched) {
        return SIM_INVALID_VALUE;
    }
    uint64_t address = 0;
    int result = drv->cuMemAllocPitch(&address, &pitched->pitch, extent.width, extent.height * extent.depth, 4);
    pitched->ptr = (void *)(uintptr_t)address;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return result;
}

/* cudaFree(0) is the customary way to create the context. */
SIM_API(SIM_CONTEXT, cudaFree, (pointer), void *pointer)
{
    return pointer ? drv->cuMemFree((uint64_t)(uintptr_t)pointer) : SIM_SUCCESS;
}

static int host_alloc(const struct sim_driver *drv, void **pointer, size_t bytes, unsigned flags)
{
    if (!pointer) {
        return SIM_INVALID_VALUE;
    }
    *pointer = NULL;
    return bytes ? drv->cuMemHostAlloc(pointer, bytes, flags) : SIM_SUCCESS;
}

SIM_API(SIM_CONTEXT, cudaHostAlloc, (pointer, bytes, flags), void **pointer, size_t bytes, unsigned flags)
{
    return host_alloc(drv, pointer, bytes, flags);
}

SIM_API(SIM_CONTEXT, cudaMallocHost, (pointer, bytes), void **pointer, size_t bytes)
{
    return host_alloc(drv, pointer, bytes, 0);
}

SIM_API(SIM_CONTEXT, cudaFreeHost, (pointer), void *pointer)
{
    return pointer ? drv->cuMemFreeHost(pointer) : SIM_SUCCESS;
}

/* A pointer that CUDA does not know is no error since CUDA 11: type 0 (unregistered), device -2. */
SIM_API(SIM_CONTEXT, cudaPointerGetAttributes, (attributes, pointer), struct sim_pointer_attributes *attributes,
        const void *pointer)
{
    if (!attributes) {
        return SIM_INVALID_VALUE;
    }
    /* CUpointer_attribute: memory type, device pointer, host pointer, managed, device ordinal */
    int wanted[] = {2, 3, 4, 8, 9};
    unsigned memory_type = 0, managed = 0;
    int ordinal = -2;
    uint64_t device_pointer = 0;
    void *host_pointer = NULL;
    void *data[] = {&memory_type, &device_pointer, &host_pointer, &managed, &ordinal};
    memset(attributes, 0, sizeof(*attributes));
    int result = drv->cuPointerGetAttributes(5, wanted, data, (uint64_t)(uintptr_t)pointer);
    if (result != SIM_SUCCESS && result != SIM_INVALID_VALUE) {
        return result;
    }
    if (result == SIM_INVALID_VALUE || memory_type == 0) {
        attributes->device = -2;
        return SIM_SUCCESS;
    }
    attributes->type = (managed & 0xff) ? 3 : (int)memory_type;
    attributes->device = ordinal;
    attributes->devicePointer = (void *)(uintptr_t)device_pointer;
    attributes->hostPointer = host_pointer;
    return SIM_SUCCESS;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemset, _ptds, (pointer, value, bytes), void *pointer, int value, size_t bytes)
{
    return bytes ? drv->cuMemsetD8((uint64_t)(uintptr_t)pointer, (unsigned char)value, bytes) : SIM_SUCCESS;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemsetAsync, _ptsz, (pointer, value, bytes, stream), void *pointer, int value, size_t bytes,
           void *stream)
{
    return bytes ? drv->cuMemsetD8Async((uint64_t)(uintptr_t)pointer, (unsigned char)value, bytes, stream)
                 : SIM_SUCCESS;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemset2D, _ptds, (pointer, pitch, value, width, height), void *pointer, size_t pitch,
           int value, size_t width, size_t height)
{
    if (!width || !height) {
        return SIM_SUCCESS;
    }
    return drv->cuMemsetD2D8((uint64_t)(uintptr_t)pointer, pitch, (unsigned char)value, width, height);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemset2DAsync, _ptsz, (pointer, pitch, value, width, height, stream), void *pointer,
           size_t pitch, int value, size_t width, size_t height, void *stream)
{
    if (!width || !height) {
        return SIM_SUCCESS;
    }
    return drv->cuMemsetD2D8Async((uint64_t)(uintptr_t)pointer, pitch, (unsigned char)value, width, height, stream);
}

/* A box that fills whole slices is one 2-D memset; any other is one for each slice. */
static int memset3d(const struct sim_driver *drv, struct sim_pitched_ptr p, int value, struct sim_extent e, int async,
                    void *stream)
{
    size_t slices = p.ysize == e.height ? 1 : e.depth, rows = slices == 1 ? e.height * e.depth : e.height;
    int result = SIM_SUCCESS;
    for (size_t z = 0; z < slices && result == SIM_SUCCESS && e.width && rows; z++) {
        uint64_t address = (uint64_t)(uintptr_t)p.ptr + z * p.pitch * p.ysize;
        result = async ? drv->cuMemsetD2D8Async(address, p.pitch, (unsigned char)value, e.width, rows, stream)
                       : drv->cuMemsetD2D8(address, p.pitch, (unsigned char)value, e.width, rows);
    }
    return result;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemset3D, _ptds, (pitched, value, extent), struct sim_pitched_ptr pitched, int value,
           struct sim_extent extent)
{
    return memset3d(drv, pitched, value, extent, 0, NULL);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemset3DAsync, _ptsz, (pitched, value, extent, stream), struct sim_pitched_ptr pitched,
           int value, struct sim_extent extent, void *stream)
{
    return memset3d(drv, pitched, value, extent, 1, stream);
}

SIM_API(SIM_CONTEXT, cudaStreamCreate, (stream), void **stream)
{
    return drv->cuStreamCreate(stream, 0);
}

SIM_API(SIM_CONTEXT, cudaEventCreate, (event), void **event)
{
    return drv->cuEventCreate(event, 0);
}

/* Seven arguments: one too many for forward.def. */
SIM_API_SZ(SIM_CONTEXT, SIM_NEWER(cudaStreamGetCaptureInfo, _v3), _ptsz,
           (stream, status, id, graph, dependencies, edges, count), void *stream, int *status, uint64_t *id,
           void **graph, void **dependencies, void **edges, size_t *count)
{
    return drv->cuStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count);
}
