/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device layer on the CUDA driver API. Own minimal declarations (no cuda.h needed to build); linked
 * against libcuda.so.1 by name, so that whatever the loader finds – NVIDIA's or the simulated one – is used.
 */
#include "device.h"
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long cu_address;
typedef void *cu_object;

int cuInit(unsigned flags);
int cuGetErrorName(int error, const char **name);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int length, int device);
int cuDevicePrimaryCtxRetain(cu_object *context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(cu_object context);
int cuModuleLoadData(cu_object *module, const void *image);
int cuModuleUnload(cu_object module);
int cuModuleGetFunction(cu_object *function, cu_object module, const char *name);
int cuMemAlloc_v2(cu_address *address, size_t bytes);
int cuMemFree_v2(cu_address address);
int cuMemHostAlloc(void **host, size_t bytes, unsigned flags);
int cuMemFreeHost(void *host);
int cuMemcpyHtoD_v2(cu_address to, const void *from, size_t bytes);
int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_object stream);
int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_object stream);
int cuMemsetD8Async(cu_address to, unsigned char value, size_t bytes, cu_object stream);
int cuStreamCreate(cu_object *stream, unsigned flags);
int cuStreamDestroy_v2(cu_object stream);
int cuStreamSynchronize(cu_object stream);
int cuStreamWaitEvent(cu_object stream, cu_object event, unsigned flags);
int cuEventCreate(cu_object *event, unsigned flags);
int cuEventDestroy_v2(cu_object event);
int cuEventRecord(cu_object event, cu_object stream);
int cuStreamBeginCapture_v2(cu_object stream, int mode);
int cuStreamEndCapture(cu_object stream, cu_object *graph);
int cuGraphInstantiateWithFlags(cu_object *executable, cu_object graph, unsigned long long flags);
int cuGraphLaunch(cu_object executable, cu_object stream);
int cuGraphExecDestroy(cu_object executable);
int cuGraphDestroy(cu_object graph);
int cuLaunchKernel(cu_object function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_object stream, void **params,
                   void **extra);

#define STREAM_NON_BLOCKING 1u
#define EVENT_DISABLE_TIMING 2u
#define CAPTURE_THREAD_LOCAL 1
#define BLOCK 128u

extern const char demo_ptx[];
const char demo_device_api[] = "driver API";

static int device;
static cu_object module;
static cu_object functions[DEMO_KERNEL_COUNT];

#define KERNEL_1(name, A) #name,
#define KERNEL_2(name, A, B) #name,
#define KERNEL_3(name, A, B, C) #name,
#define KERNEL_4(name, A, B, C, D) #name,
#define KERNEL_5(name, A, B, C, D, E) #name,
static const char *const kernel_names[DEMO_KERNEL_COUNT] = {
#include "kernels.def"
};
#undef KERNEL_1
#undef KERNEL_2
#undef KERNEL_3
#undef KERNEL_4
#undef KERNEL_5

static void check(int error, const char *call, const char *what)
{
    if (error == 0) {
        return;
    }
    const char *name = NULL;
    if (cuGetErrorName(error, &name) != 0 || !name) {
        name = "unknown error";
    }
    fprintf(stderr, "generate: %s(%s) failed: %s (%d)\n", call, what, name, error);
    exit(1);
}

static cu_address address(const void *pointer)
{
    return (cu_address)(uintptr_t)pointer;
}

void demo_device_open(char *ret_name, size_t size)
{
    cu_object context = NULL;
    check(cuInit(0), "cuInit", "0");
    check(cuDeviceGet(&device, 0), "cuDeviceGet", "0");
    check(cuDeviceGetName(ret_name, (int)size, device), "cuDeviceGetName", "0");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain", "0");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent", "primary");
    check(cuModuleLoadData(&module, demo_ptx), "cuModuleLoadData", "kernels.ptx");
    for (int i = 0; i < DEMO_KERNEL_COUNT; i++) {
        check(cuModuleGetFunction(&functions[i], module, kernel_names[i]), "cuModuleGetFunction",
              kernel_names[i]);
    }
}

