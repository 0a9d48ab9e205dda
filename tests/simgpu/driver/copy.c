/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and memsets. What the host waits for follows the API's documentation:
 *   pageable to device   the bytes are staged during the call; the call is over when the last chunk is staged
 *                        (up to 64 KiB: at once). The copying variant without a stream waits for the stream first
 *   device to pageable   the call waits for the copy, with or without Async in its name
 *   pinned               Async returns at once, else the call waits
 *   device to device     never waits
 * One operation, and one truth line, for each call.
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "capture.h"
#include "clock.h"
#include "context.h"
#include "driver_gen.h"
#include "effects.h"
#include "engine.h"
#include "memory.h"
#include "model.h"
#include "plan.h"

enum { COPY_H2D = 1, COPY_D2H = 2, COPY_D2D = 8, COPY_H2H = 9, COPY_P2P = 10 };

/* One side of a copy, and where it lies. */
struct side {
    CUdeviceptr address;
    size_t pitch, slice;
    uint32_t memory, device;
};

struct request {
    struct side dst, src;
    size_t width, height, depth;
    CUstream stream;
    bool async;
};

/* Bytes from the first to the last that a side touches; 0 when that overflows. */
static size_t extent(const struct side *side, const struct request *request)
{
    size_t rows, slices;

    if (__builtin_mul_overflow(request->height - 1, side->pitch, &rows) ||
        __builtin_mul_overflow(request->depth - 1, side->slice, &slices) ||
        __builtin_add_overflow(rows, slices, &rows) || __builtin_add_overflow(rows, request->width, &rows)) {
        return 0;
    }
    return rows;
}

static bool host_side(const struct side *side)
{
    return side->memory == SIM_MEMORY_PAGEABLE || side->memory == SIM_MEMORY_PINNED;
}

/* Where the side lies. `must_be_known`: an address of the driver, or the call is wrong. */
static bool locate(struct side *side, const struct request *request, bool must_be_known)
{
    size_t bytes = extent(side, request);
    struct sim_range range;

    if (bytes == 0 || side->address == 0) {
        return false;
    }
    if (sim_memory_find(side->address, bytes, &range)) {
        side->memory = range.kind;
        side->device = range.device;
        return range.mapping == NULL || (side == &request->dst ? range.writers : range.readers) != 0;
    }
    side->memory = SIM_MEMORY_PAGEABLE;
    /* An allocation that the copy runs out of is not pageable memory but a mistake. */
    return !must_be_known && !sim_memory_find(side->address, 1, &range);
}

static uint32_t copy_kind(const struct request *request)
{
    if (host_side(&request->src)) {
        return host_side(&request->dst) ? COPY_H2H : COPY_H2D;
    }
    if (host_side(&request->dst)) {
        return COPY_D2H;
    }
    return request->src.device != request->dst.device ? COPY_P2P : COPY_D2D;
}

/* The memory kind that decides about speed: the host's side, else managed if either is. */
static uint32_t deciding_memory(const struct request *request)
{
    if (host_side(&request->src)) {
        return request->src.memory;
    }
    return host_side(&request->dst) || request->dst.memory == SIM_MEMORY_MANAGED ? request->dst.memory
                                                                                  : request->src.memory;
}

static struct sim_copy geometry(const struct request *request)
{
    return (struct sim_copy){
        .dst = (char *)(uintptr_t)request->dst.address, .src = (const char *)(uintptr_t)request->src.address,
        .width = request->width, .height = request->height, .depth = request->depth,
        .dst_pitch = request->dst.pitch, .dst_slice = request->dst.slice,
        .src_pitch = request->src.pitch, .src_slice = request->src.slice,
    };
}

/* Copies the pageable source, so that the program may change it as soon as the call returns. */
static bool stage(struct sim_copy *copy)
{
    char *staged = malloc(copy->width * copy->height * copy->depth);
    char *to = staged;

    if (staged == NULL) {
        return false;
    }
    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++, to += copy->width) {
            memcpy(to, copy->src + z * copy->src_slice + y * copy->src_pitch, copy->width);
        }
    }
    copy->src = copy->staged = staged;
    copy->src_pitch = copy->width;
    copy->src_slice = copy->width * copy->height;
    return true;
}

static void copy_on_host(struct sim_stream *stream, const struct request *request)
{
    struct sim_op whole = {.u.copy = geometry(request)};

    sim_sync_stream(stream);
    sim_effect_copy(&whole);
}

