/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs through the runtime API, and what libcupti tells of them. test_graph_client.py compares with the truth.
 *   graph_client nodes|whole|late|api     records of nodes, of launches, of launches asked for too late; no records
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/cupti/records.h"
#include "tests/simgpu/driver/cuda_min.h"

#define BUFFER_BYTES 16384
#define N 1024

int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int SIM_NEWER(cudaStreamGetCaptureInfo, _v3)(void *stream, int *status, unsigned long long *id, void **graph,
                                             void ***nodes, const CUgraphEdgeData **edges, size_t *count);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphDestroy(void *graph);
int cudaGraphGetNodes(void *graph, void **nodes, size_t *count);
int cudaGraphNodeGetType(void *node, int *type);
int cudaGraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                           const struct sim_kernel_node_params *params);
int cudaGraphKernelNodeGetParams(void *node, struct sim_kernel_node_params *params);
int cudaGraphKernelNodeSetParams(void *node, const struct sim_kernel_node_params *params);
int cudaGraphExecKernelNodeSetParams(void *exec, void *node, const struct sim_kernel_node_params *params);
int cudaGraphAddMemcpyNode1D(void **node, void *graph, void *const *before, size_t count, void *target,
                             const void *source, size_t bytes, int kind);
int cudaGraphExecMemcpyNodeSetParams1D(void *exec, void *node, void *target, const void *source, size_t bytes,
                                       int kind);
int cudaGraphAddMemsetNode(void **node, void *graph, void *const *before, size_t count,
                           const CUDA_MEMSET_NODE_PARAMS *params);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cudaGraphExecUpdate(void *exec, void *graph, CUgraphExecUpdateResultInfo *info);
int cudaGraphUpload(void *exec, void *stream);
int cudaGraphLaunch(void *exec, void *stream);
int cudaGraphExecDestroy(void *exec);
int cuptiSetThreadIdType(uint32_t type);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record);
int cuptiGetGraphId(void *graph, uint32_t *id);
int cuptiGetGraphExecId(void *exec, uint32_t *id);
int cuptiGetGraphNodeId(void *node, uint64_t *id);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry saxpy_50us(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)\n"
                          "{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static const struct sim_dim3 grid = {N / 256, 1, 1}, block = {256, 1, 1};
static float *x, *y, host[N];

HOST_STUB(saxpy)

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *max_records = 0;
}

static void print_node(const char *kind, uint32_t correlation, uint32_t stream, uint64_t start, uint64_t end,
                       uint32_t graph, uint64_t node)
{
    printf("{\"kind\":\"%s\",\"correlation\":%u,\"stream\":%u,\"start\":%llu,\"end\":%llu,\"graph\":%u,"
           "\"graph_node\":%llu}\n",
           kind, correlation, stream, (unsigned long long)start, (unsigned long long)end, graph,
           (unsigned long long)node);
}

static void print_record(const void *record)
{
    switch (*(const uint32_t *)record) {
    case SIM_KIND_CONCURRENT_KERNEL: {
        const struct sim_kernel_record *r = record;
        print_node("kernel", r->correlationId, r->streamId, r->start, r->end, r->graphId, r->graphNodeId);
        break;
    }
    case SIM_KIND_MEMCPY: {
        const struct sim_memcpy_record *r = record;
        print_node("memcpy", r->correlationId, r->streamId, r->start, r->end, r->graphId, r->graphNodeId);
        break;
    }
    case SIM_KIND_MEMSET: {
        const struct sim_memset_record *r = record;
        print_node("memset", r->correlationId, r->streamId, r->start, r->end, r->graphId, r->graphNodeId);
        break;
    }
    case SIM_KIND_GRAPH_TRACE: {
        const struct sim_graph_record *r = record;
        CHECK(r->deviceId == 0 && r->endDeviceId == 0 && r->contextId == r->endContextId);
        print_node("graph", r->correlationId, r->streamId, r->start, r->end, r->graphId, 0);
        break;
    }
    default:
        CHECK(0);
    }
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    void *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == 0) {
        print_record(record);
    }
    free(buffer);
}

static void enable(int whole)
{
    static const uint32_t kinds[] = {SIM_KIND_CONCURRENT_KERNEL, SIM_KIND_MEMCPY, SIM_KIND_MEMSET};
    CHECK_EQ(cuptiActivityRegisterCallbacks(request, complete), 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        CHECK_EQ(cuptiActivityEnable(kinds[i]), 0);
    }
    if (whole) {
        CHECK_EQ(cuptiActivityEnable(SIM_KIND_GRAPH_TRACE), 0);
    }
}

