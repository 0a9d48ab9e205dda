/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording: one 64-byte slot for each thing that happened on this thread. Everything here runs on the
 * path of the target's calls: no malloc, lock, syscall, stdio or libc; built without vector registers.
 * Budget: two st_ticks() and one slot for a call; held by tests/bench/call_cost.
 *
 * A full ring never blocks: the event is counted in ring->lost (unless STAGETAP_ON_FULL=wait).
 */
#ifndef ST_RECORD_RECORD_H
#define ST_RECORD_RECORD_H

#include <stdint.h>

#include "clock.h"
#include "preload/trace/ring.h"
#include "thread.h"

/* A full ring waits for the writer instead of dropping. Set by the session; cleared when the writer can write no more,
 * so that nobody waits for room that never comes. */
extern _Atomic bool st_record_waits;

/* The slow end of a reservation: look at the tail again, wait if told so. NULL: dropped and counted. */
struct st_slot *st_ring_reserve_slow(struct st_thread *thread, uint32_t count);

/* Room for `count` slots in a row (at most a quarter of the ring); they are published by st_ring_commit(). */
static inline struct st_slot *st_ring_reserve(struct st_thread *thread, uint32_t count)
{
    uint64_t capacity = thread->slot_mask + 1;
    if (__builtin_expect(thread->head + count - thread->seen_tail > capacity, 0)) {
        return st_ring_reserve_slow(thread, count);
    }
    return &thread->slots[thread->head & thread->slot_mask];
}

static inline void st_ring_commit(struct st_thread *thread, uint32_t count)
{
    thread->head += count;
    /* pairs with the acquire load of the writer and of readers of a live or dead ring */
    atomic_store_explicit(&thread->ring->head, thread->head, memory_order_release);
}

/* What a call meant; filled by preload/calls. Meaning by class: format.h, enum st_call_class. */
struct st_call_note {
    uint32_t flags; /* enum st_call_flags | direction */
    uint64_t a, b, c, d;
};

/* A watched call that returned. */
static inline void st_emit_call(struct st_thread *thread, uint16_t call, uint64_t begin_ticks, uint64_t end_ticks,
                                uint32_t span, int32_t result, const struct st_call_note *note)
{
    struct st_slot *slot = st_ring_reserve(thread, 1);
    if (__builtin_expect(slot != NULL, 1)) {
        slot->kind = ST_SLOT_CALL;
        slot->code = call;
        slot->span = span;
        slot->begin = begin_ticks;
        slot->end = end_ticks;
        slot->result = result;
        slot->flags = note->flags;
        slot->a = note->a;
        slot->b = note->b;
        slot->c = note->c;
        slot->d = note->d;
        st_ring_commit(thread, 1);
    }
}

/* `key` got the name `text` (cut at ST_EMIT_NAME_BYTES). */
#define ST_EMIT_NAME_BYTES 4096
void st_emit_name(struct st_thread *thread, enum st_name_kind kind, uint64_t key, const char *text);

/* The function of the program that a driver's thread ran. */
void st_emit_host_run(struct st_thread *thread, uint64_t function, uint64_t argument, uint64_t begin_ticks,
                      uint64_t end_ticks);

void st_emit_mark(struct st_thread *thread, enum st_mark kind, uint64_t a, uint64_t b);
void st_emit_mark_at(struct st_thread *thread, uint64_t ticks, enum st_mark kind, uint64_t a, uint64_t b);

/* ---- spans: where the thread is ---- */

/*
 * Enter a stage, step, request or load; `name` is a row name (st_row_name), for a step that of its stage
 * or 0 = the innermost stage. Returns the span, or 0 if the entry collapsed into an open one (same
 * stage again, step in step, request in request) – then there is nothing to leave, but the caller must
 * still call st_span_leave() with 0, which does nothing. `rule`: RULE.rule. One thread-clock read.
 */
uint32_t st_span_enter(struct st_thread *thread, enum st_span_role role, uint32_t name, uint32_t rule);

/* Leave the span; what is still open inside it is closed as ST_END_REPLACED. A span that is not open any
 * more is ignored. */
void st_span_leave(struct st_thread *thread, uint32_t span, enum st_span_end how);

/* End, at an instant now past, a span whose own thread ended with it open. `thread`: the caller's. */
void st_span_leave_for_ended(struct st_thread *thread, uint32_t span, uint64_t at_ticks);

/* `begin NAME`: open NAME until `end NAME`, the next stage on that level (one called NAME/… stays inside) or the
 * request's end. Already innermost: nothing happens. */
void st_span_begin(struct st_thread *thread, uint32_t name, uint32_t rule);
/* `end NAME`: close it if it is open. */
void st_span_end(struct st_thread *thread, uint32_t name);

/* `begin request`: the request that an earlier one opened ends here, and so does a stage begun outside (`load`), and a
 * new one begins; inside any other request nothing happens. `end request` closes it. */
void st_span_begin_request(struct st_thread *thread, uint32_t rule);
void st_span_end_request(struct st_thread *thread);

/*
 * How well the edges are known that this thread makes from now on, until it is said again: seen as they happened
 * (false, 0: so it begins), or concluded from something later, at most `late_ticks` after the true instant. Whoever
 * says true says false before it returns.
 */
static inline void st_span_doubt(struct st_thread *thread, bool is_inferred, uint64_t late_ticks)
{
    thread->is_inferred = is_inferred;
    thread->late_ticks = late_ticks;
}

/* Edges that this thread makes from now on, until it is said again, were at `at_ticks`, not now; 0: now. `is_past`: so
 * long ago that nobody knows the thread's CPU clock then. Whoever says an instant says 0, false before it returns. */
static inline void st_span_at(struct st_thread *thread, uint64_t at_ticks, bool is_past)
{
    thread->edge_ticks = at_ticks;
    thread->edge_is_past = is_past;
}

/* Stages that this thread begins from now on, until it is said again, are another thread's, which it works for: no
 * entries of its own. Whoever says true says false before it returns. */
static inline void st_span_following(struct st_thread *thread, bool is_following)
{
    thread->is_following = is_following;
}

/* An iteration of the stage `name` (0: of the innermost one) ends. */
void st_span_step_end(struct st_thread *thread, uint32_t name);

/* ---- row names ---- */

#define ST_MAX_ROW_NAMES 1024
#define ST_MAX_ROW_NAME_BYTES 128

/*
 * The number of a row name ("sample", "output/d2h"), from 1; the same text always gets the same number.
 * `thread` (may be NULL before the session): announces a new name in its ring. Any thread; lock-free.
 * 0: no more names (the caller uses "other").
 */
uint32_t st_row_name(struct st_thread *thread, const char *text);
/* The text of a number, or "". */
const char *st_row_name_text(uint32_t name);
/* How many there are; numbers 1 … count are valid once this returned it. */
uint32_t st_row_name_count(void);

#endif
