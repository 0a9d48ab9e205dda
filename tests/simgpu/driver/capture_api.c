/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture of the API: begin, end, and what the program may ask about it. The rules: capture.c. */
#include "capture.h"
#include "capture_state.h"
#include "driver_gen.h"
#include "plan.h"

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static CUresult begin(CUstream handle, struct sim_graph *graph, struct sim_node *const *nodes, size_t count,
                      CUstreamCaptureMode mode)
{
    struct sim_stream *stream = sim_stream_find(handle);
    bool owns = graph == NULL, begun;
    CUresult result = CUDA_SUCCESS;

    if (stream == NULL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->legacy) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    pthread_mutex_lock(&sim_graph_lock);
    if (stream->capture != NULL || (graph != NULL && graph->captured_into)) {
        result = CUDA_ERROR_ILLEGAL_STATE;
    } else {
        graph = owns ? sim_graph_create_locked() : graph;
        begun = graph != NULL && sim_capture_create_locked(stream, graph, owns, mode) != NULL;
        for (size_t i = 0; begun && i < count; i++) {
            begun = sim_nodes_add(&stream->frontier, nodes[i]);
        }
        result = begun ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuStreamBeginCapture(CUstream stream)
{
    return begin(stream, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begin(stream, NULL, NULL, 0, mode);
}

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

CUresult sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode *nodes,
                                         const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
    struct sim_graph *graph = sim_graph_check(handle);

    if (graph == NULL || (count > 0 && nodes == NULL) || !nodes_of(graph, nodes, count)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return begin(stream, graph, (struct sim_node *const *)nodes, count, mode);
}

/* Everything that the capture's other streams did comes before the frontier of the first one. A node depends on
 * earlier ones only, so one walk from the last to the first finds all of it. */
static bool joined_locked(const struct sim_capture *capture)
{
    const struct sim_nodes *nodes = &capture->graph->nodes, *frontier = &capture->origin->frontier;

    for (size_t i = 0; i < nodes->count; i++) {
        nodes->list[i]->mark = 0;
    }
    for (size_t i = 0; i < frontier->count; i++) {
        frontier->list[i]->mark = 1;
    }
    for (size_t i = nodes->count; i > 0; i--) {
        const struct sim_node *node = nodes->list[i - 1];

        for (size_t k = 0; node->mark && k < node->before.count; k++) {
            node->before.list[k]->mark = 1;
        }
    }
    for (const struct sim_stream *stream = capture->streams; stream != NULL; stream = stream->next_capturing) {
        for (size_t i = 0; i < stream->frontier.count; i++) {
            if (!stream->frontier.list[i]->mark) {
                return false;
            }
        }
    }
    return true;
}

static CUresult end_locked(struct sim_stream *stream, struct sim_graph **graph)
{
    struct sim_capture *capture = stream->capture;
    bool owns;
    CUresult result = CUDA_SUCCESS;

    if (capture == NULL) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (capture->origin != stream) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sim_self()->tid) {
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    if (capture->invalid) {
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (!joined_locked(capture)) {
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = capture->graph;
    owns = capture->owns_graph;
    sim_capture_end_locked(capture);
    if (result != CUDA_SUCCESS) {
        if (owns) {
            sim_graph_destroy_locked(*graph);
        }
        *graph = NULL;
    }
    return result;
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_graph *graph = NULL;
    CUresult result;

    if (stream == NULL || out == NULL) {
        return stream == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = end_locked(stream, &graph);
    pthread_mutex_unlock(&sim_graph_lock);
    *out = (CUgraph)graph;
    return result;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static CUresult info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                     const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count)
{
    struct sim_stream *stream = sim_stream_find(handle);
    struct sim_capture *capture;
    CUresult result;

    if (stream == NULL || status == NULL || (edges != NULL && nodes == NULL)) {
        return status == NULL || stream != NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    pthread_mutex_lock(&sim_graph_lock);
    result = sim_capture_legacy_locked(stream, false);
    capture = stream->capture;
    if (capture != NULL) {
        *status = capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    if (capture != NULL && !capture->invalid) {
        if (id != NULL) {
            *id = capture->id;
        }
        if (graph != NULL) {
            *graph = (CUgraph)capture->graph;
        }
        if (nodes != NULL) {
            *nodes = (const CUgraphNode *)stream->frontier.list;
        }
        if (edges != NULL) {
            *edges = sim_nodes_edges(&stream->frontier);
        }
        if (count != NULL) {
            *count = stream->frontier.count;
        }
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return info(stream, status, NULL, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return info(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **nodes, size_t *count)
{
    return info(stream, status, id, graph, nodes, NULL, count);
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                       const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count)
{
    return info(stream, status, id, graph, nodes, edges, count);
}

/* ---- changes by hand --------------------------------------------------------------------------------------------- */

static CUresult update_locked(struct sim_stream *stream, const CUgraphNode *nodes, size_t count, unsigned flags)
{
    struct sim_capture *capture = stream->capture;

    if (capture == NULL || capture->invalid) {
        return capture == NULL ? CUDA_ERROR_ILLEGAL_STATE : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (!nodes_of(capture->graph, nodes, count)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        stream->frontier.count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!sim_nodes_add(&stream->frontier, sim_node_check(nodes[i]))) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, size_t count, unsigned flags)
{
    struct sim_stream *stream = sim_stream_find(handle);
    CUresult result;

    if (stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if ((count > 0 && nodes == NULL) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    result = update_locked(stream, nodes, count, flags);
    pthread_mutex_unlock(&sim_graph_lock);
    return result;
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *edges,
                                                  size_t count, unsigned flags)
{
    return sim_cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    struct sim_thread *self = sim_self();
    unsigned before = self->capture_mode;

    if (mode == NULL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    self->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
