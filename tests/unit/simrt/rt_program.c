/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime-API program as nvcc would make it, with the registration calls written by hand.
 *   rt_program compute | errors | no-driver
 */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "cudart_api.h"

#define N 4096
#define BYTES (N * sizeof(float))

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry saxpy_50us(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)\n"
                          "{\n    ret;\n}\n"
                          ".visible .entry slow_100ms()\n{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static void **module_handle;
static int table_variable; /* the host shadow of a __device__ variable */

HOST_STUB(saxpy)
HOST_STUB(slow)
HOST_STUB(absent)

__attribute__((constructor)) static void register_all(void)
{
    module_handle = __cudaRegisterFatBinary(&fatbin);
    __cudaRegisterFunction(module_handle, (const char *)saxpy_stub, NULL, "saxpy_50us", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(module_handle, (const char *)slow_stub, NULL, "slow_100ms", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(module_handle, (char *)&table_variable, NULL, "table_variable", 0, 256, 0, 0);
    __cudaRegisterFatBinaryEnd(module_handle);
}

__attribute__((destructor)) static void unregister_all(void)
{
    __cudaUnregisterFatBinary(module_handle);
}

static const struct sim_dim3 grid = {N / 256, 1, 1}, block = {256, 1, 1}, one = {1, 1, 1};

struct vectors {
    float host_x[N], host_y[N];
    float *x, *y;
    float a;
    int n;
    void *args[4];
};

static void vectors_make(struct vectors *v)
{
    for (int i = 0; i < N; i++) {
        v->host_x[i] = (float)i;
        v->host_y[i] = 1;
    }
    v->a = 2;
    v->n = N;
    CHECK_EQ(cudaMalloc((void **)&v->x, BYTES), 0);
    CHECK_EQ(cudaMalloc((void **)&v->y, BYTES), 0);
    void *args[] = {&v->a, &v->x, &v->y, &v->n};
    memcpy(v->args, args, sizeof(args));
    CHECK_EQ(cudaMemcpy(v->x, v->host_x, BYTES, SIM_HOST_TO_DEVICE), 0);
    CHECK_EQ(cudaMemcpy(v->y, v->host_y, BYTES, SIM_DEFAULT), 0);
}

static void vectors_check(struct vectors *v, int times)
{
    for (int i = 0; i < N; i++) {
        CHECK(v->host_y[i] == 1 + 2.0f * (float)times * (float)i);
    }
}

static void launch_every_way(struct vectors *v)
{
    struct sim_dim3 g, b;
    size_t shared;
    void *stream, *kernel = NULL;
    CHECK_EQ(__cudaPushCallConfiguration(grid, block, 0, NULL), 0);
    CHECK_EQ(__cudaPopCallConfiguration(&g, &b, &shared, &stream), 0);
    CHECK(g.x == grid.x && b.x == block.x && shared == 0 && stream == NULL);
    CHECK_EQ(cudaLaunchKernel((void *)saxpy_stub, g, b, v->args, shared, stream), 0);
    CHECK_EQ(__cudaGetKernel(&kernel, (void *)saxpy_stub), 0);
    CHECK_EQ(__cudaLaunchKernel(kernel, grid, block, v->args, 0, NULL), 0);
    CHECK_EQ(cudaLaunchKernel(kernel, grid, block, v->args, 0, NULL), 0);
    CHECK_EQ(cudaLaunchCooperativeKernel((void *)saxpy_stub, grid, block, v->args, 0, NULL), 0);
    struct sim_launch_config config = {grid, block, 0, NULL, NULL, 0};
    CHECK_EQ(cudaLaunchKernelExC(&config, (void *)saxpy_stub, v->args), 0);
    CHECK_EQ(cudaMemcpy(v->host_y, v->y, BYTES, SIM_DEVICE_TO_HOST), 0);
    vectors_check(v, 5);
}

static void *other_thread(void *unused)
{
    static struct vectors v;
    vectors_make(&v);
    CHECK_EQ(cudaLaunchKernel_ptsz((void *)saxpy_stub, grid, block, v.args, 0, NULL), 0);
    CHECK_EQ(cudaMemcpyAsync_ptsz(v.host_y, v.y, BYTES, SIM_DEVICE_TO_HOST, NULL), 0);
    CHECK_EQ(cudaStreamSynchronize_ptsz(NULL), 0);
    vectors_check(&v, 1);
    CHECK_EQ(cudaMemcpy_ptds(v.host_y, v.x, BYTES, SIM_DEVICE_TO_HOST), 0);
    CHECK(memcmp(v.host_y, v.host_x, BYTES) == 0);
    return unused;
}

static void count_up(void *counter)
{
    ++*(int *)counter;
}

static void streams_and_events(struct vectors *v)
{
    void *stream, *begin, *end;
    float ms = 0;
    int called = 0, capturing = 1;
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, 1), 0);
    CHECK_EQ(cudaEventCreate(&begin), 0);
    CHECK_EQ(cudaEventCreateWithFlags(&end, 0), 0);
    CHECK_EQ(cudaStreamIsCapturing(stream, &capturing), 0);
    CHECK_EQ(capturing, 0);
    CHECK_EQ(cudaEventRecord(begin, stream), 0);
    CHECK_EQ(cudaLaunchKernel((void *)slow_stub, one, one, NULL, 0, stream), 0);
    CHECK_EQ(cudaEventRecord(end, stream), 0);
    CHECK_EQ(cudaLaunchHostFunc(stream, count_up, &called), 0);
    CHECK_EQ(cudaStreamQuery(stream), 600);
    CHECK_EQ(cudaGetLastError(), 600);
    CHECK_EQ(cudaEventQuery(end), 600);
    CHECK_EQ(cudaStreamWaitEvent(NULL, end, 0), 0);
    CHECK_EQ(cudaEventSynchronize(end), 0);
    CHECK_EQ(cudaEventElapsedTime(&ms, begin, end), 0);
    CHECK(ms >= 100.0f && ms < 101.0f);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    CHECK_EQ(called, 1);
    CHECK_EQ(cudaStreamQuery(stream), 0);
    CHECK_EQ(cudaEventDestroy(begin), 0);
    CHECK_EQ(cudaEventDestroy(end), 0);
    CHECK_EQ(cudaStreamDestroy(stream), 0);
    cudaGetLastError();
}

