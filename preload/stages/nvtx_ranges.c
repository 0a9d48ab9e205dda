/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges of the calling thread; see nvtx_ranges.h. Pushes are kept per thread, matched or not, so that
 * pops find theirs. A started range that ends on another thread cannot be closed there (spans belong to
 * their thread): it is marked, and its own thread closes it at its next NVTX or CUDA call; the trace says by how much
 * that was late. If its own thread has ended, nobody else minds it, and it is closed at once.
 *
 * Every name is noted (seen.h), matched or not, for who has no map yet.
 */
#include "nvtx_ranges.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "at_call.h"
#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "seen.h"
#include "stages.h"

#define MAX_STARTED 256
#define MAX_STRINGS 8192u /* a power of two; used up to three quarters */
#define NAME_BYTES 512    /* of a wide name as UTF-8 */
#define FIRST_MADE_UP 0x5354u

enum { STARTED_FREE = 0, STARTED_BUSY = UINT64_MAX };

/* Started ranges that are stages. */
static struct started {
    _Atomic uint64_t id; /* or one of the two above; release, pairs with find_started */
    struct st_thread *owner;
    uint32_t thread;      /* its number: the block may be another thread's by now */
    uint64_t token;
    uint64_t end_ticks;   /* … at that time */
    _Atomic bool is_over; /* ended on another thread; release, pairs with close_ranges_over */
} started[MAX_STARTED];
static _Atomic uint32_t over_count;
static _Atomic uint64_t last_id = FIRST_MADE_UP;

/* What a name means. */
struct name {
    uint32_t seen; /* its place */
    bool is_matched;
    struct st_stage_match match;
};

/* Registered strings; open addressing by handle. */
static struct {
    _Atomic(void *) handle; /* NULL = free; release, pairs with find_string */
    struct name name;
} strings[MAX_STRINGS];
static _Atomic uint32_t string_count;
static _Atomic uintptr_t last_handle = FIRST_MADE_UP;

/* ---- names ---- */

static const char *narrow(const wchar_t *wide, char buffer[NAME_BYTES])
{
    size_t used = 0;

    if (wide == NULL) return NULL;
    for (; *wide != 0 && used + 5 < NAME_BYTES; wide++) {
        uint32_t c = (uint32_t)*wide;
        if (c < 0x80) {
            buffer[used++] = (char)c;
        } else if (c < 0x800) {
            buffer[used++] = (char)(0xC0 | c >> 6);
            buffer[used++] = (char)(0x80 | (c & 63));
        } else if (c < 0x10000) {
            buffer[used++] = (char)(0xE0 | c >> 12);
            buffer[used++] = (char)(0x80 | (c >> 6 & 63));
            buffer[used++] = (char)(0x80 | (c & 63));
        } else {
            buffer[used++] = (char)(0xF0 | (c >> 18 & 7));
            buffer[used++] = (char)(0x80 | (c >> 12 & 63));
            buffer[used++] = (char)(0x80 | (c >> 6 & 63));
            buffer[used++] = (char)(0x80 | (c & 63));
        }
    }
    buffer[used] = '\0';
    return buffer;
}

static const struct name unnamed;

static struct name look_up(const char *text)
{
    struct name name = {0};

    if (text == NULL) return name;
    name.seen = st_seen_place(ST_MAP_NVTX, text);
    name.is_matched = st_stages_match(ST_MAP_NVTX, st_thread_current, text, &name.match);
    return name;
}

/* The name of something that begins now. */
static struct name meet(const char *text)
{
    struct name name = look_up(text);

    if (text != NULL) st_seen_count(name.seen);
    return name;
}

static uint32_t string_slot(const void *handle)
{
    return (uint32_t)(((uintptr_t)handle >> 3 ^ (uintptr_t)handle) * 0x9e3779b97f4a7c15u >> 40) & (MAX_STRINGS - 1);
}

static struct name find_string(const void *handle)
{
    for (uint32_t i = string_slot(handle); handle != NULL; i = (i + 1) & (MAX_STRINGS - 1)) {
        void *here = atomic_load_explicit(&strings[i].handle, memory_order_acquire);
        if (here == NULL) break;
        if (here != handle) continue;
        st_seen_count(strings[i].name.seen);
        return strings[i].name;
    }
    return unnamed;
}

/* The table is never cleared: a handle is valid until its domain dies, and may come again with another text. Strings
 * that no rule matches leave a third of the room to those that one does. */
