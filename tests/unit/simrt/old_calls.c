/* SPDX-License-Identifier: Apache-2.0 */
/* What only the runtime of CUDA 12 has: older argument lists, the structure of CUDA 11, names that 13 took away. */
#include <string.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/driver/cuda_min.h"

#undef cudaGetDeviceProperties

enum { PROPERTIES_11 = 728 };

int cudaGetDeviceProperties(void *prop, int device);
int cudaMemAdvise(const void *pointer, size_t bytes, int advice, int device);
int cudaMemAdvise_v2(const void *pointer, size_t bytes, int advice, CUmemLocation location);
int cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device, void *stream);
int cudaMemPrefetchAsync_v2(const void *pointer, size_t bytes, CUmemLocation location, unsigned flags, void *stream);
int cudaEventElapsedTime_v2(float *milliseconds, void *begin, void *end);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id);
int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, void ***nodes,
                                size_t *count);
int cudaStreamUpdateCaptureDependencies(void *stream, void **nodes, size_t count, unsigned flags);
int cudaStreamUpdateCaptureDependencies_v2(void *stream, void **nodes, const void *edges, size_t count, unsigned flags);
int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphAddEmptyNode(void **node, void *graph, void *const *before, size_t count);
int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t count);
int cudaGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges, size_t count);
int cudaGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int cudaGraphGetEdges_v2(void *graph, void **from, void **to, void *edges, size_t *count);
int cudaGraphNodeGetDependencies(void *node, void **nodes, size_t *count);
int cudaGraphNodeGetDependentNodes(void *node, void **nodes, size_t *count);
int cudaGraphDestroy(void *graph);
int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, int *status);
int cudaThreadSynchronize(void);
int cudaThreadGetLimit(size_t *value, int limit);
int cudaThreadExit(void);

static void properties(void)
{
    struct sim_device_prop now;
    unsigned char old[sizeof(now)];
    memset(old, 0xa5, sizeof(old));
    CHECK_EQ(cudaGetDeviceProperties_v2(&now, 0), 0);
    CHECK_EQ(cudaGetDeviceProperties(old, 0), 0);
    CHECK_EQ(offsetof(struct sim_device_prop, hostRegisterSupported), PROPERTIES_11);
    CHECK(memcmp(old, &now, PROPERTIES_11) == 0);
    for (size_t i = PROPERTIES_11; i < sizeof(old); i++) {
        CHECK(old[i] == 0xa5);
    }
    CHECK(now.clockRate > 0 && now.memoryClockRate > 0 && now.deviceOverlap == 1 && now.hostRegisterSupported == 1);
    CHECK_EQ(now.singleToDoublePrecisionPerfRatio, 2);
    CHECK_EQ(cudaGetDeviceProperties(NULL, 0), 1);
    CHECK_EQ(cudaGetLastError(), 1);
}

static void memory(void)
{
    const CUmemLocation device = {.type = 1, .id = 0};
    struct {
        struct sim_pointer_attributes attributes;
        long after;
    } p = {.after = 0x5a5a};
    void *managed;
    size_t limit = 0;
    CHECK_EQ(cudaMallocManaged(&managed, 4096, 1), 0);
    CHECK_EQ(cudaPointerGetAttributes(&p.attributes, managed), 0);
    CHECK(p.attributes.type == 3 && p.after == 0x5a5a);
    CHECK_EQ(cudaMemAdvise(managed, 4096, 1, 0), 0);
    CHECK_EQ(cudaMemAdvise_v2(managed, 4096, 1, device), 0);
    CHECK_EQ(cudaMemPrefetchAsync(managed, 4096, 0, NULL), 0);
    CHECK_EQ(cudaMemPrefetchAsync_v2(managed, 4096, device, 0, NULL), 0);
    CHECK_EQ(cudaThreadSynchronize(), 0);
    CHECK_EQ(cudaThreadGetLimit(&limit, 0), 0);
    CHECK(limit > 0);
    CHECK_EQ(cudaFree(managed), 0);
}

static void capture(void)
{
    void *stream, *graph, *inside = NULL, **nodes = NULL, *begin, *end;
    unsigned long long id = 0, same = 0;
    int status = 0;
    size_t count = 9;
    float ms = -1;
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, 1), 0);
    CHECK_EQ(cudaEventCreate(&begin), 0);
    CHECK_EQ(cudaEventCreate(&end), 0);
    CHECK_EQ(cudaEventRecord(begin, stream), 0);
    CHECK_EQ(cudaEventRecord(end, stream), 0);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    CHECK_EQ(cudaEventElapsedTime_v2(&ms, begin, end), 0);
    CHECK(ms >= 0);
    CHECK_EQ(cudaStreamBeginCapture(stream, 1), 0);
    CHECK_EQ(cudaStreamGetCaptureInfo(stream, &status, &id), 0);
    CHECK_EQ(cudaStreamGetCaptureInfo_v2(stream, &status, &same, &inside, &nodes, &count), 0);
    CHECK(status == 1 && id > 0 && same == id && inside != NULL && count == 0);
    CHECK_EQ(cudaGraphAddEmptyNode(&begin, inside, NULL, 0), 0);
    CHECK_EQ(cudaGraphAddEmptyNode(&end, inside, NULL, 0), 0);
    CHECK_EQ(cudaStreamUpdateCaptureDependencies(stream, &begin, 1, 1), 0);
    CHECK_EQ(cudaStreamUpdateCaptureDependencies_v2(stream, &end, NULL, 1, 0), 0);
    CHECK_EQ(cudaStreamGetCaptureInfo_v2(stream, &status, &same, &inside, &nodes, &count), 0);
    CHECK(count == 2 && nodes[0] == begin && nodes[1] == end);
    CHECK_EQ(cudaStreamEndCapture(stream, &graph), 0);
    CHECK(graph == inside);
    CHECK_EQ(cudaGraphDestroy(graph), 0);
}

static void graph_edges(void)
{
    void *graph, *a, *b, *from = NULL, *to = NULL;
    size_t count = 1;
    CHECK_EQ(cudaGraphCreate(&graph, 0), 0);
    CHECK_EQ(cudaGraphAddEmptyNode(&a, graph, NULL, 0), 0);
    CHECK_EQ(cudaGraphAddEmptyNode(&b, graph, NULL, 0), 0);
    CHECK_EQ(cudaGraphAddDependencies(graph, &a, &b, 1), 0);
    CHECK_EQ(cudaGraphGetEdges(graph, &from, &to, &count), 0);
    CHECK(count == 1 && from == a && to == b);
    CHECK_EQ(cudaGraphNodeGetDependencies(b, &from, &count), 0);
    CHECK(count == 1 && from == a);
    CHECK_EQ(cudaGraphNodeGetDependentNodes(a, &to, &count), 0);
    CHECK(count == 1 && to == b);
    CHECK_EQ(cudaGraphRemoveDependencies_v2(graph, &a, &b, NULL, 1), 0);
    CHECK_EQ(cudaGraphGetEdges_v2(graph, NULL, NULL, NULL, &count), 0);
    CHECK_EQ(count, 0);
    CHECK_EQ(cudaGraphDestroy(graph), 0);
}

int main(void)
{
    void *function = NULL;
    int status = 9;
    properties();
    memory();
    capture();
    graph_edges();
    CHECK_EQ(cudaGetDriverEntryPoint("cuMemAlloc", &function, 0, &status), 0);
    CHECK(function != NULL && status == 0);
    CHECK_EQ(cudaThreadExit(), 0);
    CHECK_EQ(cudaGetLastError(), 0);
    return 0;
}