static void memory_questions(struct vectors *v)
{
    struct sim_pointer_attributes a;
    size_t free_bytes = 0, total_bytes = 0, pitch = 0;
    void *pinned = NULL, *pitched = NULL, *async = NULL;
    CHECK_EQ(cudaPointerGetAttributes(&a, v->x), 0);
    CHECK(a.type == 2 && a.device == 0 && a.devicePointer == v->x);
    CHECK_EQ(cudaPointerGetAttributes(&a, v->host_x), 0);
    CHECK(a.type == 0 && a.device == -2);
    CHECK_EQ(cudaMallocHost(&pinned, 4096), 0);
    CHECK_EQ(cudaPointerGetAttributes(&a, pinned), 0);
    CHECK(a.type == 1 && a.hostPointer == pinned);
    CHECK_EQ(cudaFreeHost(pinned), 0);
    CHECK_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), 0);
    CHECK(free_bytes > 0 && free_bytes <= total_bytes);
    CHECK_EQ(cudaHostRegister(v->host_x, BYTES, 0), 0);
    CHECK_EQ(cudaHostUnregister(v->host_x), 0);
    CHECK_EQ(cudaMallocAsync(&async, 100, NULL), 0);
    CHECK_EQ(cudaFreeAsync(async, NULL), 0);

    unsigned char rows[4][10], back[4][10];
    for (int i = 0; i < 40; i++) {
        rows[i / 10][i % 10] = (unsigned char)i;
    }
    CHECK_EQ(cudaMallocPitch(&pitched, &pitch, 10, 4), 0);
    CHECK(pitch >= 10);
    CHECK_EQ(cudaMemcpy2D(pitched, pitch, rows, 10, 10, 4, SIM_HOST_TO_DEVICE), 0);
    CHECK_EQ(cudaMemset2D(pitched, pitch, 7, 3, 2), 0);
    CHECK_EQ(cudaMemcpy2D(back, 10, pitched, pitch, 10, 4, SIM_DEVICE_TO_HOST), 0);
    CHECK(back[0][0] == 7 && back[1][2] == 7 && back[1][3] == 13 && back[2][0] == 20 && back[3][9] == 39);
    CHECK_EQ(cudaFree(pitched), 0);
}

