/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memcpy family. A direction given by the caller picks the driver function; cudaMemcpyDefault and
 * host-to-host go to the unified cuMemcpy, where the driver tells the memories apart. Array copies are not
 * simulated. Any thread.
 */
#include "runtime.h"

static uint64_t dev(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static int copy(const struct sim_driver *drv, void *target, const void *source, size_t bytes, int kind)
{
    if (kind < SIM_HOST_TO_HOST || kind > SIM_DEFAULT) {
        return SIM_INVALID_MEMCPY_DIRECTION;
    }
    if (bytes == 0) {
        return SIM_SUCCESS;
    }
    switch (kind) {
    case SIM_HOST_TO_DEVICE:
        return drv->cuMemcpyHtoD(dev(target), source, bytes);
    case SIM_DEVICE_TO_HOST:
        return drv->cuMemcpyDtoH(target, dev(source), bytes);
    case SIM_DEVICE_TO_DEVICE:
        return drv->cuMemcpyDtoD(dev(target), dev(source), bytes);
    default:
        return drv->cuMemcpy(dev(target), dev(source), bytes);
    }
}

static int copy_async(const struct sim_driver *drv, void *target, const void *source, size_t bytes, int kind,
                      void *stream)
{
    if (kind < SIM_HOST_TO_HOST || kind > SIM_DEFAULT) {
        return SIM_INVALID_MEMCPY_DIRECTION;
    }
    if (bytes == 0) {
        return SIM_SUCCESS;
    }
    switch (kind) {
    case SIM_HOST_TO_DEVICE:
        return drv->cuMemcpyHtoDAsync(dev(target), source, bytes, stream);
    case SIM_DEVICE_TO_HOST:
        return drv->cuMemcpyDtoHAsync(target, dev(source), bytes, stream);
    case SIM_DEVICE_TO_DEVICE:
        return drv->cuMemcpyDtoDAsync(dev(target), dev(source), bytes, stream);
    default:
        return drv->cuMemcpyAsync(dev(target), dev(source), bytes, stream);
    }
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpy, _ptds, (target, source, bytes, kind), void *target, const void *source,
           size_t bytes, int kind)
{
    return copy(drv, target, source, bytes, kind);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpyAsync, _ptsz, (target, source, bytes, kind, stream), void *target, const void *source,
           size_t bytes, int kind, void *stream)
{
    return copy_async(drv, target, source, bytes, kind, stream);
}

static int peer_contexts(int target_device, int source_device, void **target, void **source)
{
    int result = sim_rt_primary(target_device, target);
    return result == SIM_SUCCESS ? sim_rt_primary(source_device, source) : result;
}

SIM_API(SIM_CONTEXT, cudaMemcpyPeer, (target, target_device, source, source_device, bytes), void *target,
        int target_device, const void *source, int source_device, size_t bytes)
{
    void *to, *from;
    int result = peer_contexts(target_device, source_device, &to, &from);
    return result == SIM_SUCCESS && bytes ? drv->cuMemcpyPeer(dev(target), to, dev(source), from, bytes) : result;
}

SIM_API(SIM_CONTEXT, cudaMemcpyPeerAsync, (target, target_device, source, source_device, bytes, stream), void *target,
        int target_device, const void *source, int source_device, size_t bytes, void *stream)
{
    void *to, *from;
    int result = peer_contexts(target_device, source_device, &to, &from);
    if (result != SIM_SUCCESS || !bytes) {
        return result;
    }
    return drv->cuMemcpyPeerAsync(dev(target), to, dev(source), from, bytes, stream);
}

/* CUmemorytype of the source (side 0) or target (side 1) for a copy kind: host 1, device 2, unified 4. */
static int memory_type(int kind, int side)
{
    static const int types[5][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {4, 4}};
    return types[kind][side];
}

static int copy2d(const struct sim_driver *drv, void *target, size_t target_pitch, const void *source,
                  size_t source_pitch, size_t width, size_t height, int kind, int async, void *stream)
{
    if (kind < SIM_HOST_TO_HOST || kind > SIM_DEFAULT) {
        return SIM_INVALID_MEMCPY_DIRECTION;
    }
    if (!width || !height) {
        return SIM_SUCCESS;
    }
    if (width > target_pitch || width > source_pitch) {
        return 12; /* cudaErrorInvalidPitchValue */
    }
    const CUDA_MEMCPY2D c = {
        .srcMemoryType = memory_type(kind, 0),
        .srcHost = source,
        .srcDevice = dev(source),
        .srcPitch = source_pitch,
        .dstMemoryType = memory_type(kind, 1),
        .dstHost = target,
        .dstDevice = dev(target),
        .dstPitch = target_pitch,
        .WidthInBytes = width,
        .Height = height,
    };
    return async ? drv->cuMemcpy2DAsync(&c, stream) : drv->cuMemcpy2DUnaligned(&c);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpy2D, _ptds, (target, target_pitch, source, source_pitch, width, height, kind),
           void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width, size_t height,
           int kind)
{
    return copy2d(drv, target, target_pitch, source, source_pitch, width, height, kind, 0, NULL);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpy2DAsync, _ptsz,
           (target, target_pitch, source, source_pitch, width, height, kind, stream), void *target, size_t target_pitch,
           const void *source, size_t source_pitch, size_t width, size_t height, int kind, void *stream)
{
    return copy2d(drv, target, target_pitch, source, source_pitch, width, height, kind, 1, stream);
}

int sim_memcpy3d_of(const struct sim_memcpy3d_parms *p, CUDA_MEMCPY3D *c)
{
    if (!p || p->kind < SIM_HOST_TO_HOST || p->kind > SIM_DEFAULT) {
        return p ? SIM_INVALID_MEMCPY_DIRECTION : SIM_INVALID_VALUE;
    }
    if (p->srcArray || p->dstArray) {
        return SIM_NOT_SUPPORTED;
    }
    *c = (CUDA_MEMCPY3D){
        .srcXInBytes = p->srcPos[0],
        .srcY = p->srcPos[1],
        .srcZ = p->srcPos[2],
        .srcMemoryType = memory_type(p->kind, 0),
        .srcHost = p->srcPtr.ptr,
        .srcDevice = dev(p->srcPtr.ptr),
        .srcPitch = p->srcPtr.pitch,
        .srcHeight = p->srcPtr.ysize,
        .dstXInBytes = p->dstPos[0],
        .dstY = p->dstPos[1],
        .dstZ = p->dstPos[2],
        .dstMemoryType = memory_type(p->kind, 1),
        .dstHost = p->dstPtr.ptr,
        .dstDevice = dev(p->dstPtr.ptr),
        .dstPitch = p->dstPtr.pitch,
        .dstHeight = p->dstPtr.ysize,
        .WidthInBytes = p->extent.width,
        .Height = p->extent.height,
        .Depth = p->extent.depth,
    };
    return SIM_SUCCESS;
}

static int copy3d(const struct sim_driver *drv, const struct sim_memcpy3d_parms *p, int async, void *stream)
{
    CUDA_MEMCPY3D c;
    int result = sim_memcpy3d_of(p, &c);
    if (result != SIM_SUCCESS) {
        return result;
    }
    return async ? drv->cuMemcpy3DAsync(&c, stream) : drv->cuMemcpy3D(&c);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpy3D, _ptds, (parms), const struct sim_memcpy3d_parms *parms)
{
    return copy3d(drv, parms, 0, NULL);
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpy3DAsync, _ptsz, (parms, stream), const struct sim_memcpy3d_parms *parms, void *stream)
{
    return copy3d(drv, parms, 1, stream);
}

/* Address of `bytes` bytes at `offset` of a device variable. */
static int symbol_range(const void *symbol, size_t offset, size_t bytes, void **address)
{
    uint64_t base = 0;
    size_t size = 0;
    int result = sim_symbol_of(symbol, &base, &size);
    if (result == SIM_SUCCESS && (offset > size || bytes > size - offset)) {
        result = SIM_INVALID_VALUE;
    }
    *address = (void *)(uintptr_t)(base + offset);
    return result;
}

SIM_API(SIM_CONTEXT, cudaGetSymbolAddress, (pointer, symbol), void **pointer, const void *symbol)
{
    return pointer ? symbol_range(symbol, 0, 0, pointer) : SIM_INVALID_VALUE;
}

SIM_API(SIM_CONTEXT, cudaGetSymbolSize, (bytes, symbol), size_t *bytes, const void *symbol)
{
    uint64_t address;
    return bytes ? sim_symbol_of(symbol, &address, bytes) : SIM_INVALID_VALUE;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpyToSymbol, _ptds, (symbol, source, bytes, offset, kind), const void *symbol,
           const void *source, size_t bytes, size_t offset, int kind)
{
    void *address;
    int result = symbol_range(symbol, offset, bytes, &address);
    return result == SIM_SUCCESS ? copy(drv, address, source, bytes, kind) : result;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpyToSymbolAsync, _ptsz, (symbol, source, bytes, offset, kind, stream),
           const void *symbol, const void *source, size_t bytes, size_t offset, int kind, void *stream)
{
    void *address;
    int result = symbol_range(symbol, offset, bytes, &address);
    return result == SIM_SUCCESS ? copy_async(drv, address, source, bytes, kind, stream) : result;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpyFromSymbol, _ptds, (target, symbol, bytes, offset, kind), void *target,
           const void *symbol, size_t bytes, size_t offset, int kind)
{
    void *address;
    int result = symbol_range(symbol, offset, bytes, &address);
    return result == SIM_SUCCESS ? copy(drv, target, address, bytes, kind) : result;
}

SIM_API_SZ(SIM_CONTEXT, cudaMemcpyFromSymbolAsync, _ptsz, (target, symbol, bytes, offset, kind, stream), void *target,
           const void *symbol, size_t bytes, size_t offset, int kind, void *stream)
{
    void *address;
    int result = symbol_range(symbol, offset, bytes, &address);
    return result == SIM_SUCCESS ? copy_async(drv, target, address, bytes, kind, stream) : result;
}
