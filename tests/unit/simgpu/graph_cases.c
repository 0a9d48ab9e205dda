/* SPDX-License-Identifier: Apache-2.0 */
/* Cases about graphs: made by capture and by hand, launched, updated; test_graphs.py judges the truth files. */
#include <stdatomic.h>
#include <unistd.h>

#include "cases.h"

enum { COUNT = 256, BYTES = COUNT * 4 };

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;

    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static CUDA_KERNEL_NODE_PARAMS kernel_of(CUfunction function, void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
                                     .blockDimY = 1, .blockDimZ = 1, .kernelParams = params};
}

/* 5 ms, then twice 5 ms side by side, then 1 ms; launched three times. */
void case_graph_fork(void)
{
    struct kernels kernels = start();
    CUstream first, second;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    OK(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernels.wait_5ms, first);
    OK(cuEventRecord(fork, first));
    OK(cuStreamWaitEvent(second, fork, 0));
    launch(kernels.wait_5ms, first);
    launch(kernels.wait_5ms, second);
    OK(cuEventRecord(join, second));
    OK(cuStreamWaitEvent(first, join, 0));
    launch(kernels.wait_1ms, first);
    OK(cuStreamEndCapture(first, &graph));
    exec = instantiate(graph);
    OK(cuGraphDestroy(graph)); /* the executable graph stands on its own */
    OK(cuGraphUpload(exec, first));
    OK(cuGraphLaunch(exec, first));
    OK(cuGraphLaunch(exec, second)); /* after the first launch, though on another stream */
    OK(cuStreamSynchronize(second));
    REQUIRE_RESULT(cuStreamQuery(first), CUDA_SUCCESS);
    OK(cuGraphLaunch_ptsz(exec, NULL));
    OK(cuGraphExecDestroy(exec)); /* what runs goes on */
    REQUIRE_RESULT(cuGraphLaunch(exec, first), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSynchronize());
}

static _Atomic int called;

static void count_call(void *user_data)
{
    atomic_fetch_add(&called, *(int *)user_data);
}

struct world {
    struct kernels kernels;
    CUdeviceptr data, other;
    int32_t *pinned, *pageable;
    CUevent event;
    int step;
};

static void make_world(struct world *w)
{
    *w = (struct world){.kernels = start(), .step = 1};
    OK(cuMemAlloc_v2(&w->data, BYTES));
    OK(cuMemAlloc_v2(&w->other, BYTES));
    OK(cuMemHostAlloc((void **)&w->pinned, BYTES, 0));
    w->pageable = calloc(1, BYTES);
    REQUIRE(w->pageable != NULL);
    OK(cuEventCreate(&w->event, 0));
}

static CUDA_MEMCPY3D row_to_host(CUdeviceptr from, void *to)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = BYTES,
                           .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = to, .dstPitch = BYTES,
                           .WidthInBytes = BYTES, .Height = 1, .Depth = 1};
}

/* memset, then +5 and (as a child graph) * 2 in a chain; the result comes back while a host function runs. */
static CUgraph make_by_hand(struct world *w, CUgraphNode nodes[7])
{
    CUdeviceptr data = w->data;
    int32_t value = 5, count = COUNT;
    void *params[] = {&data, &value, &count};
    struct { CUdeviceptr data; int64_t count; char pad[8]; } pair = {data, COUNT, {0}};
    void *packed[] = {&pair};
    CUDA_MEMSET_NODE_PARAMS fill = {.dst = data, .value = 3, .elementSize = 4, .width = COUNT, .height = 1};
    CUDA_KERNEL_NODE_PARAMS add = kernel_of(w->kernels.add, params), twice = kernel_of(w->kernels.twice, packed);
    CUDA_MEMCPY3D back = row_to_host(data, w->pinned);
    CUDA_HOST_NODE_PARAMS host = {count_call, &w->step};
    CUgraph graph, child;

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphCreate(&child, 0));
    OK(cuGraphAddKernelNode_v2(&nodes[6], child, NULL, 0, &twice));
    OK(cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, w->kernels.context));
    OK(cuGraphAddKernelNode_v2(&nodes[1], graph, &nodes[0], 1, &add));
    OK(cuGraphAddChildGraphNode(&nodes[2], graph, &nodes[1], 1, child));
    OK(cuGraphDestroy(child)); /* the node has a copy */
    OK(cuGraphAddMemcpyNode(&nodes[3], graph, &nodes[2], 1, &back, NULL));
    OK(cuGraphAddHostNode(&nodes[4], graph, &nodes[2], 1, &host));
    OK(cuGraphAddEventRecordNode(&nodes[5], graph, &nodes[3], 2, w->event));
    return graph;
}

