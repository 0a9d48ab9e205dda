/* SPDX-License-Identifier: Apache-2.0 */
/* Memsets. Only one without Async whose target is pinned host memory makes the host wait. */
#include "context.h"
#include "driver_gen.h"
#include "effects.h"
#include "engine.h"
#include "memory.h"
#include "model.h"

static CUresult set_memory(const struct sim_fill *fill, CUstream handle, bool async)
{
    struct sim_stream *stream = sim_stream_find(handle);
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)fill->dst;
    size_t row = fill->width * fill->element_bytes;
    struct sim_range range;
    struct sim_op *op;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (fill->width == 0 || fill->height == 0) {
        return CUDA_SUCCESS;
    }
    if (address % fill->element_bytes != 0 || (fill->height > 1 && fill->pitch < row) ||
        !sim_memory_find(address, (fill->height - 1) * fill->pitch + row, &range)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    op = sim_op_create(SIM_OP_MEMSET, stream);
    if (op == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->record.name = "memset";
    op->record.bytes = (uint64_t)row * fill->height;
    op->record.source_memory = op->record.target_memory = range.kind;
    op->record.is_async = async;
    op->duration_ns = sim_model_memset_ns(op->record.bytes);
    op->effect = sim_effect_fill;
    op->host_sees_effect = range.kind != SIM_MEMORY_DEVICE;
    op->u.fill = *fill;
    sim_enqueue(op, NULL);
    if (!async && range.kind == SIM_MEMORY_PINNED) {
        sim_wait_op(op);
    }
    sim_op_release(op);
    return CUDA_SUCCESS;
}

static CUresult set_rows(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned element_bytes, size_t width,
                         size_t height, CUstream stream, bool async)
{
    struct sim_fill fill = {(char *)(uintptr_t)dst, value, element_bytes, pitch, width, height};

    return set_memory(&fill, stream, async);
}

CUresult sim_cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 1, count, 1, stream, false);
}

CUresult sim_cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 2, count, 1, stream, false);
}

CUresult sim_cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 4, count, 1, stream, false);
}

CUresult sim_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                             CUstream stream)
{
    return set_rows(dst, pitch, value, 1, width, height, stream, false);
}

CUresult sim_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
                              CUstream stream)
{
    return set_rows(dst, pitch, value, 2, width, height, stream, false);
}

CUresult sim_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,
                              CUstream stream)
{
    return set_rows(dst, pitch, value, 4, width, height, stream, false);
}

CUresult sim_cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 1, count, 1, stream, true);
}

CUresult sim_cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 2, count, 1, stream, true);
}

CUresult sim_cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream)
{
    return set_rows(dst, 0, value, 4, count, 1, stream, true);
}

CUresult sim_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                               CUstream stream)
{
    return set_rows(dst, pitch, value, 1, width, height, stream, true);
}

CUresult sim_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
                                CUstream stream)
{
    return set_rows(dst, pitch, value, 2, width, height, stream, true);
}

CUresult sim_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,
                                CUstream stream)
{
    return set_rows(dst, pitch, value, 4, width, height, stream, true);
}
