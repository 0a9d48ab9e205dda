/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of the client. One buffer at a time is filled for the whole process; it is requested on the thread
 * whose call made the record (the real 13.0 has one per thread by default). A record is placed when its times
 * are known, which is before they have passed; a buffer is complete when the last end in it has passed.
 *
 * A full buffer is delivered by the worker thread as soon as it is complete. FlushAll(0) also closes the buffer
 * being filled and delivers what is complete; a busy device's buffer so arrives with the next flush or by the
 * worker. FlushAll(1) delivers everything; work that has not ended gets end = 0 (not begun: start = 0 too) and is
 * never delivered again, as with the real library.
 *
 * Locks: `lock` guards the lists and is never held while the client's code runs; `delivery` keeps complete
 * callbacks one at a time. Fault unordered: small buffers, shuffled inside, delivered in random order up to
 * 1 s late.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti.h"
#include "records.h"

#define UNORDERED_RECORDS 64
#define UNORDERED_LATE_NS 1000000000ULL

struct buffer {
    uint8_t *data;
    size_t capacity, used, records, max_records;
    uint64_t ready_ns; /* the last end in it */
    uint64_t due_ns;   /* fault unordered: not before this */
    struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, delivery = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sealed_more;
static struct buffer *filling, *spare, *sealed;
static sim_request_fn request_buffer;
static sim_complete_fn complete_buffer;
static size_t dropped;
static uint64_t drop_sum;
static pid_t owner;
static unsigned seed = 1;
static __thread bool in_callback;

bool sim_in_callback(void)
{
    return in_callback;
}

void sim_trap(const char *what, const char *why)
{
    fprintf(stderr, "simgpu libcupti: %s: %s (the real library crashes or hangs here)\n", what, why);
    abort();
}

/* Without the lock. NULL if the client gives none: the record is then dropped. */
static struct buffer *request(void)
{
    sim_request_fn ask = __atomic_load_n(&request_buffer, __ATOMIC_ACQUIRE);
    struct buffer *b = ask ? calloc(1, sizeof(*b)) : NULL;
    if (!b) {
        return NULL;
    }
    in_callback = true;
    ask(&b->data, &b->capacity, &b->max_records);
    in_callback = false;
    if (!b->data || b->capacity == 0 || (uintptr_t)b->data % 8 != 0) {
        free(b);
        return NULL;
    }
    if (sim_faults()->unordered && (b->max_records == 0 || b->max_records > UNORDERED_RECORDS)) {
        b->max_records = UNORDERED_RECORDS;
    }
    return b;
}

/* Under the lock: the buffer being filled joins the closed ones, in order. */
static void seal(void)
{
    struct buffer **end = &sealed, *b = filling;
    if (!b) {
        return;
    }
    filling = NULL;
    if (sim_faults()->unordered) {
        b->due_ns = sim_monotonic_ns() + (uint64_t)rand_r(&seed) % UNORDERED_LATE_NS;
    }
    while (*end) {
        end = &(*end)->next;
    }
    *end = b;
    pthread_cond_signal(&sealed_more);
}

static bool has_room(const struct buffer *b, size_t bytes)
{
    return b->capacity - b->used >= bytes && (b->max_records == 0 || b->records < b->max_records);
}

/* Under the lock; drops it while the client is asked. NULL: nothing to write to. */
static struct buffer *buffer_with_room(size_t bytes)
{
    if (filling && !has_room(filling, bytes)) {
        seal();
    }
    if (!filling && spare) {
        filling = spare;
        spare = spare->next;
        filling->next = NULL;
    }
    if (!filling) {
        pthread_mutex_unlock(&lock);
        struct buffer *b = request();
        pthread_mutex_lock(&lock);
        if (b && filling) { /* another thread was faster: keep this one for later */
            b->next = spare;
            spare = b;
        } else if (b) {
            filling = b;
        }
    }
    if (filling && !has_room(filling, bytes)) {
        seal();
    }
    return filling;
}

void sim_buffers_append(const void *record, size_t bytes, uint64_t end_ns)
{
    if (in_callback) {
        sim_trap("a CUDA call", "made from inside a buffer callback");
    }
    pthread_mutex_lock(&lock);
    struct buffer *b = NULL;
    drop_sum += (uint64_t)sim_faults()->drop_percent;
    if (drop_sum >= 100) {
        drop_sum -= 100;
    } else {
        b = buffer_with_room(bytes);
    }
    if (!b) {
        dropped++;
    } else {
        memcpy(b->data + b->used, record, bytes);
        b->used += bytes;
        b->records++;
        if (end_ns > b->ready_ns) {
            b->ready_ns = end_ns;
        }
        if (!has_room(b, bytes)) {
            seal();
        }
    }
    pthread_mutex_unlock(&lock);
}

/* A forced flush cannot wait: unfinished work loses the times that are not known yet. */
static void cut_unfinished(struct buffer *b, uint64_t now_ns)
{
    uint64_t now = sim_record_time(now_ns);
    for (size_t at = 0; b->ready_ns > now_ns && at < b->used;) {
        uint32_t kind;
        uint64_t times[2];
        memcpy(&kind, b->data + at, sizeof(kind));
        size_t offset = sim_record_times_offset(kind);
        if (offset > 0) {
            memcpy(times, b->data + at + offset, sizeof(times));
            times[0] = times[0] > now ? 0 : times[0];
            times[1] = times[1] > now ? 0 : times[1];
            memcpy(b->data + at + offset, times, sizeof(times));
            if (kind == SIM_KIND_CONCURRENT_KERNEL) {
                memcpy(b->data + at + offsetof(struct sim_kernel_record, completed), &times[1], sizeof(times[1]));
            }
        }
        at += sim_record_size(kind);
    }
}

static void shuffle_records(struct buffer *b)
{
    size_t at[UNORDERED_RECORDS], count = 0, used = 0;
    uint8_t *copy = malloc(b->used + 1);
    if (!copy) {
        return;
    }
    memcpy(copy, b->data, b->used);
    for (size_t i = 0; i < b->used && count < UNORDERED_RECORDS; count++) {
        uint32_t kind;
        at[count] = i;
        memcpy(&kind, copy + i, sizeof(kind));
        i += sim_record_size(kind);
    }
    while (count > 0) {
        size_t pick = (size_t)rand_r(&seed) % count;
        uint32_t kind;
        memcpy(&kind, copy + at[pick], sizeof(kind));
        memcpy(b->data + used, copy + at[pick], sim_record_size(kind));
        used += sim_record_size(kind);
        at[pick] = at[--count];
    }
    free(copy);
}

static bool may_go(const struct buffer *b, bool forced, uint64_t now_ns)
{
    return forced || (b->ready_ns <= now_ns && b->due_ns <= now_ns);
}

/* Under the lock: the next buffer to deliver; with fault unordered any of those that may go. */
static struct buffer *take(bool forced, uint64_t now_ns)
{
    size_t eligible = 0, skip = 0;
    for (const struct buffer *b = sealed; b; b = b->next) {
        eligible += may_go(b, forced, now_ns);
    }
    if (eligible > 1 && sim_faults()->unordered) {
        skip = (size_t)rand_r(&seed) % eligible;
    }
    for (struct buffer **b = &sealed; *b; b = &(*b)->next) {
        if (may_go(*b, forced, now_ns) && skip-- == 0) {
            struct buffer *taken = *b;
            *b = taken->next;
            return taken;
        }
    }
    return NULL;
}

void sim_buffers_deliver(bool forced, bool with_filling)
{
    struct buffer *b;
    pthread_mutex_lock(&delivery);
    pthread_mutex_lock(&lock);
    if (with_filling && filling && filling->records > 0) {
        seal();
    }
    uint64_t now_ns = sim_monotonic_ns();
    while ((b = take(forced, now_ns)) != NULL) {
        sim_complete_fn complete = complete_buffer;
        pthread_mutex_unlock(&lock);
        cut_unfinished(b, now_ns);
        if (sim_faults()->unordered) {
            shuffle_records(b);
        }
        in_callback = true;
        complete(NULL, 0, b->data, b->capacity, b->used);
        in_callback = false;
        free(b);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&delivery);
}

/* Sleeps until the first closed buffer is complete, or for good when there is none. */
static void *worker(void *unused)
{
    for (;;) {
        uint64_t next_ns = UINT64_MAX;
        pthread_mutex_lock(&lock);
        for (const struct buffer *b = sealed; b; b = b->next) {
            uint64_t at_ns = b->ready_ns > b->due_ns ? b->ready_ns : b->due_ns;
            next_ns = at_ns < next_ns ? at_ns : next_ns;
        }
        if (next_ns == UINT64_MAX) {
            pthread_cond_wait(&sealed_more, &lock);
        } else if (next_ns > sim_monotonic_ns()) {
            struct timespec until = {(time_t)(next_ns / 1000000000ULL), (long)(next_ns % 1000000000ULL)};
            pthread_cond_timedwait(&sealed_more, &lock, &until);
        }
        pthread_mutex_unlock(&lock);
        sim_buffers_deliver(false, false);
    }
    return unused;
}

void sim_buffers_start(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sealed_more, &attributes);
    pthread_condattr_destroy(&attributes);
    owner = getpid();

    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, worker, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        fprintf(stderr, "simgpu libcupti: no worker thread: %s\n", strerror(error));
        return;
    }
    pthread_setname_np(thread, "simgpu-cupti");
    pthread_detach(thread);
}

