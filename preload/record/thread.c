/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread blocks and rings. Runs inside a thunk at a thread's first event: raw system calls only, no libc,
 * compiled without vector registers. A ring's pages are reserved (fallocate) before use, so a full
 * /dev/shm is an error here and never a SIGBUS later.
 */
#include "thread.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "clock.h"
#include "syscall.h"

enum { DEFAULT_CAPACITY = (1 << 20) / ST_SLOT_BYTES };

_Atomic(struct st_thread *) st_threads;
__thread struct st_thread *st_thread_current __attribute__((tls_model("initial-exec")));
__thread uint32_t st_suppress __attribute__((tls_model("initial-exec")));
struct st_ring_setup st_ring_setup;
_Atomic uint64_t st_lost_no_thread;

static _Atomic uint32_t thread_count, ring_count, shared_count, block_count;

/* ---- text without libc ------------------------------------------------------------------------ */

static char *put_text(char *at, const char *end, const char *text)
{
    while (*text && at < end) {
        *at++ = *text++;
    }
    return at;
}

static char *put_number(char *at, const char *end, uint64_t value)
{
    char digits[20];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count && at < end) {
        *at++ = digits[--count];
    }
    return at;
}

static char *put_hex(char *at, const char *end, const uint8_t *bytes, int count)
{
    for (int i = 0; i < count && end - at >= 2; i++) {
        *at++ = "0123456789abcdef"[bytes[i] >> 4];
        *at++ = "0123456789abcdef"[bytes[i] & 15];
    }
    return at;
}

/* ---- rings ------------------------------------------------------------------------------------ */

/* NULL if the file can not be made or its pages can not be reserved. */
static struct st_ring_head *map_file(const char *path, uint64_t bytes)
{
    long fd = st_sys_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return NULL;
    }
    void *map = st_sys_fallocate((int)fd, bytes) < 0 ? (void *)-1 : st_sys_mmap(bytes, MAP_SHARED, (int)fd);
    st_sys_close((int)fd);
    if (st_sys_mmap_failed(map)) {
        st_sys_unlink(path);
        return NULL;
    }
    return map;
}

static struct st_ring_head *map_shared_ring(struct st_thread *thread, uint32_t ring, uint64_t bytes)
{
    const struct st_ring_head *identity = &st_ring_setup.head;
    char *end = thread->ring_path + sizeof(thread->ring_path) - 1;
    char *at = put_text(thread->ring_path, end, "/dev/shm/stagetap.");
    at = put_text(put_number(at, end, identity->uid), end, ".");
    at = put_text(put_hex(at, end, identity->session, sizeof(identity->session)), end, ".");
    *put_number(at, end, ring) = '\0';
    struct st_ring_head *head = map_file(thread->ring_path, bytes);
    if (!head && st_ring_setup.fallback_prefix[0]) {
        at = put_text(thread->ring_path, end, st_ring_setup.fallback_prefix);
        *put_number(put_text(at, end, ".ring."), end, ring) = '\0';
        head = map_file(thread->ring_path, bytes);
    }
    return head;
}

static void name_owner(struct st_ring_head *head, const struct st_thread *thread)
{
    enum { GET_NAME = 16 /* PR_GET_NAME */ };
    head->thread = thread->index;
    head->tid = thread->tid;
    st_syscall6(SYS_prctl, GET_NAME, (long)head->thread_name, 0, 0, 0, 0);
}

/* Identity and size; head and tail are 0 in fresh pages. */
static void describe_ring(struct st_ring_head *head, uint32_t ring, uint64_t capacity)
{
    const struct st_ring_head *identity = &st_ring_setup.head;
    for (unsigned i = 0; i < sizeof(head->session); i++) {
        head->session[i] = identity->session[i];
        head->boot[i] = identity->boot[i];
    }
    for (unsigned i = 0; i < sizeof(head->trace_path) && identity->trace_path[i]; i++) {
        head->trace_path[i] = identity->trace_path[i];
    }
    head->version = ST_RING_VERSION;
    head->slot_bytes = ST_SLOT_BYTES;
    head->capacity = capacity;
    head->uid = identity->uid;
    head->pid = identity->pid;
    head->pid_start = identity->pid_start;
    head->ring = ring;
    head->sample_ticks = identity->sample_ticks;
    head->sample_monotonic_ns = identity->sample_monotonic_ns;
    head->ticks_per_second = identity->ticks_per_second;
    uint64_t magic = 0;
    for (unsigned i = 0; i < sizeof(head->magic); i++) {
        magic |= (uint64_t)(uint8_t)ST_RING_MAGIC[i] << (8 * i);
    }
    /* last: a reader that sees it sees the rest */
    __atomic_store_n((uint64_t *)(void *)head->magic, magic, __ATOMIC_RELEASE);
}

