/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread. A short poll (5 ms while there are events, 50 ms when idle) looks at the rings; one
 * that is a quarter full is written at once, all of them when the flush interval is over:
 *
 *   poll ─ poll ─ poll ──────────── flush ───────────────────────────── poll …
 *    └ rings ≥ ¼ full → chunk        └ all rings, device records, clock, changed facts → chunks
 *
 * A ring's tail moves only after its chunk is in the file: what is committed is always in one of them.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "threads.h"
#include "preload/trace/chunk.h"
#include "preload/trace/slots.h"

enum { BUSY_POLL_NS = 5000000, IDLE_POLL_NS = 50000000, POLLS_TO_IDLE = 20, SECOND_FLUSH_NS = 10000000 };
enum { DEVICE_FLUSH_NS = 250000000 };
enum { MANY_RINGS = 8, KEPT_RINGS = 4 };
enum readiness { STARTING = 0, BEGUN = 1, NOT_BEGUN = 2 };

static struct {
    pthread_t thread;
    _Atomic int ready; /* enum readiness, set by the thread */
    _Atomic int stop;  /* set by st_writer_finish, or when the start is given up */
    _Atomic int done;  /* set by the thread, last */
    bool (*prepare)(struct st_writer_setup *);
    _Atomic bool wants_clock; /* a device source came: read the clocks soon */
    _Atomic(const struct st_device_source *) device;
    struct st_writer_setup setup;
    struct st_sink sink;
    struct st_chunk_encoder encoder;
    struct st_slot_rows slots;
    struct st_device_rows device_rows;
    struct st_buffer payload, out, index;
    uint64_t last_flush_ns, last_device_flush_ns;
    uint64_t lost[ST_LOST_CAUSES];        /* noticed by the writer itself: disk, limit */
    uint64_t device_lost[ST_LOST_CAUSES]; /* as last told by the device side */
    uint64_t state_hash;
    bool is_at_limit;
    bool is_over_limit; /* that is why the last chunk was not written */
    int quiet_polls;
} writer = {.sink.fd = -1};

/* ---- losses ----------------------------------------------------------------------------------- */

static uint64_t ring_losses(void)
{
    uint64_t lost = 0;
    for (struct st_thread *t = atomic_load_explicit(&st_threads, memory_order_acquire); t; t = t->next) {
        const struct st_ring_head *ring = atomic_load_explicit(&t->ring, memory_order_acquire);
        lost += ring ? atomic_load_explicit(&ring->lost, memory_order_relaxed) : 0;
    }
    return lost;
}

static uint64_t lost_of(enum st_lost cause)
{
    uint64_t lost = writer.lost[cause] + writer.device_lost[cause];
    if (cause == ST_LOST_RING_FULL) {
        lost += ring_losses();
    } else if (cause == ST_LOST_NO_THREAD) {
        lost += atomic_load_explicit(&st_lost_no_thread, memory_order_relaxed);
    }
    return lost;
}

static uint64_t lost_total(void)
{
    uint64_t total = 0;
    for (int cause = 1; cause < ST_LOST_CAUSES; cause++) {
        total += lost_of((enum st_lost)cause);
    }
    return total;
}

static void add_losses(struct st_rows *counters)
{
    static const char *const NAMES[ST_LOST_CAUSES] = {
        [ST_LOST_RING_FULL] = "lost.ring_full",
        [ST_LOST_NO_THREAD] = "lost.no_thread",
        [ST_LOST_DEVICE_DROPPED] = "lost.cupti_dropped",
        [ST_LOST_DEVICE_INVALID] = "lost.device_invalid",
        [ST_LOST_DISK] = "lost.disk",
        [ST_LOST_LIMIT] = "lost.limit",
        [ST_LOST_DEVICE_UNREAD] = "lost.device_unread",
    };
    for (int cause = 1; cause < ST_LOST_CAUSES; cause++) {
        st_rows_add(counters, (int64_t[]){(int64_t)lost_of((enum st_lost)cause), 0},
                    &(struct st_text){NAMES[cause], (uint32_t)strlen(NAMES[cause])});
    }
}

