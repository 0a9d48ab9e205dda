/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases about the rules of stream capture: what goes into the graph, what is refused with which error, and what
 * voids the capture.
 */
#include <pthread.h>

#include "cases.h"

static CUstream new_stream(unsigned flags)
{
    CUstream stream;

    OK(cuStreamCreate(&stream, flags));
    return stream;
}

static CUevent new_event(void)
{
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status;

    OK(cuStreamIsCapturing(stream, &status));
    return status;
}

/* The capture is void: work is refused, the end says so and gives no graph; then the stream works again. */
static void require_void(const struct kernels *kernels, CUstream stream)
{
    CUgraph graph = (CUgraph)1;

    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    REQUIRE_RESULT(cuLaunchKernel(kernels->wait_1ms, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL),
                   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    REQUIRE_RESULT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    REQUIRE(graph == NULL && status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamSynchronize(stream));
}

/* The capture went well; its graph has so many nodes. */
static void require_nodes(CUstream stream, size_t wanted)
{
    CUgraph graph;
    size_t count = 0;

    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &count));
    REQUIRE(count == wanted);
    OK(cuGraphDestroy(graph));
}

void case_capture_basics(void)
{
    struct kernels kernels = start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), other = new_stream(CU_STREAM_NON_BLOCKING);
    const CUgraphNode *frontier;
    CUgraph graph, into;
    CUdeviceptr data;
    CUgraphNode node;
    cuuint64_t id = 0, second = 0;
    size_t count = 0;
    CUstreamCaptureStatus status;
    int32_t value = -1;

    OK(cuMemAlloc_v2(&data, 4));
    REQUIRE_RESULT(cuStreamBeginCapture_v2(NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE_RESULT(cuStreamBeginCapture_v2(stream, 3), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE_RESULT(cuStreamBeginCapture_v2(stream, 0), CUDA_ERROR_ILLEGAL_STATE);
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE && status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    launch_add(&kernels, data, 7, 1, stream);
    OK(cuMemsetD32Async(data, 9, 1, stream));
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &frontier, &count));
    REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 && count == 1);
    node = frontier[0];
    REQUIRE_RESULT(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamGetCaptureInfo(stream, &status, &second));
    REQUIRE(second == id);
    OK(cuStreamUpdateCaptureDependencies(stream, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    launch_add(&kernels, data, 1, 1, stream); /* depends on nothing now */
    OK(cuStreamUpdateCaptureDependencies(stream, &node, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    OK(cuStreamEndCapture(stream, &into));
    REQUIRE(into == graph);
    OK(cuGraphGetRootNodes(graph, NULL, &count));
    REQUIRE(count == 2);
    OK(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
    launch_add(&kernels, data, 1, 1, stream);
    OK(cuStreamEndCapture(stream, &into));
    OK(cuGraphGetEdges(graph, NULL, NULL, &count));
    REQUIRE(into == graph && count == 2);
    OK(cuMemcpyDtoH_v2(&value, data, 4));
    REQUIRE(value == 0); /* nothing of it has run */
    OK(cuStreamBeginCapture_ptsz(NULL)); /* the thread's own default stream can capture */
    launch(kernels.wait_1ms, CU_STREAM_PER_THREAD);
    require_nodes(CU_STREAM_PER_THREAD, 1);
}

/* Calls that a capture forbids, on the capturing thread, by its mode and the thread's. */
void case_capture_unsafe(void)
{
    struct kernels kernels = start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), other = new_stream(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr data, kept;
    CUevent event = record(other);
    int32_t value = 0;

    OK(cuMemAlloc_v2(&kept, 4));
    for (CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_GLOBAL; m <= CU_STREAM_CAPTURE_MODE_THREAD_LOCAL; m++) {
        OK(cuStreamBeginCapture_v2(stream, m));
        REQUIRE_RESULT(cuMemAlloc_v2(&data, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        require_void(&kernels, stream);
        OK(cuStreamBeginCapture_v2(stream, m));
        REQUIRE_RESULT(cuEventQuery(event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        require_void(&kernels, stream);
        OK(cuStreamBeginCapture_v2(stream, m));
        REQUIRE_RESULT(cuStreamSynchronize(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        require_void(&kernels, stream);
    }
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemAlloc_v2(&data, 4));
    OK(cuEventQuery(event));
    OK(cuStreamSynchronize(other));
    OK(cuMemcpyHtoD_v2(data, &value, 4)); /* the legacy stream has nothing to do with a non-blocking one */
    OK(cuMemFree_v2(data));
    require_nodes(stream, 0);
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    REQUIRE(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAlloc_v2(&data, 4));
    require_nodes(stream, 0);
    /* what conflicts with a capture is refused in every mode */
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_void(&kernels, stream);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_void(&kernels, stream);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuStreamAddCallback(stream, (CUstreamCallback)(uintptr_t)record, NULL, 0),
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_void(&kernels, stream);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuMemAllocAsync(&data, 4, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_void(&kernels, stream);
}

struct neighbour {
    CUcontext context;
    CUstreamCaptureMode mode;
    CUresult result;
    CUstream end;
};

static void *allocate(void *argument)
{
    struct neighbour *neighbour = argument;
    CUdeviceptr data;

    OK(cuCtxSetCurrent(neighbour->context));
    OK(cuThreadExchangeStreamCaptureMode(&neighbour->mode));
    neighbour->result = cuMemAlloc_v2(&data, 4);
    return NULL;
}

static void *end_capture(void *argument)
{
    struct neighbour *neighbour = argument;
    CUgraph graph;

    OK(cuCtxSetCurrent(neighbour->context));
    neighbour->result = cuStreamEndCapture(neighbour->end, &graph);
    return NULL;
}

static CUresult in_thread(void *(*body)(void *), const struct kernels *kernels, CUstreamCaptureMode mode, CUstream end)
{
    struct neighbour neighbour = {kernels->context, mode, CUDA_ERROR_UNKNOWN, end};
    pthread_t thread;

    REQUIRE(pthread_create(&thread, NULL, body, &neighbour) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    return neighbour.result;
}

/* What other threads may do meanwhile. */
void case_capture_threads(void)
{
    struct kernels kernels = start();
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);

    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(in_thread(allocate, &kernels, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, NULL));
    OK(in_thread(allocate, &kernels, CU_STREAM_CAPTURE_MODE_RELAXED, NULL));
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    REQUIRE_RESULT(in_thread(allocate, &kernels, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL),
                   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_void(&kernels, stream);
    for (CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL; m <= CU_STREAM_CAPTURE_MODE_RELAXED; m++) {
        OK(cuStreamBeginCapture_v2(stream, m));
        OK(in_thread(allocate, &kernels, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL));
        require_nodes(stream, 0);
    }
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    REQUIRE_RESULT(in_thread(end_capture, &kernels, 0, stream), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    require_nodes(stream, 0);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(in_thread(end_capture, &kernels, 0, stream));
    REQUIRE(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

/* The legacy stream waits for blocking streams, so it cannot be used while one of them captures. */
void case_capture_legacy(void)
{
    struct kernels kernels = start();
    CUstream blocking = new_stream(0), free_stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureStatus status;

    OK(cuStreamBeginCapture_v2(free_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernels.wait_1ms, NULL);
    launch(kernels.wait_1ms, blocking);
    require_nodes(free_stream, 0);
    OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    REQUIRE(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE); /* asking does no harm */
    launch(kernels.wait_1ms, free_stream);
    REQUIRE_RESULT(cuLaunchKernel(kernels.wait_1ms, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    require_void(&kernels, blocking);
    OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_RESULT(cuStreamSynchronize(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    require_void(&kernels, blocking);
}

/* Captures spread through events, and only through those. */
void case_capture_events(void)
{
    struct kernels kernels = start();
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(CU_STREAM_NON_BLOCKING);
    CUstream third = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent fork = new_event(), join = new_event(), before = record(first);
    CUgraph graph = (CUgraph)1;

    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    REQUIRE(status_of(second) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    REQUIRE_RESULT(cuStreamEndCapture(second, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require_void(&kernels, first);
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    launch(kernels.wait_1ms, second);
    REQUIRE_RESULT(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    REQUIRE(graph == NULL && status_of(first) == 0 && status_of(second) == 0);
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    launch(kernels.wait_1ms, second);
    OK(cuEventRecord(join, second));
    OK(cuStreamWaitEvent(first, join, 0));
    require_nodes(first, 1);
    REQUIRE_RESULT(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT); /* also after the end */
    REQUIRE_RESULT(cuStreamWaitEvent(third, join, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    OK(cuEventRecord(join, third));
    OK(cuEventSynchronize(join)); /* recorded anew, it is an ordinary one */
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, first));
    REQUIRE_RESULT(cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
    require_void(&kernels, first);
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitEvent(first, new_event(), 0)); /* never recorded: nothing to wait for */
    REQUIRE_RESULT(cuStreamWaitEvent(first, before, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    require_void(&kernels, first);
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamBeginCapture_v2(third, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(fork, first));
    REQUIRE_RESULT(cuStreamWaitEvent(third, fork, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    require_void(&kernels, first);
    require_void(&kernels, third);
    REQUIRE_RESULT(cuStreamWaitEvent(first, before, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitEvent(first, before, CU_EVENT_WAIT_EXTERNAL));
    OK(cuEventRecordWithFlags(join, first, CU_EVENT_RECORD_EXTERNAL));
    OK(cuEventQuery(join)); /* that of the world outside */
    require_nodes(first, 2);
}
