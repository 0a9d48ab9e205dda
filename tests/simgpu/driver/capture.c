/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of stream capture (capture.h), and which streams and events belong to which capture. */
#include "capture.h"

#include <stdlib.h>

#include "capture_state.h"
#include "plan.h"

static _Atomic unsigned going_on; /* captures that have not ended */
static struct sim_capture *captures;

/* ---- captures ---------------------------------------------------------------------------------------------------- */

struct sim_capture *sim_capture_create_locked(struct sim_stream *origin, struct sim_graph *graph, bool owns,
                                              CUstreamCaptureMode mode)
{
    static uint64_t last_id;
    struct sim_capture *capture = calloc(1, sizeof(*capture));

    if (capture == NULL) {
        return NULL;
    }
    *capture = (struct sim_capture){.next = captures, .id = ++last_id, .mode = mode, .thread = sim_self()->tid,
                                    .origin = origin, .graph = graph, .owns_graph = owns, .references = 1};
    captures = capture;
    graph->captured_into = true;
    sim_capture_join_locked(origin, capture);
    atomic_fetch_add(&going_on, 1);
    return capture;
}

static void release_locked(struct sim_capture *capture)
{
    if (--capture->references == 0) {
        free(capture);
    }
}

void sim_capture_join_locked(struct sim_stream *stream, struct sim_capture *capture)
{
    stream->next_capturing = capture->streams;
    capture->streams = stream;
    atomic_store_explicit(&stream->capture, capture, memory_order_release);
}

void sim_capture_end_locked(struct sim_capture *capture)
{
    struct sim_capture **link = &captures;

    while (*link != capture) {
        link = &(*link)->next;
    }
    *link = capture->next;
    for (struct sim_stream *stream = capture->streams; stream != NULL; stream = stream->next_capturing) {
        atomic_store_explicit(&stream->capture, NULL, memory_order_release);
        sim_nodes_free(&stream->frontier);
    }
    capture->streams = NULL;
    capture->ended = true;
    capture->graph->captured_into = false;
    atomic_fetch_sub(&going_on, 1);
    release_locked(capture);
}

static CUresult invalidate_locked(struct sim_capture *capture, CUresult why)
{
    capture->invalid = true;
    return why;
}

/* A blocking stream of the context that captures: its legacy stream would have to wait for it. */
static struct sim_capture *in_the_way_locked(const struct sim_context *context, bool blocking_only)
{
    for (struct sim_capture *capture = captures; capture != NULL; capture = capture->next) {
        for (struct sim_stream *stream = capture->streams; stream != NULL; stream = stream->next_capturing) {
            if (stream->context == context && (stream->blocking || !blocking_only)) {
                return capture;
            }
        }
    }
    return NULL;
}