/* ---- chunks ----------------------------------------------------------------------------------- */

static void note_in_index(const struct st_chunk_head *head, uint64_t offset, uint32_t rows)
{
    st_buffer_append(&writer.index, &(struct st_index_entry){.offset = offset, .first_ticks = head->first_ticks,
                                                             .last_ticks = head->last_ticks, .kind = head->kind,
                                                             .rows = rows},
                     sizeof(struct st_index_entry));
}

/* Kept free for the end of the trace: names, totals, index. */
static uint64_t end_reserve_bytes(void)
{
    uint64_t part = writer.sink.limit_bytes / 8;
    return part < 256 << 10 ? part : 256 << 10;
}

/* Detail must leave room for the boundaries, which must leave room for the end. */
static bool is_too_much_detail(uint64_t chunk_bytes)
{
    uint64_t limit = writer.sink.limit_bytes;
    return writer.sink.offset + chunk_bytes + end_reserve_bytes() + limit / 16 > limit;
}

/* Encode writer.payload as one chunk and append it. False: it is not in the file; the payload is gone. */
static bool write_chunk(struct st_chunk_head *head, uint32_t rows)
{
    uint64_t offset = writer.sink.offset;
    uint32_t sequence = writer.encoder.next_sequence;
    writer.out.length = 0;
    head->lost_total = lost_total();
    const struct st_buffer *payload = &writer.payload;
    bool is_written = st_chunk_encode(&writer.encoder, head, payload->bytes, payload->length, &writer.out);
    writer.is_over_limit = head->kind != ST_CHUNK_META && !writer.is_at_limit && is_too_much_detail(writer.out.length);
    is_written = is_written && !writer.is_over_limit &&
                 st_sink_append(&writer.sink, writer.out.bytes, writer.out.length);
    if (!is_written) {
        writer.encoder.next_sequence = sequence; /* the number of the next chunk that is in the file */
    } else if (writer.out.length) {
        note_in_index(head, offset, rows);
    }
    writer.payload.length = 0;
    return is_written;
}

/* From now on no detail; a LOST row says since when. The payload must be empty. */
static void reach_limit(void)
{
    writer.is_at_limit = true;
    struct st_rows rows = {.table = ST_T_LOST};
    st_rows_add(&rows, (int64_t[ST_COUNT_C_LOST]){ST_LOST_LIMIT, (int64_t)st_ticks(), 0, 0}, NULL);
    st_table_encode(&rows, &writer.payload);
    st_rows_finish(&rows);
    write_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
}

/* The first time that the file comes near its limit. The payload must be empty. */
static void check_limit(void)
{
    if (!writer.is_at_limit && is_too_much_detail(0)) {
        reach_limit();
    }
}

/* Is there still room for boundaries? Past it nothing but the end is written. */
static bool has_room_for_boundaries(void)
{
    return writer.sink.offset + end_reserve_bytes() < writer.sink.limit_bytes;
}

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
    check_limit();
    st_slot_rows_reset(&writer.slots);
    uint64_t skipped = st_slot_rows_add(&writer.slots, thread->slots, thread->slot_mask, from, to, writer.is_at_limit);
    struct st_chunk_head head = {.kind = ST_CHUNK_EVENTS, .ring = ring->ring, .thread = thread->index,
                                 .first_slot = from, .end_slot = to, .first_ticks = writer.slots.first_ticks,
                                 .last_ticks = writer.slots.last_ticks};
    bool is_announced = thread->is_announced;
    if (!is_announced) {
        add_thread(&writer.payload, thread, ring);
        thread->is_announced = true;
    }
    bool is_done = skipped != UINT64_MAX && st_slot_rows_encode(&writer.slots, &writer.payload);
    if (is_done && (!writer.is_at_limit || has_room_for_boundaries())) {
        is_done = write_chunk(&head, writer.slots.rows_max);
    }
    writer.payload.length = 0;
    if (is_done) {
        writer.lost[ST_LOST_LIMIT] += skipped;
        atomic_store_explicit(&ring->tail, to, memory_order_release); /* pairs with the producer's acquire */
    } else {
        thread->is_announced = is_announced;
    }
    thread->is_stuck = !is_done;
    if (!is_done && writer.is_over_limit) {
        reach_limit();
        drain_ring(thread); /* boundaries only */
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
    uint32_t state = atomic_load_explicit(&thread->state, memory_order_relaxed);
    if (state == ST_THREAD_RUNNING && syscall(SYS_tgkill, getpid(), thread->tid, 0) != 0 && errno == ESRCH) {
        state = ST_THREAD_ENDED;
        atomic_store_explicit(&thread->state, state, memory_order_relaxed);
    }
    if (state != ST_THREAD_ENDED || waiting_slots(ring)) {
        return state == ST_THREAD_FREE;
    }
    if (may_keep) {
        atomic_store_explicit(&thread->state, ST_THREAD_FREE, memory_order_release); /* pairs with take_free_block */
        return true;
    }
    writer.lost[ST_LOST_RING_FULL] += atomic_load_explicit(&ring->lost, memory_order_relaxed);
    st_thread_drop_ring(thread);
    return false;
}

