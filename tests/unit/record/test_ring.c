/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring between one producer and one consumer: every committed event arrives once and whole, what is not
 * recorded is counted, waiting mode loses nothing, shared ring files appear and go. Also built with TSan.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "preload/record/record.h"
#include "preload/trace/slots.h"

#define LONG_NAME "a name that is longer than one slot of sixty-four bytes, by design"

enum { EVENTS = 200000 };

static void *produce(void *ret_thread)
{
    struct st_thread *thread = st_thread_self();
    atomic_store_explicit((_Atomic(struct st_thread *) *)ret_thread, thread, memory_order_release);
    for (uint64_t i = 0; i < EVENTS; i++) {
        struct st_call_note note = {.a = i, .b = ~i, .c = i * 3, .d = i ^ 0x5555};
        st_emit_call(thread, 1, i, i + 1, 2, 3, &note);
        if (i % 1000 == 0) {
            st_emit_name(thread, ST_NAME_FUNCTION, i, LONG_NAME);
        }
    }
    return NULL;
}

/* Take what is there as the writer does; returns how many calls, checks each. */
static uint64_t consume(struct st_thread *thread, uint64_t *last)
{
    struct st_ring_head *ring = thread->ring;
    uint64_t calls = 0, from = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t to = atomic_load_explicit(&ring->head, memory_order_acquire);
    for (uint64_t n = from; n < to; n++) {
        const struct st_slot *slot = &thread->slots[n & thread->slot_mask];
        if (slot->kind == ST_SLOT_NAME) {
            assert_int_equal(slot->span, strlen(LONG_NAME));
            n += (slot->span + 63) / 64;
        } else if (slot->kind == ST_SLOT_CALL) {
            assert_true(calls == 0 || slot->a > *last);
            assert_true(slot->b == ~slot->a && slot->c == slot->a * 3 && slot->d == (slot->a ^ 0x5555));
            *last = slot->a;
            calls++;
        }
    }
    atomic_store_explicit(&ring->tail, to, memory_order_release);
    return calls;
}

/* Returns the calls that arrived; *ret_lost what the ring counted. */
static uint64_t run(bool waits, uint64_t *ret_lost)
{
    pthread_t producer;
    _Atomic(struct st_thread *) thread = NULL;
    uint64_t calls = 0, last = 0;
    st_record_waits = waits;
    st_ring_setup.capacity = 256;
    pthread_create(&producer, NULL, produce, &thread);
    while (!atomic_load_explicit(&thread, memory_order_acquire)) {
        usleep(100);
    }
    struct st_thread *t = atomic_load_explicit(&thread, memory_order_acquire);
    while (calls + atomic_load(&t->ring->lost) < EVENTS) {
        calls += consume(t, &last);
        usleep(waits ? 0 : 50);
    }
    pthread_join(producer, NULL);
    calls += consume(t, &last);
    *ret_lost = atomic_load(&t->ring->lost);
    return calls;
}

static void waiting_loses_nothing(void **state)
{
    uint64_t lost;
    assert_int_equal(run(true, &lost), EVENTS);
    assert_int_equal(lost, 0);
}

static void a_full_ring_counts(void **state)
{
    uint64_t lost, calls = run(false, &lost);
    assert_true(lost > 0); /* 256 slots against 200 000 events at full speed */
    assert_true(calls + lost >= EVENTS && calls <= EVENTS);
}

/* The writer gave up (disk full): a producer that waits is let go and drops. */
static void *give_up(void *unused)
{
    usleep(20000);
    atomic_store(&st_record_waits, false);
    return unused;
}

static void waiting_ends_with_the_writer(void **state)
{
    pthread_t writer;
    struct st_thread *thread = st_thread_self();
    struct st_call_note note = {.a = 1};
    atomic_store_explicit(&thread->ring->tail, thread->head, memory_order_release);
    atomic_store(&st_record_waits, true);
    pthread_create(&writer, NULL, give_up, NULL);
    for (uint64_t i = 0; i <= thread->slot_mask + 1; i++) {
        st_emit_call(thread, 1, 1, 2, 0, 0, &note); /* the last one finds no room */
    }
    pthread_join(writer, NULL);
    assert_int_equal(atomic_load(&thread->ring->lost), 1);
    atomic_store_explicit(&thread->ring->tail, thread->head, memory_order_release);
}

static void shared_rings_are_files(void **state)
{
    memset(&st_ring_setup.head, 7, sizeof(st_ring_setup.head.session) + 8);
    st_ring_setup.head.uid = getuid();
    st_ring_setup.head.pid = (uint32_t)getpid();
    memcpy(st_ring_setup.head.session, "0123456789abcdef", 16);
    strcpy(st_ring_setup.head.trace_path, "/nowhere/x.stap");
    struct st_thread *thread = st_thread_self();
    assert_true(thread->is_private);
    struct st_call_note note = {.a = 99};
    st_emit_call(thread, 5, 1, 2, 0, 0, &note);
    st_ring_setup.is_shared = true;
    st_thread_share_ring(thread); /* what was recorded before moves along */
    assert_false(thread->is_private);
    assert_int_equal(access(thread->ring_path, R_OK), 0);
    assert_int_equal(atomic_load(&thread->ring->head), 1);
    assert_int_equal(thread->slots[0].a, 99);
    assert_memory_equal(thread->ring->magic, ST_RING_MAGIC, 8);
    assert_string_equal(thread->ring->trace_path, "/nowhere/x.stap");
    char path[ST_RING_FILE_BYTES];
    strcpy(path, thread->ring_path);
    st_thread_remove_ring(thread);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    st_clock_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_loses_nothing),
        cmocka_unit_test(a_full_ring_counts),
        cmocka_unit_test(shared_rings_are_files),
        cmocka_unit_test(waiting_ends_with_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
