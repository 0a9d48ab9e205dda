/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture. While a stream is capturing, calls that would enqueue work on it add a node to a graph instead;
 * the node depends on the stream's frontier and becomes it. An event recorded there remembers the frontier, and a
 * stream that waits for such an event joins the capture. What breaks the rules fails with one of the errors 900 to
 * 908 and invalidates the captures that it concerns. While nobody captures, a check is one load. Any thread; state
 * under the graphs' lock.
 */
#ifndef SIMGPU_CAPTURE_H
#define SIMGPU_CAPTURE_H

#include "call.h"
#include "context.h"
#include "engine.h"
#include "graph.h"

/* Before work on the stream: *captured = it goes into a graph. INVALIDATED, or IMPLICIT for a legacy stream. */
CUresult sim_capture_check(struct sim_stream *stream, bool *captured);
/* The stream captures, after sim_capture_check: its next node. Takes over the plan. */
CUresult sim_capture_add(struct sim_stream *stream, CUgraphNodeType type, struct sim_op *plan);
CUresult sim_capture_add_child(struct sim_stream *stream, struct sim_graph *graph);
CUresult sim_capture_add_event(struct sim_stream *stream, CUgraphNodeType type, struct sim_event *event);
/* The call cannot be captured: UNSUPPORTED, and the capture is void. */
CUresult sim_capture_refuse(struct sim_stream *stream);

/* For a call that a capture may forbid: UNSUPPORTED, by the rules of cuThreadExchangeStreamCaptureMode. */
CUresult sim_capture_allows_unsafe(const struct sim_thread *self);
/* Before waiting for a stream, or asking about it; for a context: about all its streams. */
CUresult sim_capture_check_wait(struct sim_stream *stream);
CUresult sim_capture_check_context(struct sim_context *context);
/* Before waiting for an event, or asking about it. */
CUresult sim_capture_check_event(struct sim_event *event);

/* An event is recorded: remembers the frontier of a capturing stream (then *captured), else forgets what was. */
CUresult sim_capture_record(struct sim_stream *stream, struct sim_event *event, bool *captured);
/* A stream waits for an event: *captured = nothing is left to enqueue. */
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event, bool *captured);
/* An event or a stream goes away. */
void sim_capture_forget_event(struct sim_event *event);
CUresult sim_capture_forget_stream(struct sim_stream *stream);

#endif
