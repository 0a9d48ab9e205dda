/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes do: the parameters of each kind, for a node of a graph and for its copy in an executable graph. All
 * kinds come together in CUgraphNodeParams, the API's own union.
 */
#include "call.h"
#include "driver_gen.h"
#include "graph.h"
#include "plan.h"

/* ---- parameters to content -------------------------------------------------------------------------------------- */

/* NULL means the current context. */
static struct sim_context *context_of(CUcontext handle, struct sim_context *otherwise)
{
    return handle == NULL ? otherwise : sim_context_check(handle);
}

static CUresult make_child_locked(CUgraph handle, struct sim_context *context, struct sim_content *content)
{
    struct sim_graph *graph = sim_graph_check(handle);

    if (graph == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    content->child = sim_graph_clone_locked(graph);
    return content->child == NULL ? CUDA_ERROR_OUT_OF_MEMORY : sim_plan_marker(context, &content->plan);
}

static CUresult make_event(CUevent handle, struct sim_context *context, struct sim_content *content)
{
    content->event = sim_object_check(handle, SIM_EVENT);
    return content->event == NULL ? CUDA_ERROR_INVALID_HANDLE : sim_plan_marker(context, &content->plan);
}

CUresult sim_content_make_locked(const CUgraphNodeParams *params, struct sim_context *context,
                                 struct sim_content *content)
{
    const CUDA_MEMSET_NODE_PARAMS_v2 *fill = &params->memset;
    CUDA_MEMSET_NODE_PARAMS plain_fill;
    CUresult result;

    *content = (struct sim_content){0};
    context = params->type == CU_GRAPH_NODE_TYPE_KERNEL   ? context_of(params->kernel.ctx, context)
              : params->type == CU_GRAPH_NODE_TYPE_MEMCPY ? context_of(params->memcpy.copyCtx, context)
              : params->type == CU_GRAPH_NODE_TYPE_MEMSET ? context_of(fill->ctx, context)
                                                          : context;
    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        result = sim_plan_kernel(context, &params->kernel, &content->plan);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        result = sim_plan_copy(context, &params->memcpy.copyParams, &content->plan);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        plain_fill = (CUDA_MEMSET_NODE_PARAMS){fill->dst, fill->pitch, fill->value, fill->elementSize, fill->width,
                                               fill->height};
        result = sim_plan_fill(context, &plain_fill, &content->plan);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        result = sim_plan_host(context, &params->host, &content->plan);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        result = make_child_locked(params->graph.graph, context, content);
        break;
    case CU_GRAPH_NODE_TYPE_EMPTY:
        result = sim_plan_marker(context, &content->plan);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        result = make_event(params->eventWait.event, context, content);
        break;
    default:
        result = params->type <= 13 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS) {
        sim_content_drop_locked(content);
    }
    return result;
}

void sim_content_drop_locked(struct sim_content *content)
{
    sim_plan_release(content->plan);
    if (content->child != NULL) {
        sim_graph_destroy_locked(content->child);
    }
    *content = (struct sim_content){0};
}

void sim_content_put_locked(struct sim_node *node, struct sim_content *content)
{
    struct sim_content before = {node->plan, node->child, NULL};

    node->plan = content->plan;
    node->child = content->child;
    node->event = content->event;
    if (node->child != NULL) {
        node->child->parent = node;
    }
    sim_content_drop_locked(&before);
}

/* ---- getting ---------------------------------------------------------------------------------------------------- */

/* A node of that type; else an error. */
static CUresult node_of_type(CUgraphNode handle, CUgraphNodeType type, const void *out, struct sim_node **node)
{
    *node = sim_node_check(handle);
    if (*node == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return out == NULL || (*node)->type != type ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *params)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, CU_GRAPH_NODE_TYPE_KERNEL, params, &node);

    if (result == CUDA_SUCCESS) {
        sim_plan_describe_kernel(node->plan, params);
    }
    return result;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS all;
    CUresult result = sim_cuGraphKernelNodeGetParams_v2(handle, params == NULL ? NULL : &all);

    if (result == CUDA_SUCCESS) {
        *params = (CUDA_KERNEL_NODE_PARAMS_v1){all.func, all.gridDimX, all.gridDimY, all.gridDimZ, all.blockDimX,
                                               all.blockDimY, all.blockDimZ, all.sharedMemBytes, all.kernelParams,
                                               all.extra};
    }
    return result;
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *params)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, CU_GRAPH_NODE_TYPE_MEMCPY, params, &node);

    if (result == CUDA_SUCCESS) {
        sim_plan_describe_copy(node->plan, params);
    }
    return result;
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *params)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, CU_GRAPH_NODE_TYPE_MEMSET, params, &node);

    if (result == CUDA_SUCCESS) {
        sim_plan_describe_fill(node->plan, params);
    }
    return result;
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *params)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, CU_GRAPH_NODE_TYPE_HOST, params, &node);

    if (result == CUDA_SUCCESS) {
        *params = (CUDA_HOST_NODE_PARAMS){node->plan->u.host.fn, node->plan->u.host.user_data};
    }
    return result;
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *graph)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, CU_GRAPH_NODE_TYPE_GRAPH, graph, &node);

    if (result == CUDA_SUCCESS) {
        *graph = (CUgraph)node->child;
    }
    return result;
}

