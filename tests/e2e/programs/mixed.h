/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of mixed.c and every way to launch a kernel that they use. */
#ifndef E2E_MIXED_H
#define E2E_MIXED_H

#include "cuda_few.h"
#include "stage_log.h"

enum { MIXED_WAYS = 14, MIXED_GRAPH_WAYS = 4, MIXED_GRAPH_NODES = 3 };

/* A way to launch: the function that is called, and its kernel, which no other way launches. */
struct mixed_way {
    const char *function, *kernel;
    int is_runtime;
    int per_thread; /* _ptsz: called with stream 0 */
    CUfunction handle; /* driver */
    void *runtime_kernel; /* cudaKernel_t of the same kernel */
};

extern struct mixed_way mixed_ways[MIXED_WAYS];

typedef struct CUgraphExec_st *CUgraphExec;

/* A way to launch a graph of MIXED_GRAPH_NODES nodes, all of them this kernel. */
struct mixed_graph_way {
    const char *function, *kernel;
    int per_thread;
    CUresult (*launch)(CUgraphExec graph, CUstream stream);
    CUgraphExec graph;
};

const struct mixed_graph_way *mixed_graph_way(int way);

struct mixed_job {
    CUcontext context;
    CUstream stream;
    int number, rounds;
};

/* In each round way n launches n + 1 times, of kernels and of graphs. */
E2E_STAGE void mixed_request(struct mixed_job *job);
E2E_STAGE void mixed_runtime(struct mixed_job *job);
E2E_STAGE void mixed_driver(struct mixed_job *job);
E2E_STAGE void mixed_graph(struct mixed_job *job);
/* Library, registration and handles; once. */
void mixed_prepare(void);

#endif
