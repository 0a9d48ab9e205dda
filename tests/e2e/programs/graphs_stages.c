/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of graphs.c, see there for what each must count. One thread, and a second one in `beside`. */
#include "graphs.h"

#include <pthread.h>

enum { RELAXED = 2, GLOBAL = 0, INVALIDATED = 901, UNSUPPORTED = 900 };

/* As CUDA_KERNEL_NODE_PARAMS and CUDA_HOST_NODE_PARAMS of cuda.h. */
struct kernel_node {
    CUfunction function;
    unsigned int grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **params, **extra;
    void *kernel;
    CUcontext context;
};
struct host_node {
    void (*function)(void *);
    void *argument;
};

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, int mode);
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, void *const *nodes, const void *edges,
                                     size_t count, int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph);
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z,
                             unsigned int shared_bytes, CUstream stream, void **params, void **extra);
CUresult cuEventCreate(void **event, unsigned int flags);
CUresult cuEventRecord(void *event, CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, void *event, unsigned int flags);
CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUresult cuGraphClone(CUgraph *clone, CUgraph graph);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphDestroyNode(void *node);
CUresult cuGraphAddKernelNode_v2(void **node, CUgraph graph, void *const *before, size_t count,
                                 const struct kernel_node *params);
CUresult cuGraphAddHostNode(void **node, CUgraph graph, void *const *before, size_t count,
                            const struct host_node *params);
CUresult cuGraphAddChildGraphNode(void **node, CUgraph graph, void *const *before, size_t count, CUgraph child);
CUresult cuGraphGetNodes(CUgraph graph, void **nodes, size_t *count);
CUresult cuGraphNodeSetEnabled(CUgraphExec graph, void *node, unsigned int enabled);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags);
CUresult cuGraphExecUpdate_v2(CUgraphExec graph, CUgraph from, void *info);
CUresult cuGraphExecDestroy(CUgraphExec graph);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);

static CUgraphExec make(CUgraph graph)
{
    CUgraphExec made;

    CHECK(cuGraphInstantiateWithFlags(&made, graph, 0));
    return made;
}

static void launch_times(CUgraphExec graph, CUstream stream, int times)
{
    for (int i = 0; i < times; i++)
        CHECK(cuGraphLaunch(graph, stream));
    CHECK(cuStreamSynchronize(stream));
}

static CUgraph capture_kernels(CUfunction function, CUstream stream, int count)
{
    CUgraph graph;

    CHECK(cuStreamBeginCapture_v2(stream, GLOBAL));
    for (int i = 0; i < count; i++)
        e2e_launch(function, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

void graphs_replay(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    work->template = capture_kernels(work->kernel, work->first, 5);
    work->replayed = make(work->template);
    launch_times(work->replayed, work->first, 10);
    e2e_log("replay", 0, -1, start_ns);
}

void graphs_join(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    void *fork, *join;
    CUgraph graph;

    CHECK(cuEventCreate(&fork, 0));
    CHECK(cuEventCreate(&join, 0));
    CHECK(cuStreamBeginCapture_v2(work->first, GLOBAL));
    e2e_launch(work->kernel, work->first);
    CHECK(cuEventRecord(fork, work->first));
    CHECK(cuStreamWaitEvent(work->second, fork, 0));
    e2e_launch(work->other, work->second);
    e2e_launch(work->other, work->second);
    CHECK(cuMemsetD8Async(work->buffer, 0, 256, work->second));
    CHECK(cuMemcpyAsync(work->buffer + 1024, work->buffer, 256, work->second));
    CHECK(cuEventRecord(join, work->second));
    e2e_launch(work->kernel, work->first);
    CHECK(cuStreamWaitEvent(work->first, join, 0));
    e2e_launch(work->kernel, work->first);
    CHECK(cuStreamEndCapture(work->first, &graph));
    launch_times(make(graph), work->first, 4);
    e2e_log("join", 0, -1, start_ns);
}

static void on_host(void *argument)
{
    (void)argument;
}

/* 2 kernels, of which one is taken out again, and a child of 5: 6. A clone of it, with it as a further child: 12. */
void graphs_build(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    struct kernel_node kernel = {.function = work->other, .grid_x = 1, .grid_y = 1, .grid_z = 1,
                                 .block_x = 1, .block_y = 1, .block_z = 1};
    struct host_node host = {.function = on_host};
    void *nodes[4];
    CUgraph graph, clone;

    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&nodes[0], graph, NULL, 0, &kernel));
    CHECK(cuGraphAddKernelNode_v2(&nodes[1], graph, nodes, 1, &kernel));
    CHECK(cuGraphAddChildGraphNode(&nodes[2], graph, nodes, 1, work->template));
    CHECK(cuGraphAddHostNode(&nodes[3], graph, nodes, 1, &host));
    CHECK(cuGraphDestroyNode(nodes[1]));
    CHECK(cuGraphClone(&clone, graph));
    CHECK(cuGraphAddChildGraphNode(&nodes[0], clone, NULL, 0, graph));
    launch_times(make(graph), work->first, 2);
    launch_times(make(clone), work->first, 1);
    CHECK(cuGraphDestroy(clone));
    e2e_log("build", 0, -1, start_ns);
}