static CUresult get_event(CUgraphNode handle, CUgraphNodeType type, CUevent *event)
{
    struct sim_node *node;
    CUresult result = node_of_type(handle, type, event, &node);

    if (result == CUDA_SUCCESS) {
        *event = (CUevent)node->event;
    }
    return result;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

/* ---- setting, of a node or (with `exec`) of its copy ------------------------------------------------------------- */

/* A kernel node, a copy or a memset stays in its context; whether a copy crosses the bus may not change either. */
static bool may_become(const struct sim_node *node, const struct sim_content *content)
{
    const struct simgpu_op *from = &node->plan->record, *to = &content->plan->record;

    return from->context == to->context && from->copy_kind == to->copy_kind && node->plan->kind == content->plan->kind;
}

static CUresult set_params(CUgraphExec exec, CUgraphNode handle, const CUgraphNodeParams *params)
{
    struct sim_node *node = sim_node_check(handle);
    struct sim_content content;
    CUresult result = CUDA_SUCCESS;

    if (node == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (node->type != params->type) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    if (exec != NULL) {
        result = sim_exec_node_locked(exec, handle, &node);
    }
    if (result == CUDA_SUCCESS) {
        result = sim_content_make_locked(params, node->plan->stream->context, &content);
    }
    if (result == CUDA_SUCCESS && exec != NULL && !may_become(node, &content)) {
        sim_content_drop_locked(&content);
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        sim_content_put_locked(node, &content);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

static CUresult set_kernel(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.kernel = *params;
    return set_params(exec, node, &all);
}

static CUresult set_kernel_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUDA_KERNEL_NODE_PARAMS all;

    if (p == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all = (CUDA_KERNEL_NODE_PARAMS){p->func, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY,
                                    p->blockDimZ, p->sharedMemBytes, p->kernelParams, p->extra, NULL, NULL};
    return set_kernel(exec, node, &all);
}

static CUresult set_copy(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext context)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.memcpy = (CUDA_MEMCPY_NODE_PARAMS){.copyCtx = context, .copyParams = *params};
    return set_params(exec, node, &all);
}

static CUresult set_fill(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

    if (p == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.memset = (CUDA_MEMSET_NODE_PARAMS_v2){p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, context};
    return set_params(exec, node, &all);
}

static CUresult set_host(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_HOST};

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.host = *params;
    return set_params(exec, node, &all);
}

static CUresult set_event(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type, CUevent event)
{
    CUgraphNodeParams all = {.type = type};

    all.eventWait.event = event;
    return set_params(exec, node, &all);
}

static bool exec_valid(CUgraphExec exec)
{
    return sim_object_check(exec, SIM_EXEC) != NULL;
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    return params == NULL ? CUDA_ERROR_INVALID_VALUE : set_params(NULL, node, params);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return set_kernel_v1(NULL, node, params);
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return set_kernel(NULL, node, params);
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
    return set_copy(NULL, node, params, NULL);
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
    return set_fill(NULL, node, params, NULL);
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    return set_host(NULL, node, params);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    return set_event(NULL, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    return set_event(NULL, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    if (params == NULL || !exec_valid(exec)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return params->type == CU_GRAPH_NODE_TYPE_GRAPH
               ? sim_cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph)
               : set_params(exec, node, params);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_kernel_v1(exec, node, params);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS *params)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_kernel(exec, node, params);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,
                                            CUcontext context)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_copy(exec, node, params, context);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,
                                            CUcontext context)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_fill(exec, node, params, context);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_host(exec, node, params);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE
                             : set_event(exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return !exec_valid(exec) ? CUDA_ERROR_INVALID_VALUE : set_event(exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
}