static void free_all(struct buffer **list)
{
    for (struct buffer *b = *list, *next; b; b = next) {
        next = b->next;
        free(b); /* the data is the client's */
    }
    *list = NULL;
}

void sim_buffers_forget(void)
{
    pthread_mutex_lock(&delivery);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&request_buffer, NULL, __ATOMIC_RELEASE);
    complete_buffer = NULL;
    free_all(&filling);
    free_all(&spare);
    free_all(&sealed);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&delivery);
}

/* One pair for the process: a second client silently replaces the first, as with the real library. */
int cuptiActivityRegisterCallbacks(sim_request_fn ask, sim_complete_fn complete)
{
    SIM_CALL();
    if (!ask || !complete) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    __atomic_store_n(&request_buffer, ask, __ATOMIC_RELEASE);
    complete_buffer = complete;
    pthread_mutex_unlock(&lock);
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivityFlushAll(uint32_t flag)
{
    SIM_CALL();
    if (owner && owner != getpid()) {
        sim_trap(__func__, "called in a forked child");
    }
    if ((flag & 1) && sim_faults()->hang_at_exit) {
        for (;;) {
            pause();
        }
    }
    sim_buffers_deliver((flag & 1) != 0, true);
    return SIM_CUPTI_SUCCESS;
}

/* The period concerns full and complete buffers only, and those the worker delivers at once anyway. */
int cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    SIM_CALL();
    return SIM_CUPTI_SUCCESS;
}

/* Counts since the last call, of the whole process: context and stream are not told apart. */
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    SIM_READER();
    if (!count) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    pthread_mutex_lock(&lock);
    *count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return SIM_CUPTI_SUCCESS;
}
