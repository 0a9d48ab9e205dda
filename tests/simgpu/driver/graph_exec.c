/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: a copy of a graph, and the order of its steps, child graphs unfolded. A launch makes an
 * operation of each step. Steps of one branch follow each other; the first branch shows the launch's stream, each
 * other one, and those on other devices, a stream of its own that the program cannot name.
 */
#include <stdlib.h>

#include "call.h"
#include "capture.h"
#include "driver_gen.h"
#include "graph.h"
#include "plan.h"
#include "tracers.h"

enum { NO_STEP = UINT32_MAX, FLAGS_MASK = 15 };

struct step {
    struct sim_node *node;
    unsigned first_before, before_count; /* in the list of all steps' predecessors */
    bool has_after, continued;
    bool first_branch;
    uint32_t stream_id;
};

struct sim_exec {
    struct sim_object object;
    struct sim_graph *graph; /* never seen by the program */
    unsigned long long flags;
    int as_whole;
    struct step *steps;
    size_t count, capacity;
    unsigned *before;
    size_t before_count, before_capacity;
    struct sim_op *last; /* of the last launch: launches of one executable graph follow each other */
    CUgraphNode error_node;
};

static struct sim_exec *exec_check(CUgraphExec handle)
{
    return sim_object_check(handle, SIM_EXEC);
}

struct sim_graph *sim_exec_graph(CUgraphExec handle)
{
    struct sim_exec *exec = exec_check(handle);

    return exec != NULL ? exec->graph : NULL;
}

CUresult sim_exec_node_locked(CUgraphExec handle, CUgraphNode node, struct sim_node **copy)
{
    struct sim_exec *exec = exec_check(handle);
    struct sim_node *origin = sim_node_check(node);

    *copy = exec != NULL && origin != NULL ? sim_graph_find_copy_locked(exec->graph, origin) : NULL;
    return *copy == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- the order of steps ------------------------------------------------------------------------------------------ */

static bool grow(void **array, size_t count, size_t *capacity, size_t element_bytes)
{
    void *grown;

    if (count < *capacity) {
        return true;
    }
    grown = realloc(*array, (*capacity == 0 ? 16 : 2 * *capacity) * element_bytes);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *capacity = *capacity == 0 ? 16 : 2 * *capacity;
    return true;
}

static CUresult add_before(struct sim_exec *exec, unsigned step)
{
    if (!grow((void **)&exec->before, exec->before_count, &exec->before_capacity, sizeof(*exec->before))) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->before[exec->before_count++] = step;
    exec->steps[step].has_after = true;
    return CUDA_SUCCESS;
}

static uint32_t new_stream_id(struct sim_context *context)
{
    uint32_t id;

    pthread_mutex_lock(&sim_engine_lock);
    id = context->next_stream_id++;
    pthread_mutex_unlock(&sim_engine_lock);
    return id;
}

/* Follows the first predecessor in the same context that nothing follows yet; else a branch begins. */
static void choose_branch(struct sim_exec *exec, struct step *step)
{
    struct sim_context *context = step->node->plan->stream->context;

    for (unsigned i = 0; i < step->before_count; i++) {
        struct step *before = &exec->steps[exec->before[step->first_before + i]];

        if (!before->continued && before->node->plan->stream->context == context) {
            before->continued = true;
            step->first_branch = before->first_branch;
            step->stream_id = before->stream_id;
            return;
        }
    }
    step->first_branch = step == exec->steps;
    step->stream_id = new_stream_id(context);
}

/* The step that comes last; its predecessors were noted from `first_before` on. */
static CUresult add_step(struct sim_exec *exec, struct sim_node *node, size_t first_before)
{
    struct step *step;

    if (!grow((void **)&exec->steps, exec->count, &exec->capacity, sizeof(*exec->steps))) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    step = &exec->steps[exec->count];
    *step = (struct step){.node = node, .first_before = (unsigned)first_before,
                          .before_count = (unsigned)(exec->before_count - first_before)};
    choose_branch(exec, step);
    node->step = (unsigned)exec->count++;
    return CUDA_SUCCESS;
}

static CUresult lay_out(struct sim_exec *exec, struct sim_graph *graph, unsigned entry);

/* A child graph lies between two steps of its node: its roots follow the first, the second follows its ends. */
static CUresult add_child(struct sim_exec *exec, struct sim_node *node)
{
    unsigned in = node->step;
    CUresult result = lay_out(exec, node->child, in);
    size_t end = exec->count, first_before = exec->before_count;

    for (unsigned i = in; i < end && result == CUDA_SUCCESS; i++) {
        if (!exec->steps[i].has_after) {
            result = add_before(exec, i);
        }
    }
    return result == CUDA_SUCCESS ? add_step(exec, node, first_before) : result;
}

enum visit { UNSEEN, OPEN, DONE };

static CUresult visit(struct sim_exec *exec, struct sim_node *node, unsigned entry)
{
    size_t first_before;
    CUresult result = CUDA_SUCCESS;

    if (node->mark == DONE) {
        return CUDA_SUCCESS;
    }
    if (node->mark == OPEN) { /* a cycle */
        exec->error_node = (CUgraphNode)node->origin;
        return CUDA_ERROR_INVALID_VALUE;
    }
    node->mark = OPEN;
    for (size_t i = 0; i < node->before.count && result == CUDA_SUCCESS; i++) {
        result = visit(exec, node->before.list[i], entry);
    }
    first_before = exec->before_count;
    for (size_t i = 0; i < node->before.count && result == CUDA_SUCCESS; i++) {
        result = add_before(exec, node->before.list[i]->step);
    }
    if (node->before.count == 0 && entry != NO_STEP && result == CUDA_SUCCESS) {
        result = add_before(exec, entry);
    }
    if (result == CUDA_SUCCESS) {
        result = add_step(exec, node, first_before);
    }
    if (node->child != NULL && result == CUDA_SUCCESS) {
        result = add_child(exec, node);
    }
    node->mark = DONE;
    return result;
}

static CUresult lay_out(struct sim_exec *exec, struct sim_graph *graph, unsigned entry)
{
    CUresult result = CUDA_SUCCESS;

    graph->internal = true;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        graph->nodes.list[i]->mark = UNSEEN;
    }
    for (size_t i = 0; i < graph->nodes.count && result == CUDA_SUCCESS; i++) {
        result = visit(exec, graph->nodes.list[i], entry);
    }
    return result;
}

