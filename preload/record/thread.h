/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder keeps for each thread of the target. Created at a thread's first event (two raw
 * mmaps), never freed: the writer hands the block of a thread that ended to the next new one.
 * Fields are written by the owning thread only unless said otherwise.
 */
#ifndef ST_RECORD_THREAD_H
#define ST_RECORD_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/trace/ring.h"

#define ST_MAX_OPEN_SPANS 64
#define ST_MAX_FRAMES 128
#define ST_MAX_PUSHED_RANGES 64
#define ST_MAX_PYTHON_ENTRIES 64
#define ST_MAX_SHARED_RINGS 96 /* of a process at a time; more threads have private ones */
#define ST_MAX_BLOCKS 4096 /* threads alive, or ended and not yet written out */
#define ST_RING_FILE_BYTES 1024 /* longest path of a ring file */

/* One watched call in progress on this thread; filled by preload/watch. Live frames have strictly falling stack
 * pointers: an entry at or below the current one was left by longjmp. */
struct st_call_frame {
    const void *target;   /* the watched function's descriptor */
    uintptr_t stack;      /* stack pointer at entry: names the frame */
    uint64_t begin_ticks; /* stage functions: the token of their hook */
    uint64_t cpu_ns;      /* blocking calls: thread CPU time at entry */
    uint32_t span;        /* innermost open span at entry */
    uint16_t flags;       /* enum st_call_flags, collected while the call runs */
    uint8_t runtime_depth, driver_depth; /* of the thread before this call */
};

struct st_open_span {
    uint32_t span;
    uint32_t name;    /* row name */
    uint32_t request; /* number, 0 = none */
    uint8_t role;     /* enum st_span_role */
    uint8_t by_mark;  /* opened by `begin NAME`: closed by its successor, `end NAME` or the request's end */
};

/* A range that the program pushed; preload/stages keeps them here, static TLS being scarce. */
struct st_pushed_range {
    void *domain;
    uint64_t token; /* of its stage, 0 = none */
};

/* A Python function that a rule matched, entered and not left; preload/stages keeps them here as well. */
struct st_python_entry {
    const void *code, *frame; /* only compared */
    uint64_t token; /* of its stage, 0 = none */
};

enum st_thread_state {
    ST_THREAD_RUNNING = 0,
    ST_THREAD_ENDED = 1,
    ST_THREAD_FREE = 2,  /* for a new thread, ring and all */
    ST_THREAD_EMPTY = 3, /* … that makes itself a ring */
    ST_THREAD_TAKEN = 4, /* a new owner is moving in: nobody else's business */
};

struct st_thread {
    /* the ring, producer side */
    struct st_slot *slots;
    uint64_t slot_mask;
    uint64_t head;       /* next slot to fill; published in ring->head */
    uint64_t seen_tail;  /* last value read of ring->tail */
    _Atomic(struct st_ring_head *) ring; /* set last, after the fields above: the writer looks at it first */

    /* where the thread is */
    uint32_t span; /* innermost open span, 0 = none */
    uint32_t open_span_count;
    uint32_t frame_count; /* watched functions in progress */
    bool is_busy; /* something is being recorded: a signal handler that comes now is not (st_thread_claim) */
    bool is_inferred;    /* edges of spans made now are not seen, but concluded (st_span_doubt) */
    bool is_following;   /* … and another thread's (st_span_following) */
    uint64_t late_ticks; /* … and may have been so much earlier */
    uint64_t edge_ticks; /* … and are noted for this instant, not for now; 0 = for now (st_span_at) */
    bool edge_is_past;   /* … long ago */
    struct st_window_request *window; /* of its own request; NULL: it has none, or no window is set (window.h) */
    uint32_t window_depth;            /* open spans around the steps of the window at least */
    uint8_t runtime_depth, driver_depth; /* watched calls in progress, by layer */

