/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread. A short poll (5 ms while there are events, 50 ms when idle) looks at the rings; one
 * that is a quarter full is written at once, all of them when the flush interval is over:
 *
 *   poll ─ poll ─ poll ──────────── flush ───────────────────────────── poll …
 *    └ rings ≥ ¼ full → chunk        └ all rings, device records, clock, changed facts → chunks
 *
 *                                              settle ── poll … ── finish
 *                                               └ the last device records: the driver is about to go
 *
 * A ring's tail moves only after its chunk is in the file: what is committed is always in one of them.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
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
#include "preload/record/window.h"
#include "private.h"
#include "spawn.h"
#include "threads.h"

enum { BUSY_POLL_NS = 5000000, IDLE_POLL_NS = 50000000, POLLS_TO_IDLE = 20, SECOND_FLUSH_NS = 10000000 };
enum { STACK_BYTES = 512 << 10 };
enum { DEVICE_FLUSH_NS = 250000000 };
enum readiness { STARTING = 0, BEGUN = 1, NOT_BEGUN = 2 };

struct st_writer st_writer = {.sink.fd = -1};

/* ---- device and facts --------------------------------------------------------------------------- */

static struct st_rows *each_device_table(int index)
{
    struct st_device_rows *r = &st_writer.device_rows;
    struct st_rows *all[] = {&r->string, &r->device, &r->driver_api, &r->kernel, &r->copy, &r->memset};
    return index < (int)(sizeof(all) / sizeof(all[0])) ? all[index] : NULL;
}

/* Write the device rows as one chunk. */
static void write_device_rows(const struct st_device_source *device)
{
    if (device->losses) {
        device->losses(st_writer.device_lost);
    }
    uint64_t records = (uint64_t)st_writer.device_rows.kernel.count + st_writer.device_rows.copy.count +
                       st_writer.device_rows.memset.count;
    bool is_kept = !st_writer.is_at_limit;
    struct st_rows *rows;
    for (int i = 0; (rows = each_device_table(i)); i++) {
        is_kept = is_kept && st_table_encode(rows, &st_writer.payload);
        st_rows_reset(rows);
    }
    if (!is_kept) {
        st_writer.payload.length = 0;
        st_writer.lost[st_writer.is_at_limit ? ST_LOST_LIMIT : ST_LOST_DISK] += records;
    } else if (!st_writer_put_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_DEVICE}, (uint32_t)records)) {
        st_writer.lost[st_writer.is_over_limit ? ST_LOST_LIMIT : ST_LOST_DISK] += records;
        if (st_writer.is_over_limit) {
            st_writer_reach_limit();
        }
    }
}

static void flush_device(bool is_final)
{
    const struct st_device_source *device = atomic_load_explicit(&st_writer.device, memory_order_acquire);
    st_writer.last_device_flush_ns = st_clock_ns(CLOCK_MONOTONIC);
    if (device && device->collect) {
        st_writer_check_limit();
        device->collect(&st_writer.device_rows, is_final);
        write_device_rows(device);
    }
}

/* Between flushes: full buffers are taken at once, lest there be none left to lend. */
static void relieve_device(void)
{
    const struct st_device_source *device = atomic_load_explicit(&st_writer.device, memory_order_acquire);
    if (device && device->is_pressed && device->is_pressed()) {
        st_writer_check_limit();
        device->collect_waiting(&st_writer.device_rows);
        write_device_rows(device);
    }
}

static void add_clock(struct st_buffer *payload)
{
    const struct st_device_source *device = atomic_load_explicit(&st_writer.device, memory_order_acquire);
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
    const struct st_device_source *device = atomic_load_explicit(&st_writer.device, memory_order_acquire);
    struct st_rows counters = {.table = ST_T_COUNTER};
    st_writer_add_losses(&counters);
    st_table_encode(&counters, payload);
    st_rows_finish(&counters);
    st_writer.setup.facts.add_state(payload, is_final);
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
    if (hash == st_writer.state_hash && !is_final) {
        payload->length = before;
    }
    st_writer.state_hash = hash;
}

