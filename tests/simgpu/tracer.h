/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What simgpu's libcuda tells simgpu's libcupti: every driver call and every device operation. libcupti
 * finds `simgpu_tracer_set` (exported by our libcuda.so.1 beside the public API) with dlsym.
 * All times are CLOCK_MONOTONIC ns; libcupti turns them into the clock that it claims to use.
 */
#ifndef SIMGPU_TRACER_H
#define SIMGPU_TRACER_H

#include <stdint.h>

enum simgpu_op_kind { SIMGPU_KERNEL = 1, SIMGPU_MEMCPY = 2, SIMGPU_MEMSET = 3, SIMGPU_HOST_FUNC = 4 };

struct simgpu_op {
    enum simgpu_op_kind kind;
    const char *name;    /* kernels: valid as long as the process lives */
    uint32_t device;     /* ordinal */
    uint32_t context;    /* CUPTI context id */
    uint32_t stream;     /* CUPTI stream id, unique in the context; legacy default stream: 7 */
    uint32_t thread;     /* Linux tid of the launching call */
    uint32_t correlation; /* of the outermost driver call */
    uint64_t launched_ns, start_ns, end_ns;
    uint64_t bytes;
    uint32_t copy_kind;  /* CUpti_ActivityMemcpyKind: 1 h2d, 2 d2h, 8 d2d, 10 p2p … */
    uint32_t source_memory, target_memory; /* CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device, 5 managed */
    uint32_t peer_device; /* p2p: target device; else UINT32_MAX */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    uint32_t graph;       /* of the executable graph that was launched; 0 = none */
    uint64_t graph_node;
    uint32_t graph_as_whole; /* the launch is told as one simgpu_graph too */
    uint32_t is_async;
};

/* One launch of an executable graph: from the first start to the last end of its nodes' work on devices. */
struct simgpu_graph {
    uint32_t graph, stream, thread, correlation;
    uint32_t device, context;         /* of the first node to start */
    uint32_t end_device, end_context; /* of the last one to end */
    uint32_t as_whole;
    uint64_t start_ns, end_ns;
};

/* An outermost driver call of a thread, at its entry and after it. */
struct simgpu_call {
    const char *name;    /* as exported */
    const char *kernel;  /* what a launch launches, or NULL */
    uint32_t correlation;
    uint32_t context_id; /* CUPTI's; 0: no context is current */
    const void *context;
    const void *params;  /* a structure of the arguments, in their order; NULL: none */
    int *result;
};

struct simgpu_tracer {
    /* A driver call of the application returned; libcuda chose its correlation id. */
    void (*api)(const char *export_name, uint32_t correlation, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
                int result);
    /* An operation's times became final (may lie in the future: deliver only when end_ns has passed). */
    void (*op)(const struct simgpu_op *op);
    /* A device / context / stream exists (name, uuid as 16 bytes). */
    void (*device)(uint32_t device, const char *name, const uint8_t uuid[16]);
    /* A graph is being made executable: nonzero if its launches shall be told as a whole. May be NULL. */
    int (*graph_as_whole)(void);
    /* A launch of such a graph became final (may lie in the future). May be NULL. */
    void (*graph)(const struct simgpu_graph *graph);
    /* Around the outermost calls, on their threads, while `calls_wanted` is not 0; `leave` comes after `api`. */
    int (*calls_wanted)(void);
    void (*enter)(const struct simgpu_call *call);
    void (*leave)(const struct simgpu_call *call);
};

/* Called from any thread; libcuda keeps the pointer, not a copy, beside those it has: a process may have a libcupti of
 * each major version. While no tracer is set libcuda does no work for it. */
void simgpu_tracer_set(const struct simgpu_tracer *tracer);
/* Share of device time or records: libcuda parses SIMGPU_FAULTS once; libcupti asks here. -1 = not set. */
long simgpu_fault(const char *name);
/* CUPTI's number of a graph, an executable graph or a node of one, given by handle; 0: no such thing. */
uint64_t simgpu_graph_id(const void *handle);
/* CUPTI's number of a context (NULL: the current one) and its device; 0: no such thing. */
uint32_t simgpu_context_id(const void *handle, uint32_t *device);

#endif