static void require_all(float wanted)
{
    for (int i = 0; i < N; i++) {
        CHECK(host[i] == wanted);
    }
}

/* y = 0, then (side by side) y += 2 x on one stream and a copy of x on another; the result comes back. */
static void *captured(void *stream, void *other)
{
    float a = 2;
    int n = N, status = 9;
    void *args[] = {&a, &x, &y, &n};
    void *fork, *join, *graph, *inside = NULL;
    unsigned long long id = 0;
    size_t count = 0;
    CHECK_EQ(cudaEventCreateWithFlags(&fork, 2), 0);
    CHECK_EQ(cudaEventCreateWithFlags(&join, 2), 0);
    CHECK_EQ(cudaStreamBeginCapture(stream, 1), 0);
    CHECK_EQ(cudaMemsetAsync(y, 0, sizeof(host), stream), 0);
    CHECK_EQ(cudaEventRecord(fork, stream), 0);
    CHECK_EQ(cudaStreamWaitEvent(other, fork, 0), 0);
    CHECK_EQ(cudaLaunchKernel((void *)saxpy_stub, grid, block, args, 0, stream), 0);
    CHECK_EQ(cudaMemcpyAsync(y + N, x, sizeof(host), SIM_DEVICE_TO_DEVICE, other), 0);
    CHECK_EQ(cudaEventRecord(join, other), 0);
    CHECK_EQ(cudaStreamWaitEvent(stream, join, 0), 0);
    CHECK_EQ(SIM_NEWER(cudaStreamGetCaptureInfo, _v3)(stream, &status, &id, &inside, NULL, NULL, &count), 0);
    CHECK(status == 1 && id > 0 && count == 2);
    CHECK_EQ(cudaMemcpyAsync(host, y, sizeof(host), SIM_DEVICE_TO_HOST, stream), 0);
    CHECK_EQ(cudaStreamIsCapturing(other, &status), 0);
    CHECK_EQ(status, 1);
    CHECK_EQ(cudaStreamEndCapture(stream, &graph), 0);
    CHECK(graph == inside);
    CHECK_EQ(cudaGraphGetNodes(graph, NULL, &count), 0);
    CHECK_EQ(count, 4);
    return graph;
}

/* The same by hand, with other functions and parameters. */
static void by_hand(void *stream)
{
    float a = 1, b = 10;
    int n = N, type = 9;
    void *args[] = {&a, &x, &y, &n}, *other_args[] = {&b, &x, &y, &n};
    struct sim_kernel_node_params kernel = {(void *)saxpy_stub, grid, block, 0, args, NULL}, back;
    const CUDA_MEMSET_NODE_PARAMS fill = {.dst = (uintptr_t)y, .elementSize = 1, .width = sizeof(host), .height = 1};
    void *graph, *nodes[3], *exec, *twin;
    CUgraphExecUpdateResultInfo info;
    CHECK_EQ(cudaGraphCreate(&graph, 0), 0);
    CHECK_EQ(cudaGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill), 0);
    CHECK_EQ(cudaGraphAddKernelNode(&nodes[1], graph, &nodes[0], 1, &kernel), 0);
    CHECK_EQ(cudaGraphAddMemcpyNode1D(&nodes[2], graph, &nodes[1], 1, host, y, sizeof(host), SIM_DEVICE_TO_HOST), 0);
    CHECK_EQ(cudaGraphNodeGetType(nodes[2], &type), 0);
    CHECK_EQ(type, 1);
    CHECK_EQ(cudaGraphKernelNodeGetParams(nodes[1], &back), 0);
    CHECK(back.blockDim.x == 256 && *(float *)back.kernelParams[0] == 1);
    CHECK_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), 0);
    CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    require_all(1);
    kernel.kernelParams = other_args;
    CHECK_EQ(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &kernel), 0);
    CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    require_all(10);
    back.gridDim.x = 1;
    CHECK_EQ(cudaGraphKernelNodeSetParams(nodes[1], &back), 0); /* the kernel as it was handed out */
    CHECK_EQ(cudaGraphExecUpdate(exec, graph, &info), 0);
    CHECK_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, nodes[2], host, x, sizeof(host), SIM_DEVICE_TO_HOST), 0);
    CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    require_all(1);
    CHECK_EQ(cudaGraphCreate(&twin, 0), 0);
    CHECK_EQ(cudaGraphExecUpdate(exec, twin, &info), 910);
    CHECK_EQ(info.result, 2);
    CHECK_EQ(cudaGraphDestroy(twin), 0);
    CHECK_EQ(cudaGraphExecDestroy(exec), 0);
    CHECK_EQ(cudaGraphDestroy(graph), 0);
    CHECK_EQ(cudaGetLastError(), 910);
}