static void require_all(const int32_t *values, int32_t wanted)
{
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(values[i] == wanted);
    }
}

static void check_questions(struct world *w, CUgraph graph, CUgraphNode nodes[7])
{
    CUgraphNode found[9], to[9];
    CUgraphEdgeData edges[9];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY3D copy;
    CUDA_MEMSET_NODE_PARAMS fill;
    CUDA_HOST_NODE_PARAMS host;
    CUgraphNodeType type;
    CUgraph child, clone;
    CUevent event;
    size_t count = 9;

    OK(cuGraphGetNodes(graph, found, &count));
    REQUIRE(count == 6 && found[0] == nodes[0] && found[5] == nodes[5] && found[6] == NULL);
    count = 9;
    OK(cuGraphGetEdges_v2(graph, found, to, edges, &count));
    REQUIRE(count == 6 && found[0] == nodes[0] && to[0] == nodes[1] && edges[5].type == 0);
    OK(cuGraphNodeGetDependencies(nodes[5], NULL, &count));
    REQUIRE(count == 2);
    OK(cuGraphNodeGetDependentNodes(nodes[2], found, &count));
    REQUIRE(count == 2 && found[0] == nodes[3] && found[1] == nodes[4]);
    OK(cuGraphNodeGetType(nodes[2], &type));
    REQUIRE(type == CU_GRAPH_NODE_TYPE_GRAPH);
    OK(cuGraphChildGraphNodeGetGraph(nodes[2], &child));
    REQUIRE_RESULT(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphKernelNodeGetParams_v2(nodes[1], &kernel));
    REQUIRE(kernel.func == w->kernels.add && kernel.blockDimX == 32 && *(int32_t *)kernel.kernelParams[1] == 5);
    OK(cuGraphMemcpyNodeGetParams(nodes[3], &copy));
    REQUIRE(copy.srcDevice == w->data && copy.dstHost == w->pinned && copy.WidthInBytes == BYTES);
    OK(cuGraphMemsetNodeGetParams(nodes[0], &fill));
    REQUIRE(fill.dst == w->data && fill.value == 3 && fill.elementSize == 4);
    OK(cuGraphHostNodeGetParams(nodes[4], &host));
    REQUIRE(host.fn == count_call && host.userData == &w->step);
    OK(cuGraphEventRecordNodeGetEvent(nodes[5], &event));
    REQUIRE(event == w->event);
    REQUIRE_RESULT(cuGraphMemsetNodeGetParams(nodes[1], &fill), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&found[0], nodes[1], clone));
    REQUIRE(found[0] != nodes[1]);
    OK(cuGraphDestroyNode(found[0]));
    count = 0;
    OK(cuGraphGetEdges(clone, NULL, NULL, &count));
    REQUIRE(count == 4);
    OK(cuGraphDestroy(clone));
    REQUIRE_RESULT(cuGraphNodeGetType(found[0], &type), CUDA_ERROR_INVALID_VALUE);
}

