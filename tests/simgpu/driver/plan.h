/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node of a graph will do when the graph is launched: an operation that is never enqueued itself. The
 * calls that enqueue work make the same thing, so that capturing a call is keeping its operation. Any thread;
 * a plan belongs to one node, whose graph's lock guards it.
 */
#ifndef SIMGPU_PLAN_H
#define SIMGPU_PLAN_H

#include "engine.h"

/* Each checks its parameters as the call of the same kind does and makes the operation in `context`. */
CUresult sim_plan_kernel(struct sim_context *context, const CUDA_KERNEL_NODE_PARAMS *params, struct sim_op **plan);
CUresult sim_plan_copy(struct sim_context *context, const CUDA_MEMCPY3D *params, struct sim_op **plan);
CUresult sim_plan_fill(struct sim_context *context, const CUDA_MEMSET_NODE_PARAMS *params, struct sim_op **plan);
CUresult sim_plan_host(struct sim_context *context, const CUDA_HOST_NODE_PARAMS *params, struct sim_op **plan);
/* A node that only orders others. */
CUresult sim_plan_marker(struct sim_context *context, struct sim_op **plan);

/* What it was made from. kernelParams point into the plan; NULL when its parameters are not known. */
void sim_plan_describe_kernel(const struct sim_op *plan, CUDA_KERNEL_NODE_PARAMS *params);
void sim_plan_describe_copy(const struct sim_op *plan, CUDA_MEMCPY3D *params);
void sim_plan_describe_fill(const struct sim_op *plan, CUDA_MEMSET_NODE_PARAMS *params);

/* A plan of its own (`stream` NULL), or the operation of one launch on `stream` by the calling thread. NULL: no
 * memory. */
struct sim_op *sim_plan_copy_of(const struct sim_op *plan, struct sim_stream *stream);
void sim_plan_release(struct sim_op *plan);

/* CUDA_LAUNCH_BLOCKING=1: launches wait. */
bool sim_launches_block(void);

#endif
