/* SPDX-License-Identifier: Apache-2.0 */
/* Memsets. Only one without Async whose target is pinned host memory makes the host wait. */
#include "capture.h"
#include "context.h"
#include "driver_gen.h"
#include "effects.h"
#include "engine.h"
#include "memory.h"
#include "model.h"
#include "plan.h"

static CUresult make_op(const struct sim_fill *fill, struct sim_stream *stream, struct sim_op **made)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)fill->dst;
    size_t row = fill->width * fill->element_bytes;
    struct sim_range range;
    struct sim_op *op;

    if (address % fill->element_bytes != 0 || (fill->height > 1 && fill->pitch < row) ||
        !sim_memory_find(address, (fill->height - 1) * fill->pitch + row, &range) ||
        (range.mapping != NULL && range.writers == 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    op = sim_op_create(SIM_OP_MEMSET, stream);
    if (op == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->record.name = "memset";
    op->record.bytes = (uint64_t)row * fill->height;
    op->record.source_memory = op->record.target_memory = range.kind;
    op->duration_ns = sim_model_memset_ns(op->record.bytes);
    op->effect = sim_effect_fill;
    op->host_sees_effect = range.kind != SIM_MEMORY_DEVICE;
    op->u.fill = *fill;
    *made = op;
    return CUDA_SUCCESS;
}

CUresult sim_plan_fill(struct sim_context *context, const CUDA_MEMSET_NODE_PARAMS *p, struct sim_op **plan)
{
    struct sim_fill fill = {(char *)(uintptr_t)p->dst, p->value, p->elementSize, p->pitch, p->width, p->height};
    CUresult result;

    if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || p->width == 0 || p->height == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = make_op(&fill, context->legacy, plan);
    if (result == CUDA_SUCCESS) {
        (*plan)->record.is_async = 1;
    }
    return result;
}

static CUresult set_memory(const struct sim_fill *fill, CUstream handle, bool async)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_op *op;
    bool captured;
    CUresult result;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (fill->width == 0 || fill->height == 0) {
        return CUDA_SUCCESS;
    }
    result = sim_capture_check(stream, &captured);
    if (result == CUDA_SUCCESS && captured && !async) {
        return sim_capture_refuse(stream);
    }
    if (result == CUDA_SUCCESS) {
        result = make_op(fill, stream, &op);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    op->record.is_async = async;
    if (captured) {
        return sim_capture_add(stream, CU_GRAPH_NODE_TYPE_MEMSET, op);
    }
    sim_enqueue(op, NULL);
    if (!async && op->record.target_memory == SIM_MEMORY_PINNED) {
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
