/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUPTI activity client on simgpu. Runs copies, memsets and kernels through the runtime API and prints every
 * record as a line of JSON; test_simrt.py compares them with SIMGPU_TRUTH.
 *   cupti_client records [select] | status | hang | trap-{flush,cuda,finalize,fork}
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cudart_api.h"
#include "tests/simgpu/cupti/records.h"

#define BUFFER_BYTES (64 * 1024)
#define N 65536

int cuptiGetVersion(uint32_t *version);
int cuptiGetTimestamp(uint64_t *timestamp);
int cuptiSetThreadIdType(uint32_t type);
int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t));
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name);
int cuptiSubscribe(void **subscriber, void *callback, void *user_data);
int cuptiUnsubscribe(void *subscriber);
int cuptiFinalize(void);
int cuptiActivityEnableLatencyTimestamps(uint8_t enable);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry work_200us()\n{\n    ret;\n}\n"
                          ".visible .entry tail_400ms()\n{\n    ret;\n}\n";
static struct sim_fatbin_wrapper fatbin = {SIM_FATBIN_WRAPPER_MAGIC, 1, ptx, NULL};
static const struct sim_dim3 grid = {3, 2, 1}, block = {64, 2, 1};
static const char *what;
static int requested, completed;
static size_t last_buffer_records;

HOST_STUB(work)
HOST_STUB(tail)

static void request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
    __atomic_add_fetch(&requested, 1, __ATOMIC_RELAXED);
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *max_records = 0;
}

static const char *cbid_name(uint32_t cbid)
{
    const char *name = NULL;
    return cuptiGetCallbackName(1, cbid, &name) == 0 ? name : "";
}

static void print_record(const void *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    if (kind == SIM_KIND_CONCURRENT_KERNEL) {
        const struct sim_kernel_record *r = record;
        printf("{\"kind\":\"kernel\",\"name\":\"%s\",\"start\":%llu,\"end\":%llu,\"completed\":%llu,\"device\":%u,"
               "\"context\":%u,\"stream\":%u,\"correlation\":%u,\"grid\":[%d,%d,%d],\"block\":[%d,%d,%d]}\n",
               r->name, (unsigned long long)r->start, (unsigned long long)r->end, (unsigned long long)r->completed,
               r->deviceId, r->contextId, r->streamId, r->correlationId, r->gridX, r->gridY, r->gridZ, r->blockX,
               r->blockY, r->blockZ);
    } else if (kind == SIM_KIND_MEMCPY) {
        const struct sim_memcpy_record *r = record;
        printf("{\"kind\":\"memcpy\",\"start\":%llu,\"end\":%llu,\"device\":%u,\"context\":%u,\"stream\":%u,"
               "\"correlation\":%u,\"bytes\":%llu,\"copy_kind\":%u,\"source\":%u,\"target\":%u,\"flags\":%u}\n",
               (unsigned long long)r->start, (unsigned long long)r->end, r->deviceId, r->contextId, r->streamId,
               r->correlationId, (unsigned long long)r->bytes, r->copyKind, r->srcKind, r->dstKind, r->flags);
    } else if (kind == SIM_KIND_MEMCPY2) {
        const struct sim_peer_record *r = record;
        printf("{\"kind\":\"memcpy\",\"start\":%llu,\"end\":%llu,\"device\":%u,\"context\":%u,\"stream\":%u,"
               "\"correlation\":%u,\"bytes\":%llu,\"copy_kind\":%u,\"peer\":%u}\n",
               (unsigned long long)r->start, (unsigned long long)r->end, r->deviceId, r->contextId, r->streamId,
               r->correlationId, (unsigned long long)r->bytes, r->copyKind, r->dstDeviceId);
    } else if (kind == SIM_KIND_MEMSET) {
        const struct sim_memset_record *r = record;
        printf("{\"kind\":\"memset\",\"start\":%llu,\"end\":%llu,\"device\":%u,\"context\":%u,\"stream\":%u,"
               "\"correlation\":%u,\"bytes\":%llu}\n",
               (unsigned long long)r->start, (unsigned long long)r->end, r->deviceId, r->contextId, r->streamId,
               r->correlationId, (unsigned long long)r->bytes);
    } else if (kind == SIM_KIND_DRIVER) {
        const struct sim_api_record *r = record;
        printf("{\"kind\":\"api\",\"name\":\"%s\",\"start\":%llu,\"end\":%llu,\"thread\":%u,\"correlation\":%u,"
               "\"result\":%u}\n",
               cbid_name(r->cbid), (unsigned long long)r->start, (unsigned long long)r->end, r->threadId,
               r->correlationId, r->returnValue);
    } else if (kind == SIM_KIND_DEVICE) {
        const struct sim_device_record *r = record;
        printf("{\"kind\":\"device\",\"id\":%u,\"name\":\"%s\"}\n", r->id, r->name);
    } else {
        printf("{\"kind\":\"unknown\",\"number\":%u}\n", kind);
    }
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    void *record = NULL, *p;
    int result;
    __atomic_add_fetch(&completed, 1, __ATOMIC_RELAXED);
    last_buffer_records = 0;
    if (strcmp(what, "trap-flush") == 0) {
        cuptiActivityFlushAll(0);
    }
    if (strcmp(what, "trap-cuda") == 0) {
        cudaMalloc(&p, 16);
    }
    if (strcmp(what, "trap-finalize") == 0) {
        cuptiFinalize();
    }
    while ((result = cuptiActivityGetNextRecord(buffer, valid_bytes, &record)) == 0) {
        print_record(record);
        last_buffer_records++;
    }
    CHECK_EQ(result, 12);
    free(buffer);
}

