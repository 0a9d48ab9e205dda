/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What surrounds every driver call: the thread's own state, correlation ids, the state of the process (cuInit,
 * fork), and the call's line in the truth file. The generated wrappers use sim_call_begin/end; implementations
 * ask sim_self() for the thread. Any thread.
 */
#ifndef SIMGPU_CALL_H
#define SIMGPU_CALL_H

#include <stdatomic.h>
#include <stdint.h>

#include "cuda_min.h"
#include "tracer.h"

enum sim_need { SIM_NEED_ANY, SIM_NEED_INIT, SIM_NEED_CTX, SIM_NEED_CALM };
enum { SIM_CONTEXT_DEPTH = 16 };

struct sim_context;

struct sim_thread {
    uint32_t tid;
    uint32_t depth;       /* driver calls open on this thread; > 1 only when host code run by a call calls back */
    uint32_t correlation; /* of the outermost open call */
    uint64_t call_start_ns;
    unsigned stack_size;
    struct sim_context *stack[SIM_CONTEXT_DEPTH]; /* contexts; the last is current; NULL entries are legal */
    unsigned capture_mode; /* of cuThreadExchangeStreamCaptureMode */
};

struct sim_call {
    struct sim_thread *self;
    const char *name;
    const void *params; /* a structure of the arguments, or NULL */
};

struct sim_thread *sim_self(void);
CUresult sim_call_begin(struct sim_call *call, const char *name, enum sim_need need, const void *params);
CUresult sim_call_end(struct sim_call *call, CUresult result);
/* The body of a name that is exported only: says so on stderr once, returns CUDA_ERROR_NOT_SUPPORTED. */
CUresult sim_not_supported(const char *name, int *said);

/* Tells an observer that attached late, or before cuInit, which devices there are. */
void sim_tracer_devices(const struct simgpu_tracer *tracer);

#endif