void demo_device_close(void)
{
    check(cuModuleUnload(module), "cuModuleUnload", "kernels.ptx");
    check(cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease", "0");
}

void *demo_device_alloc(size_t bytes)
{
    cu_address memory = 0;
    check(cuMemAlloc_v2(&memory, bytes), "cuMemAlloc", "device memory");
    return (void *)(uintptr_t)memory;
}

void demo_device_free(void *memory)
{
    if (memory) {
        check(cuMemFree_v2(address(memory)), "cuMemFree", "device memory");
    }
}

void *demo_device_alloc_pinned(size_t bytes)
{
    void *memory = NULL;
    check(cuMemHostAlloc(&memory, bytes, 0), "cuMemHostAlloc", "pinned memory");
    return memory;
}

void demo_device_free_pinned(void *memory)
{
    if (memory) {
        check(cuMemFreeHost(memory), "cuMemFreeHost", "pinned memory");
    }
}

void *demo_device_stream_create(void)
{
    cu_object stream = NULL;
    check(cuStreamCreate(&stream, STREAM_NON_BLOCKING), "cuStreamCreate", "non-blocking");
    return stream;
}

void demo_device_stream_destroy(void *stream)
{
    if (stream) {
        check(cuStreamDestroy_v2(stream), "cuStreamDestroy", "stream");
    }
}

void demo_device_stream_wait(void *stream)
{
    check(cuStreamSynchronize(stream), "cuStreamSynchronize", "stream");
}

void *demo_device_event_create(void)
{
    cu_object event = NULL;
    check(cuEventCreate(&event, EVENT_DISABLE_TIMING), "cuEventCreate", "no timing");
    return event;
}

void demo_device_event_destroy(void *event)
{
    if (event) {
        check(cuEventDestroy_v2(event), "cuEventDestroy", "event");
    }
}

void demo_device_join(void *later, void *earlier, void *event)
{
    check(cuEventRecord(event, earlier), "cuEventRecord", "event");
    check(cuStreamWaitEvent(later, event, 0), "cuStreamWaitEvent", "event");
}

void demo_device_capture_begin(void *stream)
{
    check(cuStreamBeginCapture_v2(stream, CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", "stream");
}

void *demo_device_capture_end(void *stream)
{
    cu_object recorded = NULL, graph = NULL;
    check(cuStreamEndCapture(stream, &recorded), "cuStreamEndCapture", "stream");
    check(cuGraphInstantiateWithFlags(&graph, recorded, 0), "cuGraphInstantiate", "graph");
    check(cuGraphDestroy(recorded), "cuGraphDestroy", "graph");
    return graph;
}

void demo_device_graph_launch(void *graph, void *stream)
{
    check(cuGraphLaunch(graph, stream), "cuGraphLaunch", "graph");
}

void demo_device_graph_destroy(void *graph)
{
    if (graph) {
        check(cuGraphExecDestroy(graph), "cuGraphExecDestroy", "graph");
    }
}

void demo_device_upload_now(void *to, const void *host, size_t bytes)
{
    check(cuMemcpyHtoD_v2(address(to), host, bytes), "cuMemcpyHtoD", "upload");
}

void demo_device_upload(void *to, const void *host, size_t bytes, void *stream)
{
    check(cuMemcpyHtoDAsync_v2(address(to), host, bytes, stream), "cuMemcpyHtoDAsync", "upload");
}

void demo_device_download(void *host, const void *from, size_t bytes, void *stream)
{
    check(cuMemcpyDtoHAsync_v2(host, address(from), bytes, stream), "cuMemcpyDtoHAsync", "download");
}

void demo_device_zero(void *memory, size_t bytes, void *stream)
{
    check(cuMemsetD8Async(address(memory), 0, bytes, stream), "cuMemsetD8Async", "zero");
}

void demo_device_launch(enum demo_kernel kernel, int32_t count, void **params, void *stream)
{
    unsigned blocks = ((unsigned)count + BLOCK - 1) / BLOCK;
    check(cuLaunchKernel(functions[kernel], blocks, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL), "cuLaunchKernel",
          kernel_names[kernel]);
}
