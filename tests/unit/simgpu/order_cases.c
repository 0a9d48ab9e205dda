/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases about time: what runs after what, and what the host waits for. Times are compared on the simulated time
 * line (events) wherever that says it. The machine may be busy, and the host late: where the host's own waiting
 * matters, only lower bounds are asked for; that things overlap is shown if it happens in one of several tries.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {0, (long)ms * 1000000};

    nanosleep(&pause, NULL);
}

enum { TRIES = 10 };

/* Launches one kernel of 5 ms on each stream in turn and returns the time from the first start to the last end. */
static double three_kernels_ms(const struct kernels *kernels, CUstream a, CUstream b, CUstream c)
{
    CUevent begin, ends[3];
    double longest = 0, one;

    OK(cuCtxSynchronize());
    begin = record(a);
    launch(kernels->wait_5ms, a);
    ends[0] = record(a);
    launch(kernels->wait_5ms, b);
    ends[1] = record(b);
    launch(kernels->wait_5ms, c);
    ends[2] = record(c);
    for (int i = 0; i < 3; i++) {
        one = elapsed_ms(begin, ends[i]);
        longest = one > longest ? one : longest;
    }
    return longest;
}

static double shortest_ms(const struct kernels *kernels, CUstream a, CUstream b, CUstream c)
{
    double shortest = three_kernels_ms(kernels, a, b, c), one;

    for (int i = 1; i < TRIES; i++) {
        one = three_kernels_ms(kernels, a, b, c);
        shortest = one < shortest ? one : shortest;
    }
    return shortest;
}

/* The legacy default stream orders blocking streams, and no others. */
void case_default_stream(void)
{
    struct kernels kernels = start();
    CUstream first, second, free_first, free_second;

    OK(cuStreamCreate(&first, 0));
    OK(cuStreamCreate(&second, 0));
    OK(cuStreamCreate(&free_first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&free_second, CU_STREAM_NON_BLOCKING));
    REQUIRE(shortest_ms(&kernels, first, second, first) >= 10);    /* the first and third share a stream */
    REQUIRE(shortest_ms(&kernels, first, second, free_first) < 10); /* three streams side by side */
    REQUIRE(shortest_ms(&kernels, first, NULL, second) >= 15);      /* the default stream in between */
    REQUIRE(shortest_ms(&kernels, first, CU_STREAM_LEGACY, second) >= 15);
    REQUIRE(shortest_ms(&kernels, free_first, NULL, free_second) < 10);
    OK(cuStreamDestroy_v2(first));
    REQUIRE_RESULT(cuStreamQuery(first), CUDA_ERROR_INVALID_HANDLE);
}

/* With `streams serial` nothing overlaps. */
void case_serial(void)
{
    struct kernels kernels = start();
    CUstream first, second;

    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    REQUIRE(shortest_ms(&kernels, first, second, first) >= 15);
}

static pthread_barrier_t launched;

