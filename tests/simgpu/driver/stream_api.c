/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and host functions of the API. */
#include <stdlib.h>

#include "call.h"
#include "capture.h"
#include "context.h"
#include "driver_gen.h"
#include "engine.h"
#include "model.h"

/* ---- streams ---------------------------------------------------------------------------------------------------- */

struct sim_stream *sim_stream_create(struct sim_context *context, unsigned flags, int priority, uint32_t thread)
{
    struct sim_stream *stream = sim_object_create(SIM_STREAM);

    if (stream == NULL) {
        return NULL;
    }
    stream->ring_size = sim_model.queue;
    stream->ring = calloc(stream->ring_size + 1, sizeof(*stream->ring)); /* the last is what markers write to */
    if (stream->ring == NULL) {
        sim_object_destroy(stream);
        return NULL;
    }
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->thread = thread;
    stream->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    if (context->legacy == NULL) {
        stream->legacy = true;
        stream->id = SIM_LEGACY_STREAM_ID;
        return stream;
    }
    pthread_mutex_lock(&sim_engine_lock);
    stream->id = context->next_stream_id++;
    stream->next = context->streams;
    context->streams = stream;
    pthread_mutex_unlock(&sim_engine_lock);
    return stream;
}

static struct sim_stream *find_per_thread(struct sim_context *context)
{
    uint32_t tid = sim_self()->tid;
    struct sim_stream *stream;

    pthread_mutex_lock(&sim_engine_lock);
    for (stream = context->streams; stream != NULL && stream->thread != tid; stream = stream->next) {
    }
    pthread_mutex_unlock(&sim_engine_lock);
    return stream != NULL ? stream : sim_stream_create(context, 0, 0, tid);
}

struct sim_stream *sim_stream_find(CUstream handle)
{
    struct sim_context *context = sim_context_current();
    struct sim_stream *stream;

    if (handle == NULL || handle == CU_STREAM_LEGACY) {
        return context->legacy;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        return find_per_thread(context);
    }
    stream = sim_object_check(handle, SIM_STREAM);
    return stream != NULL && !stream->destroyed ? stream : NULL;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    struct sim_stream *stream;

    if (out == NULL || flags & ~(unsigned)CU_STREAM_NON_BLOCKING) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    stream = sim_stream_create(sim_context_current(), flags, priority > 0 ? 0 : priority < -5 ? -5 : priority, 0);
    *out = (CUstream)stream;
    return stream == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *out, unsigned flags)
{
    return sim_cuStreamCreateWithPriority(out, flags, 0);
}

/* The work goes on; the stream leaves its context's list when a later wait has seen its end. */
CUresult sim_cuStreamDestroy_v2(CUstream handle)
{
    struct sim_stream *stream = sim_object_check(handle, SIM_STREAM);
    CUresult result;

    if (stream == NULL || stream->legacy || stream->destroyed) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    result = sim_capture_forget_stream(stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&sim_engine_lock);
    stream->destroyed = true;
    pthread_mutex_unlock(&sim_engine_lock);
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamSynchronize(CUstream handle)
{
    struct sim_stream *stream = sim_stream_find(handle);
    CUresult result = stream == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_capture_check_wait(stream);

    if (result == CUDA_SUCCESS) {
        sim_sync_stream(stream);
    }
    return result;
}

CUresult sim_cuStreamQuery(CUstream handle)
{
    struct sim_stream *stream = sim_stream_find(handle);
    CUresult result = stream == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_capture_check_wait(stream);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    return sim_stream_done(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult add_host_function(CUstream handle, CUhostFn fn, CUstreamCallback callback, void *user_data)
{
    struct sim_stream *stream = sim_stream_find(handle);
    bool captured;
    CUresult result;
    struct sim_op *op;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (fn == NULL && callback == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = sim_capture_check(stream, &captured);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (captured && callback != NULL) {
        return sim_capture_refuse(stream);
    }
    op = sim_op_create(SIM_OP_HOST_FUNC, stream);
    if (op == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->record.name = "host_func";
    op->record.is_async = 1;
    op->u.host = (struct sim_host_run){fn, callback, handle, user_data};
    if (captured) {
        return sim_capture_add(stream, CU_GRAPH_NODE_TYPE_HOST, op);
    }
    sim_enqueue(op, NULL);
    sim_op_release(op);
    return CUDA_SUCCESS;
}

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user_data)
{
    return add_host_function(stream, fn, NULL, user_data);
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user_data, unsigned flags)
{
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : add_host_function(stream, NULL, callback, user_data);
}

CUresult sim_cuStreamGetPriority(CUstream handle, int *priority)
{
    struct sim_stream *stream = sim_stream_find(handle);

    if (stream == NULL || priority == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    struct sim_stream *stream = sim_stream_find(handle);

    if (stream == NULL || flags == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetId(CUstream handle, unsigned long long *id)
{
    struct sim_stream *stream = sim_stream_find(handle);

    if (stream == NULL || id == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *id = stream->id;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCtx(CUstream handle, CUcontext *context)
{
    struct sim_stream *stream = sim_stream_find(handle);

    if (stream == NULL || context == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *context = (CUcontext)stream->context;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    struct sim_stream *stream = sim_stream_find(handle);

    if (stream == NULL || device == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *device = (CUdevice)stream->context->device;
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes, unsigned flags)
{
    return sim_stream_find(handle) == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}
