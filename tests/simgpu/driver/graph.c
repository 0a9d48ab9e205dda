/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, nodes and lists of nodes: making, copying and taking them apart. See graph.h. */
#include "graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "tracer.h"

pthread_mutex_t sim_graph_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- lists ------------------------------------------------------------------------------------------------------ */

bool sim_nodes_contain(const struct sim_nodes *nodes, const struct sim_node *node)
{
    for (size_t i = nodes->count; i > 0; i--) {
        if (nodes->list[i - 1] == node) {
            return true;
        }
    }
    return false;
}

static bool push(struct sim_nodes *nodes, struct sim_node *node)
{
    if (nodes->count == nodes->capacity) {
        size_t capacity = nodes->capacity == 0 ? 2 : 2 * nodes->capacity;
        struct sim_node **list = realloc(nodes->list, capacity * sizeof(*list));

        if (list == NULL) {
            return false;
        }
        nodes->list = list;
        nodes->capacity = capacity;
    }
    nodes->list[nodes->count++] = node;
    return true;
}

bool sim_nodes_add(struct sim_nodes *nodes, struct sim_node *node)
{
    return sim_nodes_contain(nodes, node) || push(nodes, node);
}

void sim_nodes_drop(struct sim_nodes *nodes, const struct sim_node *node)
{
    size_t kept = 0;

    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->list[i] != node) {
            nodes->list[kept++] = nodes->list[i];
        }
    }
    nodes->count = kept;
}

bool sim_nodes_assign(struct sim_nodes *nodes, const struct sim_nodes *from)
{
    nodes->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        if (!push(nodes, from->list[i])) {
            return false;
        }
    }
    return true;
}

const CUgraphEdgeData *sim_nodes_edges(struct sim_nodes *nodes)
{
    if (nodes->edge_capacity < nodes->count) {
        free(nodes->edges);
        nodes->edges = calloc(nodes->count, sizeof(*nodes->edges));
        nodes->edge_capacity = nodes->edges != NULL ? nodes->count : 0;
    }
    return nodes->edges;
}

void sim_nodes_free(struct sim_nodes *nodes)
{
    free(nodes->list);
    free(nodes->edges);
    memset(nodes, 0, sizeof(*nodes));
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

uint32_t sim_graph_next_id(void)
{
    static _Atomic uint32_t last;

    return atomic_fetch_add(&last, 1) + 1;
}

struct sim_graph *sim_graph_create_locked(void)
{
    struct sim_graph *graph = sim_object_create(SIM_GRAPH);

    if (graph != NULL) {
        graph->id = sim_graph_next_id();
    }
    return graph;
}

struct sim_graph *sim_graph_check(CUgraph handle)
{
    struct sim_graph *graph = sim_object_check(handle, SIM_GRAPH);

    return graph != NULL && !graph->internal ? graph : NULL;
}

struct sim_node *sim_node_check(CUgraphNode handle)
{
    struct sim_node *node = sim_object_check(handle, SIM_NODE);

    return node != NULL && !node->graph->internal ? node : NULL;
}

static void free_node(struct sim_node *node)
{
    sim_plan_release(node->plan);
    if (node->child != NULL) {
        sim_graph_destroy_locked(node->child);
    }
    sim_nodes_free(&node->before);
    sim_object_destroy(node);
}

void sim_graph_destroy_locked(struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        free_node(graph->nodes.list[i]);
    }
    sim_nodes_free(&graph->nodes);
    sim_user_references_drop(&graph->user_references, NULL);
    sim_object_destroy(graph);
}

struct sim_node *sim_graph_add_locked(struct sim_graph *graph, CUgraphNodeType type, struct sim_op *plan,
                                      struct sim_node *const *before, size_t count)
{
    struct sim_node *node = sim_object_create(SIM_NODE);
    bool added = node != NULL && push(&graph->nodes, node);

    for (size_t i = 0; added && i < count; i++) {
        added = sim_nodes_add(&node->before, before[i]);
    }
    if (!added) {
        sim_plan_release(plan);
        if (node != NULL) {
            sim_nodes_drop(&graph->nodes, node);
            sim_nodes_free(&node->before);
            sim_object_destroy(node);
        }
        return NULL;
    }
    node->graph = graph;
    node->type = type;
    node->plan = plan;
    node->id = (uint64_t)graph->id << 32 | ++graph->numbered;
    return node;
}

void sim_graph_remove_locked(struct sim_node *node)
{
    struct sim_graph *graph = node->graph;

    sim_nodes_drop(&graph->nodes, node);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        sim_nodes_drop(&graph->nodes.list[i]->before, node);
    }
    free_node(node);
}

/* A copy of the node alone; the edges come when all nodes are there. */
static bool copy_node(struct sim_graph *copy, struct sim_node *node)
{
    struct sim_op *plan = sim_plan_copy_of(node->plan, NULL);
    struct sim_node *made = plan != NULL ? sim_graph_add_locked(copy, node->type, plan, NULL, 0) : NULL;

    if (made == NULL) {
        return false;
    }
    made->origin = node;
    made->event = node->event;
    made->disabled = node->disabled;
    if (node->child != NULL) {
        made->child = sim_graph_clone_locked(node->child);
        if (made->child == NULL) {
            return false;
        }
        made->child->parent = made;
    }
    return true;
}

struct sim_graph *sim_graph_clone_locked(struct sim_graph *graph)
{
    struct sim_graph *copy = sim_graph_create_locked();
    bool copied = copy != NULL && sim_user_references_copy(&copy->user_references, &graph->user_references);

    for (size_t i = 0; copied && i < graph->nodes.count; i++) {
        graph->nodes.list[i]->mark = (unsigned)i;
        copied = copy_node(copy, graph->nodes.list[i]);
    }
    for (size_t i = 0; copied && i < graph->nodes.count; i++) {
        const struct sim_nodes *before = &graph->nodes.list[i]->before;

        for (size_t k = 0; copied && k < before->count; k++) {
            copied = push(&copy->nodes.list[i]->before, copy->nodes.list[before->list[k]->mark]);
        }
    }
    if (!copied) {
        if (copy != NULL) {
            sim_graph_destroy_locked(copy);
        }
        return NULL;
    }
    copy->origin = graph;
    return copy;
}

struct sim_node *sim_graph_find_copy_locked(struct sim_graph *copy, const struct sim_node *origin)
{
    struct sim_node *found = NULL;

    for (size_t i = 0; found == NULL && i < copy->nodes.count; i++) {
        struct sim_node *node = copy->nodes.list[i];

        if (node->origin == origin) {
            found = node;
        } else if (node->child != NULL) {
            found = sim_graph_find_copy_locked(node->child, origin);
        }
    }
    return found;
}
