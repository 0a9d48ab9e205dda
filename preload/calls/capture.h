/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture as the watched calls show it: which streams record into a graph now, and what they recorded.
 * Nothing is asked of the driver – a call of ours would be one that the target did not make, and could void its
 * capture. A stream captures from its begin to its end, or from its wait for an event recorded in a capture:
 *
 *     begin A · launch A · record e on A · wait for e on B · launch B · … · end A → graph of two kernels
 *
 * While nothing captures, a call costs one relaxed load. Lock-free, bounded, no libc: part of a call's path.
 */
#ifndef ST_CALLS_CAPTURE_H
#define ST_CALLS_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

/* How many; where it is 0, st_capture_after_call() need not be called. */
extern _Atomic uint32_t st_captures_open;

/* A call that begins a capture returned; after st_capture_after_call(). Parameters as there. */
void st_capture_begin(struct st_thread *thread, const struct st_call_row *row, int result,
                      const struct st_call_note *note);

/*
 * A call returned `result`; *note is decoded, of the outermost call of its layer on `thread` (claimed). Sets
 * ST_CALL_CAPTURED in note->flags if it was recorded into a graph; at the end of a capture emits the marks that say
 * what is in the graph.
 */
void st_capture_after_call(struct st_thread *thread, const struct st_call_row *row, int result,
                           struct st_call_note *note);

/* Streams and captures that there was no room to follow: calls on them may count as launches. */
uint64_t st_capture_untracked(void);

/* The child of a fork starts without captures. */
void st_capture_fork_child(void);

#endif