/* Threads come and go: those that ended are noticed at flushes, and at each poll while there are many. */
static bool drain_rings(bool is_flush)
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

/* ---- device and facts --------------------------------------------------------------------------- */

static struct st_rows *each_device_table(int index)
{
    struct st_device_rows *r = &writer.device_rows;
    struct st_rows *all[] = {&r->string, &r->device, &r->driver_api, &r->kernel, &r->copy, &r->memset};
    return index < (int)(sizeof(all) / sizeof(all[0])) ? all[index] : NULL;
}

/* Write the device rows as one chunk. */
static void write_device_rows(const struct st_device_source *device)
{
    if (device->losses) {
        device->losses(writer.device_lost);
    }
    uint64_t records = (uint64_t)writer.device_rows.kernel.count + writer.device_rows.copy.count +
                       writer.device_rows.memset.count;
    bool is_kept = !writer.is_at_limit;
    struct st_rows *rows;
    for (int i = 0; (rows = each_device_table(i)); i++) {
        is_kept = is_kept && st_table_encode(rows, &writer.payload);
        st_rows_reset(rows);
    }
    if (!is_kept) {
        writer.payload.length = 0;
        writer.lost[writer.is_at_limit ? ST_LOST_LIMIT : ST_LOST_DISK] += records;
    } else if (!write_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_DEVICE}, (uint32_t)records)) {
        writer.lost[writer.is_over_limit ? ST_LOST_LIMIT : ST_LOST_DISK] += records;
        if (writer.is_over_limit) {
            reach_limit();
        }
    }
}

static void flush_device(bool is_final)
{
    const struct st_device_source *device = atomic_load_explicit(&writer.device, memory_order_acquire);
    writer.last_device_flush_ns = st_clock_ns(CLOCK_MONOTONIC);
    if (device && device->collect) {
        check_limit();
        device->collect(&writer.device_rows, is_final);
        write_device_rows(device);
    }
}

/* Between flushes: full buffers are taken at once, lest there be none left to lend. */
static void relieve_device(void)
{
    const struct st_device_source *device = atomic_load_explicit(&writer.device, memory_order_acquire);
    if (device && device->is_pressed && device->is_pressed()) {
        check_limit();
        device->collect_waiting(&writer.device_rows);
        write_device_rows(device);
    }
}