void graphs_update(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns(), info[4] = {0};
    CUgraph graph = capture_kernels(work->other, work->second, 5);

    CHECK(cuGraphExecUpdate_v2(work->replayed, graph, info));
    CHECK(cuGraphDestroy(graph));
    launch_times(work->replayed, work->first, 2);
    e2e_log("update", 0, -1, start_ns);
}

void graphs_nest(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    CUgraph graph;

    CHECK(cuStreamBeginCapture_v2(work->second, GLOBAL));
    e2e_launch(work->kernel, work->second);
    CHECK(cuGraphLaunch(work->replayed, work->second));
    CHECK(cuStreamEndCapture(work->second, &graph));
    launch_times(make(graph), work->second, 2);
    e2e_log("nest", 0, -1, start_ns);
}

static void launch_own(CUfunction function)
{
    CHECK(cuLaunchKernel_ptsz(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

/* The graph that a second thread captures, in the stage that it helps. */
void graphs_beside_capture(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuStreamBeginCapture_v2_ptsz(NULL, RELAXED));
    for (int i = 0; i < 3; i++) {
        launch_own(work->kernel);
        e2e_spin_us(300);
    }
    CHECK(cuStreamEndCapture_ptsz(NULL, &work->beside));
    e2e_log("beside", 0, -1, start_ns);
}

static void *second_thread(void *argument)
{
    struct graphs_work *work = argument;

    CHECK(cuCtxSetCurrent(work->context));
    graphs_beside_capture(work);
    return NULL;
}

/* Both use "their" default stream: one captures, the other launches. */
void graphs_beside(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    pthread_t thread;

    if (pthread_create(&thread, NULL, second_thread, work) != 0)
        exit(1);
    for (int i = 0; i < 4; i++) {
        e2e_spin_us(200);
        launch_own(work->other);
    }
    pthread_join(thread, NULL);
    launch_times(make(work->beside), work->first, 1);
    e2e_log("beside", 0, -1, start_ns);
}

void graphs_broken(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    CUgraph graph = NULL;

    CHECK(cuStreamBeginCapture_v2(work->first, GLOBAL));
    e2e_launch(work->kernel, work->first);
    e2e_launch(work->kernel, work->first);
    if (cuStreamSynchronize(work->first) != UNSUPPORTED || cuStreamEndCapture(work->first, &graph) != INVALIDATED)
        exit(1);
    for (int i = 0; i < 3; i++)
        e2e_launch(work->kernel, work->first);
    CHECK(cuStreamSynchronize(work->first));
    e2e_log("broken", 0, -1, start_ns);
}

void graphs_append(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    struct kernel_node kernel = {.function = work->other, .grid_x = 1, .grid_y = 1, .grid_z = 1,
                                 .block_x = 1, .block_y = 1, .block_z = 1};
    void *node;
    CUgraph graph, same;
    CUgraphExec made;

    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    CHECK(cuStreamBeginCaptureToGraph(work->first, graph, &node, NULL, 1, GLOBAL));
    e2e_launch(work->kernel, work->first);
    e2e_launch(work->kernel, work->first);
    CHECK(cuStreamEndCapture(work->first, &same));
    made = make(graph);
    launch_times(made, work->first, 2);
    CHECK(cuGraphExecDestroy(made));
    e2e_log("append", 0, -1, start_ns);
}

void graphs_switch(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();
    void *nodes[8];
    size_t count = sizeof(nodes) / sizeof(nodes[0]);
    CUgraphExec made = make(work->template);

    launch_times(made, work->first, 1);
    CHECK(cuGraphGetNodes(work->template, nodes, &count));
    CHECK(cuGraphNodeSetEnabled(made, nodes[0], 0));
    launch_times(made, work->first, 1);
    e2e_log("switch", 0, -1, start_ns);
}

void graphs_request(struct graphs_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    graphs_replay(work);
    graphs_join(work);
    graphs_build(work);
    graphs_update(work);
    graphs_nest(work);
    graphs_beside(work);
    graphs_broken(work);
    graphs_append(work);
    graphs_switch(work);
    e2e_log("request", 0, -1, start_ns);
}