void case_graph_made(void)
{
    struct world w;
    CUgraphNode nodes[7], empty;
    CUgraph graph;
    CUgraphExec exec;
    CUstream stream;

    make_world(&w);
    OK(cuStreamCreate(&stream, 0));
    graph = make_by_hand(&w, nodes);
    check_questions(&w, graph, nodes);
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, stream));
    OK(cuEventSynchronize(w.event)); /* recorded by the second launch */
    require_all(w.pinned, (3 + 5) * 2);
    REQUIRE(atomic_load(&called) == 2);
    OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(cuGraphAddDependencies(graph, &nodes[5], &empty, 1));
    REQUIRE_RESULT(cuGraphAddDependencies(graph, &nodes[5], &empty, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddDependencies(graph, &empty, &nodes[0], 1));
    REQUIRE_RESULT(cuGraphInstantiate_v2(&exec, graph, &empty, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(empty != NULL); /* on the cycle */
}

/* The executable graph takes new parameters, and nothing that changes its shape. */
void case_graph_update(void)
{
    struct world w;
    CUgraphNode nodes[7], other_nodes[7];
    CUgraph graph, other;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    CUgraphExecUpdateResult old_result;
    CUdeviceptr data;
    int32_t value = 100, count = COUNT;
    void *params[] = {&data, &value, &count};
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY3D copy;
    unsigned enabled = 9;

    make_world(&w);
    data = w.data;
    graph = make_by_hand(&w, nodes);
    exec = instantiate(graph);
    kernel = kernel_of(w.kernels.add, params);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &kernel));
    value = 0; /* was copied */
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    require_all(w.pinned, (3 + 100) * 2);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 0));
    OK(cuGraphNodeGetEnabled(exec, nodes[1], &enabled));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    require_all(w.pinned, 3 * 2);
    REQUIRE(enabled == 0);
    OK(cuGraphNodeSetEnabled(exec, nodes[1], 1));
    other = make_by_hand(&w, other_nodes); /* the same shape: + 5 again */
    copy = row_to_host(w.data, w.pageable);
    OK(cuGraphMemcpyNodeSetParams(other_nodes[3], &copy));
    OK(cuGraphExecUpdate_v2(exec, other, &info));
    REQUIRE(info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuCtxSynchronize());
    require_all(w.pageable, (3 + 5) * 2);
    OK(cuGraphAddEmptyNode(&other_nodes[6], other, NULL, 0));
    REQUIRE_RESULT(cuGraphExecUpdate_v2(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    REQUIRE(info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == NULL);
    OK(cuGraphDestroyNode(other_nodes[4]));
    REQUIRE_RESULT(cuGraphExecUpdate(exec, other, &other_nodes[0], &old_result),
                   CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    REQUIRE(old_result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED && other_nodes[0] == other_nodes[5]);
    REQUIRE_RESULT(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &kernel), CUDA_ERROR_INVALID_VALUE);
    copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = w.data, .WidthInBytes = BYTES,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = w.other, .Height = 1, .Depth = 1};
    REQUIRE_RESULT(cuGraphExecMemcpyNodeSetParams(exec, nodes[3], &copy, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* A launch that is captured becomes a child graph; pageable memory is read when the graph runs. */
void case_graph_nested(void)
{
    struct world w;
    CUstream stream;
    CUgraph inner, outer;
    CUgraphExec inner_exec, outer_exec;

    make_world(&w);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_add(&w.kernels, w.data, 1, COUNT, stream);
    launch_add(&w.kernels, w.data, 2, COUNT, stream);
    OK(cuStreamEndCapture(stream, &inner));
    inner_exec = instantiate(inner);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync_v2(w.data, w.pageable, BYTES, stream));
    OK(cuGraphLaunch(inner_exec, stream));
    OK(cuLaunchHostFunc(stream, count_call, &w.step));
    OK(cuGraphLaunch(inner_exec, stream));
    OK(cuMemcpyDtoHAsync_v2(w.pageable, w.data, BYTES, stream)); /* does not wait: it is only captured */
    OK(cuStreamEndCapture(stream, &outer));
    outer_exec = instantiate(outer);
    for (int i = 0; i < COUNT; i++) {
        w.pageable[i] = 50;
    }
    for (int times = 1; times <= 3; times++) {
        OK(cuGraphLaunch(outer_exec, stream));
        OK(cuStreamSynchronize(stream));
        require_all(w.pageable, 50 + times * 6);
        REQUIRE(atomic_load(&called) == times);
    }
}

/* The capture reaches a stream of the second device through an event. */
void case_graph_devices(void)
{
    struct kernels kernels = start();
    CUstream here, there;
    CUevent fork, join;
    CUcontext second;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr far, near;

    OK(cuMemAlloc_v2(&near, BYTES));
    OK(cuStreamCreate(&here, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    OK(cuMemAlloc_v2(&far, BYTES));
    OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSetCurrent(kernels.context));
    OK(cuStreamBeginCapture_v2(here, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernels.wait_5ms, here);
    OK(cuEventRecord(fork, here));
    OK(cuStreamWaitEvent(there, fork, 0));
    launch(kernels.wait_5ms, here);
    OK(cuCtxSetCurrent(second));
    launch(kernels.wait_50ms, there);
    OK(cuMemcpyAsync(near, far, BYTES, there));
    OK(cuEventRecord(join, there));
    OK(cuCtxSetCurrent(kernels.context));
    OK(cuStreamWaitEvent(here, join, 0));
    launch(kernels.wait_1ms, here);
    OK(cuStreamEndCapture(here, &graph));
    exec = instantiate(graph);
    OK(cuGraphLaunch(exec, here));
    OK(cuGraphLaunch(exec, here));
    OK(cuStreamSynchronize(here));
}

/* One launch is one entry of a stream's queue, however many nodes it has. */
void case_graph_queue(void)
{
    struct kernels kernels = start();
    uint64_t begin_ns;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < 10; i++) {
        launch(kernels.wait_5ms, stream);
    }
    OK(cuStreamEndCapture(stream, &graph));
    exec = instantiate(graph);
    begin_ns = sim_now_ns();
    for (int i = 0; i < 4; i++) {
        OK(cuGraphLaunch(exec, stream));
    }
    OK(cuGraphLaunch(exec, stream)); /* the fifth waits for the end of the first */
    REQUIRE(sim_now_ns() - begin_ns >= 50000000);
    OK(cuStreamSynchronize(stream));
    REQUIRE(sim_now_ns() - begin_ns >= 250000000);
}

/* The destructor is called on a thread of the driver's. */
static void require_ended(_Atomic int *ended, int wanted)
{
    for (int i = 0; i < 1000 && atomic_load(ended) != wanted; i++) {
        usleep(1000);
    }
    REQUIRE(atomic_load(ended) == wanted);
}

static void count_end(void *user_data)
{
    atomic_fetch_add((_Atomic int *)user_data, 1);
}

/* Objects end with the last that has a reference: the program, a graph, a copy of it, a launch that runs. */
void case_graph_objects(void)
{
    struct kernels kernels = start();
    _Atomic int ended = 0;
    CUuserObject object, other;
    CUstream stream;
    CUgraph graph, copy, outer;
    CUgraphNode node;
    CUgraphExec exec;

    REQUIRE_RESULT(cuUserObjectCreate(&object, &ended, count_end, 1, 0), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuUserObjectCreate(&object, &ended, count_end, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
                   CUDA_ERROR_INVALID_VALUE);
    OK(cuUserObjectCreate(&object, &ended, count_end, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRetain(object, 1));
    REQUIRE_RESULT(cuUserObjectRelease(object, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuUserObjectRelease(object, 2));
    OK(cuUserObjectCreate(&other, &ended, count_end, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRelease(other, 1));
    require_ended(&ended, 1); /* the other one: references are taken back in order */
    OK(cuUserObjectRetain(object, 1));
    OK(cuUserObjectRelease(object, 1));

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(kernels.wait_50ms, stream);
    OK(cuStreamEndCapture(stream, &graph));
    REQUIRE_RESULT(cuGraphReleaseUserObject(graph, object, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRetainUserObject(graph, object, 2, 0));
    REQUIRE_RESULT(cuGraphReleaseUserObject(graph, object, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphReleaseUserObject(graph, object, 1));
    OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE)); /* the program has none from here on */
    OK(cuGraphClone(&copy, graph));
    OK(cuGraphDestroy(graph));
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&node, outer, NULL, 0, copy));
    OK(cuGraphDestroy(copy));
    exec = instantiate(outer);
    OK(cuGraphDestroy(outer));
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    usleep(10000);
    REQUIRE_RESULT(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    REQUIRE(atomic_load(&ended) == 1); /* it still runs */
    OK(cuStreamSynchronize(stream));
    require_ended(&ended, 2);
}