CUresult sim_capture_legacy_locked(const struct sim_stream *stream, bool invalidate)
{
    struct sim_capture *capture = stream->legacy ? in_the_way_locked(stream->context, true) : NULL;

    if (capture == NULL) {
        return CUDA_SUCCESS;
    }
    capture->invalid = capture->invalid || invalidate;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

static bool nobody_captures(void)
{
    return atomic_load_explicit(&going_on, memory_order_acquire) == 0;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static CUresult check_locked(struct sim_stream *stream, bool *captured)
{
    struct sim_capture *capture = stream->capture;

    *captured = capture != NULL;
    if (capture == NULL) {
        return sim_capture_legacy_locked(stream, true);
    }
    return capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult sim_capture_check(struct sim_stream *stream, bool *captured)
{
    CUresult result;

    *captured = false;
    if (nobody_captures()) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = check_locked(stream, captured);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

/* The new node becomes the stream's frontier. The capture may have ended, or become void, since it was looked at. */
static CUresult add_locked(struct sim_stream *stream, CUgraphNodeType type, struct sim_op *plan,
                           struct sim_graph *child, struct sim_event *event)
{
    struct sim_capture *capture = stream->capture;
    struct sim_node *node = NULL;
    CUresult result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

    if (capture != NULL && !capture->invalid) {
        node = sim_graph_add_locked(capture->graph, type, plan, stream->frontier.list, stream->frontier.count);
        plan = NULL;
        result = node == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
    }
    sim_plan_release(plan);
    if (node == NULL) {
        if (child != NULL) {
            sim_graph_destroy_locked(child);
        }
        return result;
    }
    node->child = child;
    node->event = event;
    if (child != NULL) {
        child->parent = node;
    }
    stream->frontier.count = 0;
    return sim_nodes_add(&stream->frontier, node) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_capture_add(struct sim_stream *stream, CUgraphNodeType type, struct sim_op *plan)
{
    CUresult result;

    plan->stream = stream->context->legacy; /* the stream may be gone when the graph is launched */
    pthread_mutex_lock(&sim_graph_lock);
    result = add_locked(stream, type, plan, NULL, NULL);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_add_child(struct sim_stream *stream, struct sim_graph *graph)
{
    struct sim_op *plan;
    struct sim_graph *child;
    CUresult result = sim_plan_marker(stream->context, &plan);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&sim_graph_lock);
    child = sim_graph_clone_locked(graph);
    result = add_locked(stream, CU_GRAPH_NODE_TYPE_GRAPH, plan, child, NULL);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_add_event(struct sim_stream *stream, CUgraphNodeType type, struct sim_event *event)
{
    struct sim_op *plan;
    CUresult result = sim_plan_marker(stream->context, &plan);

    if (result == CUDA_SUCCESS) {
        pthread_mutex_lock(&sim_graph_lock);
        result = add_locked(stream, type, plan, NULL, event);
        pthread_mutex_unlock(&sim_graph_lock);
    }
    return result;
}

CUresult sim_capture_refuse(struct sim_stream *stream)
{
    pthread_mutex_lock(&sim_graph_lock);
    if (stream->capture != NULL) {
        invalidate_locked(stream->capture, CUDA_SUCCESS);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- what a capture forbids -------------------------------------------------------------------------------------- */

static bool forbids(const struct sim_capture *capture, const struct sim_thread *self)
{
    if (capture->thread == self->tid) {
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    }
    return capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && self->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_allows_unsafe(const struct sim_thread *self)
{
    CUresult result = CUDA_SUCCESS;

    if (nobody_captures() || self->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    for (struct sim_capture *capture = captures; capture != NULL; capture = capture->next) {
        if (forbids(capture, self)) {
            result = invalidate_locked(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_check_wait(struct sim_stream *stream)
{
    CUresult result;

    if (nobody_captures()) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = stream->capture != NULL ? invalidate_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
                                     : sim_capture_legacy_locked(stream, true);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_check_context(struct sim_context *context)
{
    CUresult result = CUDA_SUCCESS;
    struct sim_capture *capture;

    if (nobody_captures()) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    capture = in_the_way_locked(context, false);
    if (capture != NULL) {
        result = invalidate_locked(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_check_event(struct sim_event *event)
{
    CUresult result = CUDA_SUCCESS;

    if (atomic_load_explicit(&event->capture, memory_order_acquire) == NULL) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    if (event->capture != NULL) {
        result = invalidate_locked(event->capture, CUDA_ERROR_CAPTURED_EVENT);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static void forget_event_locked(struct sim_event *event)
{
    struct sim_capture *capture = event->capture;

    if (capture != NULL) {
        atomic_store_explicit(&event->capture, NULL, memory_order_release);
        sim_nodes_free(&event->frontier);
        release_locked(capture);
    }
}

void sim_capture_forget_event(struct sim_event *event)
{
    pthread_mutex_lock(&sim_graph_lock);
    forget_event_locked(event);
    pthread_mutex_unlock(&sim_graph_lock);
}

CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, bool *captured)
{
    struct sim_capture *capture;
    CUresult result;

    *captured = false;
    if (nobody_captures() && event->capture == NULL) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = check_locked(stream, captured);
    capture = stream->capture;
    if (result == CUDA_SUCCESS) {
        forget_event_locked(event);
    }
    if (result == CUDA_SUCCESS && capture != NULL) {
        result = sim_nodes_assign(&event->frontier, &stream->frontier) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        capture->references++;
        atomic_store_explicit(&event->capture, capture, memory_order_release);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

static CUresult join_event_locked(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_capture *capture = event->capture;

    if (capture->ended) {
        return stream->capture != NULL ? invalidate_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
                                       : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (stream->capture != NULL && stream->capture != capture) {
        capture->invalid = true;
        return invalidate_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (stream->legacy) {
        return invalidate_locked(capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    if (stream->capture == NULL) {
        sim_capture_join_locked(stream, capture);
    }
    for (size_t i = 0; i < event->frontier.count; i++) {
        if (!sim_nodes_add(&stream->frontier, event->frontier.list[i])) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, bool *captured)
{
    CUresult result;

    *captured = false;
    if (nobody_captures() && event->capture == NULL) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = check_locked(stream, captured);
    if (result == CUDA_SUCCESS && event->capture != NULL) {
        *captured = true;
        result = join_event_locked(stream, event);
    } else if (result == CUDA_SUCCESS && stream->capture != NULL && event->op != NULL) {
        result = invalidate_locked(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_capture_forget_stream(struct sim_stream *stream)
{
    return stream->capture != NULL ? sim_capture_refuse(stream) : CUDA_SUCCESS;
}
