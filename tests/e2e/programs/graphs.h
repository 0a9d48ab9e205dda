/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of graphs.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_GRAPHS_H
#define E2E_GRAPHS_H

#include "cuda_few.h"
#include "stage_log.h"

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

struct graphs_work {
    CUcontext context;
    CUfunction kernel, other;
    CUstream first, second;
    CUdeviceptr buffer;
    CUgraphExec replayed; /* of graphs_replay */
    CUgraph template;     /* … and what it was made from: 5 kernels */
    CUgraph beside;       /* captured by the second thread */
};

/* Each is a stage of its own; what must be counted in it is in the table of graphs.c. */
E2E_STAGE void graphs_replay(struct graphs_work *work);
E2E_STAGE void graphs_join(struct graphs_work *work);
E2E_STAGE void graphs_build(struct graphs_work *work);
E2E_STAGE void graphs_update(struct graphs_work *work);
E2E_STAGE void graphs_nest(struct graphs_work *work);
E2E_STAGE void graphs_beside(struct graphs_work *work);
E2E_STAGE void graphs_beside_capture(struct graphs_work *work);
E2E_STAGE void graphs_broken(struct graphs_work *work);
E2E_STAGE void graphs_append(struct graphs_work *work);
E2E_STAGE void graphs_switch(struct graphs_work *work);
E2E_STAGE void graphs_request(struct graphs_work *work);

#endif
