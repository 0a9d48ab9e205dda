/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the API. A record is a marker in its stream; the event refers to the last one. */
#include "capture.h"
#include "clock.h"
#include "context.h"
#include "driver_gen.h"
#include "engine.h"

static CUresult enqueue_marker(struct sim_stream *stream, struct sim_event *wait_for, struct sim_event *record)
{
    struct sim_op *op = sim_op_create(SIM_OP_MARKER, stream);
    struct sim_op *replaced;

    if (op == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_enqueue(op, wait_for);
    replaced = op;
    if (record != NULL) {
        pthread_mutex_lock(&sim_engine_lock);
        replaced = record->op;
        record->op = op;
        pthread_mutex_unlock(&sim_engine_lock);
    }
    if (replaced != NULL) {
        sim_op_release(replaced);
    }
    return CUDA_SUCCESS;
}

/* An event of the world outside the graph, as a node of it; only a stream that captures can have that. */
static CUresult external(struct sim_stream *stream, CUgraphNodeType type, struct sim_event *event)
{
    bool captured;
    CUresult result = sim_capture_check(stream, &captured);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    return captured ? sim_capture_add_event(stream, type, event) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_event *event = sim_object_check(event_handle, SIM_EVENT);
    bool captured;
    CUresult result;

    if (stream == NULL || event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
        return external(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    }
    result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : sim_capture_wait(stream, event, &captured);
    return result == CUDA_SUCCESS && !captured ? enqueue_marker(stream, event, NULL) : result;
}

CUresult sim_cuEventCreate(CUevent *out, unsigned flags)
{
    struct sim_event *event;

    if (out == NULL || flags > 7) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    event = sim_object_create(SIM_EVENT);
    if (event != NULL) {
        event->flags = flags;
    }
    *out = (CUevent)event;
    return event == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The event's last record with a reference of its own, or NULL when there is none. */
static struct sim_op *take_record(struct sim_event *event, bool forget)
{
    struct sim_op *op;

    pthread_mutex_lock(&sim_engine_lock);
    op = event->op;
    if (forget) {
        event->op = NULL;
    } else if (op != NULL) {
        op->references++;
    }
    pthread_mutex_unlock(&sim_engine_lock);
    return op;
}

CUresult sim_cuEventDestroy_v2(CUevent handle)
{
    struct sim_event *event = sim_object_check(handle, SIM_EVENT);
    struct sim_op *op;

    if (event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    op = take_record(event, true);
    if (op != NULL) {
        sim_op_release(op);
    }
    sim_capture_forget_event(event);
    sim_object_destroy(event);
    return CUDA_SUCCESS;
}

CUresult sim_cuEventRecordWithFlags(CUevent event_handle, CUstream handle, unsigned flags)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_event *event = sim_object_check(event_handle, SIM_EVENT);
    bool captured;
    CUresult result;

    if (stream == NULL || event == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (flags == CU_EVENT_RECORD_EXTERNAL) {
        return external(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    }
    result = flags != 0 ? CUDA_ERROR_INVALID_VALUE : sim_capture_record(stream, event, &captured);
    return result == CUDA_SUCCESS && !captured ? enqueue_marker(stream, NULL, event) : result;
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream)
{
    return sim_cuEventRecordWithFlags(event, stream, 0);
}

CUresult sim_cuEventQuery(CUevent handle)
{
    struct sim_event *event = sim_object_check(handle, SIM_EVENT);
    CUresult result = event == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_capture_check_event(event);
    struct sim_op *op;
    bool done;

    if (result != CUDA_SUCCESS) {
        return result;
    }
    op = take_record(event, false);
    done = sim_op_done(op);
    if (op != NULL) {
        sim_op_release(op);
    }
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult sim_cuEventSynchronize(CUevent handle)
{
    struct sim_event *event = sim_object_check(handle, SIM_EVENT);
    CUresult result = event == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_capture_check_event(event);
    struct sim_op *op;

    if (result != CUDA_SUCCESS) {
        return result;
    }
    op = take_record(event, false);
    if (op != NULL) {
        sim_wait_op(op);
        sim_op_release(op);
    }
    return CUDA_SUCCESS;
}

/* When the record happened; SIM_NEVER while that is not known, 0 when it was never recorded. */
static uint64_t recorded_ns(struct sim_event *event)
{
    struct sim_op *op = take_record(event, false);
    uint64_t when_ns = 0;

    if (op != NULL) {
        when_ns = sim_op_end_ns(op);
        sim_op_release(op);
    }
    return when_ns;
}

CUresult sim_cuEventElapsedTime(float *milliseconds, CUevent begin_handle, CUevent end_handle)
{
    struct sim_event *begin = sim_object_check(begin_handle, SIM_EVENT);
    struct sim_event *end = sim_object_check(end_handle, SIM_EVENT);
    uint64_t begin_ns, end_ns, now_ns;

    if (milliseconds == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (begin == NULL || end == NULL || (begin->flags | end->flags) & CU_EVENT_DISABLE_TIMING) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (begin->capture != NULL || end->capture != NULL) {
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    begin_ns = recorded_ns(begin);
    end_ns = recorded_ns(end);
    now_ns = sim_now_ns();
    if (begin_ns == 0 || end_ns == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (begin_ns > now_ns || end_ns > now_ns) {
        return CUDA_ERROR_NOT_READY;
    }
    *milliseconds = (float)((double)((int64_t)end_ns - (int64_t)begin_ns) / 1e6);
    return CUDA_SUCCESS;
}
