/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated devices' time lines. An operation is enqueued on a stream; its start and end are computed at
 * once, or - behind a host function, whose end nobody can know - as soon as everything it depends on is known.
 * What the operation does to memory happens when some thread waits for or asks about the device, in order of the
 * simulated ends. Nothing runs in the background but host functions.
 *
 *   enqueue --> waiting for others --> resolved (start, end known; truth line written) --> effect applied
 *
 * Any thread. sim_engine_lock guards all structures here; the effects run under a lock of their own, so that
 * launches go on meanwhile.
 */
#ifndef SIMGPU_ENGINE_H
#define SIMGPU_ENGINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "context.h"
#include "fork.h"
#include "kernels.h"
#include "tracer.h"

/* Why an operation did not start earlier, in the words of the truth file. */
enum sim_why {
    SIM_NOT_ENQUEUED,
    SIM_LAUNCH_LATENCY,
    SIM_STAGING,
    SIM_EVENT_WAIT,
    SIM_OTHER_STREAM,
    SIM_HOST_FUNCTION,
    SIM_FOREIGN,
    SIM_SAME_STREAM /* never the cause of an idle device: the predecessor itself ran */
};

enum sim_op_kind {
    SIM_OP_KERNEL = SIMGPU_KERNEL,
    SIM_OP_MEMCPY = SIMGPU_MEMCPY,
    SIM_OP_MEMSET = SIMGPU_MEMSET,
    SIM_OP_HOST_FUNC = SIMGPU_HOST_FUNC,
    SIM_OP_MARKER /* an event record, a wait, a stream-ordered free: no time, no truth line */
};

struct sim_copy {
    char *dst;
    const char *src;
    void *staged; /* owned copy of the source, or NULL */
    size_t width, height, depth, dst_pitch, dst_slice, src_pitch, src_slice;
};

struct sim_fill {
    char *dst;
    uint32_t value;
    unsigned element_bytes;
    size_t pitch, width, height; /* width in elements */
};

struct sim_kernel_run {
    void (*fn)(void *const *params, const unsigned grid[3], const unsigned block[3]);
    void **params; /* owned: pointers, then the bytes that they point to */
    size_t params_bytes;
    unsigned param_count;
    struct sim_function *function;
};

struct sim_host_run {
    CUhostFn fn;
    CUstreamCallback callback;
    CUstream stream;
    void *user_data;
};

/* One launch of a graph: its nodes add their times, the last marker reports them. Guarded by the engine's lock. */
struct sim_run {
    struct simgpu_graph whole;
};

struct sim_op;
struct sim_function;

struct sim_edge {
    struct sim_op *op;
    enum sim_why why;
};

struct sim_op {
    struct sim_op *next;
    unsigned references;
    enum sim_op_kind kind;
    bool resolved;
    bool last_of_run; /* the marker that ends the launch of a graph */
    bool host_sees_effect; /* the effect must not come before the simulated end */
    struct sim_stream *stream;
    struct simgpu_op record;
    uint64_t order;       /* of enqueueing, over all streams */
    uint64_t queued_ns;   /* when the device could know of it */
    uint64_t ready_ns;    /* earliest start: queued + latency, or the first staged chunk */
    enum sim_why ready_why;
    uint64_t duration_ns; /* at full speed */
    uint64_t after_ns;    /* latest end of what it depends on */
    enum sim_why after_why;
    unsigned ring_slot;
    unsigned waiting; /* dependencies whose end is unknown */
    struct sim_edge *dependents;
    unsigned dependent_count, dependent_capacity;
    struct sim_run *run; /* the launch that it belongs to, or NULL; the last marker of the launch frees it */
    void (*effect)(struct sim_op *op);
    union {
        struct sim_copy copy;
        struct sim_fill fill;
        struct sim_kernel_run kernel;
        struct sim_host_run host;
        CUdeviceptr release; /* address of a stream-ordered free */
    } u;
};

extern pthread_mutex_t sim_engine_lock;
extern pthread_cond_t sim_engine_resolved; /* broadcast when a host function has returned */

/* A new operation with one reference, filled in from the calling thread's open driver call. NULL: no memory. */
struct sim_op *sim_op_create(enum sim_op_kind kind, struct sim_stream *stream);
void sim_op_release(struct sim_op *op);
void sim_op_release_locked(struct sim_op *op);
/* Puts it at the end of its stream. Blocks while the stream's queue is full. `event`: waits for its last record
 * too (may be NULL). */
void sim_enqueue(struct sim_op *op, struct sim_event *event);

/* Operations that become known to the device at once: one launch of a graph. Each starts after those of `before`,
 * numbers of earlier ones; without any, when the launch may begin. */
struct sim_batch_item {
    struct sim_op *op;
    const unsigned *before;
    unsigned before_count;
    bool has_after;              /* others depend on it */
    struct sim_event *waits_for; /* its last record, or NULL */
    struct sim_event *records;   /* is recorded by it, or NULL */
};

/* One entry of the queue of `stream`: starts after what is there, and after *last (of the same executable graph);
 * takes over the operations' references, and `run`. Returns its last marker, with a reference; NULL: no memory. */
struct sim_op *sim_enqueue_batch(struct sim_stream *stream, const struct sim_batch_item *items, size_t count,
                                 struct sim_op **last, struct sim_run *run);
/* Waits until it has ended and its effect, with all earlier ones, is in memory. */
void sim_wait_op(struct sim_op *op);
/* The same for the moment `early_ns` before its end. */
void sim_wait_op_before(struct sim_op *op, uint64_t early_ns);
/* Waits in the same way until `when_ns`, applying the effects that become due. */
void sim_wait_until(uint64_t when_ns);
/* True if it has ended; then all effects so far are in memory. */
bool sim_op_done(struct sim_op *op);
/* The end of an operation that is resolved, else SIM_NEVER. */
uint64_t sim_op_end_ns(struct sim_op *op);

void sim_sync_stream(struct sim_stream *stream);
void sim_sync_context(struct sim_context *context);
bool sim_stream_done(struct sim_stream *stream);

void sim_engine_finish(void);
void sim_engine_fork(enum sim_fork side);

/* The device exists from now on: its idle time counts. */
void sim_engine_start_device(uint32_t device, uint64_t now_ns);
/* For host.c: the operation's host function began at start and has just returned. */
void sim_host_func_ran(struct sim_op *op, uint64_t start_ns);

#endif