static void keep_string(void *handle, const struct name *name)
{
    static atomic_flag is_writing = ATOMIC_FLAG_INIT;
    uint32_t most = name->is_matched ? MAX_STRINGS / 4 * 3 : MAX_STRINGS / 2;

    while (atomic_flag_test_and_set_explicit(&is_writing, memory_order_acquire)) continue;
    uint32_t i = string_slot(handle);
    void *here;
    while ((here = atomic_load_explicit(&strings[i].handle, memory_order_relaxed)) != NULL && here != handle)
        i = (i + 1) & (MAX_STRINGS - 1);
    if (here != NULL || atomic_load_explicit(&string_count, memory_order_relaxed) < most) {
        strings[i].name = *name;
        atomic_store_explicit(&strings[i].handle, handle, memory_order_release);
        if (here == NULL) atomic_fetch_add_explicit(&string_count, 1, memory_order_relaxed);
    }
    atomic_flag_clear_explicit(&is_writing, memory_order_release);
}

void *st_nvtx_register(const char *text, void *handle)
{
    struct name name = look_up(text);

    if (handle == NULL) handle = (void *)(atomic_fetch_add_explicit(&last_handle, 1, memory_order_relaxed) << 4);
    keep_string(handle, &name);
    return handle;
}

void *st_nvtx_register_wide(const wchar_t *text, void *handle)
{
    char buffer[NAME_BYTES];
    return st_nvtx_register(narrow(text, buffer), handle);
}

void *st_nvtx_new_domain(void)
{
    return (void *)(atomic_fetch_add_explicit(&last_handle, 1, memory_order_relaxed) << 4);
}

static struct name meet_attributes(const struct st_nvtx_attributes *attributes)
{
    char buffer[NAME_BYTES];

    if (attributes == NULL || attributes->size < sizeof(*attributes)) return unnamed;
    switch (attributes->message_type) {
    case ST_NVTX_ASCII:
        return meet(attributes->message.ascii);
    case ST_NVTX_UNICODE:
        return meet(narrow(attributes->message.unicode, buffer));
    case ST_NVTX_REGISTERED:
        return find_string(attributes->message.registered);
    default:
        return unnamed;
    }
}

/* ---- pushed ranges ---- */

static void close_ranges_over(void);

static void push(void *domain, struct name name)
{
    struct st_thread *thread = st_thread_self();

    close_ranges_over();
    if (thread == NULL || !st_thread_claim(thread)) return;
    if (thread->pushed_count == ST_MAX_PUSHED_RANGES) {
        thread->pushed_beyond++;
    } else {
        uint64_t token = name.is_matched ? st_stage_enter(name.match.rule, name.match.name) : 0;
        thread->pushed[thread->pushed_count++] = (struct st_pushed_range){domain, token};
    }
    st_thread_release(thread);
}

void st_nvtx_push(void *domain, const char *name)
{
    push(domain, meet(name));
}

void st_nvtx_push_wide(void *domain, const wchar_t *name)
{
    char buffer[NAME_BYTES];
    st_nvtx_push(domain, narrow(name, buffer));
}

void st_nvtx_push_attributes(void *domain, const struct st_nvtx_attributes *attributes)
{
    push(domain, meet_attributes(attributes));
}

static void pop(struct st_thread *thread, void *domain)
{
    if (thread->pushed_beyond > 0) {
        thread->pushed_beyond--;
        return;
    }
    uint32_t i = thread->pushed_count;
    while (i > 0 && thread->pushed[i - 1].domain != domain) i--;
    if (i == 0) return; /* nothing is open in this domain */
    st_stage_leave(thread->pushed[i - 1].token, ST_END_MARKED);
    memmove(&thread->pushed[i - 1], &thread->pushed[i], (thread->pushed_count - i) * sizeof(thread->pushed[0]));
    thread->pushed_count--;
}

void st_nvtx_pop(void *domain)
{
    struct st_thread *thread = st_thread_self();

    close_ranges_over();
    if (thread == NULL || !st_thread_claim(thread)) return;
    pop(thread, domain);
    st_thread_release(thread);
}

/* ---- started ranges ---- */

static struct started *find_free(void)
{
    for (uint32_t i = 0; i < MAX_STARTED; i++) {
        uint64_t expected = STARTED_FREE;
        if (atomic_load_explicit(&started[i].id, memory_order_relaxed) == STARTED_FREE &&
            atomic_compare_exchange_strong_explicit(&started[i].id, &expected, STARTED_BUSY, memory_order_acquire,
                                                    memory_order_relaxed))
            return &started[i];
    }
    return NULL;
}

static void free_started(struct started *range)
{
    atomic_store_explicit(&range->is_over, false, memory_order_relaxed);
    atomic_store_explicit(&range->id, STARTED_FREE, memory_order_release);
}

/* Has its thread ended, as far as is known without asking the system? */
static bool is_orphan(const struct started *range)
{
    return range->owner->index != range->thread ||
           atomic_load_explicit(&range->owner->state, memory_order_relaxed) != ST_THREAD_RUNNING;
}

