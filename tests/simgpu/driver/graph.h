/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as the program sees them: nodes with plans, and edges. An executable graph has a copy of its own
 * (graph_exec.c). One lock guards all graphs and all captures; it is taken before the engine's, and not held
 * while a launch waits. Any thread. What touches a graph and has _locked in its name wants the lock held.
 */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

#include <pthread.h>

#include "context.h"
#include "engine.h"
#include "user_object.h"

struct sim_graph;

struct sim_node {
    struct sim_object object;
    struct sim_graph *graph;
    CUgraphNodeType type;
    uint64_t id;              /* CUPTI's: graph id << 32 | number in the graph, from 1 */
    struct sim_op *plan;      /* a marker for those that do nothing on a device */
    struct sim_graph *child;  /* owned */
    struct sim_event *event;
    struct sim_nodes before;  /* what it depends on */
    struct sim_node *origin;  /* the node that it is a copy of, or NULL */
    bool disabled;            /* in an executable graph */
    unsigned mark;            /* scratch of whoever walks the graph */
    unsigned step;            /* in an executable graph: its place in the plan of a launch */
};

struct sim_graph {
    struct sim_object object;
    uint32_t id;
    uint32_t numbered;       /* nodes so far */
    struct sim_nodes nodes;  /* owned, in order of creation */
    struct sim_node *parent; /* of a child graph */
    struct sim_graph *origin;
    bool captured_into;      /* a capture that has not ended owns it, or adds to it */
    bool internal;           /* belongs to an executable graph */
    struct sim_user_references user_references;
};

extern pthread_mutex_t sim_graph_lock;

/* All NULL or false: no memory. */
struct sim_graph *sim_graph_create_locked(void);
void sim_graph_destroy_locked(struct sim_graph *graph);
struct sim_graph *sim_graph_clone_locked(struct sim_graph *graph);
/* Takes over `plan`, also when it fails. */
struct sim_node *sim_graph_add_locked(struct sim_graph *graph, CUgraphNodeType type, struct sim_op *plan,
                                      struct sim_node *const *before, size_t count);
void sim_graph_remove_locked(struct sim_node *node);
/* The node of `copy`, or of a child graph in it, that was made from `origin`. */
struct sim_node *sim_graph_find_copy_locked(struct sim_graph *copy, const struct sim_node *origin);
uint32_t sim_graph_next_id(void);

bool sim_nodes_add(struct sim_nodes *nodes, struct sim_node *node); /* once; false: no memory */
bool sim_nodes_contain(const struct sim_nodes *nodes, const struct sim_node *node);
void sim_nodes_drop(struct sim_nodes *nodes, const struct sim_node *node);
bool sim_nodes_assign(struct sim_nodes *nodes, const struct sim_nodes *from);
const CUgraphEdgeData *sim_nodes_edges(struct sim_nodes *nodes);
void sim_nodes_free(struct sim_nodes *nodes);

/* A live graph or node that the program may name; else NULL. */
struct sim_graph *sim_graph_check(CUgraph handle);
struct sim_node *sim_node_check(CUgraphNode handle);

/* graph_params.c: the plan for a node of params->type (and its child graph or event) in `context`. */
struct sim_content {
    struct sim_op *plan;
    struct sim_graph *child;
    struct sim_event *event;
};
CUresult sim_content_make_locked(const CUgraphNodeParams *params, struct sim_context *context,
                                 struct sim_content *content);
void sim_content_drop_locked(struct sim_content *content);
/* The node's content becomes that one. */
void sim_content_put_locked(struct sim_node *node, struct sim_content *content);

/* graph_exec.c: the copy that the program's `node` has in an executable graph. */
CUresult sim_exec_node_locked(CUgraphExec exec, CUgraphNode node, struct sim_node **copy);
/* The nodes of an executable graph, for a launch that is captured. */
struct sim_graph *sim_exec_graph(CUgraphExec exec);

#endif
