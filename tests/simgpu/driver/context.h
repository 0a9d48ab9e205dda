/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, streams and events: the structures, and how a handle of the API becomes one of them. Any thread. */
#ifndef SIMGPU_CONTEXT_H
#define SIMGPU_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda_min.h"
#include "object.h"

enum { SIM_DEVICES_MAX = 16, SIM_LEGACY_STREAM_ID = 7 };

struct sim_op;
struct sim_capture;
struct sim_node;

/* Nodes in the order in which they were named. The edges' data are all zero: full dependencies, without ports. */
struct sim_nodes {
    struct sim_node **list;
    size_t count, capacity;
    CUgraphEdgeData *edges; /* zeros, `edge_capacity` of them */
    size_t edge_capacity;
};

struct sim_stream {
    struct sim_object object;
    struct sim_stream *next; /* in the context */
    struct sim_context *context;
    uint32_t id;     /* as CUPTI numbers streams: unique in the context, 7 is the legacy default stream */
    uint32_t thread; /* of a per-thread default stream, else 0 */
    unsigned flags;
    int priority;
    bool legacy;
    bool blocking; /* ordered with the legacy default stream */
    _Atomic bool destroyed;
    struct sim_op *tail;  /* its last operation, NULL when that has ended; guarded by the engine's lock */
    uint64_t *ring;       /* ends of the last `ring_size` operations; the queue's bound */
    unsigned ring_size, ring_next;
    _Atomic(struct sim_capture *) capture; /* that it takes part in, or NULL; by the graphs' lock, as the rest */
    struct sim_stream *next_capturing;
    struct sim_nodes frontier; /* what its next node will depend on */
};

struct sim_context {
    struct sim_object object;
    uint32_t id; /* as CUPTI numbers contexts, from 1 */
    uint32_t device;
    bool primary;
    unsigned attached; /* by cuCtxAttach, beyond its creation */
    unsigned retained; /* primary: how often */
    unsigned flags;
    unsigned version;
    _Atomic int error; /* sticky, as after an illegal address */
    struct sim_stream *streams; /* all but the legacy one; guarded by the engine's lock */
    struct sim_stream *legacy;
    uint32_t next_stream_id;
    uint32_t peers; /* bit per device whose memory may be accessed */
    size_t limits[CU_LIMIT_MAX];
};

struct sim_event {
    struct sim_object object;
    unsigned flags;
    struct sim_op *op; /* of the last record, or NULL; guarded by the engine's lock */
    _Atomic(struct sim_capture *) capture; /* that it was last recorded in, or NULL; guarded by the graphs' lock */
    struct sim_nodes frontier;
};

/* The calling thread's current context or NULL. A destroyed context is never current. */
struct sim_context *sim_context_current(void);
struct sim_context *sim_context_of_device(uint32_t device);
CUresult sim_context_error(const struct sim_context *context);
struct sim_context *sim_context_check(CUcontext handle);
void sim_contexts_start(void);

/* NULL: no such stream. 0 and CU_STREAM_LEGACY are the current context's legacy stream, CU_STREAM_PER_THREAD the
 * calling thread's own. */
struct sim_stream *sim_stream_find(CUstream handle);
struct sim_stream *sim_stream_create(struct sim_context *context, unsigned flags, int priority, uint32_t thread);

#endif
