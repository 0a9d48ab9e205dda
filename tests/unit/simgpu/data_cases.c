/* SPDX-License-Identifier: Apache-2.0 */
/* Cases about data: what is in memory after what, arguments, addresses, and errors as CUDA returns them. */
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

enum { COUNT = 1000 };

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr device;

    OK(cuMemAlloc_v2(&device, bytes));
    return device;
}

/* The data show when something ran: a missing wait reads what was there before. */
void case_data_order(void)
{
    struct kernels kernels = start();
    CUdeviceptr device = allocate(COUNT * 4);
    int32_t *pinned, pageable[COUNT];
    CUstream first, second;
    void *memory;
    CUevent done;

    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    OK(cuMemHostAlloc(&memory, COUNT * 4, 0));
    pinned = memory;

    /* In order on one stream; fresh memory is zero. */
    launch_add(&kernels, device, 7, COUNT, first);
    launch_add(&kernels, device, 1, COUNT, first);
    OK(cuMemcpyDtoHAsync_v2(pinned, device, COUNT * 4, first));
    REQUIRE(pinned[0] == 0); /* nothing has been waited for */
    OK(cuStreamSynchronize(first));
    REQUIRE(pinned[0] == 8 && pinned[COUNT - 1] == 8);

    /* Another stream that does not wait reads the old values, one that waits the new ones. */
    launch(kernels.wait_50ms, first); /* time enough, whatever else the machine does */
    launch_add(&kernels, device, 2, COUNT, first);
    done = record(first);
    OK(cuMemcpyDtoHAsync_v2(pageable, device, COUNT * 4, second));
    REQUIRE(pageable[5] == 8);
    OK(cuStreamWaitEvent(second, done, 0));
    OK(cuMemcpyDtoHAsync_v2(pageable, device, COUNT * 4, second));
    REQUIRE(pageable[5] == 10);

    /* The default stream of the program waits for blocking streams only. */
    launch(kernels.wait_50ms, first);
    launch_add(&kernels, device, 5, COUNT, first);
    OK(cuMemcpyDtoH_v2(pageable, device, COUNT * 4));
    REQUIRE(pageable[0] == 10);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(pageable, device, COUNT * 4));
    REQUIRE(pageable[0] == 15);

    /* An upload from pinned memory that is changed too early sends the wrong data; from pageable memory not. */
    pinned[0] = 100;
    OK(cuMemcpyHtoDAsync_v2(device, pinned, 4, first));
    pinned[0] = 200;
    OK(cuMemcpyDtoHAsync_v2(pageable, device, 4, first));
    REQUIRE(pageable[0] == 200);
    pageable[0] = 300;
    OK(cuMemcpyHtoDAsync_v2(device, pageable, 4, first));
    pageable[0] = 400;
    OK(cuMemcpyDtoHAsync_v2(pinned, device, 4, first));
    OK(cuStreamSynchronize(first));
    REQUIRE(pinned[0] == 300);

    /* A query that succeeds has seen the effects too. */
    launch_add(&kernels, device, 1, 1, first);
    OK(cuMemcpyDtoHAsync_v2(pinned, device, 4, first));
    while (cuStreamQuery(first) == CUDA_ERROR_NOT_READY) {
        usleep(200);
    }
    REQUIRE(pinned[0] == 301);
}