static void *launch_own_stream(void *argument)
{
    const struct kernels *kernels = argument;

    OK(cuCtxSetCurrent(kernels->context));
    for (int i = 0; i < 2; i++) {
        OK(cuLaunchKernel_ptsz(kernels->wait_5ms, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    }
    pthread_barrier_wait(&launched);
    OK(cuStreamSynchronize_ptsz(NULL));
    return NULL;
}

/* Each thread has its own default stream; they run side by side, but not beside the legacy one. */
void case_per_thread(void)
{
    struct kernels kernels = start();
    pthread_t threads[2];
    CUevent begin, end;
    double both_ms;

    REQUIRE(pthread_barrier_init(&launched, NULL, 3) == 0);
    begin = record(NULL);
    for (int i = 0; i < 2; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, launch_own_stream, &kernels) == 0);
    }
    pthread_barrier_wait(&launched);
    launch(kernels.wait_1ms, NULL);
    end = record(NULL);
    both_ms = elapsed_ms(begin, end);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    REQUIRE(both_ms >= 11); /* two kernels of a thread, then the legacy one */
    REQUIRE(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
}

void case_events(void)
{
    struct kernels kernels = start();
    CUevent begin = record(NULL), end, never, untimed;
    CUstream other;
    double ms;
    float unused;

    OK(cuEventCreate(&never, 0));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    launch(kernels.wait_50ms, NULL);
    launch(kernels.wait_50ms, NULL);
    end = record(NULL);
    REQUIRE_RESULT(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    REQUIRE_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    REQUIRE_RESULT(cuEventElapsedTime(&unused, begin, end), CUDA_ERROR_NOT_READY);
    ms = elapsed_ms(begin, end);
    REQUIRE(ms >= 100 && ms < 150);
    OK(cuEventQuery(end));
    OK(cuStreamQuery(NULL));
    OK(cuEventQuery(never)); /* never recorded: nothing to wait for */
    OK(cuEventSynchronize(never));
    REQUIRE_RESULT(cuEventElapsedTime(&unused, begin, never), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(untimed, NULL));
    REQUIRE_RESULT(cuEventElapsedTime(&unused, begin, untimed), CUDA_ERROR_INVALID_HANDLE);

    /* A stream that waits for another's event; an event recorded again means the later record. */
    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    begin = record(NULL);
    launch(kernels.wait_5ms, NULL);
    OK(cuEventRecord(end, NULL));
    OK(cuStreamWaitEvent(other, end, 0));
    launch(kernels.wait_5ms, other);
    end = record(other);
    REQUIRE(elapsed_ms(begin, end) >= 10);
    OK(cuEventDestroy_v2(end));
    REQUIRE_RESULT(cuEventQuery(end), CUDA_ERROR_INVALID_HANDLE);
}

enum { COPY_BYTES = 10 << 20 }; /* the model gives 10 MiB 10.5 ms */

/* One engine for each direction: two copies of one direction queue, two directions overlap. */
void case_copy_engines(void)
{
    CUstream first, second;
    CUdeviceptr device[2];
    void *host[2];
    CUevent begin, end;
    double ms, shortest_both_ms = 1e9;

    start();
    OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++) {
        OK(cuMemAlloc_v2(&device[i], COPY_BYTES));
        OK(cuMemHostAlloc(&host[i], COPY_BYTES, 0));
    }
    for (int i = 0; i < TRIES; i++) {
        begin = record(first);
        OK(cuMemcpyHtoDAsync_v2(device[0], host[0], COPY_BYTES, first));
        OK(cuMemcpyDtoHAsync_v2(host[1], device[1], COPY_BYTES, second));
        end = record(second);
        ms = elapsed_ms(begin, end);
        shortest_both_ms = ms < shortest_both_ms ? ms : shortest_both_ms;
        OK(cuCtxSynchronize());
    }
    REQUIRE(shortest_both_ms > 10 && shortest_both_ms < 20);
    begin = record(first);
    OK(cuMemcpyHtoDAsync_v2(device[0], host[0], COPY_BYTES, first));
    OK(cuMemcpyHtoDAsync_v2(device[1], host[1], COPY_BYTES, second));
    end = record(second);
    REQUIRE(elapsed_ms(begin, end) > 20);
}

/* What the host waits for: nothing with pinned memory and Async, the copy with pageable memory. */
void case_pageable(void)
{
    char *pageable = malloc(COPY_BYTES);
    CUdeviceptr device;
    uint64_t begin_ns;
    void *pinned;
    char small[1000] = "";
    struct kernels kernels = start();
    CUevent end;

    REQUIRE(pageable != NULL);
    memset(pageable, 1, COPY_BYTES);
    OK(cuMemAlloc_v2(&device, COPY_BYTES));
    OK(cuMemHostAlloc(&pinned, COPY_BYTES, 0));

    launch(kernels.wait_50ms, NULL);
    OK(cuMemcpyHtoDAsync_v2(device, pinned, COPY_BYTES, NULL));
    end = record(NULL);
    REQUIRE_RESULT(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    OK(cuCtxSynchronize());

    begin_ns = sim_now_ns();
    OK(cuMemcpyHtoD_v2(device, pinned, COPY_BYTES));
    REQUIRE(sim_now_ns() - begin_ns >= 10000000);

    begin_ns = sim_now_ns();
    OK(cuMemcpyHtoDAsync_v2(device, pageable, COPY_BYTES, NULL));
    REQUIRE(sim_now_ns() - begin_ns >= 9000000); /* all but the last chunk */
    memset(pageable, 2, COPY_BYTES);             /* staged: no longer the copy's business */
    OK(cuCtxSynchronize());

    begin_ns = sim_now_ns();
    OK(cuMemcpyDtoHAsync_v2(pageable, device, COPY_BYTES, NULL));
    REQUIRE(sim_now_ns() - begin_ns >= 10000000);
    REQUIRE(pageable[0] == 1 && pageable[COPY_BYTES - 1] == 1);

    /* A small pageable copy is staged at once; its end comes later. */
    OK(cuMemcpyHtoDAsync_v2(device, pageable, COPY_BYTES, NULL));
    launch(kernels.wait_50ms, NULL);
    OK(cuMemcpyHtoDAsync_v2(device, small, sizeof(small), NULL));
    end = record(NULL);
    REQUIRE_RESULT(cuEventQuery(end), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(end));
    free(pageable);
}

/* `queue 4`: the launch after that waits until the oldest is over. */
void case_queue(void)
{
    struct kernels kernels = start();
    uint64_t begin_ns = sim_now_ns();

    for (int i = 0; i < 4; i++) {
        launch(kernels.wait_5ms, NULL);
    }
    REQUIRE_RESULT(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    for (int i = 4; i < 8; i++) {
        launch(kernels.wait_5ms, NULL);
        REQUIRE(sim_now_ns() - begin_ns >= (uint64_t)(i - 3) * 5000000);
    }
    OK(cuCtxSynchronize());
    REQUIRE(sim_now_ns() - begin_ns >= 40000000);
}

static _Atomic int host_calls;
static _Atomic uint32_t host_thread;

static void note_call(void *done)
{
    sleep_ms(10);
    host_thread = (uint32_t)gettid();
    atomic_fetch_add(&host_calls, 1);
    *(int *)done = 1;
}

static void note_callback(CUstream stream, CUresult status, void *done)
{
    REQUIRE(status == CUDA_SUCCESS);
    note_call(done);
}

/* A host function runs at its place on a thread of the driver; what is behind it waits for its real end. */
void case_host_function(void)
{
    struct kernels kernels = start();
    CUevent begin = record(NULL), middle, end;
    CUstream other;
    int first = 0, second = 0;

    OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    launch(kernels.wait_50ms, NULL);
    OK(cuLaunchHostFunc(NULL, note_call, &first));
    middle = record(NULL);
    OK(cuStreamWaitEvent(other, middle, 0));
    launch(kernels.wait_1ms, other);
    OK(cuStreamAddCallback(other, note_callback, &second, 0));
    launch(kernels.wait_1ms, other);
    end = record(other);
    REQUIRE(host_calls == 0);
    REQUIRE_RESULT(cuEventQuery(middle), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(middle));
    REQUIRE(first == 1 && host_thread != (uint32_t)gettid());
    OK(cuStreamSynchronize(other));
    REQUIRE(second == 1 && host_calls == 2);
    REQUIRE(elapsed_ms(begin, end) >= 50 + 10 + 1 + 10 + 1);
    REQUIRE_RESULT(cuLaunchHostFunc(NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* Three threads with own streams, events of each other, copies and host functions: for TSan and the truth. */
static void *work(void *argument)
{
    const struct kernels *kernels = argument;
    int32_t host = 0, done = 0;
    CUdeviceptr device;
    CUstream stream;

    OK(cuCtxSetCurrent(kernels->context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&device, sizeof(host)));
    for (int i = 0; i < 10; i++) {
        CUevent event;

        launch_add(kernels, device, 1, 1, stream);
        event = record(stream);
        OK(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        launch_add(kernels, device, 1, 1, CU_STREAM_PER_THREAD);
        OK(cuEventRecord(event, CU_STREAM_PER_THREAD));
        OK(cuStreamWaitEvent(stream, event, 0));
        OK(cuMemsetD8Async(device, 0, 0, stream));
        OK(cuEventDestroy_v2(event));
    }
    OK(cuLaunchHostFunc(stream, note_call, &done));
    OK(cuMemcpyDtoHAsync_v2(&host, device, sizeof(host), stream));
    REQUIRE(host == 20 && done == 1);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(device));
    return NULL;
}

void case_threads(void)
{
    struct kernels kernels = start();
    pthread_t threads[3];

    for (int i = 0; i < 3; i++) {
        REQUIRE(pthread_create(&threads[i], NULL, work, &kernels) == 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    REQUIRE(host_calls == 3);
}
