/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both runtimes and both libcupti in one process. They share the device's memory and the primary context; each
 * libcupti tells of all that either runtime did, and of a graph in the way that its own client asked for.
 */
#include <dlfcn.h>
#include <string.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/cupti/records.h"

#define BUFFER_BYTES 16384
#define N 1000

/* The functions of one major version that are called here. */
#define RUNTIME(F)                                                                                                     \
    F(void **, __cudaRegisterFatBinary, (void *))                                                                      \
    F(void, __cudaRegisterFunction,                                                                                    \
      (void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *))                       \
    F(int, cudaRuntimeGetVersion, (int *))                                                                             \
    F(int, cudaMalloc, (void **, size_t))                                                                              \
    F(int, cudaMemset, (void *, int, size_t))                                                                          \
    F(int, cudaMemcpy, (void *, const void *, size_t, int))                                                            \
    F(int, cudaLaunchKernel, (const void *, struct sim_dim3, struct sim_dim3, void **, size_t, void *))                \
    F(int, cudaStreamCreateWithFlags, (void **, unsigned))                                                             \
    F(int, cudaStreamSynchronize, (void *))                                                                            \
    F(int, cudaStreamBeginCapture, (void *, int))                                                                      \
    F(int, cudaStreamEndCapture, (void *, void **))                                                                    \
    F(int, cudaGraphInstantiate, (void **, void *, unsigned long long))                                                \
    F(int, cudaGraphLaunch, (void *, void *))                                                                          \
    F(int, cudaDeviceReset, (void))
#define CUPTI(F)                                                                                                       \
    F(int, cuptiGetVersion, (uint32_t *))                                                                              \
    F(int, cuptiActivityRegisterCallbacks,                                                                             \
      (void (*)(uint8_t **, size_t *, size_t *), void (*)(void *, uint32_t, uint8_t *, size_t, size_t)))               \
    F(int, cuptiActivityEnable, (uint32_t))                                                                            \
    F(int, cuptiActivityFlushAll, (uint32_t))                                                                          \
    F(int, cuptiActivityGetNextRecord, (uint8_t *, size_t, void **))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct major {
    RUNTIME(MEMBER)
    CUPTI(MEMBER)
    int kernels, whole;
} majors[2]; /* 12, 13; with the records that were counted */

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry work_20us()\n{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static const struct sim_dim3 one = {1, 1, 1};

HOST_STUB(work)

static void open_major(struct major *m, const char *runtime, const char *cupti)
{
    void *library = dlopen(runtime, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
#define FIND(result, name, parameters)                                                                                 \
    *(void **)&m->name = dlsym(library, #name);                                                                        \
    CHECK(m->name != NULL);
    RUNTIME(FIND)
    library = dlopen(cupti, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    CUPTI(FIND)
}

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *max_records = 0;
}

static void count(struct major *m, uint8_t *buffer, size_t valid_bytes)
{
    void *record = NULL;
    while (m->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == 0) {
        m->kernels += *(const uint32_t *)record == SIM_KIND_CONCURRENT_KERNEL;
        m->whole += *(const uint32_t *)record == SIM_KIND_GRAPH_TRACE;
    }
    free(buffer);
}

static void complete_12(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    count(&majors[0], buffer, valid_bytes);
}

static void complete_13(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    count(&majors[1], buffer, valid_bytes);
}

/* Three launches, two of them as the nodes of a graph that runs twice: five kernels. */
static void work(struct major *m)
{
    void *stream, *graph, *exec;
    void **handle = m->__cudaRegisterFatBinary(&fatbin);
    m->__cudaRegisterFunction(handle, (const char *)work_stub, NULL, "work_20us", -1, 0, 0, 0, 0, 0);
    CHECK_EQ(m->cudaStreamCreateWithFlags(&stream, 1), 0);
    CHECK_EQ(m->cudaLaunchKernel((void *)work_stub, one, one, NULL, 0, stream), 0);
    CHECK_EQ(m->cudaStreamBeginCapture(stream, 0), 0);
    CHECK_EQ(m->cudaLaunchKernel((void *)work_stub, one, one, NULL, 0, stream), 0);
    CHECK_EQ(m->cudaLaunchKernel((void *)work_stub, one, one, NULL, 0, stream), 0);
    CHECK_EQ(m->cudaStreamEndCapture(stream, &graph), 0);
    CHECK_EQ(m->cudaGraphInstantiate(&exec, graph, 0), 0);
    CHECK_EQ(m->cudaGraphLaunch(exec, stream), 0);
    CHECK_EQ(m->cudaGraphLaunch(exec, stream), 0);
    CHECK_EQ(m->cudaStreamSynchronize(stream), 0);
}

int main(void)
{
    struct major *m12 = &majors[0], *m13 = &majors[1];
    int number = 0;
    uint32_t cupti = 0;
    char host[N];
    void *memory;
    open_major(m12, "libcudart.so.12", "libcupti.so.12");
    open_major(m13, "libcudart.so.13", "libcupti.so.13");
    CHECK(m12->cudaMalloc != m13->cudaMalloc && m12->cuptiGetVersion != m13->cuptiGetVersion);
    CHECK(m12->cudaRuntimeGetVersion(&number) == 0 && number == 12080);
    CHECK(m13->cudaRuntimeGetVersion(&number) == 0 && number == 13000);
    CHECK(m12->cuptiGetVersion(&cupti) == 0 && cupti == 26);
    CHECK(m13->cuptiGetVersion(&cupti) == 0 && cupti == 130001);

    CHECK_EQ(m12->cuptiActivityRegisterCallbacks(request, complete_12), 0);
    CHECK_EQ(m13->cuptiActivityRegisterCallbacks(request, complete_13), 0);
    CHECK_EQ(m12->cuptiActivityEnable(SIM_KIND_CONCURRENT_KERNEL), 0);
    CHECK_EQ(m13->cuptiActivityEnable(SIM_KIND_CONCURRENT_KERNEL), 0);
    CHECK_EQ(m13->cuptiActivityEnable(SIM_KIND_GRAPH_TRACE), 0);
    work(m12);
    work(m13);
    CHECK_EQ(m12->cuptiActivityFlushAll(0), 0);
    CHECK_EQ(m13->cuptiActivityFlushAll(0), 0);
    CHECK_EQ(m12->kernels, 10);
    CHECK_EQ(m12->whole, 0);
    CHECK_EQ(m13->kernels, 2);
    CHECK_EQ(m13->whole, 4);

    CHECK_EQ(m12->cudaMalloc(&memory, N), 0);
    CHECK_EQ(m13->cudaMemset(memory, 7, N), 0);
    CHECK_EQ(m12->cudaMemcpy(host, memory, N, SIM_DEVICE_TO_HOST), 0);
    CHECK(host[0] == 7 && host[N - 1] == 7);
    CHECK_EQ(m12->cudaDeviceReset(), 0); /* of the context that both use: the other one makes it again */
    CHECK_EQ(m13->cudaMalloc(&memory, N), 0);
    CHECK_EQ(m13->cudaMemset(memory, 1, N), 0);
    return 0;
}
