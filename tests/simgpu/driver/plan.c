/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: copying, forgetting and describing them; the kinds without a file of their own. See plan.h. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "effects.h"
#include "truth.h"

CUresult sim_plan_marker(struct sim_context *context, struct sim_op **plan)
{
    *plan = sim_op_create(SIM_OP_MARKER, context->legacy);
    return *plan == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sim_plan_host(struct sim_context *context, const CUDA_HOST_NODE_PARAMS *params, struct sim_op **plan)
{
    if (params->fn == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *plan = sim_op_create(SIM_OP_HOST_FUNC, context->legacy);
    if (*plan == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (*plan)->record.name = "host_func";
    (*plan)->record.is_async = 1;
    (*plan)->u.host = (struct sim_host_run){.fn = params->fn, .user_data = params->userData};
    return CUDA_SUCCESS;
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* The pointers in the copy point into the copy. */
static bool copy_parameters(struct sim_kernel_run *run)
{
    void **from = run->params;

    run->params = malloc(run->params_bytes);
    if (run->params == NULL) {
        return false;
    }
    memcpy(run->params, from, run->params_bytes);
    for (unsigned i = 0; i < run->param_count; i++) {
        run->params[i] = (char *)run->params + ((char *)from[i] - (char *)from);
    }
    return true;
}

/* What the calling thread's launch makes of the plan: its device and context, the launch's stream and thread. */
static void take_over_record(struct sim_op *op, const struct sim_op *plan)
{
    struct simgpu_op launch = op->record;

    op->record = plan->record;
    op->record.thread = launch.thread;
    op->record.correlation = launch.correlation;
    op->record.launched_ns = launch.launched_ns;
    op->record.start_ns = op->record.end_ns = 0;
    op->record.stream = launch.stream;
}

struct sim_op *sim_plan_copy_of(const struct sim_op *plan, struct sim_stream *stream)
{
    struct sim_op *op = sim_op_create(plan->kind, stream != NULL ? stream : plan->stream);

    if (op == NULL) {
        return NULL;
    }
    take_over_record(op, plan);
    op->host_sees_effect = plan->host_sees_effect;
    op->duration_ns = plan->duration_ns;
    op->effect = plan->effect;
    op->u = plan->u;
    /* A launch needs the arguments only if there is a function that reads them, and gives them back after it. */
    if (op->kind == SIM_OP_KERNEL && op->u.kernel.params != NULL && (stream == NULL || op->effect != NULL) &&
        !copy_parameters(&op->u.kernel)) {
        sim_op_release(op);
        return NULL;
    }
    return op;
}

void sim_plan_release(struct sim_op *plan)
{
    if (plan == NULL) {
        return;
    }
    if (plan->kind == SIM_OP_KERNEL) {
        free(plan->u.kernel.params);
    }
    sim_op_release(plan);
}

/* ---- descriptions ----------------------------------------------------------------------------------------------- */

void sim_plan_describe_kernel(const struct sim_op *plan, CUDA_KERNEL_NODE_PARAMS *params)
{
    const unsigned *grid = plan->record.grid, *block = plan->record.block;

    *params = (CUDA_KERNEL_NODE_PARAMS){
        .func = (CUfunction)plan->u.kernel.function, .gridDimX = grid[0], .gridDimY = grid[1], .gridDimZ = grid[2],
        .blockDimX = block[0], .blockDimY = block[1], .blockDimZ = block[2],
        .sharedMemBytes = plan->record.shared_bytes, .kernelParams = plan->u.kernel.params,
        .kern = (CUkernel)plan->u.kernel.function, .ctx = (CUcontext)plan->stream->context,
    };
}

static CUmemorytype memory_type(uint32_t memory)
{
    return memory == SIM_MEMORY_DEVICE || memory == SIM_MEMORY_MANAGED ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

void sim_plan_describe_copy(const struct sim_op *plan, CUDA_MEMCPY3D *params)
{
    const struct sim_copy *copy = &plan->u.copy;

    *params = (CUDA_MEMCPY3D){
        .srcMemoryType = memory_type(plan->record.source_memory), .srcPitch = copy->src_pitch,
        .srcHeight = copy->src_pitch > 0 ? copy->src_slice / copy->src_pitch : 0,
        .dstMemoryType = memory_type(plan->record.target_memory), .dstPitch = copy->dst_pitch,
        .dstHeight = copy->dst_pitch > 0 ? copy->dst_slice / copy->dst_pitch : 0,
        .WidthInBytes = copy->width, .Height = copy->height, .Depth = copy->depth,
    };
    if (params->srcMemoryType == CU_MEMORYTYPE_DEVICE) {
        params->srcDevice = (CUdeviceptr)(uintptr_t)copy->src;
    } else {
        params->srcHost = copy->src;
    }
    if (params->dstMemoryType == CU_MEMORYTYPE_DEVICE) {
        params->dstDevice = (CUdeviceptr)(uintptr_t)copy->dst;
    } else {
        params->dstHost = copy->dst;
    }
}

void sim_plan_describe_fill(const struct sim_op *plan, CUDA_MEMSET_NODE_PARAMS *params)
{
    const struct sim_fill *fill = &plan->u.fill;

    *params = (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)(uintptr_t)fill->dst, fill->pitch, fill->value,
                                        fill->element_bytes, fill->width, fill->height};
}