static void enable(int select)
{
    static const uint32_t kinds[] = {SIM_KIND_CONCURRENT_KERNEL, SIM_KIND_MEMCPY, SIM_KIND_MEMCPY2, SIM_KIND_MEMSET,
                                     SIM_KIND_DEVICE};
    CHECK_EQ(cuptiSetThreadIdType(1), 0);
    CHECK_EQ(cuptiActivityRegisterCallbacks(request, complete), 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        CHECK_EQ(cuptiActivityEnable(kinds[i]), 0);
    }
    if (!select) {
        CHECK_EQ(cuptiActivityEnable(SIM_KIND_DRIVER), 0);
        return;
    }
    for (uint32_t id = 1; *cbid_name(id); id++) {
        if (strcmp(cbid_name(id), "cuLaunchKernel") == 0) {
            CHECK_EQ(cuptiActivityEnableDriverApi(id, 1), 0);
        }
    }
}

static void *second_thread(void *device_memory)
{
    void *stream;
    CHECK_EQ(cudaStreamCreateWithFlags(&stream, 1), 0);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(cudaLaunchKernel((void *)work_stub, grid, block, NULL, 0, stream), 0);
    }
    CHECK_EQ(cudaMemsetAsync(device_memory, 1, 1000, stream), 0);
    CHECK_EQ(cudaStreamSynchronize(stream), 0);
    return NULL;
}

static void run_work(void)
{
    static char host[N];
    void *memory, *other, *pinned;
    int devices = 0;
    pthread_t thread;
    void **handle = __cudaRegisterFatBinary(&fatbin);
    __cudaRegisterFunction(handle, (const char *)work_stub, NULL, "work_200us", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, (const char *)tail_stub, NULL, "tail_400ms", -1, 0, 0, 0, 0, 0);
    CHECK_EQ(cudaMalloc(&memory, N), 0);
    CHECK_EQ(cudaMalloc(&other, N), 0);
    CHECK_EQ(cudaMallocHost(&pinned, N), 0);
    CHECK_EQ(pthread_create(&thread, NULL, second_thread, memory), 0);
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(cudaLaunchKernel((void *)work_stub, grid, block, NULL, 0, NULL), 0);
        if (i % 10 == 0) {
            CHECK_EQ(cudaMemcpy(memory, host, N, SIM_HOST_TO_DEVICE), 0);
            CHECK_EQ(cudaMemcpyAsync(other, memory, 5000, SIM_DEVICE_TO_DEVICE, NULL), 0);
            CHECK_EQ(cudaMemcpyAsync(pinned, other, 777, SIM_DEVICE_TO_HOST, NULL), 0);
            CHECK_EQ(cudaMemset(memory, 3, 4000), 0);
        }
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(cudaGetDeviceCount(&devices), 0);
    if (devices > 1) {
        void *far;
        CHECK_EQ(cudaSetDevice(1), 0);
        CHECK_EQ(cudaMalloc(&far, N), 0);
        CHECK_EQ(cudaMemcpyPeer(far, 1, other, 0, N), 0);
        CHECK_EQ(cudaDeviceSynchronize(), 0);
        CHECK_EQ(cudaSetDevice(0), 0);
    }
    CHECK_EQ(cudaDeviceSynchronize(), 0);
}