/* ---- instantiating ----------------------------------------------------------------------------------------------- */

static void drop_user_references(struct sim_graph *graph, struct sim_op *last)
{
    sim_user_references_drop(&graph->user_references, last);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.list[i]->child != NULL) {
            drop_user_references(graph->nodes.list[i]->child, last);
        }
    }
}

static void free_exec_locked(struct sim_exec *exec)
{
    if (exec->graph != NULL) {
        drop_user_references(exec->graph, exec->last);
        sim_graph_destroy_locked(exec->graph);
    }
    if (exec->last != NULL) {
        sim_op_release(exec->last);
    }
    free(exec->steps);
    free(exec->before);
    sim_object_destroy(exec);
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags, CUgraphNode *error_node)
{
    struct sim_graph *graph = sim_graph_check(handle);
    const struct simgpu_tracer *tracer = sim_tracer();
    struct sim_exec *exec;
    CUresult result;

    if (error_node != NULL) {
        *error_node = NULL;
    }
    if (out == NULL || graph == NULL || flags & ~(unsigned long long)FLAGS_MASK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    exec = sim_object_create(SIM_EXEC);
    if (exec != NULL) {
        exec->graph = sim_graph_clone_locked(graph);
    }
    result = exec != NULL && exec->graph != NULL ? lay_out(exec, exec->graph, NO_STEP) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        exec->flags = flags;
        exec->as_whole = tracer != NULL && tracer->graph_as_whole != NULL ? tracer->graph_as_whole() : 0;
    } else if (exec != NULL) {
        if (error_node != NULL) {
            *error_node = exec->error_node;
        }
        free_exec_locked(exec);
        exec = NULL;
    }
    pthread_mutex_unlock(&sim_graph_lock);
    *out = (CUgraphExec)exec;
    return result;
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                                   size_t log_bytes)
{
    if (log != NULL && log_bytes > 0) {
        *log = '\0';
    }
    return instantiate(out, graph, 0, error_node);
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    return instantiate(out, graph, flags, NULL);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
                                          CUstream default_stream)
{
    CUresult result;

    if (params == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = instantiate(out, graph, params->flags, &params->hErrNode_out);
    params->result_out = result == CUDA_SUCCESS               ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : params->hErrNode_out != NULL       ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                              : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    struct sim_exec *exec = exec_check(handle);

    if (exec == NULL || flags == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

/* Launches that run are not concerned. */
CUresult sim_cuGraphExecDestroy(CUgraphExec handle)
{
    struct sim_exec *exec = exec_check(handle);

    if (exec == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    free_exec_locked(exec);
    pthread_mutex_unlock(&sim_graph_lock);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled)
{
    struct sim_node *node;
    CUresult result;

    pthread_mutex_lock(&sim_graph_lock);
    result = sim_exec_node_locked(exec, handle, &node);
    if (result == CUDA_SUCCESS && node->type > CU_GRAPH_NODE_TYPE_MEMSET) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS) {
        node->disabled = enabled == 0;
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned *enabled)
{
    struct sim_node *node;
    CUresult result;

    pthread_mutex_lock(&sim_graph_lock);
    result = enabled == NULL ? CUDA_ERROR_INVALID_VALUE : sim_exec_node_locked(exec, handle, &node);
    if (result == CUDA_SUCCESS) {
        *enabled = !node->disabled;
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

/* ---- updating ---------------------------------------------------------------------------------------------------- */

static CUgraphExecUpdateResult refuse(CUgraphExecUpdateResultInfo *info, CUgraphExecUpdateResult result,
                                      const struct sim_node *node, const struct sim_node *from)
{
    info->result = result;
    info->errorNode = (CUgraphNode)(uintptr_t)node;
    info->errorFromNode = (CUgraphNode)(uintptr_t)from;
    return result;
}

static CUgraphExecUpdateResult compare_locked(struct sim_graph *mine, struct sim_graph *theirs,
                                              CUgraphExecUpdateResultInfo *info);

static CUgraphExecUpdateResult compare_node_locked(struct sim_node *mine, struct sim_node *theirs,
                                                   CUgraphExecUpdateResultInfo *info)
{
    const struct simgpu_op *from = &mine->plan->record, *to = &theirs->plan->record;

    if (mine->type != theirs->type) {
        return refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, theirs, NULL);
    }
    if (mine->before.count != theirs->before.count) {
        return refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, theirs, NULL);
    }
    for (size_t i = 0; i < mine->before.count; i++) {
        if (mine->before.list[i]->mark != theirs->before.list[i]->mark) {
            return refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, theirs, theirs->before.list[i]);
        }
    }
    if (from->context != to->context || from->copy_kind != to->copy_kind) {
        return refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, theirs, NULL);
    }
    return mine->child == NULL ? CU_GRAPH_EXEC_UPDATE_SUCCESS : compare_locked(mine->child, theirs->child, info);
}

static CUgraphExecUpdateResult compare_locked(struct sim_graph *mine, struct sim_graph *theirs,
                                              CUgraphExecUpdateResultInfo *info)
{
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

    if (mine->nodes.count != theirs->nodes.count) {
        return refuse(info, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    }
    for (size_t i = 0; i < mine->nodes.count; i++) {
        mine->nodes.list[i]->mark = theirs->nodes.list[i]->mark = (unsigned)i;
    }
    for (size_t i = 0; i < mine->nodes.count && result == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++) {
        result = compare_node_locked(mine->nodes.list[i], theirs->nodes.list[i], info);
    }
    return result;
}

static CUresult take_over_locked(struct sim_graph *mine, const struct sim_graph *theirs)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < mine->nodes.count && result == CUDA_SUCCESS; i++) {
        struct sim_node *node = mine->nodes.list[i], *from = theirs->nodes.list[i];
        struct sim_op *plan = sim_plan_copy_of(from->plan, NULL);

        if (plan == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        sim_plan_release(node->plan);
        node->plan = plan;
        node->event = from->event;
        if (node->child != NULL) {
            result = take_over_locked(node->child, from->child);
        }
    }
    return result;
}

static CUresult update_locked(struct sim_graph *mine, struct sim_graph *theirs, CUgraphExecUpdateResultInfo *info)
{
    *info = (CUgraphExecUpdateResultInfo){CU_GRAPH_EXEC_UPDATE_SUCCESS, NULL, NULL};
    if (compare_locked(mine, theirs, info) != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    return take_over_locked(mine, theirs);
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo *info)
{
    struct sim_exec *exec = exec_check(handle);
    struct sim_graph *graph = sim_graph_check(graph_handle);
    CUresult result;

    if (exec == NULL || graph == NULL || info == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = update_locked(exec->graph, graph, info);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                               CUgraphExecUpdateResult *update)
{
    CUgraphExecUpdateResultInfo info;
    CUresult result;

    if (update == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = sim_cuGraphExecUpdate_v2(exec, graph, &info);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
        *update = info.result;
        if (error_node != NULL) {
            *error_node = info.errorNode;
        }
    }
    return result;
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode handle, CUgraph child_handle)
{
    struct sim_graph *child = sim_graph_check(child_handle);
    CUgraphExecUpdateResultInfo info;
    struct sim_node *node;
    CUresult result;

    pthread_mutex_lock(&sim_graph_lock);
    result = sim_exec_node_locked(exec, handle, &node);
    if (result == CUDA_SUCCESS && (child == NULL || node->child == NULL || update_locked(node->child, child, &info))) {
        result = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* What the step does in this launch; what has no time of its own becomes a marker. */
static struct sim_op *make_op(const struct sim_exec *exec, const struct step *step, struct sim_stream *stream,
                              struct sim_run *run)
{
    const struct sim_op *plan = step->node->plan;
    bool on_stream = step->first_branch && plan->stream->context == stream->context;
    struct sim_op *op;

    if (step->node->disabled) {
        return sim_op_create(SIM_OP_MARKER, stream);
    }
    op = sim_plan_copy_of(plan, stream);
    if (op != NULL) {
        op->record.stream = on_stream ? stream->id : step->stream_id;
        op->record.graph = exec->graph->id;
        op->record.graph_node = step->node->id;
        op->record.graph_as_whole = (uint32_t)exec->as_whole;
        op->run = run;
    }
    return op;
}

static struct sim_event *event_of(const struct sim_node *node, CUgraphNodeType type)
{
    return node->type == type ? sim_object_check(node->event, SIM_EVENT) : NULL;
}

static struct sim_batch_item *make_items_locked(const struct sim_exec *exec, struct sim_stream *stream,
                                                struct sim_run *run)
{
    struct sim_batch_item *items = calloc(exec->count + 1, sizeof(*items));

    for (size_t i = 0; items != NULL && i < exec->count; i++) {
        const struct step *step = &exec->steps[i];

        items[i] = (struct sim_batch_item){
            .op = make_op(exec, step, stream, run), .before = exec->before + step->first_before,
            .before_count = step->before_count, .has_after = step->has_after,
            .waits_for = event_of(step->node, CU_GRAPH_NODE_TYPE_WAIT_EVENT),
            .records = event_of(step->node, CU_GRAPH_NODE_TYPE_EVENT_RECORD),
        };
        if (items[i].op == NULL) {
            free(items);
            items = NULL;
        }
    }
    return items;
}

static CUresult launch(struct sim_exec *exec, struct sim_stream *stream)
{
    struct sim_thread *self = sim_self();
    struct sim_run *run = calloc(1, sizeof(*run));
    struct sim_batch_item *items = NULL;
    struct sim_op *done;

    if (run == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    run->whole = (struct simgpu_graph){.graph = exec->graph->id, .stream = stream->id, .thread = self->tid,
                                       .correlation = self->correlation, .as_whole = (uint32_t)exec->as_whole};
    pthread_mutex_lock(&sim_graph_lock);
    items = make_items_locked(exec, stream, run);
    pthread_mutex_unlock(&sim_graph_lock);
    done = items != NULL ? sim_enqueue_batch(stream, items, exec->count, &exec->last, run) : NULL;
    free(items);
    if (done == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (sim_launches_block()) {
        sim_wait_op(done);
    }
    sim_op_release(done);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    struct sim_exec *exec = exec_check(handle);
    struct sim_stream *stream = sim_stream_find(stream_handle);
    bool captured;
    CUresult result;

    if (exec == NULL || stream == NULL) {
        return exec == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    result = sim_capture_check(stream, &captured);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return captured ? sim_capture_add_child(stream, exec->graph) : launch(exec, stream);
}

/* Nothing has to be brought to a simulated device. */
CUresult sim_cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    struct sim_stream *stream = sim_stream_find(stream_handle);
    bool captured;
    CUresult result;

    if (exec_check(handle) == NULL || stream == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    result = sim_capture_check(stream, &captured);
    return result == CUDA_SUCCESS && captured ? sim_capture_refuse(stream) : result;
}