/* A copy inside host memory is no operation of a device: in a graph it is a marker that copies. */
static struct sim_op *create_op(struct sim_stream *stream, const struct request *request, uint32_t kind)
{
    struct sim_op *op = sim_op_create(kind == COPY_H2H ? SIM_OP_MARKER : SIM_OP_MEMCPY, stream);
    uint64_t bytes = (uint64_t)request->width * request->height * request->depth;

    if (op == NULL) {
        return NULL;
    }
    op->record.name = "memcpy";
    op->record.bytes = bytes;
    op->record.copy_kind = kind;
    op->record.source_memory = request->src.memory;
    op->record.target_memory = request->dst.memory;
    op->record.is_async = request->async;
    if (kind == COPY_P2P) {
        op->record.device = request->src.device;
        op->record.peer_device = request->dst.device;
    }
    op->duration_ns = kind == COPY_H2H ? 0 : sim_model_copy_ns(kind, deciding_memory(request), bytes);
    op->effect = kind == COPY_D2H && sim_model.zero_small_d2h && bytes <= SIM_ZEROED_BYTES ? sim_effect_zero
                                                                                           : sim_effect_copy;
    op->host_sees_effect = request->dst.memory != SIM_MEMORY_DEVICE;
    op->u.copy = geometry(request);
    return op;
}

/* Pageable memory to the device: *last_chunk_ns is how long before the end the host is free again. */
static bool prepare_staging(struct sim_op *op, bool *blocks, uint64_t *last_chunk_ns)
{
    uint64_t now_ns = sim_now_ns(); /* before the real copying, which stands for the first chunk's */

    *blocks = op->record.bytes > SIM_SMALL_COPY_BYTES;
    if (*blocks) {
        uint64_t chunk = op->record.bytes < SIM_STAGING_CHUNK_BYTES ? op->record.bytes : SIM_STAGING_CHUNK_BYTES;

        *last_chunk_ns = sim_model_transfer_ns(COPY_H2D, SIM_MEMORY_PAGEABLE, chunk);
        op->queued_ns = now_ns;
        op->ready_ns = now_ns + *last_chunk_ns;
        op->ready_why = SIM_STAGING;
    }
    return stage(&op->u.copy);
}

/* What pageable memory holds is read when the graph runs, not now. */
static CUresult capture(struct sim_stream *stream, const struct request *request, uint32_t kind)
{
    struct sim_op *op = create_op(stream, request, kind);

    return op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : sim_capture_add(stream, CU_GRAPH_NODE_TYPE_MEMCPY, op);
}

static CUresult copy(struct request *request, bool dst_known, bool src_known)
{
    struct sim_stream *stream = sim_stream_find(request->stream);
    bool staged, captured, blocks = false;
    uint64_t last_chunk_ns = 0;
    struct sim_op *op;
    CUresult result;
    uint32_t kind;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (request->width == 0 || request->height == 0 || request->depth == 0) {
        return CUDA_SUCCESS;
    }
    if (!locate(&request->dst, request, dst_known) || !locate(&request->src, request, src_known)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    kind = copy_kind(request);
    result = sim_capture_check(stream, &captured);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (captured) {
        return request->async ? capture(stream, request, kind) : sim_capture_refuse(stream);
    }
    if (kind == COPY_H2H) {
        copy_on_host(stream, request);
        return CUDA_SUCCESS;
    }
    staged = kind == COPY_H2D && request->src.memory == SIM_MEMORY_PAGEABLE;
    if (staged && !request->async) {
        sim_sync_stream(stream);
    }
    op = create_op(stream, request, kind);
    if (op == NULL || (staged && !prepare_staging(op, &blocks, &last_chunk_ns))) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_enqueue(op, NULL);
    if (blocks) {
        sim_wait_op_before(op, last_chunk_ns);
    } else if (kind == COPY_D2H && (request->dst.memory == SIM_MEMORY_PAGEABLE || !request->async)) {
        sim_wait_op(op);
    } else if (kind == COPY_H2D && !staged && !request->async) {
        sim_wait_op(op);
    }
    sim_op_release(op);
    return CUDA_SUCCESS;
}

/* ---- the API's ways to ask for it ------------------------------------------------------------------------------- */

static CUresult copy_linear(CUdeviceptr dst, bool dst_known, CUdeviceptr src, bool src_known, size_t bytes,
                            CUstream stream, bool async)
{
    struct request request = {
        .dst = {.address = dst, .pitch = bytes, .slice = bytes},
        .src = {.address = src, .pitch = bytes, .slice = bytes},
        .width = bytes, .height = 1, .depth = 1, .stream = stream, .async = async,
    };

    return copy(&request, dst_known, src_known);
}

static CUdeviceptr host(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

CUresult sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, false, src, false, bytes, stream, false);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, false, src, false, bytes, stream, true);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, true, host(src), false, bytes, stream, false);
}