static void records(int select)
{
    struct timespec real, mono;
    uint64_t stamp;
    size_t dropped = 99;
    enable(select);
    run_work();
    CHECK_EQ(cuptiActivityFlushAll(0), 0);
    /* what is still running when a forced flush comes has no end */
    CHECK_EQ(cudaLaunchKernel((void *)tail_stub, grid, block, NULL, 0, NULL), 0);
    usleep(20000);
    CHECK_EQ(cuptiActivityFlushAll(0), 0);
    CHECK_EQ(cuptiActivityFlushAll(1), 0);
    CHECK_EQ(requested, completed);
    CHECK_EQ(cudaDeviceSynchronize(), 0);
    CHECK_EQ(cuptiActivityFlushAll(1), 0);
    CHECK_EQ(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    CHECK_EQ(cuptiGetTimestamp(&stamp), 0);
    clock_gettime(CLOCK_REALTIME, &real);
    printf("{\"kind\":\"end\",\"dropped\":%zu,\"buffers\":%d,\"realtime\":%lld,\"timestamp\":%llu,"
           "\"monotonic\":%lld}\n",
           dropped, completed, (long long)real.tv_sec * 1000000000 + real.tv_nsec, (unsigned long long)stamp,
           (long long)mono.tv_sec * 1000000000 + mono.tv_nsec);
}

static void status(void)
{
    uint32_t version = 0;
    uint64_t stamp;
    void *first = NULL, *second = NULL, *record = NULL;
    uint8_t buffer[64] = {5};
    int results[] = {
        cuptiGetVersion(&version),
        cuptiSubscribe(&first, NULL, NULL),
        cuptiSubscribe(&second, NULL, NULL),
        first ? cuptiUnsubscribe(first) : -1,
        cuptiActivityRegisterCallbacks(request, complete),
        cuptiActivityEnable(SIM_KIND_CONCURRENT_KERNEL),
        cuptiActivityEnable(5),
        cuptiActivityEnable(SIM_KIND_OVERHEAD),
        cuptiActivityEnable(999),
        cuptiActivityGetNextRecord(buffer, sizeof(buffer), &record),
        cuptiGetTimestamp(&stamp),
        cuptiActivityEnableLatencyTimestamps(1),
    };
    static const char *const names[] = {"version", "subscribe", "again", "unsubscribe", "register", "enable",
                                        "runtime", "overhead", "bad_kind", "next", "timestamp", "stub"};
    printf("{\"major\":%d,\"number\":%u", SIM_CUDA_MAJOR, version);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        printf(",\"%s\":%d", names[i], results[i]);
    }
    puts("}");
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "records") == 0) {
        records(argc > 2);
    } else if (strcmp(what, "status") == 0) {
        status();
    } else if (strcmp(what, "trap-flush") == 0 || strcmp(what, "trap-cuda") == 0 ||
               strcmp(what, "trap-finalize") == 0) {
        enable(0);
        run_work();
        cuptiActivityFlushAll(1);
    } else if (strcmp(what, "trap-fork") == 0) {
        int state = 0;
        enable(0);
        pid_t child = fork();
        if (child == 0) {
            cuptiActivityFlushAll(1);
            _exit(0);
        }
        CHECK(waitpid(child, &state, 0) == child);
        raise(WIFSIGNALED(state) ? WTERMSIG(state) : SIGTERM);
    } else if (strcmp(what, "hang") == 0) {
        enable(0);
        cuptiActivityFlushAll(0);
        puts("before");
        fflush(stdout);
        cuptiActivityFlushAll(1);
        puts("after");
    } else {
        fprintf(stderr, "usage: cupti_client records [select]|status|hang|trap-{flush,cuda,finalize,fork}\n");
        return 2;
    }
    return 0;
}
