/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges of the calling thread; see nvtx_ranges.h. Pushes are kept per thread, matched or not, so that
 * pops find theirs. A started range that ends on another thread cannot be closed there (spans belong to
 * their thread): it is marked, and its own thread closes it at its next NVTX call, which the trace shows as a
 * late end.
 */
#include "nvtx_ranges.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "preload/record/thread.h"
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
    uint64_t token;
    _Atomic bool is_over; /* ended on another thread */
} started[MAX_STARTED];
static _Atomic uint32_t over_count;
static _Atomic uint64_t last_id = FIRST_MADE_UP;

/* Registered strings that a rule matches; open addressing by handle. */
static struct {
    _Atomic(void *) handle; /* NULL = free; release, pairs with find_string */
    struct st_stage_match match;
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

static bool match_name(const char *name, struct st_stage_match *ret_match)
{
    return name != NULL && st_stages_match(ST_MAP_NVTX, st_thread_current, name, ret_match);
}

static uint32_t string_slot(const void *handle)
{
    return (uint32_t)(((uintptr_t)handle >> 3 ^ (uintptr_t)handle) * 0x9e3779b97f4a7c15u >> 40) & (MAX_STRINGS - 1);
}

static bool find_string(const void *handle, struct st_stage_match *ret_match)
{
    for (uint32_t i = string_slot(handle); handle != NULL; i = (i + 1) & (MAX_STRINGS - 1)) {
        void *here = atomic_load_explicit(&strings[i].handle, memory_order_acquire);
        if (here == NULL) return false;
        if (here != handle) continue;
        *ret_match = strings[i].match;
        return true;
    }
    return false;
}

/* Only strings that match are kept. The table is never cleared: a handle is valid until its domain dies. */
static void keep_string(void *handle, const struct st_stage_match *match)
{
    static atomic_flag is_writing = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set_explicit(&is_writing, memory_order_acquire)) continue;
    if (atomic_load_explicit(&string_count, memory_order_relaxed) < MAX_STRINGS / 4 * 3) {
        uint32_t i = string_slot(handle);
        void *here;
        while ((here = atomic_load_explicit(&strings[i].handle, memory_order_relaxed)) != NULL && here != handle)
            i = (i + 1) & (MAX_STRINGS - 1);
        strings[i].match = *match;
        atomic_store_explicit(&strings[i].handle, handle, memory_order_release);
        if (here == NULL) atomic_fetch_add_explicit(&string_count, 1, memory_order_relaxed);
    }
    atomic_flag_clear_explicit(&is_writing, memory_order_release);
}

