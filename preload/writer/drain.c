/* SPDX-License-Identifier: Apache-2.0 */
/* From the threads' rings into the file; what becomes of the blocks of threads that ended. Writer thread only. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "preload/record/window.h"

enum { MANY_RINGS = 8, KEPT_RINGS = 4 };

/* The THREAD row, with a thread's first events. A thread that is gone already has left its name in its ring. */
static void add_thread(struct st_buffer *payload, struct st_thread *thread, const struct st_ring_head *ring)
{
    struct st_rows rows = {.table = ST_T_THREAD};
    char path[64], name[32];
    ssize_t length = -1;
    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread->tid);
    long fd = st_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd >= 0) {
        length = read((int)fd, name, sizeof(name));
        st_sys_close((int)fd);
    }
    if (length <= 0) {
        length = (ssize_t)strnlen(ring->thread_name, sizeof(ring->thread_name));
        memcpy(name, ring->thread_name, (size_t)length);
    }
    length -= length > 0 && name[length - 1] == '\n';
    st_rows_add(&rows, (int64_t[ST_COUNT_C_THREAD]){thread->index, thread->tid, 0},
                &(struct st_text){name, (uint32_t)length});
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

/* Write what a thread's ring holds. A ring that could not be written keeps its slots for the next try. */
static void drain_ring(struct st_thread *thread)
{
    struct st_ring_head *ring = thread->ring;
    uint64_t from = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t to = atomic_load_explicit(&ring->head, memory_order_acquire); /* pairs with st_ring_commit */
    if (from == to) {
        return;
    }
    st_writer_check_limit();
    st_slot_rows_reset(&st_writer.slots);
    uint64_t skipped = st_slot_rows_add(&st_writer.slots, thread->slots, thread->slot_mask, from, to,
                                        st_writer.is_at_limit);
    struct st_chunk_head head = {.kind = ST_CHUNK_EVENTS, .ring = ring->ring, .thread = thread->index,
                                 .first_slot = from, .end_slot = to, .first_ticks = st_writer.slots.first_ticks,
                                 .last_ticks = st_writer.slots.last_ticks};
    bool is_announced = thread->is_announced;
    if (!is_announced) {
        add_thread(&st_writer.payload, thread, ring);
        thread->is_announced = true;
    }
    bool is_done = skipped != UINT64_MAX && st_slot_rows_encode(&st_writer.slots, &st_writer.payload);
    if (is_done && (!st_writer.is_at_limit || st_writer_has_room_for_boundaries())) {
        is_done = st_writer_put_chunk(&head, st_writer.slots.rows_max);
    } else if (is_done) {
        skipped = to - from; /* no room even for boundaries */
    }
    st_writer.payload.length = 0;
    if (is_done) {
        st_writer.lost[ST_LOST_LIMIT] += skipped;
        atomic_store_explicit(&ring->tail, to, memory_order_release); /* pairs with the producer's acquire */
    } else {
        thread->is_announced = is_announced;
    }
    thread->is_stuck = !is_done;
    if (!is_done && st_writer.is_over_limit) {
        st_writer_reach_limit();
        drain_ring(thread); /* boundaries only */
    } else if (!is_done) { /* the disk is full, or the like: from now on what does not fit is dropped and counted */
        atomic_store_explicit(&st_record_waits, false, memory_order_relaxed);
    }
}

/* Slots that are committed and not yet in the file. */
static uint64_t waiting_slots(const struct st_ring_head *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire) - /* pairs with st_ring_commit */
           atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

/* Does the thread still exist? Its block can serve another one as soon as its ring is written out; a few
 * such blocks keep their rings, the rest give their memory back. Returns whether it is one of the few. */
static bool look_after(struct st_thread *thread, struct st_ring_head *ring, bool may_keep)
{
    uint32_t state = atomic_load_explicit(&thread->state, memory_order_acquire);
    if (state == ST_THREAD_RUNNING && syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0 && errno == ESRCH) {
        state = ST_THREAD_ENDED;
        st_window_thread_ended(thread);
        atomic_store_explicit(&thread->state, state, memory_order_relaxed);
    }
    if (state != ST_THREAD_ENDED || waiting_slots(ring)) {
        return state == ST_THREAD_FREE;
    }
    if (may_keep) {
        atomic_store_explicit(&thread->state, ST_THREAD_FREE, memory_order_release); /* pairs with take_free_block */
        return true;
    }
    st_writer.lost[ST_LOST_RING_FULL] += atomic_load_explicit(&ring->lost, memory_order_relaxed);
    st_thread_drop_ring(thread);
    return false;
}

/* Threads come and go: those that ended are noticed at flushes, and at each poll while there are many. */
bool st_writer_drain_rings(bool is_flush)
{
    static unsigned ring_count;
    bool had_events = false, looks_after = is_flush || ring_count > MANY_RINGS;
    unsigned kept = 0;
    ring_count = 0;
    for (struct st_thread *t = atomic_load_explicit(&st_threads, memory_order_acquire); t; t = t->next) {
        struct st_ring_head *ring = atomic_load_explicit(&t->ring, memory_order_acquire);
        if (!ring) {
            continue;
        }
        ring_count++;
        uint64_t waiting = waiting_slots(ring);
        had_events |= waiting > 0;
        bool is_over = atomic_load_explicit(&t->state, memory_order_relaxed) == ST_THREAD_ENDED;
        if (waiting && (is_flush || is_over || waiting > (t->slot_mask + 1) / 4)) {
            drain_ring(t);
        }
        if (looks_after) {
            kept += look_after(t, ring, kept < KEPT_RINGS);
        }
    }
    return had_events;
}

void st_writer_remove_rings(void)
{
    atomic_store_explicit(&st_record_waits, false, memory_order_relaxed);
    st_ring_setup.is_shared = false; /* threads that come now have nobody to fetch their events */
    for (struct st_thread *t = atomic_load_explicit(&st_threads, memory_order_acquire); t; t = t->next) {
        if (atomic_load_explicit(&t->ring, memory_order_acquire) && !t->is_stuck) {
            st_thread_remove_ring(t); /* what could not be written stays in its ring for `recover` */
        }
    }
}
