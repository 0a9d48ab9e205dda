/* SPDX-License-Identifier: Apache-2.0 */
/* What preload/calls/capture.c makes of calls, told to it one by one as the thunk's hook does. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "preload/calls/capture.h"
#include "preload/record/record.h"

static int failures;

static void check(int ok, const char *what, int line)
{
    if (!ok) {
        printf("test_capture.c:%d: %s\n", line, what);
        failures++;
    }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

enum { A = 0x1000, B = 0x2000, EVENT = 0x3000, GRAPH = 0x6000, KERNEL = 0x5000, EXTERNAL = 1 };

/* One call as the hook sees it, of the words a b c d that its class has. True: it was captured. */
static bool tell(const char *name, int result, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t flags)
{
    struct st_call_note note = {.flags = flags, .a = a, .b = b, .c = c, .d = d};
    const struct st_call_row *row = &st_calls[st_call_find(name)];
    if (atomic_load(&st_captures_open)) {
        st_capture_after_call(st_thread_self(), row, result, &note);
    }
    if (row->does == ST_DOES_BEGIN_CAPTURE) {
        st_capture_begin(st_thread_self(), row, result, &note);
    }
    return (note.flags & ST_CALL_CAPTURED) != 0;
}

static void begin(uint64_t stream)
{
    tell("cuStreamBeginCapture_v2", 0, stream, 0, 0, 0, 0);
}

static void end(uint64_t stream, int result)
{
    tell("cuStreamEndCapture", result, stream, result ? 0 : GRAPH, 0, 0, 0);
}

static bool launch(uint64_t stream)
{
    return tell("cuLaunchKernel", 0, KERNEL, stream, 0, 0, 0);
}

static uint32_t open_count(void)
{
    return atomic_load(&st_captures_open);
}

/* Number told by the marks since `from` (a ring's head) for a kind of node; -1: no mark that the graph is new. */
static int64_t nodes_since(uint64_t from, enum st_node_kind kind)
{
    struct st_thread *thread = st_thread_self();
    int64_t count = -1;
    for (uint64_t n = from; n < thread->head; n++) {
        const struct st_slot *slot = &thread->slots[n & thread->slot_mask];
        if (slot->kind == ST_SLOT_MARK && slot->code == ST_MARK_GRAPH_NODES && slot->a == GRAPH) {
            uint64_t told = slot->b & ((1u << ST_MARK_COUNT_SHIFT) - 1);
            count = told == ST_NODE_NONE ? 0 : told == kind ? count + (int64_t)(slot->b >> ST_MARK_COUNT_SHIFT) : count;
        }
    }
    return count;
}

static void test_one_stream(void)
{
    uint64_t from = st_thread_self()->head;
    CHECK(!launch(A));
    tell("cuStreamBeginCapture_v2", 1, A, 0, 0, 0, 0); /* failed */
    CHECK(open_count() == 0 && !launch(A));
    begin(A);
    CHECK(open_count() == 1);
    CHECK(launch(A) && launch(A) && !launch(B) && !launch(0) && !launch(1));
    CHECK(!tell("cuLaunchKernel", 901, KERNEL, A, 0, 0, 0)); /* failed: neither */
    CHECK(tell("cuMemcpyAsync", 0, 1, 2, 16, A, 0) && !tell("cuMemcpyAsync", 0, 1, 2, 16, B, 0));
    CHECK(tell("cuMemsetD8Async", 0, 1, 2, 16, A, 0) && tell("cuLaunchHostFunc", 0, 1, A, 0, 0, 0));
    end(B, 903);
    end(A, 908); /* from a wrong thread: goes on */
    CHECK(open_count() == 1 && launch(A));
    end(A, 0);
    CHECK(open_count() == 0 && !launch(A));
    CHECK(nodes_since(from, ST_NODE_KERNEL) == 3 && nodes_since(from, ST_NODE_COPY) == 1);
    CHECK(nodes_since(from, ST_NODE_MEMSET) == 1 && nodes_since(from, ST_NODE_HOST) == 1);
    CHECK(nodes_since(from, ST_NODE_UNKNOWN) == 0);
}

static void test_void(void)
{
    uint64_t from = st_thread_self()->head;
    begin(A);
    end(A, 901);
    CHECK(open_count() == 0 && !launch(A));
    begin(A);
    end(A, 904);
    CHECK(open_count() == 0 && !launch(A) && st_thread_self()->head == from);
}

static void test_join(void)
{
    begin(A);
    tell("cuEventRecord", 0, EVENT, A, 0, 0, 0);
    CHECK(!launch(B));
    CHECK(tell("cuStreamWaitEvent", 0, EVENT, B, 0, 0, 0) && launch(B));
    tell("cuEventRecord", 0, EVENT + 1, B, 0, 0, 0);
    tell("cuStreamWaitEvent", 0, EVENT + 1, B + 1, 0, 0, 0); /* joins through B */
    CHECK(launch(B + 1));
    tell("cuEventRecord", 0, EVENT + 1, 0x9000, 0, 0, 0); /* recorded again elsewhere */
    tell("cuStreamWaitEvent", 0, EVENT + 1, B + 2, 0, 0, 0);
    CHECK(!launch(B + 2));
    tell("cuEventRecordWithFlags", 0, EVENT + 2, A, EXTERNAL, 0, 0); /* a node, nobody joins by it */
    tell("cuStreamWaitEvent", 0, EVENT + 2, B + 3, 0, 0, 0);
    CHECK(!launch(B + 3));
    tell("cuStreamWaitEvent", 0, EVENT, B + 4, EXTERNAL, 0, 0);
    CHECK(!launch(B + 4));
    end(A, 0);
    CHECK(!launch(A) && !launch(B) && !launch(B + 1));
    begin(B); /* the event is of a capture that is over */
    tell("cuStreamWaitEvent", 0, EVENT, A, 0, 0, 0);
    CHECK(!launch(A) && launch(B));
    end(B, 0);
    CHECK(open_count() == 0);
}