static void write_facts(bool is_final)
{
    add_clock(&st_writer.payload);
    add_changed_state(&st_writer.payload, is_final);
    if (is_final) {
        struct st_rows end = {.table = ST_T_END};
        st_rows_add(&end, (int64_t[ST_COUNT_C_END]){0, (int64_t)st_ticks()}, NULL);
        st_table_encode(&end, &st_writer.payload);
        st_rows_finish(&end);
    }
    st_writer_put_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* Is it time to ask the device library again? Each asking costs it the buffer that it is filling, so that a short
 * STAGETAP_FLUSH would use up the pool. */
static bool is_device_due(void)
{
    return st_clock_ns(CLOCK_MONOTONIC) - st_writer.last_device_flush_ns >= DEVICE_FLUSH_NS;
}

static void flush(bool is_final)
{
    if (is_final || is_device_due()) {
        flush_device(is_final);
    }
    st_writer_drain_rings(true);
    write_facts(is_final);
    st_writer.last_flush_ns = st_clock_ns(CLOCK_MONOTONIC);
}

static void close_file(void)
{
    st_writer.out.length = 0;
    if (st_index_encode((const struct st_index_entry *)(const void *)st_writer.index.bytes,
                        (uint32_t)(st_writer.index.length / sizeof(struct st_index_entry)), &st_writer.out)) {
        st_sink_append(&st_writer.sink, st_writer.out.bytes, st_writer.out.length);
    }
    st_sink_close(&st_writer.sink);
    st_writer_remove_rings();
}

static void futex_wake(_Atomic int *word)
{
    syscall(SYS_futex, word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0);
}

/* The last time that the device library is asked anything; calls are recorded on. */
static void settle(void)
{
    flush_device(true);
    st_writer_drain_rings(true);
    write_facts(false);
    st_writer.last_flush_ns = st_clock_ns(CLOCK_MONOTONIC);
    atomic_store_explicit(&st_writer.device, NULL, memory_order_release);
    atomic_store_explicit(&st_writer.settled, 1, memory_order_release);
    futex_wake(&st_writer.settled);
}

/* Windows of time open and close here, at most one poll late; the mark says when. */
static void look_at_window(void)
{
    uint64_t ticks = st_ticks();
    bool is_open;
    if (st_window_time(st_clock_ns(CLOCK_MONOTONIC) - st_writer.setup.header.start_monotonic_ns, &is_open)) {
        struct st_rows rows = {.table = ST_T_MARK};
        st_rows_add(&rows, (int64_t[ST_COUNT_C_MARK]){is_open ? ST_MARK_WINDOW_OPEN : ST_MARK_WINDOW_CLOSE,
                                                      (int64_t)(is_open ? ticks : st_ticks()), 0, 0,
                                                      ST_WINDOW_OF_TIME}, NULL);
        st_table_encode(&rows, &st_writer.payload);
        st_rows_finish(&rows);
        st_writer_put_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
    }
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

/* The starting thread moves its ring into shared memory once it knows the trace's name, and frees the old one. */
static void wait_until_may_read(void)
{
    enum { LOOK_AGAIN_NS = 50000000 };
    while (!atomic_load_explicit(&st_writer.stop, memory_order_acquire) &&
           !futex_wait(&st_writer.may_read, 0, st_clock_ns(CLOCK_MONOTONIC) + LOOK_AGAIN_NS)) {
    }
}

/* File, header, start facts. */
static bool begin_trace(void)
{
    st_slot_rows_init(&st_writer.slots);
    st_writer.device_rows = (struct st_device_rows){
        .kernel.table = ST_T_KERNEL, .copy.table = ST_T_COPY, .memset.table = ST_T_MEMSET,
        .driver_api.table = ST_T_DRIVER_API, .device.table = ST_T_DEVICE, .string.table = ST_T_STRING};
    if (!st_writer.prepare(&st_writer.setup)) {
        return false;
    }
    st_writer.sink = st_writer.setup.sink;
    bool is_begun = st_chunk_encoder_init(&st_writer.encoder) &&
                    st_header_encode(&st_writer.setup.header, &st_writer.out) &&
                    st_sink_append(&st_writer.sink, st_writer.out.bytes, st_writer.out.length);
    if (is_begun) {
        st_writer.setup.facts.add_start(&st_writer.payload);
        is_begun = st_writer_put_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
    }
    if (!is_begun) {
        st_sink_close(&st_writer.sink);
        unlink(st_writer.sink.path);
    }
    return is_begun;
}

static void *run(void *unused)
{
    st_suppress = 1;
    prctl(PR_SET_NAME, "stagetap");
    st_threads_add_own(st_sys_gettid());
    bool is_begun = begin_trace();
    if (is_begun) {
        look_at_window();
    }
    atomic_store_explicit(&st_writer.ready, is_begun ? BEGUN : NOT_BEGUN, memory_order_release);
    futex_wake(&st_writer.ready);
    if (!is_begun) {
        return unused;
    }
    wait_until_may_read();
    flush(false);
    st_writer.last_flush_ns -= st_writer.setup.flush_ns - SECOND_FLUSH_NS; /* clocks again soon: their rate */
    while (!atomic_load_explicit(&st_writer.stop, memory_order_acquire)) {
        if (atomic_exchange_explicit(&st_writer.is_to_settle, false, memory_order_acquire)) {
            settle();
        }
        st_writer.quiet_polls = st_writer_drain_rings(false) ? 0 : st_writer.quiet_polls + 1;
        relieve_device();
        look_at_window();
        if (atomic_exchange_explicit(&st_writer.wants_clock, false, memory_order_relaxed) ||
            st_clock_ns(CLOCK_MONOTONIC) - st_writer.last_flush_ns >= st_writer.setup.flush_ns) {
            flush(false);
        } else if (is_device_due()) {
            flush_device(false); /* a kill loses what the library still holds */
        }
        if (st_writer.quiet_polls > POLLS_TO_IDLE && st_threads_only_ours_left()) {
            exit(0); /* as glibc at the end of the program's last thread; st_writer_finish() follows on this one */
        }
        bool is_idle = st_writer.quiet_polls > POLLS_TO_IDLE && !(st_window_rule() && st_window_rule()->time_count);
        uint64_t wait_ns = is_idle ? IDLE_POLL_NS : BUSY_POLL_NS;
        wait_ns = wait_ns < st_writer.setup.flush_ns ? wait_ns : st_writer.setup.flush_ns;
        struct timespec wait = {.tv_nsec = (long)wait_ns};
        syscall(SYS_futex, &st_writer.stop, 0 /* FUTEX_WAIT */, 0, &wait, NULL, 0);
    }
    flush(true);
    close_file();
    atomic_store_explicit(&st_writer.done, 1, memory_order_release);
    futex_wake(&st_writer.done);
    return unused;
}

bool st_writer_start(bool (*prepare)(struct st_writer_setup *ret_setup), uint64_t deadline_ns)
{
    st_writer.prepare = prepare;
    if (!st_spawn(run, STACK_BYTES, &st_writer.thread)) {
        return false;
    }
    if (!futex_wait(&st_writer.ready, STARTING, st_clock_ns(CLOCK_MONOTONIC) + deadline_ns)) {
        atomic_store_explicit(&st_writer.stop, 1, memory_order_release); /* it closes its file when it comes to it */
        return false;
    }
    return atomic_load_explicit(&st_writer.ready, memory_order_acquire) == BEGUN;
}

void st_writer_may_read(void)
{
    atomic_store_explicit(&st_writer.may_read, 1, memory_order_release); /* pairs with the thread's acquire load */
    futex_wake(&st_writer.may_read);
}

void st_writer_set_device(const struct st_device_source *source)
{
    atomic_store_explicit(&st_writer.device, source, memory_order_release); /* pairs with the thread's acquire loads */
    atomic_store_explicit(&st_writer.wants_clock, true, memory_order_relaxed);
}

bool st_writer_settle(uint64_t deadline_ns)
{
    if (pthread_equal(pthread_self(), st_writer.thread)) { /* the last thread: st_threads_only_ours_left() */
        settle();
        return true;
    }
    atomic_store_explicit(&st_writer.is_to_settle, true, memory_order_release);
    futex_wake(&st_writer.stop); /* what the thread sleeps on */
    return futex_wait(&st_writer.settled, 0, st_clock_ns(CLOCK_MONOTONIC) + deadline_ns);
}

bool st_writer_finish(uint64_t deadline_ns)
{
    if (pthread_equal(pthread_self(), st_writer.thread)) { /* the last thread: st_threads_only_ours_left() */
        flush(true);
        close_file();
        return true;
    }
    atomic_store_explicit(&st_writer.stop, 1, memory_order_release);
    futex_wake(&st_writer.stop);
    return futex_wait(&st_writer.done, 0, st_clock_ns(CLOCK_MONOTONIC) + deadline_ns);
}

void st_writer_fork_child(void)
{
    st_sink_close(&st_writer.sink);
    memset(&st_writer, 0, sizeof(st_writer)); /* the parent's buffers stay mapped: copies nobody uses */
    st_writer.sink.fd = -1;
}