/* A ring for the thread: shared if the session has started and there is room, else private. */
static bool make_ring(struct st_thread *thread)
{
    uint64_t capacity = st_ring_setup.capacity ? st_ring_setup.capacity : DEFAULT_CAPACITY;
    uint64_t bytes = ST_RING_HEAD_BYTES + capacity * ST_SLOT_BYTES;
    uint32_t ring = atomic_fetch_add_explicit(&ring_count, 1, memory_order_relaxed) + 1;
    struct st_ring_head *head = NULL;
    if (st_ring_setup.is_shared && bytes <= st_sys_largest_file_bytes()) {
        uint32_t shared = atomic_fetch_add_explicit(&shared_count, 1, memory_order_relaxed);
        head = shared < ST_MAX_SHARED_RINGS ? map_shared_ring(thread, ring, bytes) : NULL;
        if (!head) {
            atomic_fetch_sub_explicit(&shared_count, 1, memory_order_relaxed);
        }
    }
    thread->is_private = head == NULL;
    if (!head) {
        thread->ring_path[0] = '\0';
        head = st_sys_mmap(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (st_sys_mmap_failed(head)) {
            return false;
        }
    }
    thread->ring_bytes = bytes;
    thread->slots = (struct st_slot *)(void *)((uint8_t *)head + ST_RING_HEAD_BYTES);
    thread->slot_mask = capacity - 1;
    thread->head = thread->seen_tail = 0;
    describe_ring(head, ring, capacity);
    name_owner(head, thread);
    atomic_store_explicit(&thread->ring, head, memory_order_release); /* pairs with the writer's acquire */
    return true;
}

void st_thread_share_ring(struct st_thread *thread)
{
    struct st_thread before = {.ring = thread->ring, .slots = thread->slots, .slot_mask = thread->slot_mask,
                               .head = thread->head, .ring_bytes = thread->ring_bytes};
    if (!thread->is_private || !make_ring(thread)) {
        return;
    }
    for (uint64_t n = 0; n < before.head; n++) {
        thread->slots[n & thread->slot_mask] = before.slots[n & before.slot_mask];
    }
    thread->head = before.head;
    atomic_store_explicit(&thread->ring->lost, atomic_load_explicit(&before.ring->lost, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&thread->ring->head, before.head, memory_order_release);
    st_sys_munmap(before.ring, before.ring_bytes);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* A block whose thread ended and whose ring is written out, or NULL. */
static struct st_thread *take_free_block(void)
{
    struct st_thread *thread = atomic_load_explicit(&st_threads, memory_order_acquire);
    for (; thread; thread = thread->next) {
        uint32_t state = atomic_load_explicit(&thread->state, memory_order_relaxed);
        if ((state == ST_THREAD_FREE || state == ST_THREAD_EMPTY) &&
            atomic_compare_exchange_strong_explicit(&thread->state, &state, ST_THREAD_TAKEN, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return thread;
        }
    }
    return NULL;
}

static void reset_position(struct st_thread *thread)
{
    thread->span = thread->open_span_count = 0;
    thread->frame_count = 0;
    thread->runtime_depth = thread->driver_depth = 0;
    thread->pushed_count = thread->pushed_beyond = 0;
    thread->posts_seen = 0;
    thread->has_called = false;
    thread->window = NULL;
    thread->window_depth = 0;
    thread->python_count = thread->python_beyond = 0;
    thread->python_names_due = 0;
    thread->is_busy = false;
}

/* New memory for a block; a forked child finds it zeroed and so makes no mistake about whose ring it is. */
static struct st_thread *map_block(void)
{
    enum { WIPE_ON_FORK = 18 /* MADV_WIPEONFORK, Linux 4.14 */ };
    struct st_thread *thread = st_sys_mmap(sizeof(*thread), MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (st_sys_mmap_failed(thread)) {
        return NULL;
    }
    st_syscall6(SYS_madvise, (long)thread, sizeof(*thread), WIPE_ON_FORK, 0, 0, 0);
    return thread;
}

/* NULL also when there are so many that the writer does not keep up with threads that come and go. */
static struct st_thread *map_new_block(void)
{
    uint32_t count = atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed);
    struct st_thread *thread = count < ST_MAX_BLOCKS ? map_block() : NULL;
    if (!thread) {
        atomic_fetch_sub_explicit(&block_count, 1, memory_order_relaxed);
    }
    return thread;
}

static void publish(struct st_thread *thread)
{
    struct st_thread *newest = atomic_load_explicit(&st_threads, memory_order_relaxed);
    do {
        thread->next = newest;
    } while (!atomic_compare_exchange_weak_explicit(&st_threads, &newest, thread, memory_order_release,
                                                    memory_order_relaxed)); /* pairs with the writer's acquire */
}

/* A child that no fork handler told us of (raw clone, _Fork): the session is its parent's. */
static bool is_stray_child(void)
{
    uint32_t owner = st_ring_setup.head.pid;
    return owner && owner != (uint32_t)st_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

struct st_thread *st_thread_create(void)
{
    if (st_suppress || is_stray_child()) {
        return NULL;
    }
    st_clock_init();
    struct st_thread *thread = take_free_block();
    bool is_new = !thread;
    if (!thread && !(thread = map_new_block())) {
        atomic_fetch_add_explicit(&st_lost_no_thread, 1, memory_order_relaxed);
        return NULL;
    }
    thread->tid = st_sys_gettid();
    thread->index = atomic_fetch_add_explicit(&thread_count, 1, memory_order_relaxed) + 1;
    thread->is_announced = false;
    reset_position(thread);
    if (thread->ring) {
        name_owner(thread->ring, thread);
    } else if (!make_ring(thread)) {
        if (is_new) {
            st_sys_munmap(thread, sizeof(*thread));
            atomic_fetch_sub_explicit(&block_count, 1, memory_order_relaxed);
        } else {
            atomic_store_explicit(&thread->state, ST_THREAD_EMPTY, memory_order_release);
        }
        atomic_fetch_add_explicit(&st_lost_no_thread, 1, memory_order_relaxed);
        return NULL;
    }
    st_thread_current = thread;
    /* pairs with look_after: whoever sees RUNNING sees whose it is */
    atomic_store_explicit(&thread->state, ST_THREAD_RUNNING, memory_order_release);
    if (is_new) {
        publish(thread);
    }
    return thread;
}

void st_thread_remove_ring(struct st_thread *thread)
{
    if (!thread->is_private) {
        st_sys_unlink(thread->ring_path);
        atomic_fetch_sub_explicit(&shared_count, 1, memory_order_relaxed);
        thread->ring_path[0] = '\0';
        thread->is_private = true;
    }
}

void st_thread_drop_ring(struct st_thread *thread)
{
    struct st_ring_head *ring = thread->ring;
    st_thread_remove_ring(thread);
    atomic_store_explicit(&thread->ring, NULL, memory_order_relaxed);
    st_sys_munmap(ring, thread->ring_bytes);
    atomic_store_explicit(&thread->state, ST_THREAD_EMPTY, memory_order_release); /* pairs with take_free_block */
}

/* The mappings stay (shared pages must not be written); the child starts with empty lists. */
void st_thread_fork_child(void)
{
    atomic_store_explicit(&st_threads, NULL, memory_order_relaxed);
    st_thread_current = NULL;
    st_ring_setup.is_shared = false;
    st_ring_setup.head.pid = 0;
    atomic_store_explicit(&thread_count, 0, memory_order_relaxed);
    atomic_store_explicit(&ring_count, 0, memory_order_relaxed);
    atomic_store_explicit(&shared_count, 0, memory_order_relaxed);
    atomic_store_explicit(&block_count, 0, memory_order_relaxed);
    atomic_store_explicit(&st_lost_no_thread, 0, memory_order_relaxed);
}