static void symbols(void)
{
    char text[] = "in a device variable", back[sizeof(text)];
    size_t bytes = 0;
    CHECK_EQ(cudaGetSymbolSize(&bytes, &table_variable), 0);
    CHECK_EQ(bytes, 256);
    CHECK_EQ(cudaMemcpyToSymbol(&table_variable, text, sizeof(text), 100, SIM_HOST_TO_DEVICE), 0);
    CHECK_EQ(cudaMemcpyFromSymbol(back, &table_variable, sizeof(text), 100, SIM_DEVICE_TO_HOST), 0);
    CHECK(strcmp(text, back) == 0);
    CHECK_EQ(cudaMemcpyToSymbol(&table_variable, text, sizeof(text), 250, SIM_HOST_TO_DEVICE), 1);
    CHECK_EQ(cudaGetSymbolSize(&bytes, &bytes), 13);
    CHECK_EQ(cudaGetLastError(), 13);
}

static void device_questions(void)
{
    struct sim_device_prop p;
    struct sim_func_attributes f;
    const char *name = NULL;
    void *function = NULL;
    int count = 0, device = -1, value = 0, blocks = 0, status = -1, driver = 0, runtime = 0;
    CHECK_EQ(cudaGetDeviceCount(&count), 0);
    CHECK(count >= 1);
    CHECK_EQ(cudaGetDevice(&device), 0);
    CHECK_EQ(device, 0);
    CHECK_EQ(cudaGetDeviceProperties(&p, 0), 0);
    CHECK(strstr(p.name, "SimGPU") != NULL);
    CHECK(p.warpSize == 32 && p.major >= 8 && p.multiProcessorCount > 0 && p.maxThreadsPerMultiProcessor > 0);
    CHECK(p.sharedMemPerBlockOptin > p.sharedMemPerBlock && p.totalGlobalMem > 0 && p.unifiedAddressing == 1);
    CHECK_EQ(cudaDeviceGetAttribute(&value, 10, 0), 0);
    CHECK_EQ(value, 32);
    CHECK_EQ(cudaFuncGetAttributes(&f, (void *)saxpy_stub), 0);
    CHECK(f.maxThreadsPerBlock > 0);
    CHECK_EQ(cudaFuncGetName(&name, (void *)saxpy_stub), 0);
    CHECK(strcmp(name, "saxpy_50us") == 0);
    CHECK_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (void *)saxpy_stub, 256, 0), 0);
    CHECK(blocks > 0);
    CHECK_EQ(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000, 0, &status), 0);
    CHECK(function != NULL && status == 0);
    CHECK_EQ(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, 0, &status), 0);
    CHECK(function == NULL && status == 1);
    CHECK_EQ(cudaDriverGetVersion(&driver), 0);
    CHECK_EQ(cudaRuntimeGetVersion(&runtime), 0);
    CHECK(driver >= 13000 && runtime == SIM_CUDA_VERSION);
}