    uint32_t index; /* THREAD.thread, from 1 */
    uint32_t tid;
    struct st_thread *next;       /* in st_threads; set before publication */
    _Atomic uint32_t state;       /* enum st_thread_state; ENDED and FREE by the writer, RUNNING by a new owner */
    bool is_private;              /* the ring lies in anonymous memory: readable by nobody else */
    char ring_path[ST_RING_FILE_BYTES]; /* "" if private */
    uint64_t ring_bytes;

    /* the writer's own notes */
    bool is_announced; /* its THREAD row is written; cleared by a new owner of the block */
    bool is_stuck;     /* its last chunk could not be written */

    void *walk;          /* preload/stages: the stack as it was last seen; kept for the next owner */
    uint64_t passed[32]; /* a structure handed on in place of the caller's, while that call runs */
    uint32_t pushed_count;
    uint32_t pushed_beyond; /* deeper than there is room */

    uint64_t posts_seen;    /* preload/stages: what other threads printed, read up to here */
    bool has_called;        /* … a CUDA call, since it reads what is printed */
    uint32_t python_count;
    uint32_t python_beyond; /* deeper than there is room */
    uint64_t python_names_due; /* ticks from which on names are noted again */
    struct st_python_entry python[ST_MAX_PYTHON_ENTRIES];

    struct st_pushed_range pushed[ST_MAX_PUSHED_RANGES];
    struct st_open_span open_spans[ST_MAX_OPEN_SPANS];
    struct st_call_frame frames[ST_MAX_FRAMES];
};

/* All thread blocks, newest first; only grows. */
extern _Atomic(struct st_thread *) st_threads;

extern __thread struct st_thread *st_thread_current __attribute__((tls_model("initial-exec")));
/* Above 0: calls of this thread are ours, watch passes them through unrecorded. */
extern __thread uint32_t st_suppress __attribute__((tls_model("initial-exec")));

/* How rings are made; filled by the session before it starts (zeroed before that: private rings). */
struct st_ring_setup {
    bool is_shared; /* rings go to shared memory files */
    uint64_t capacity;
    struct st_ring_head head; /* identity fields, copied into each ring */
    char fallback_prefix[ST_RING_FILE_BYTES - 32]; /* when /dev/shm has no room: PREFIX.ring.N; "" = none */
};
extern struct st_ring_setup st_ring_setup;

/* Make the calling thread's block. NULL: out of memory (counted in st_lost_no_thread), or called too early.
 * Libc-free, keeps vector registers. */
struct st_thread *st_thread_create(void);

/* Move the calling thread's private ring into a shared one, before any consumer runs. */
void st_thread_share_ring(struct st_thread *thread);

/* Forget everything in a forked child: its parent owns the rings. */
void st_thread_fork_child(void);

/* Unlink the ring file (orderly end: all is in the trace). */
void st_thread_remove_ring(struct st_thread *thread);
/* … and give its memory back: the thread ended. The block's state becomes ST_THREAD_EMPTY. Writer thread. */
void st_thread_drop_ring(struct st_thread *thread);

extern _Atomic uint64_t st_lost_no_thread; /* events of threads that could not get a block */

/* Recording is not re-entrant. Claim the thread before, release it after; false: a signal handler interrupted a
 * recording, what it does runs unrecorded and is counted as lost. */
static inline bool st_thread_claim(struct st_thread *thread)
{
    if (__builtin_expect(thread->is_busy, 0)) {
        struct st_ring_head *ring = atomic_load_explicit(&thread->ring, memory_order_relaxed);
        atomic_fetch_add_explicit(&ring->lost, 1, memory_order_relaxed);
        return false;
    }
    thread->is_busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void st_thread_release(struct st_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_busy = false;
}

static inline struct st_thread *st_thread_self(void)
{
    struct st_thread *thread = st_thread_current;
    /* the block is zeroed in a child of fork, whatever way it was forked (MADV_WIPEONFORK) */
    return __builtin_expect(thread != NULL && thread->ring != NULL, 1) ? thread : st_thread_create();
}

#endif
