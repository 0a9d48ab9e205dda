/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the API: making them by hand, their nodes and edges. What nodes do: graph_params.c. */
#include <stdlib.h>

#include "call.h"
#include "driver_gen.h"
#include "graph.h"

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

CUresult sim_cuGraphCreate(CUgraph *out, unsigned flags)
{
    struct sim_graph *graph;

    if (out == NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    graph = sim_graph_create_locked();
    pthread_mutex_unlock(&sim_graph_lock);
    *out = (CUgraph)graph;
    return graph == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* A child graph belongs to its node, and one that is being captured to the capture. */
CUresult sim_cuGraphDestroy(CUgraph handle)
{
    struct sim_graph *graph = sim_graph_check(handle);

    if (graph == NULL || graph->parent != NULL || graph->captured_into) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    sim_graph_destroy_locked(graph);
    pthread_mutex_unlock(&sim_graph_lock);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *out, CUgraph handle)
{
    struct sim_graph *graph = sim_graph_check(handle), *copy;

    if (out == NULL || graph == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    copy = sim_graph_clone_locked(graph);
    pthread_mutex_unlock(&sim_graph_lock);
    *out = (CUgraph)copy;
    return copy == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode handle, CUgraph clone)
{
    struct sim_graph *copy = sim_graph_check(clone);
    struct sim_node *node = sim_node_check(handle), *found;

    if (out == NULL || copy == NULL || node == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    found = sim_graph_find_copy_locked(copy, node);
    pthread_mutex_unlock(&sim_graph_lock);
    if (found != NULL) {
        *out = (CUgraphNode)found;
    }
    return found == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

uint64_t simgpu_graph_id(const void *handle)
{
    const struct sim_graph *graph = sim_object_check(handle, SIM_GRAPH);
    const struct sim_node *node = sim_object_check(handle, SIM_NODE);
    const struct sim_graph *of_exec = sim_exec_graph((CUgraphExec)(uintptr_t)handle);

    return graph != NULL ? graph->id : node != NULL ? node->id : of_exec != NULL ? of_exec->id : 0;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static bool nodes_of(const struct sim_graph *graph, const CUgraphNode *handles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sim_node *node = sim_node_check(handles[i]);

        if (node == NULL || node->graph != graph) {
            return false;
        }
    }
    return true;
}

static CUresult add_node(CUgraphNode *out, CUgraph handle, const CUgraphNode *before, size_t count,
                         const CUgraphNodeParams *params)
{
    struct sim_graph *graph = sim_graph_check(handle);
    struct sim_node *node = NULL;
    struct sim_content content;
    CUresult result;

    if (out == NULL || graph == NULL || (count > 0 && before == NULL) || !nodes_of(graph, before, count)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = sim_content_make_locked(params, sim_context_current(), &content);
    if (result == CUDA_SUCCESS) {
        node = sim_graph_add_locked(graph, params->type, content.plan, (struct sim_node *const *)before, count);
        result = node == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    if (node != NULL) {
        node->child = content.child;
        node->event = content.event;
        if (node->child != NULL) {
            node->child->parent = node;
        }
    }
    pthread_mutex_unlock(&sim_graph_lock);
    *out = (CUgraphNode)node;
    return result;
}

static bool edges_plain(const CUgraphEdgeData *edges, size_t count)
{
    for (size_t i = 0; edges != NULL && i < count; i++) {
        if (edges[i].from_port != 0 || edges[i].to_port != 0 || edges[i].type != 0) {
            return false;
        }
    }
    return true;
}

CUresult sim_cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                            CUgraphNodeParams *params)
{
    return params == NULL ? CUDA_ERROR_INVALID_VALUE : add_node(out, graph, before, count, params);
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                               const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    return !edges_plain(edges, count) ? CUDA_ERROR_NOT_SUPPORTED
                                      : sim_cuGraphAddNode(out, graph, before, count, params);
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                     const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.kernel = *params;
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS all;

    if (p == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all = (CUDA_KERNEL_NODE_PARAMS){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                                    p->blockDimZ, p->sharedMemBytes, p->kernelParams, p->extra, NULL, NULL};
    return sim_cuGraphAddKernelNode_v2(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMCPY3D *params, CUcontext context)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.memcpy = (CUDA_MEMCPY_NODE_PARAMS){.copyCtx = context, .copyParams = *params};
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                  const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

    if (p == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.memset = (CUDA_MEMSET_NODE_PARAMS_v2){p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, context};
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                const CUDA_HOST_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_HOST};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.host = *params;
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                      CUgraph child)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

    all.graph.graph = child;
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                       CUevent event)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

    all.eventRecord.event = event;
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                                     CUevent event)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

    all.eventWait.event = event;
    return add_node(out, graph, before, count, &all);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode handle)
{
    struct sim_node *node = sim_node_check(handle);

    if (node == NULL || node->graph->captured_into) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    sim_graph_remove_locked(node);
    pthread_mutex_unlock(&sim_graph_lock);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    struct sim_node *node = sim_node_check(handle);

    if (node == NULL || type == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *type = node->type;
    return CUDA_SUCCESS;
}

/* ---- lists: without an array the call says how many; of a longer array the rest becomes NULL ---------------- */

struct list {
    CUgraphNode *nodes, *second;
    CUgraphEdgeData *edges;
    size_t room, found;
};

static void put(struct list *list, struct sim_node *node, struct sim_node *second)
{
    if (list->found < list->room) {
        if (list->nodes != NULL) {
            list->nodes[list->found] = (CUgraphNode)node;
        }
        if (list->second != NULL) {
            list->second[list->found] = (CUgraphNode)second;
        }
        if (list->edges != NULL) {
            list->edges[list->found] = (CUgraphEdgeData){0};
        }
    }
    list->found++;
}

static CUresult finish_list(struct list *list, size_t *count)
{
    size_t found = list->found;

    pthread_mutex_unlock(&sim_graph_lock);
    if (list->nodes == NULL && list->second == NULL) {
        *count = found;
        return CUDA_SUCCESS;
    }
    while (list->found < list->room) {
        put(list, NULL, NULL);
    }
    *count = found < list->room ? found : list->room;
    return CUDA_SUCCESS;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots_only)
{
    struct sim_graph *graph = sim_graph_check(handle);
    struct list list = {.nodes = nodes};

    if (graph == NULL || count == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    list.room = nodes != NULL ? *count : 0;
    pthread_mutex_lock(&sim_graph_lock);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (!roots_only || graph->nodes.list[i]->before.count == 0) {
            put(&list, graph->nodes.list[i], NULL);
        }
    }
    return finish_list(&list, count);
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

CUresult sim_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                                size_t *count)
{
    struct sim_graph *graph = sim_graph_check(handle);
    struct list list = {.nodes = from, .second = to, .edges = edges};

    if (graph == NULL || count == NULL || (from == NULL) != (to == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    list.room = from != NULL ? *count : 0;
    pthread_mutex_lock(&sim_graph_lock);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct sim_node *node = graph->nodes.list[i];

        for (size_t k = 0; k < node->before.count; k++) {
            put(&list, node->before.list[k], node);
        }
    }
    return finish_list(&list, count);
}

CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult neighbours(CUgraphNode handle, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count, bool before)
{
    struct sim_node *node = sim_node_check(handle);
    struct list list = {.nodes = nodes, .edges = edges};

    if (node == NULL || count == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    list.room = nodes != NULL ? *count : 0;
    pthread_mutex_lock(&sim_graph_lock);
    for (size_t i = 0; before && i < node->before.count; i++) {
        put(&list, node->before.list[i], NULL);
    }
    for (size_t i = 0; !before && i < node->graph->nodes.count; i++) {
        if (sim_nodes_contain(&node->graph->nodes.list[i]->before, node)) {
            put(&list, node->graph->nodes.list[i], NULL);
        }
    }
    return finish_list(&list, count);
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return neighbours(node, nodes, NULL, count, true);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count)
{
    return neighbours(node, nodes, edges, count, true);
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return neighbours(node, nodes, NULL, count, false);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                             size_t *count)
{
    return neighbours(node, nodes, edges, count, false);
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

static CUresult change_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *edges, size_t count, bool add)
{
    struct sim_graph *graph = sim_graph_check(handle);
    CUresult result = CUDA_SUCCESS;

    if (graph == NULL || (count > 0 && (from == NULL || to == NULL)) || !nodes_of(graph, from, count) ||
        !nodes_of(graph, to, count)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!edges_plain(edges, count)) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    pthread_mutex_lock(&sim_graph_lock);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        struct sim_node *first = sim_node_check(from[i]), *second = sim_node_check(to[i]);
        bool there = sim_nodes_contain(&second->before, first);

        if (first == second || there == add) { /* twice, or not there */
            result = CUDA_ERROR_INVALID_VALUE;
        } else if (!add) {
            sim_nodes_drop(&second->before, first);
        } else if (!sim_nodes_add(&second->before, first)) {
            result = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return change_edges(graph, from, to, NULL, count, true);
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                       const CUgraphEdgeData *edges, size_t count)
{
    return change_edges(graph, from, to, edges, count, true);
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return change_edges(graph, from, to, NULL, count, false);
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                          const CUgraphEdgeData *edges, size_t count)
{
    return change_edges(graph, from, to, edges, count, false);
}
