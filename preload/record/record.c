/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of recording that are not one slot: full rings, names, marks. Libc-free; see record.h. */
#include "record.h"

#include "syscall.h"

enum { WAIT_NS = 100000, SLOT_TEXT_BYTES = ST_SLOT_BYTES };

_Atomic bool st_record_waits;

static bool has_room(struct st_thread *thread, uint32_t count)
{
    /* pairs with the writer's release: the slots below it may be filled again */
    thread->seen_tail = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    return thread->head + count - thread->seen_tail <= thread->slot_mask + 1;
}

struct st_slot *st_ring_reserve_slow(struct st_thread *thread, uint32_t count)
{
    while (!has_room(thread, count)) {
        if (!atomic_load_explicit(&st_record_waits, memory_order_relaxed)) {
            struct st_ring_head *ring = atomic_load_explicit(&thread->ring, memory_order_relaxed);
            atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed); /* signal handlers count here, too */
            return NULL;
        }
        st_sys_sleep_ns(WAIT_NS);
    }
    return &thread->slots[thread->head & thread->slot_mask];
}

void st_emit_name(struct st_thread *thread, enum st_name_kind kind, uint64_t key, const char *text)
{
    uint32_t length = 0;
    while (length < ST_EMIT_NAME_BYTES && text[length]) {
        length++;
    }
    uint32_t count = 1 + (length + SLOT_TEXT_BYTES - 1) / SLOT_TEXT_BYTES;
    uint64_t to_end = thread->slot_mask + 1 - (thread->head & thread->slot_mask);
    uint32_t padding = count > to_end ? (uint32_t)to_end : 0;
    struct st_slot *slot = st_ring_reserve(thread, count + padding);
    if (!slot) {
        return;
    }
    for (uint32_t i = 0; i < padding; i++) {
        slot[i].kind = ST_SLOT_SKIP;
    }
    slot = &thread->slots[(thread->head + padding) & thread->slot_mask];
    slot->kind = ST_SLOT_NAME;
    slot->code = (uint16_t)kind;
    slot->span = length;
    slot->begin = st_ticks();
    slot->end = key;
    volatile char *bytes = (volatile char *)(slot + 1); /* volatile: a loop, not a call of memcpy */
    for (uint32_t i = 0; i < length; i++) {
        bytes[i] = text[i];
    }
    st_ring_commit(thread, count + padding);
}

void st_emit_host_run(struct st_thread *thread, uint64_t function, uint64_t argument, uint64_t begin_ticks,
                      uint64_t end_ticks)
{
    struct st_slot *slot = st_ring_reserve(thread, 1);
    if (slot) {
        slot->kind = ST_SLOT_HOST_RUN;
        slot->begin = begin_ticks;
        slot->end = end_ticks;
        slot->a = function;
        slot->b = argument;
        st_ring_commit(thread, 1);
    }
}

void st_emit_mark(struct st_thread *thread, enum st_mark kind, uint64_t a, uint64_t b)
{
    st_emit_mark_at(thread, st_ticks(), kind, a, b);
}

void st_emit_mark_at(struct st_thread *thread, uint64_t ticks, enum st_mark kind, uint64_t a, uint64_t b)
{
    struct st_slot *slot = st_ring_reserve(thread, 1);
    if (slot) {
        slot->kind = ST_SLOT_MARK;
        slot->code = (uint16_t)kind;
        slot->span = thread->span;
        slot->begin = ticks;
        slot->a = a;
        slot->b = b;
        st_ring_commit(thread, 1);
    }
}