/* Free the place of an orphan; a range that was ended is closed. */
static void bury(struct started *range)
{
    uint64_t id = atomic_load_explicit(&range->id, memory_order_acquire);

    if (id == STARTED_FREE || id == STARTED_BUSY) return;
    if (!atomic_compare_exchange_strong(&range->id, &id, STARTED_BUSY)) return;
    if (atomic_load_explicit(&range->is_over, memory_order_acquire)) {
        st_stage_leave_for_ended(range->token, range->end_ticks);
        atomic_fetch_sub_explicit(&over_count, 1, memory_order_relaxed);
    }
    free_started(range);
}

/* A free place; ranges that ended threads left open make room. */
static struct started *claim_started(void)
{
    struct started *range = find_free();

    if (range != NULL) return range;
    for (uint32_t i = 0; i < MAX_STARTED; i++) {
        uint64_t id = atomic_load_explicit(&started[i].id, memory_order_acquire);
        if (id != STARTED_FREE && id != STARTED_BUSY && is_orphan(&started[i])) bury(&started[i]);
    }
    return find_free();
}

void st_nvtx_fork_child(void)
{
    for (uint32_t i = 0; i < MAX_STARTED; i++) free_started(&started[i]);
    atomic_store_explicit(&over_count, 0, memory_order_relaxed);
}

static uint64_t start(struct name name, uint64_t id)
{
    struct started *range = name.is_matched ? claim_started() : NULL;

    close_ranges_over();
    if (id == 0) id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed);
    if (range == NULL) return id;
    range->token = st_stage_enter(name.match.rule, name.match.name);
    range->owner = st_thread_current;
    range->thread = range->owner != NULL ? range->owner->index : 0;
    if (range->token == 0) {
        free_started(range);
    } else {
        atomic_store_explicit(&range->id, id, memory_order_release);
    }
    return id;
}

uint64_t st_nvtx_range_start(const char *name, uint64_t id)
{
    return start(meet(name), id);
}

uint64_t st_nvtx_range_start_wide(const wchar_t *name, uint64_t id)
{
    char buffer[NAME_BYTES];
    return st_nvtx_range_start(narrow(name, buffer), id);
}

uint64_t st_nvtx_range_start_attributes(const struct st_nvtx_attributes *attributes, uint64_t id)
{
    return start(meet_attributes(attributes), id);
}

static struct started *find_started(uint64_t id)
{
    for (uint32_t i = 0; i < MAX_STARTED && id != STARTED_FREE && id != STARTED_BUSY; i++)
        if (atomic_load_explicit(&started[i].id, memory_order_acquire) == id) return &started[i];
    return NULL;
}

/* Close those of this thread that another one ended. */
static void close_ranges_over(void)
{
    struct st_thread *thread = st_thread_current;

    if (atomic_load_explicit(&over_count, memory_order_acquire) == 0) return;
    for (uint32_t i = 0; i < MAX_STARTED; i++) {
        if (!atomic_load_explicit(&started[i].is_over, memory_order_acquire)) continue;
        if (started[i].owner != thread || started[i].thread != thread->index) continue;
        st_span_doubt(thread, false, st_ticks() - started[i].end_ticks);
        st_stage_leave(started[i].token, ST_END_ABANDONED);
        st_span_doubt(thread, false, 0);
        free_started(&started[i]);
        atomic_fetch_sub_explicit(&over_count, 1, memory_order_relaxed);
    }
}

static void close_before_call(struct st_thread *thread, const uint64_t *words)
{
    close_ranges_over();
}

void st_nvtx_range_end(uint64_t id)
{
    struct started *range = find_started(id);

    close_ranges_over();
    if (range == NULL) return;
    if (range->owner == st_thread_current && range->thread == range->owner->index) {
        st_stage_leave(range->token, ST_END_MARKED);
        free_started(range);
        return;
    }
    if (atomic_load_explicit(&range->is_over, memory_order_relaxed)) return;
    range->end_ticks = st_ticks();
    st_at_call(close_before_call); /* the owner may launch more before its next NVTX call */
    if (!atomic_exchange_explicit(&range->is_over, true, memory_order_release)) {
        atomic_fetch_add_explicit(&over_count, 1, memory_order_release);
    }
    for (uint32_t i = 0; i < MAX_STARTED; i++) { /* this one, and others whose threads were just about to end */
        if (!atomic_load_explicit(&started[i].is_over, memory_order_acquire)) continue;
        if (is_orphan(&started[i]) || !st_sys_has_thread(started[i].owner->tid)) bury(&started[i]);
    }
}

/* ---- marks ---- */

static void mark(struct name name)
{
    if (name.is_matched) st_stage_instant(name.match.rule, name.match.name);
}

void st_nvtx_mark(const char *name)
{
    mark(meet(name));
}

void st_nvtx_mark_wide(const wchar_t *name)
{
    char buffer[NAME_BYTES];
    st_nvtx_mark(narrow(name, buffer));
}

void st_nvtx_mark_attributes(const struct st_nvtx_attributes *attributes)
{
    mark(meet_attributes(attributes));
}