static void test_gone(void)
{
    begin(A);
    tell("cuStreamDestroy_v2", 0, A, 0, 0, 0, 0); /* a capture that can not end any more */
    CHECK(open_count() == 0 && !launch(A));
    begin(A);
    tell("cuEventRecord", 0, EVENT, A, 0, 0, 0);
    tell("cuEventDestroy_v2", 0, EVENT, 0, 0, 0, 0);
    tell("cuStreamWaitEvent", 0, EVENT, B, 0, 0, 0);
    CHECK(!launch(B));
    tell("cuCtxDestroy_v2", 0, 0x77, 0, 0, 0, 0);
    CHECK(open_count() == 0 && !launch(A));
    begin(A);
    st_capture_fork_child();
    CHECK(open_count() == 0 && !launch(A));
}

/* A runtime call that had the driver's inside is flagged, and nothing is counted or begun twice. */
/* Its end failed with an error of something else, and the program tries again: one capture, not one more. */
static void test_again(void)
{
    for (int i = 0; i < 100; i++) {
        begin(A);
        CHECK(launch(A) && open_count() == 1);
        end(A, 719);
    }
    uint64_t from = st_thread_self()->head;
    begin(A);
    CHECK(launch(A));
    end(A, 0);
    CHECK(open_count() == 0 && nodes_since(from, ST_NODE_KERNEL) == 1 && st_capture_untracked() == 0);
}

static void test_runtime(void)
{
    uint64_t from = st_thread_self()->head;
    begin(A);
    tell("cudaStreamBeginCapture", 0, A, 0, 0, 0, ST_CALL_HAS_INNER);
    CHECK(open_count() == 1);
    CHECK(tell("cuLaunchKernel", 0, KERNEL, A, 0, 0, ST_CALL_INNER));
    CHECK(tell("cudaLaunchKernel", 0, KERNEL, A, 0, 0, ST_CALL_HAS_INNER));
    end(A, 0);
    tell("cudaStreamEndCapture", 0, A, GRAPH, 0, 0, ST_CALL_HAS_INNER);
    CHECK(open_count() == 0 && nodes_since(from, ST_NODE_KERNEL) == 1);
    from = st_thread_self()->head;
    tell("cudaStreamBeginCapture", 0, A, 0, 0, 0, 0); /* the driver is not seen */
    CHECK(tell("cudaLaunchKernel", 0, KERNEL, A, 0, 0, 0));
    tell("cudaStreamEndCapture", 0, A, GRAPH, 0, 0, 0);
    CHECK(open_count() == 0 && nodes_since(from, ST_NODE_KERNEL) == 1);
}

static void *launch_on_own_stream(void *argument)
{
    *(bool *)argument = launch(2);
    return NULL;
}

static void test_per_thread_stream(void)
{
    bool other = true;
    pthread_t thread;
    begin(2);
    CHECK(launch(2) && pthread_create(&thread, NULL, launch_on_own_stream, &other) == 0);
    pthread_join(thread, NULL);
    CHECK(!other); /* its own stream is another one */
    end(2, 0);
}

/* Beyond the room: counted, and what is known stays right. */
static void test_bounds(void)
{
    enum { MANY = 80, JOINED = 400 };
    uint64_t from = st_thread_self()->head;
    for (uint64_t i = 0; i < MANY; i++) {
        begin(0x10000 + 16 * i);
    }
    CHECK(open_count() == 64 && st_capture_untracked() == MANY - 64);
    CHECK(launch(0x10000) && !launch(0x10000 + 16 * (MANY - 1)));
    for (uint64_t i = 0; i < MANY; i++) {
        end(0x10000 + 16 * i, 0);
    }
    CHECK(open_count() == 0);
    begin(A);
    tell("cuEventRecord", 0, EVENT, A, 0, 0, 0);
    for (uint64_t i = 0; i < JOINED; i++) {
        tell("cuStreamWaitEvent", 0, EVENT, 0x20000 + 16 * i, 0, 0, 0);
    }
    CHECK(st_capture_untracked() > MANY - 64);
    for (int i = 0; i < 40; i++) {
        CHECK(tell("cuGraphLaunch", 0, 0x7000, A, 0, 0, 0));
    }
    from = st_thread_self()->head;
    end(A, 0);
    CHECK(nodes_since(from, ST_NODE_UNKNOWN) > 0); /* streams and children that there was no room for */
    CHECK(open_count() == 0 && !launch(0x20000));
    begin(A); /* all places are free again */
    CHECK(launch(A));
    end(A, 0);
}

enum { THREADS = 4, ROUNDS = 20000 };
static void *capture_in_a_loop(void *argument)
{
    uint64_t own = 0x100000 * (1 + *(int *)argument);
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        wrong += launch(own);
        begin(own);
        wrong += !launch(own);
        tell("cuEventRecord", 0, own + 1, own, 0, 0, 0);
        tell("cuStreamWaitEvent", 0, own + 1, own + 2, 0, 0, 0);
        wrong += !launch(own + 2);
        end(own, 0);
        wrong += launch(own + 2);
    }
    *(int *)argument = wrong;
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, capture_in_a_loop, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(numbers[i] == 0);
    }
    CHECK(open_count() == 0);
}

int main(void)
{
    test_one_stream();
    test_void();
    test_join();
    test_gone();
    test_again();
    test_runtime();
    test_per_thread_stream();
    test_bounds();
    test_threads();
    printf("%d failures\n", failures);
    return failures != 0;
}