/* The API of before CUDA 4, in which a launch's shape and arguments are state of the function. */
static void launch_add_of_old(CUfunction add, CUdeviceptr data, int32_t value)
{
    CUcontext context;

    REQUIRE_RESULT(cuLaunchGrid(add, 1, 1), CUDA_ERROR_INVALID_VALUE); /* no block shape */
    REQUIRE_RESULT(cuFuncSetBlockShape(add, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetBlockShape(add, 32, 1, 1));
    OK(cuFuncSetSharedSize(add, 0));
    OK(cuParamSetv(add, 0, &data, sizeof(data)));
    OK(cuParamSeti(add, 8, (unsigned)value));
    OK(cuParamSeti(add, 12, COUNT));
    REQUIRE_RESULT(cuParamSetf(add, 4093, 1.0f), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuParamSetSize(add, 4097), CUDA_ERROR_INVALID_VALUE);
    OK(cuParamSetSize(add, 16));
    OK(cuLaunch(add));
    OK(cuLaunchGrid(add, 1, 1));
    OK(cuLaunchGridAsync(add, 1, 1, NULL));

    OK(cuCtxAttach(&context, 0));
    OK(cuCtxDetach(context)); /* still there */
    REQUIRE_RESULT(cuCtxDetach(NULL), CUDA_ERROR_INVALID_CONTEXT);
}

/* Arguments are those at the launch, whichever way they were given. */
void case_arguments(void)
{
    struct kernels kernels = start();
    CUdeviceptr device = allocate(COUNT * 4);
    struct {
        CUdeviceptr data;
        int32_t value, count;
    } packed = {device, 5, COUNT};
    struct {
        CUdeviceptr data;
        int64_t count;
        char pad[8];
    } twice = {device, COUNT, ""};
    size_t packed_bytes = sizeof(packed), offset, bytes;
    void *extra[] = {(void *)CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, &packed, (void *)CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT,
                     &packed_bytes, NULL};
    void *params[] = {&device, &packed.value, &packed.count};
    void *twice_params[] = {&twice};
    CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, NULL, NULL, 0};
    int32_t host[COUNT];

    OK(cuLaunchKernel(kernels.add, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    packed.value = 1000; /* too late for the first launch, in time for the second */
    OK(cuLaunchKernel(kernels.add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    OK(cuLaunchKernelEx(&config, kernels.twice, twice_params, NULL));
    OK(cuMemcpyDtoH_v2(host, device, sizeof(host)));
    REQUIRE(host[0] == 2010 && host[COUNT - 1] == 2010);
    launch_add_of_old(kernels.add, device, 7);
    OK(cuMemcpyDtoH_v2(host, device, sizeof(host)));
    REQUIRE(host[0] == 2031 && host[COUNT - 1] == 2031);

    packed_bytes = 8;
    REQUIRE_RESULT(cuLaunchKernel(kernels.add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuLaunchKernel(kernels.add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuLaunchKernel(kernels.disagrees, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
                   CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncGetParamInfo(kernels.add, 2, &offset, &bytes));
    REQUIRE(offset == 12 && bytes == 4);
    REQUIRE_RESULT(cuFuncGetParamInfo(kernels.add, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

/* Copies and memsets of rows. */
void case_geometry(void)
{
    unsigned char host[8][8], back[4][4];
    CUDA_MEMCPY2D copy = {0};
    CUdeviceptr device;
    size_t pitch;

    start();
    for (int y = 0; y < 8; y++) {
        for (int x = 0; x < 8; x++) {
            host[y][x] = (unsigned char)(10 * y + x);
        }
    }
    OK(cuMemAllocPitch_v2(&device, &pitch, 8, 8, 4));
    REQUIRE(pitch >= 8);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = 8;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = device;
    copy.dstPitch = pitch;
    copy.WidthInBytes = 8;
    copy.Height = 8;
    OK(cuMemcpy2D_v2(&copy));
    OK(cuMemsetD2D8_v2(device + 2 * pitch + 2, pitch, 255, 1, 2));
    copy = (CUDA_MEMCPY2D){
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = device, .srcPitch = pitch, .srcXInBytes = 2, .srcY = 2,
        .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 4, .WidthInBytes = 4, .Height = 4,
    };
    OK(cuMemcpy2D_v2(&copy));
    REQUIRE(back[0][0] == 255 && back[0][1] == 23 && back[1][0] == 255 && back[2][0] == 42 && back[3][3] == 55);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    REQUIRE_RESULT(cuMemcpy2D_v2(&copy), CUDA_ERROR_NOT_SUPPORTED);

    OK(cuMemsetD32_v2(device, 0x01020304, 4));
    OK(cuMemsetD16_v2(device + 4, 0x0506, 1));
    OK(cuMemcpyDtoH_v2(back, device, 8));
    REQUIRE(back[0][0] == 4 && back[0][3] == 1 && back[1][0] == 6 && back[1][1] == 5 && back[1][2] == 2);
    REQUIRE_RESULT(cuMemsetD32_v2(device + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

/* What programs read of a device before they use it: a data-centre GPU of our days. */
void case_device(void)
{
    static const struct {
        CUdevice_attribute which;
        int least;
    } attributes[] = {{1, 1024}, {10, 32}, {12, 65536}, {16, 100}, {39, 2048}, {81, 166912}, {97, 166912}, {83, 1},
                      {89, 1}, {95, 1}, {102, 1}, {103, 1}, {106, 16}, {115, 1}, {129, 1}};
    CUctxCreateParams params = {0};
    int value, major, minor;
    CUcontext context;
    CUdevice device;
    char id[16];

    OK(cuInit(0));
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        OK(cuDeviceGetAttribute(&value, attributes[i].which, 0));
        REQUIRE(value >= attributes[i].least);
    }
    OK(cuDeviceComputeCapability(&major, &minor, 0));
    OK(cuDeviceGetAttribute(&value, 75, 0));
    REQUIRE(major == 8 && minor == 0 && value == major);
    OK(cuDeviceGetPCIBusId(id, sizeof(id), 0));
    OK(cuDeviceGetByPCIBusId(&device, id));
    REQUIRE(device == 0);
    REQUIRE_RESULT(cuDeviceGetByPCIBusId(&device, "0000:ff:00.0"), CUDA_ERROR_INVALID_DEVICE);
    OK(cuCtxCreate_v4(&context, &params, 0, 0));
    OK(cuCtxDestroy_v2(context));
    params.cigParams = (void *)&params;
    REQUIRE_RESULT(cuCtxCreate_v4(&context, &params, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

static unsigned memory_type(CUdeviceptr address)
{
    unsigned type = 77;

    return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS ? type : 0;
}

void case_memory(void)
{
    struct kernels kernels = start();
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    CUdeviceptr device = allocate(1 << 20), managed, pooled, base;
    size_t free_before, free_after, total, bytes;
    char *own = calloc(1, 8192);
    unsigned type = 77;
    int ordinal = 77;
    void *values[] = {&type, &ordinal}, *pinned;
    CUmemoryPool pool;

    OK(cuMemAllocManaged(&managed, 100, 1));
    OK(cuMemHostAlloc(&pinned, 100, 0));
    REQUIRE(memory_type(device) == CU_MEMORYTYPE_DEVICE && memory_type(device + 500) == CU_MEMORYTYPE_DEVICE);
    REQUIRE(memory_type((CUdeviceptr)(uintptr_t)pinned) == CU_MEMORYTYPE_HOST);
    REQUIRE(memory_type((CUdeviceptr)(uintptr_t)own) == 0);
    OK(cuPointerGetAttributes(2, wanted, values, (CUdeviceptr)(uintptr_t)own));
    REQUIRE(type == 0 && ordinal == -2);
    OK(cuMemHostRegister_v2(own, 8192, 0));
    REQUIRE(memory_type((CUdeviceptr)(uintptr_t)own + 100) == CU_MEMORYTYPE_HOST);
    REQUIRE_RESULT(cuMemHostRegister_v2(own + 100, 10, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostUnregister(own));
    REQUIRE_RESULT(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemGetAddressRange_v2(&base, &bytes, device + 77));
    REQUIRE(base == device && bytes == 1 << 20);

    OK(cuMemGetInfo_v2(&free_before, &total));
    OK(cuMemFree_v2(device));
    OK(cuMemGetInfo_v2(&free_after, &total));
    REQUIRE(free_after == free_before + (1 << 20) && free_after <= total);
    REQUIRE_RESULT(cuMemFree_v2(device), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemAlloc_v2(&device, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 0), CUDA_ERROR_INVALID_VALUE);

    /* Stream-ordered: the memory is there until the stream gets to the free. */
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocFromPoolAsync(&pooled, 4000, pool, NULL));
    launch_add(&kernels, pooled, 3, COUNT, NULL);
    OK(cuMemFreeAsync(pooled, NULL));
    REQUIRE(memory_type(pooled) == CU_MEMORYTYPE_DEVICE);
    OK(cuStreamSynchronize(NULL));
    REQUIRE(memory_type(pooled) == 0);
    free(own);
}

/* Two devices: a copy between them is one operation of the source that keeps both busy. */
void case_peer(void)
{
    struct kernels kernels = start();
    CUcontext other;
    CUdeviceptr here = allocate(1 << 20), there;
    int32_t value = 0;
    int can;

    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    REQUIRE(can == 1);
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    OK(cuCtxEnablePeerAccess(other, 0));
    REQUIRE_RESULT(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    OK(cuCtxPushCurrent_v2(other));
    there = allocate(1 << 20);
    OK(cuCtxPopCurrent_v2(NULL));
    launch_add(&kernels, here, 9, 100, NULL);
    OK(cuMemcpyPeerAsync(there, other, here, kernels.context, 1 << 20, NULL));
    OK(cuStreamSynchronize(NULL));
    OK(cuMemcpyDtoH_v2(&value, there, 4));
    REQUIRE(value == 9);
}

void case_errors(void)
{
    struct kernels kernels;
    CUdeviceptr device, other_device, variable;
    CUcontext context;
    CUfunction function;
    CUmodule module;
    const char *text;
    CUevent event;
    int value;
    void *table = &value;

    REQUIRE_RESULT(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 4), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuDriverGetVersion(&value));
    REQUIRE(value == 13000);
    REQUIRE_RESULT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 4), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_RESULT(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxGetCurrent(&context));
    REQUIRE(context == NULL);
    REQUIRE_RESULT(cuDeviceGet(&value, 1), CUDA_ERROR_INVALID_DEVICE);
    REQUIRE_RESULT(cuCtxSetCurrent((CUcontext)&value), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_RESULT(cuCtxPopCurrent_v2(&context), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&device, 4));
    OK(cuCtxDestroy_v2(context));
    REQUIRE_RESULT(cuCtxDestroy_v2(context), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 4), CUDA_ERROR_INVALID_CONTEXT);

    kernels = start();
    OK(cuMemAlloc_v2(&device, 64));
    OK(cuMemAlloc_v2(&other_device, 64));
    REQUIRE_RESULT(cuMemcpyHtoD_v2(device, &value, 65), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)&value, &value, 4), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemcpyDtoH_v2(&value, 16, 4), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuMemcpyDtoDAsync_v2(device, other_device, 4, (CUstream)&value), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_RESULT(cuEventCreate(&event, 99), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuEventRecord((CUevent)kernels.module, NULL), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_RESULT(cuModuleGetFunction(&function, kernels.module, "not_there"), CUDA_ERROR_NOT_FOUND);
    REQUIRE_RESULT(cuModuleGetFunction(&function, (CUmodule)kernels.context, "x"), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_RESULT(cuModuleLoadData(&module, "no image at all"), CUDA_ERROR_INVALID_IMAGE);
    REQUIRE_RESULT(cuModuleLoad(&module, "/not/there.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    REQUIRE_RESULT(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_RESULT(cuLaunchKernel(kernels.add, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuLaunchKernel(kernels.add, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_RESULT(cuGetExportTable((const void **)&table, NULL), CUDA_ERROR_NOT_FOUND);
    REQUIRE(table == NULL);
    OK(cuGetErrorName(CUDA_ERROR_NOT_READY, &text));
    REQUIRE(strcmp(text, "CUDA_ERROR_NOT_READY") == 0);
    REQUIRE_RESULT(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);

    /* Unloading waits for what uses the variables. */
    OK(cuModuleGetGlobal_v2(&variable, NULL, kernels.module, "table"));
    launch(kernels.wait_5ms, NULL);
    OK(cuMemcpyHtoDAsync_v2(variable, &value, sizeof(value), NULL));
    REQUIRE_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuModuleUnload(kernels.module));
    OK(cuStreamQuery(NULL));
    REQUIRE_RESULT(cuFuncLoad(kernels.wait_1ms), CUDA_ERROR_INVALID_HANDLE);
}

void case_ptx(void)
{
    static const unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    static const char *const broken[] = {
        ".target sm_80\n.entry k() { ret; }", ".version 8.0\n.entry k(.param .u64", ".version 8.0\n.entry k() {",
        ".version 8.0\n.entry k(.param x) { ret; }", ".version 8.0\n.entry",
    };
    struct kernels kernels = start();
    CUfunction functions[16], by_name;
    CUdeviceptr address;
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;
    const char *name;
    unsigned count;
    size_t bytes;

    OK(cuModuleGetFunctionCount(&count, kernels.module));
    REQUIRE(count == 6);
    OK(cuModuleEnumerateFunctions(functions, 16, kernels.module));
    OK(cuFuncGetName(&name, functions[1]));
    REQUIRE(strcmp(name, "wait_5ms") == 0);
    OK(cuModuleGetGlobal_v2(&address, &bytes, kernels.module, "table"));
    REQUIRE(bytes == 64 && address != 0);
    OK(cuModuleGetGlobal_v2(NULL, &bytes, kernels.module, "limits"));
    REQUIRE(bytes == 24);
    REQUIRE_RESULT(cuModuleGetGlobal_v2(&address, &bytes, kernels.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        REQUIRE_RESULT(cuModuleLoadData(&module, broken[i]), CUDA_ERROR_INVALID_PTX);
    }

    /* A binary has every function that is asked for, always the same one. */
    OK(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "_Z8unet_2msPfi"));
    OK(cuKernelGetFunction(&by_name, kernel));
    OK(cuLibraryGetModule(&module, library));
    OK(cuModuleGetFunction(&functions[0], module, "_Z8unet_2msPfi"));
    REQUIRE(functions[0] == by_name);
    launch(by_name, NULL);
    OK(cuCtxSynchronize());
    OK(cuLibraryUnload(library));
}

/* SIMGPU_FAULTS=launch-fail=3 */
void case_launch_fail(void)
{
    struct kernels kernels = start();
    CUcontext context;
    CUdeviceptr device;

    launch(kernels.wait_1ms, NULL);
    launch(kernels.wait_1ms, NULL);
    REQUIRE_RESULT(cuLaunchKernel(kernels.wait_1ms, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE_RESULT(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 4), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuCtxGetCurrent(&context));
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuMemAlloc_v2(&device, 4));
    launch(kernels.wait_1ms, NULL);
    OK(cuCtxSynchronize());
}

/* SIMGPU_FAULTS=malloc-fail=2 */
void case_malloc_fail(void)
{
    CUdeviceptr device;

    start();
    OK(cuMemAlloc_v2(&device, 4));
    REQUIRE_RESULT(cuMemAlloc_v2(&device, 4), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc_v2(&device, 4));
}

/* Launches and waits; the harness sets faults and looks at how it ends. */
void case_launches(void)
{
    struct kernels kernels = start();

    for (int i = 0; i < 10; i++) {
        launch(kernels.wait_1ms, NULL);
        OK(cuCtxSynchronize());
    }
}

void case_forever(void)
{
    struct kernels kernels = start();

    for (;;) {
        launch(kernels.wait_1ms, NULL);
        OK(cuCtxSynchronize());
    }
}

void case_init(void)
{
    CUresult result = cuInit(0);

    printf("%d\n", (int)result);
}

/* A child of an initialised process is refused; a child forked before that is a process of its own. */
void case_fork(void)
{
    struct kernels kernels;
    int status, count;
    pid_t child;

    OK(cuDriverGetVersion(&count)); /* opens the truth */
    child = fork();
    if (child == 0) {
        kernels = start();
        launch(kernels.wait_1ms, NULL);
        OK(cuCtxSynchronize());
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    kernels = start();
    launch(kernels.wait_1ms, NULL);
    child = fork();
    if (child == 0) {
        REQUIRE_RESULT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        REQUIRE_RESULT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    OK(cuCtxSynchronize());
}