static void add_clock(struct st_buffer *payload)
{
    const struct st_device_source *device = atomic_load_explicit(&writer.device, memory_order_acquire);
    struct st_rows rows = {.table = ST_T_CLOCK};
    struct st_clock_sample sample;
    st_clock_read(device ? device->clock : NULL, &sample);
    st_rows_add(&rows, (int64_t[ST_COUNT_C_CLOCK]){(int64_t)sample.ticks, (int64_t)sample.monotonic_ns,
                                                   (int64_t)sample.raw_ns, (int64_t)sample.realtime_ns,
                                                   (int64_t)sample.device_ns, (int64_t)sample.width_ticks}, NULL);
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

static void add_state(struct st_buffer *payload, bool is_final)
{
    const struct st_device_source *device = atomic_load_explicit(&writer.device, memory_order_acquire);
    struct st_rows counters = {.table = ST_T_COUNTER};
    add_losses(&counters);
    st_table_encode(&counters, payload);
    st_rows_finish(&counters);
    writer.setup.facts.add_state(payload, is_final);
    if (device && device->capabilities) {
        struct st_rows capabilities = {.table = ST_T_CAPABILITY};
        device->capabilities(&capabilities);
        st_table_encode(&capabilities, payload);
        st_rows_finish(&capabilities);
    }
}

/* The running totals, unless they are the same as last time. */
static void add_changed_state(struct st_buffer *payload, bool is_final)
{
    size_t before = payload->length;
    add_state(payload, is_final);
    uint64_t hash = XXH64(payload->bytes + before, payload->length - before, 0);
    if (hash == writer.state_hash && !is_final) {
        payload->length = before;
    }
    writer.state_hash = hash;
}

static void write_facts(bool is_final)
{
    add_clock(&writer.payload);
    add_changed_state(&writer.payload, is_final);
    if (is_final) {
        struct st_rows end = {.table = ST_T_END};
        st_rows_add(&end, (int64_t[ST_COUNT_C_END]){0, (int64_t)st_ticks()}, NULL);
        st_table_encode(&end, &writer.payload);
        st_rows_finish(&end);
    }
    write_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* Is it time to ask the device library again? Each asking costs it the buffer that it is filling, so that a short
 * STAGETAP_FLUSH would use up the pool. */
static bool is_device_due(void)
{
    return st_clock_ns(CLOCK_MONOTONIC) - writer.last_device_flush_ns >= DEVICE_FLUSH_NS;
}

static void flush(bool is_final)
{
    if (is_final || is_device_due()) {
        flush_device(is_final);
    }
    drain_rings(true);
    write_facts(is_final);
    writer.last_flush_ns = st_clock_ns(CLOCK_MONOTONIC);
}

static void close_file(void)
{
    writer.out.length = 0;
    if (st_index_encode((const struct st_index_entry *)(const void *)writer.index.bytes,
                        (uint32_t)(writer.index.length / sizeof(struct st_index_entry)), &writer.out)) {
        st_sink_append(&writer.sink, writer.out.bytes, writer.out.length);
    }
    st_sink_close(&writer.sink);
    st_ring_setup.is_shared = false; /* threads that come now have nobody to fetch their events */
    for (struct st_thread *t = atomic_load_explicit(&st_threads, memory_order_acquire); t; t = t->next) {
        if (atomic_load_explicit(&t->ring, memory_order_acquire) && !t->is_stuck) {
            st_thread_remove_ring(t); /* what could not be written stays in its ring for `recover` */
        }
    }
}

static void futex_wake(_Atomic int *word)
{
    syscall(SYS_futex, word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
}

/* Sleep until the word is no longer `value`, woken or not, or until the time is up. False: it still is. */
static bool futex_wait(_Atomic int *word, int value, uint64_t until_ns)
{
    while (atomic_load_explicit(word, memory_order_acquire) == value) {
        uint64_t now = st_clock_ns(CLOCK_MONOTONIC);
        if (now >= until_ns) {
            return false;
        }
        struct timespec wait = {.tv_sec = (time_t)((until_ns - now) / 1000000000),
                                .tv_nsec = (long)((until_ns - now) % 1000000000)};
        syscall(SYS_futex, word, 0 /* FUTEX_WAIT */, value, &wait, NULL, 0);
    }
    return true;
}

/* File, header, start facts. */
static bool begin_trace(void)
{
    st_slot_rows_init(&writer.slots);
    writer.device_rows = (struct st_device_rows){
        .kernel.table = ST_T_KERNEL, .copy.table = ST_T_COPY, .memset.table = ST_T_MEMSET,
        .driver_api.table = ST_T_DRIVER_API, .device.table = ST_T_DEVICE, .string.table = ST_T_STRING};
    if (!writer.prepare(&writer.setup)) {
        return false;
    }
    writer.sink = writer.setup.sink;
    bool is_begun = st_chunk_encoder_init(&writer.encoder) && st_header_encode(&writer.setup.header, &writer.out) &&
                    st_sink_append(&writer.sink, writer.out.bytes, writer.out.length);
    if (is_begun) {
        writer.setup.facts.add_start(&writer.payload);
        is_begun = write_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
    }
    if (!is_begun) {
        st_sink_close(&writer.sink);
        unlink(writer.sink.path);
    }
    return is_begun;
}

static void *run(void *unused)
{
    st_suppress = 1;
    prctl(PR_SET_NAME, "stagetap");
    st_threads_add_own(st_sys_gettid());
    bool is_begun = begin_trace();
    atomic_store_explicit(&writer.ready, is_begun ? BEGUN : NOT_BEGUN, memory_order_release);
    futex_wake(&writer.ready);
    if (!is_begun) {
        return unused;
    }
    flush(false);
    writer.last_flush_ns -= writer.setup.flush_ns - SECOND_FLUSH_NS; /* clocks again soon: their rate */
    while (!atomic_load_explicit(&writer.stop, memory_order_acquire)) {
        writer.quiet_polls = drain_rings(false) ? 0 : writer.quiet_polls + 1;
        relieve_device();
        if (atomic_exchange_explicit(&writer.wants_clock, false, memory_order_relaxed) ||
            st_clock_ns(CLOCK_MONOTONIC) - writer.last_flush_ns >= writer.setup.flush_ns) {
            flush(false);
        } else if (is_device_due()) {
            flush_device(false); /* a kill loses what the library still holds */
        }
        if (writer.quiet_polls > POLLS_TO_IDLE && st_threads_only_ours_left()) {
            exit(0); /* as glibc at the end of the program's last thread; st_writer_finish() follows on this one */
        }
        uint64_t wait_ns = writer.quiet_polls > POLLS_TO_IDLE ? IDLE_POLL_NS : BUSY_POLL_NS;
        wait_ns = wait_ns < writer.setup.flush_ns ? wait_ns : writer.setup.flush_ns;
        struct timespec wait = {.tv_nsec = (long)wait_ns};
        syscall(SYS_futex, &writer.stop, 0 /* FUTEX_WAIT */, 0, &wait, NULL, 0);
    }
    flush(true);
    close_file();
    atomic_store_explicit(&writer.done, 1, memory_order_release);
    futex_wake(&writer.done);
    return unused;
}

static bool start_thread(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    bool is_started = pthread_create(&writer.thread, &attributes, run, NULL) == 0;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

bool st_writer_start(bool (*prepare)(struct st_writer_setup *ret_setup), uint64_t deadline_ns)
{
    writer.prepare = prepare;
    if (!start_thread()) {
        return false;
    }
    if (!futex_wait(&writer.ready, STARTING, st_clock_ns(CLOCK_MONOTONIC) + deadline_ns)) {
        atomic_store_explicit(&writer.stop, 1, memory_order_release); /* it closes its file when it comes to it */
        return false;
    }
    return atomic_load_explicit(&writer.ready, memory_order_acquire) == BEGUN;
}

void st_writer_set_device(const struct st_device_source *source)
{
    atomic_store_explicit(&writer.device, source, memory_order_release); /* pairs with the thread's acquire loads */
    atomic_store_explicit(&writer.wants_clock, true, memory_order_relaxed);
}

bool st_writer_finish(uint64_t deadline_ns)
{
    if (pthread_equal(pthread_self(), writer.thread)) { /* the last thread: st_threads_only_ours_left() */
        flush(true);
        close_file();
        return true;
    }
    atomic_store_explicit(&writer.stop, 1, memory_order_release);
    futex_wake(&writer.stop);
    return futex_wait(&writer.done, 0, st_clock_ns(CLOCK_MONOTONIC) + deadline_ns);
}

void st_writer_fork_child(void)
{
    st_sink_close(&writer.sink);
    memset(&writer, 0, sizeof(writer)); /* the parent's buffers stay mapped: copies nobody uses */
    writer.sink.fd = -1;
}