static void capture_errors(void *stream)
{
    void *memory, *graph;
    int mode = 2;
    CHECK_EQ(cudaStreamBeginCapture(stream, 0), 0);
    CHECK_EQ(cudaMalloc(&memory, 16), 900);
    CHECK_EQ(cudaStreamEndCapture(stream, &graph), 901);
    CHECK_EQ(cudaStreamBeginCapture(stream, 0), 0);
    CHECK_EQ(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    CHECK_EQ(mode, 0);
    CHECK_EQ(cudaMalloc(&memory, 16), 0);
    CHECK_EQ(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    CHECK_EQ(cudaStreamEndCapture(stream, &graph), 0);
    CHECK_EQ(cudaGraphDestroy(graph), 0);
    CHECK_EQ(cudaFree(memory), 0);
    CHECK_EQ(cudaGetLastError(), 901);
}

static void check_ids(void *graph, void *exec)
{
    uint32_t graph_id = 0, exec_id = 0;
    uint64_t node_id = 0;
    void *nodes[4];
    size_t count = 4;
    CHECK_EQ(cudaGraphGetNodes(graph, nodes, &count), 0);
    CHECK_EQ(cuptiGetGraphId(graph, &graph_id), 0);
    CHECK_EQ(cuptiGetGraphExecId(exec, &exec_id), 0);
    CHECK_EQ(cuptiGetGraphNodeId(nodes[0], &node_id), 0);
    CHECK(graph_id > 0 && exec_id > 0 && exec_id != graph_id && node_id >> 32 == graph_id);
    CHECK_EQ(cuptiGetGraphId(nodes[0], &graph_id), 1);
    CHECK_EQ(cuptiGetGraphNodeId(graph, &node_id), 1);
    printf("{\"kind\":\"exec\",\"graph\":%u}\n", exec_id);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    void *stream, *other, *graph, *exec;
    void **handle = __cudaRegisterFatBinary(&fatbin);
    if (strcmp(what, "nodes") != 0 && strcmp(what, "whole") != 0 && strcmp(what, "late") != 0 &&
        strcmp(what, "api") != 0) {
        fprintf(stderr, "usage: graph_client nodes|whole|late|api\n");
        return 2;
    }
    __cudaRegisterFunction(handle, (const char *)saxpy_stub, NULL, "saxpy_50us", -1, 0, 0, 0, 0, 0);
    if (strcmp(what, "nodes") == 0 || strcmp(what, "whole") == 0) {
        enable(strcmp(what, "whole") == 0);
    }
    CHECK_EQ(cudaMalloc((void **)&x, sizeof(host)), 0);
    CHECK_EQ(cudaMalloc((void **)&y, 2 * sizeof(host)), 0);
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, 1), 0);
    CHECK_EQ(cudaStreamCreateWithFlags(&other, 1), 0);
    for (int i = 0; i < N; i++) {
        host[i] = 1;
    }
    CHECK_EQ(cudaMemcpy(x, host, sizeof(host), SIM_HOST_TO_DEVICE), 0);
    if (strcmp(what, "api") == 0) {
        by_hand(stream);
        capture_errors(stream);
    }
    graph = captured(stream, other);
    CHECK_EQ(cudaGraphInstantiate(&exec, graph, 0), 0);
    if (strcmp(what, "api") != 0) {
        check_ids(graph, exec);
    }
    if (strcmp(what, "late") == 0) {
        enable(1);
    }
    CHECK_EQ(cudaGraphUpload(exec, stream), 0);
    for (int i = 0; i < 3; i++) {
        memset(host, 0, sizeof(host));
        CHECK_EQ(cudaGraphLaunch(exec, stream), 0);
        CHECK_EQ(cudaStreamSynchronize(stream), 0);
        require_all(2);
    }
    if (strcmp(what, "api") != 0) {
        CHECK_EQ(cuptiActivityFlushAll(0), 0);
        CHECK_EQ(cuptiActivityFlushAll(1), 0);
    }
    CHECK_EQ(cudaGraphExecDestroy(exec), 0);
    CHECK_EQ(cudaGraphDestroy(graph), 0);
    return 0;
}