CUresult sim_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(host(dst), false, src, true, bytes, stream, false);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, true, src, true, bytes, stream, false);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, true, host(src), false, bytes, stream, true);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(host(dst), false, src, true, bytes, stream, true);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_linear(dst, true, src, true, bytes, stream, true);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
                          CUstream stream)
{
    if (sim_context_check(dst_context) == NULL || sim_context_check(src_context) == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return copy_linear(dst, true, src, true, bytes, stream, false);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                               size_t bytes, CUstream stream)
{
    if (sim_context_check(dst_context) == NULL || sim_context_check(src_context) == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return copy_linear(dst, true, src, true, bytes, stream, true);
}

/* A side of a 2D or 3D copy; `offset` is where it begins. Arrays are not simulated. */
static CUresult describe(struct side *side, CUmemorytype type, const void *pointer, CUdeviceptr address, size_t pitch,
                         size_t slice, size_t offset, bool *known)
{
    if (type == CU_MEMORYTYPE_ARRAY) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *known = type == CU_MEMORYTYPE_DEVICE;
    side->address = (type == CU_MEMORYTYPE_HOST ? host(pointer) : address) + offset;
    side->pitch = pitch;
    side->slice = slice;
    return CUDA_SUCCESS;
}

static CUresult read_3d(const CUDA_MEMCPY3D *c, struct request *request, bool *dst_known, bool *src_known)
{
    size_t src_pitch, dst_pitch, src_slice, dst_slice;
    CUresult result;

    if (c == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    src_pitch = c->srcPitch != 0 ? c->srcPitch : c->srcXInBytes + c->WidthInBytes;
    dst_pitch = c->dstPitch != 0 ? c->dstPitch : c->dstXInBytes + c->WidthInBytes;
    if (c->srcXInBytes + c->WidthInBytes > src_pitch || c->dstXInBytes + c->WidthInBytes > dst_pitch) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    src_slice = src_pitch * (c->srcHeight != 0 ? c->srcHeight : c->Height);
    dst_slice = dst_pitch * (c->dstHeight != 0 ? c->dstHeight : c->Height);
    request->width = c->WidthInBytes;
    request->height = c->Height;
    request->depth = c->Depth;
    result = describe(&request->src, c->srcMemoryType, c->srcHost, c->srcDevice, src_pitch, src_slice,
                      c->srcXInBytes + c->srcY * src_pitch + c->srcZ * src_slice, src_known);
    if (result == CUDA_SUCCESS) {
        result = describe(&request->dst, c->dstMemoryType, c->dstHost, c->dstDevice, dst_pitch, dst_slice,
                          c->dstXInBytes + c->dstY * dst_pitch + c->dstZ * dst_slice, dst_known);
    }
    return result;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async)
{
    struct request request = {.stream = stream, .async = async};
    bool dst_known, src_known;
    CUresult result = read_3d(c, &request, &dst_known, &src_known);

    return result != CUDA_SUCCESS ? result : copy(&request, dst_known, src_known);
}

CUresult sim_plan_copy(struct sim_context *context, const CUDA_MEMCPY3D *params, struct sim_op **plan)
{
    struct request request = {.async = true};
    bool dst_known, src_known;
    CUresult result = read_3d(params, &request, &dst_known, &src_known);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (request.width == 0 || request.height == 0 || request.depth == 0 ||
        !locate(&request.dst, &request, dst_known) || !locate(&request.src, &request, src_known)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *plan = create_op(context->legacy, &request, copy_kind(&request));
    return *plan == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async)
{
    CUDA_MEMCPY3D whole;

    if (c == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    whole = (CUDA_MEMCPY3D){
        .srcXInBytes = c->srcXInBytes, .srcY = c->srcY, .srcMemoryType = c->srcMemoryType, .srcHost = c->srcHost,
        .srcDevice = c->srcDevice, .srcPitch = c->srcPitch, .dstXInBytes = c->dstXInBytes, .dstY = c->dstY,
        .dstMemoryType = c->dstMemoryType, .dstHost = c->dstHost, .dstDevice = c->dstDevice, .dstPitch = c->dstPitch,
        .WidthInBytes = c->WidthInBytes, .Height = c->Height, .Depth = 1,
    };
    return copy_3d(&whole, stream, async);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return copy_2d(c, stream, false);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return copy_2d(c, stream, false);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    return copy_2d(c, stream, true);
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
    return copy_3d(c, stream, false);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
    return copy_3d(c, stream, true);
}