void *st_nvtx_register(const char *text, void *handle)
{
    struct st_stage_match match;

    if (handle == NULL) handle = (void *)(atomic_fetch_add_explicit(&last_handle, 1, memory_order_relaxed) << 4);
    if (match_name(text, &match)) keep_string(handle, &match);
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

static bool match_attributes(const struct st_nvtx_attributes *attributes, struct st_stage_match *ret_match)
{
    char buffer[NAME_BYTES];

    if (attributes == NULL || attributes->size < sizeof(*attributes)) return false;
    switch (attributes->message_type) {
    case ST_NVTX_ASCII:
        return match_name(attributes->message.ascii, ret_match);
    case ST_NVTX_UNICODE:
        return match_name(narrow(attributes->message.unicode, buffer), ret_match);
    case ST_NVTX_REGISTERED:
        return find_string(attributes->message.registered, ret_match);
    default:
        return false;
    }
}

/* ---- pushed ranges ---- */

static void close_ranges_over(void);

/* Ranges of `domain` among the first `count` pushed ones: the level that NVTX returns. */
static int level_of(const struct st_thread *thread, uint32_t count, const void *domain)
{
    int level = 0;
    for (uint32_t i = 0; i < count; i++) level += thread->pushed[i].domain == domain;
    return level;
}

static int push(void *domain, bool is_matched, const struct st_stage_match *match)
{
    struct st_thread *thread = st_thread_self();

    close_ranges_over();
    if (thread == NULL || !st_thread_claim(thread)) return 0;
    int level = level_of(thread, thread->pushed_count, domain);
    if (thread->pushed_count == ST_MAX_PUSHED_RANGES) {
        thread->pushed_beyond++;
    } else {
        uint64_t token = is_matched ? st_stage_enter(match->rule, match->name) : 0;
        thread->pushed[thread->pushed_count++] = (struct st_pushed_range){domain, token};
    }
    st_thread_release(thread);
    return level;
}

int st_nvtx_push(void *domain, const char *name)
{
    struct st_stage_match match;
    bool is_matched = match_name(name, &match);
    return push(domain, is_matched, &match);
}

int st_nvtx_push_wide(void *domain, const wchar_t *name)
{
    char buffer[NAME_BYTES];
    return st_nvtx_push(domain, narrow(name, buffer));
}

int st_nvtx_push_attributes(void *domain, const struct st_nvtx_attributes *attributes)
{
    struct st_stage_match match;
    bool is_matched = match_attributes(attributes, &match);
    return push(domain, is_matched, &match);
}

static int pop(struct st_thread *thread, void *domain)
{
    if (thread->pushed_beyond > 0) {
        thread->pushed_beyond--;
        return ST_MAX_PUSHED_RANGES;
    }
    uint32_t i = thread->pushed_count;
    while (i > 0 && thread->pushed[i - 1].domain != domain) i--;
    if (i == 0) return -1; /* nothing is open in this domain */
    st_stage_leave(thread->pushed[i - 1].token, ST_END_MARKED);
    int level = level_of(thread, i, domain) - 1;
    memmove(&thread->pushed[i - 1], &thread->pushed[i], (thread->pushed_count - i) * sizeof(thread->pushed[0]));
    thread->pushed_count--;
    return level;
}

int st_nvtx_pop(void *domain)
{
    struct st_thread *thread = st_thread_self();

    close_ranges_over();
    if (thread == NULL || !st_thread_claim(thread)) return -1;
    int level = pop(thread, domain);
    st_thread_release(thread);
    return level;
}

/* ---- started ranges ---- */

static struct started *claim_started(void)
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

static uint64_t start(bool is_matched, const struct st_stage_match *match, uint64_t id)
{
    struct started *range = is_matched ? claim_started() : NULL;

    close_ranges_over();
    if (id == 0) id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed);
    if (range == NULL) return id;
    range->token = st_stage_enter(match->rule, match->name);
    range->owner = st_thread_current;
    if (range->token == 0) {
        free_started(range);
    } else {
        atomic_store_explicit(&range->id, id, memory_order_release);
    }
    return id;
}

uint64_t st_nvtx_range_start(const char *name, uint64_t id)
{
    struct st_stage_match match;
    bool is_matched = match_name(name, &match);
    return start(is_matched, &match, id);
}

uint64_t st_nvtx_range_start_wide(const wchar_t *name, uint64_t id)
{
    char buffer[NAME_BYTES];
    return st_nvtx_range_start(narrow(name, buffer), id);
}

uint64_t st_nvtx_range_start_attributes(const struct st_nvtx_attributes *attributes, uint64_t id)
{
    struct st_stage_match match;
    bool is_matched = match_attributes(attributes, &match);
    return start(is_matched, &match, id);
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
    if (atomic_load_explicit(&over_count, memory_order_acquire) == 0) return;
    for (uint32_t i = 0; i < MAX_STARTED; i++) {
        if (!atomic_load_explicit(&started[i].is_over, memory_order_acquire)) continue;
        if (started[i].owner != st_thread_current) continue;
        st_stage_leave(started[i].token, ST_END_ABANDONED);
        free_started(&started[i]);
        atomic_fetch_sub_explicit(&over_count, 1, memory_order_relaxed);
    }
}

void st_nvtx_range_end(uint64_t id)
{
    struct started *range = find_started(id);

    close_ranges_over();
    if (range == NULL) return;
    if (range->owner == st_thread_current) {
        st_stage_leave(range->token, ST_END_MARKED);
        free_started(range);
    } else if (!atomic_exchange_explicit(&range->is_over, true, memory_order_release)) {
        atomic_fetch_add_explicit(&over_count, 1, memory_order_release);
    }
}

/* ---- marks ---- */

void st_nvtx_mark(const char *name)
{
    struct st_stage_match match;
    if (match_name(name, &match)) st_stage_instant(match.rule, match.name);
}

void st_nvtx_mark_wide(const wchar_t *name)
{
    char buffer[NAME_BYTES];
    st_nvtx_mark(narrow(name, buffer));
}

void st_nvtx_mark_attributes(const struct st_nvtx_attributes *attributes)
{
    struct st_stage_match match;
    if (match_attributes(attributes, &match)) st_stage_instant(match.rule, match.name);
}
