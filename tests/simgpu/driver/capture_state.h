/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that is going on, or whose events are still there. Everything under the graphs' lock. */
#ifndef SIMGPU_CAPTURE_STATE_H
#define SIMGPU_CAPTURE_STATE_H

#include "capture.h"

struct sim_capture {
    struct sim_capture *next; /* of those that have not ended */
    uint64_t id;              /* unique in the process */
    CUstreamCaptureMode mode;
    uint32_t thread; /* that began it */
    struct sim_stream *origin;
    struct sim_stream *streams; /* all that take part, by next_capturing */
    struct sim_graph *graph;
    bool owns_graph; /* until it ends */
    bool invalid, ended;
    unsigned references; /* itself until it ends, and the events that were recorded in it */
};

/* Begins one, with `origin` in it; NULL: no memory. */
struct sim_capture *sim_capture_create_locked(struct sim_stream *origin, struct sim_graph *graph, bool owns,
                                              CUstreamCaptureMode mode);
void sim_capture_join_locked(struct sim_stream *stream, struct sim_capture *capture);
/* All its streams work again. It may be gone after that. */
void sim_capture_end_locked(struct sim_capture *capture);
/* IMPLICIT if this is a legacy stream and a blocking one of its context captures. */
CUresult sim_capture_legacy_locked(const struct sim_stream *stream, bool invalidate);

#endif