static int compute(void)
{
    static struct vectors v;
    pthread_t thread;
    vectors_make(&v);
    launch_every_way(&v);
    CHECK_EQ(pthread_create(&thread, NULL, other_thread, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    streams_and_events(&v);
    memory_questions(&v);
    symbols();
    device_questions();
    CHECK_EQ(cudaMemset(v.x, 0, BYTES), 0);
    CHECK_EQ(cudaMemcpy(v.host_x, v.x, BYTES, SIM_DEVICE_TO_HOST), 0);
    CHECK(v.host_x[1] == 0 && v.host_x[N - 1] == 0);
    CHECK_EQ(cudaFree(v.x), 0);
    CHECK_EQ(cudaFree(v.y), 0);
    CHECK_EQ(cudaFree(NULL), 0);
    CHECK_EQ(cudaGetLastError(), 0);
    CHECK_EQ(cudaDeviceReset(), 0);
    CHECK_EQ(cudaMalloc((void **)&v.x, BYTES), 0); /* a reset device comes back on the next call */
    return 0;
}

/* Each failing call sets the thread's last error; only cudaGetLastError clears it; success does not. */
static int errors(void)
{
    struct sim_dim3 zero = {0, 1, 1}, wide = {2048, 1, 1}, g, b;
    size_t shared;
    void *p, *stream;
    struct sim_device_prop prop;
    CHECK_EQ(cudaGetLastError(), 0);
    CHECK_EQ(cudaSetDevice(99), 101);
    CHECK_EQ(cudaSetDevice(0), 0);
    CHECK_EQ(cudaPeekAtLastError(), 101);
    CHECK_EQ(cudaGetLastError(), 101);
    CHECK_EQ(cudaGetLastError(), 0);
    CHECK_EQ(cudaGetDeviceProperties(&prop, -1), 101);
    CHECK_EQ(cudaMalloc(NULL, 1), 1);
    CHECK_EQ(cudaMalloc(&p, (size_t)1 << 60), 2);
    CHECK_EQ(cudaPeekAtLastError(), 2);
    CHECK_EQ(cudaMalloc(&p, 0), 0);
    CHECK(p == NULL);
    CHECK_EQ(cudaFree(&prop), 1);
    CHECK_EQ(cudaMemcpy(&p, &p, 8, 9), 21);
    CHECK_EQ(cudaMemcpy(NULL, NULL, 0, SIM_HOST_TO_DEVICE), 0);
    CHECK_EQ(cudaLaunchKernel((void *)absent_stub, one, one, NULL, 0, NULL), 98);
    CHECK_EQ(cudaLaunchKernel((void *)slow_stub, zero, one, NULL, 0, NULL), 9);
    CHECK_EQ(cudaLaunchKernel((void *)slow_stub, one, wide, NULL, 0, NULL), 9);
    CHECK_EQ(cudaGetLastError(), 9);
    CHECK_EQ(__cudaPopCallConfiguration(&g, &b, &shared, &stream), 52);
    CHECK_EQ(cudaGetLastError(), 52);
    CHECK_EQ(cudaGraphicsMapResources(), 801);
    CHECK(strcmp(cudaGetErrorName(98), "cudaErrorInvalidDeviceFunction") == 0);
    CHECK(strcmp(cudaGetErrorString(2), "out of memory") == 0);
    CHECK(strcmp(cudaGetErrorName(12345), "unrecognized error code") == 0);
    return 0;
}

/* With no libcuda to be found: the runtime says so and nothing crashes. */
static int no_driver(void)
{
    int count = 7, version = 7;
    void *p;
    CHECK_EQ(cudaGetDeviceCount(&count), 35);
    CHECK_EQ(count, 0);
    CHECK_EQ(cudaGetLastError(), 35);
    CHECK_EQ(cudaMalloc(&p, 16), 35);
    CHECK_EQ(cudaDriverGetVersion(&version), 0);
    CHECK_EQ(version, 0);
    CHECK_EQ(cudaLaunchKernel((void *)slow_stub, one, one, NULL, 0, NULL), 35);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "compute") == 0) {
        return compute();
    }
    if (strcmp(what, "errors") == 0) {
        return errors();
    }
    if (strcmp(what, "no-driver") == 0) {
        return no_driver();
    }
    fprintf(stderr, "usage: rt_program compute|errors|no-driver\n");
    return 2;
}
