/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device layer on the CUDA runtime, as nvcc programs have it: the kernels are compiled into this object
 * and launched with <<<>>>. Same behaviour as device_driver.c, line for line.
 */
#include "device.h"
#include "kernels.cu"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

static const unsigned BLOCK = 128;

extern "C" const char demo_device_api[] = "runtime API";

static void check(cudaError_t error, const char *call, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "generate: %s(%s) failed: %s (%d)\n", call, what, cudaGetErrorName(error), (int)error);
        exit(1);
    }
}

void demo_device_open(char *ret_name, size_t size)
{
    cudaDeviceProp properties;
    check(cudaSetDevice(0), "cudaSetDevice", "0");
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties", "0");
    snprintf(ret_name, size, "%s", properties.name);
}

void demo_device_close(void)
{
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", "at the end");
}

void *demo_device_alloc(size_t bytes)
{
    void *memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc", "device memory");
    return memory;
}

void demo_device_free(void *memory)
{
    check(cudaFree(memory), "cudaFree", "device memory");
}

void *demo_device_alloc_pinned(size_t bytes)
{
    void *memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc", "pinned memory");
    return memory;
}

void demo_device_free_pinned(void *memory)
{
    check(cudaFreeHost(memory), "cudaFreeHost", "pinned memory");
}

void *demo_device_stream_create(void)
{
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags", "non-blocking");
    return stream;
}

void demo_device_stream_destroy(void *stream)
{
    if (stream) {
        check(cudaStreamDestroy((cudaStream_t)stream), "cudaStreamDestroy", "stream");
    }
}

void demo_device_stream_wait(void *stream)
{
    check(cudaStreamSynchronize((cudaStream_t)stream), "cudaStreamSynchronize", "stream");
}

void *demo_device_event_create(void)
{
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags", "no timing");
    return event;
}

void demo_device_event_destroy(void *event)
{
    if (event) {
        check(cudaEventDestroy((cudaEvent_t)event), "cudaEventDestroy", "event");
    }
}

void demo_device_join(void *later, void *earlier, void *event)
{
    check(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)earlier), "cudaEventRecord", "event");
    check(cudaStreamWaitEvent((cudaStream_t)later, (cudaEvent_t)event, 0), "cudaStreamWaitEvent", "event");
}

void demo_device_capture_begin(void *stream)
{
    check(cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
          "stream");
}

void *demo_device_capture_end(void *stream)
{
    cudaGraph_t recorded = nullptr;
    cudaGraphExec_t graph = nullptr;
    check(cudaStreamEndCapture((cudaStream_t)stream, &recorded), "cudaStreamEndCapture", "stream");
    check(cudaGraphInstantiate(&graph, recorded, 0), "cudaGraphInstantiate", "graph");
    check(cudaGraphDestroy(recorded), "cudaGraphDestroy", "graph");
    return graph;
}

void demo_device_graph_launch(void *graph, void *stream)
{
    check(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream), "cudaGraphLaunch", "graph");
}

void demo_device_graph_destroy(void *graph)
{
    if (graph) {
        check(cudaGraphExecDestroy((cudaGraphExec_t)graph), "cudaGraphExecDestroy", "graph");
    }
}

void demo_device_upload_now(void *to, const void *host, size_t bytes)
{
    check(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy", "upload");
}

void demo_device_upload(void *to, const void *host, size_t bytes, void *stream)
{
    check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, (cudaStream_t)stream), "cudaMemcpyAsync",
          "upload");
}

void demo_device_download(void *host, const void *from, size_t bytes, void *stream)
{
    check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)stream), "cudaMemcpyAsync",
          "download");
}

void demo_device_zero(void *memory, size_t bytes, void *stream)
{
    check(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream), "cudaMemsetAsync", "zero");
}

template <typename... Types, size_t... Index>
static void launch(void (*kernel)(Types...), int32_t count, void **params, void *stream,
                   std::index_sequence<Index...>)
{
    unsigned blocks = ((unsigned)count + BLOCK - 1) / BLOCK;
    kernel<<<blocks, BLOCK, 0, (cudaStream_t)stream>>>(*static_cast<Types *>(params[Index])...);
}

template <typename... Types>
static void launch(void (*kernel)(Types...), int32_t count, void **params, void *stream)
{
    launch(kernel, count, params, stream, std::index_sequence_for<Types...>());
}

void demo_device_launch(enum demo_kernel kernel, int32_t count, void **params, void *stream)
{
    switch (kernel) {
#define KERNEL_CASE(name)                                                                                    \
    case DEMO_KERNEL_##name:                                                                                 \
        launch(name, count, params, stream);                                                                 \
        check(cudaGetLastError(), "launch", #name);                                                          \
        break;
#define KERNEL_1(name, A) KERNEL_CASE(name)
#define KERNEL_2(name, A, B) KERNEL_CASE(name)
#define KERNEL_3(name, A, B, C) KERNEL_CASE(name)
#define KERNEL_4(name, A, B, C, D) KERNEL_CASE(name)
#define KERNEL_5(name, A, B, C, D, E) KERNEL_CASE(name)
#include "kernels.def"
    case DEMO_KERNEL_COUNT:
        break;
    }
}
