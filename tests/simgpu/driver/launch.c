/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches: checks, the host cost of the call, and a copy of the arguments for the kernel's host function. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "capture.h"
#include "clock.h"
#include "context.h"
#include "driver_gen.h"
#include "effects.h"
#include "engine.h"
#include "faults.h"
#include "model.h"
#include "module.h"
#include "plan.h"
#include "truth.h"

struct launch {
    struct sim_function *function;
    unsigned grid[3], block[3], shared_bytes;
    CUstream stream;
    void **params, **extra;
};

static bool dimensions_valid(const struct launch *launch)
{
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];

    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->block[i] == 0 || launch->block[i] > 1024) {
            return false;
        }
    }
    return threads <= 1024 && launch->block[2] <= 64 && launch->grid[0] <= 2147483647u && launch->grid[1] <= 65535 &&
           launch->grid[2] <= 65535 && launch->shared_bytes <= 166912;
}

/* launch-fail and abort: what the N-th launch of the process does. */
static CUresult planned_fault(struct sim_context *context)
{
    static _Atomic long launches;
    long count = atomic_fetch_add(&launches, 1) + 1;

    if (count == simgpu_fault("abort")) {
        sim_truth_flush();
        abort();
    }
    if (count == simgpu_fault("launch-fail")) {
        atomic_store(&context->error, CUDA_ERROR_LAUNCH_FAILED);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
    return CUDA_SUCCESS;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* The argument buffer of CU_LAUNCH_PARAM_BUFFER_POINTER, or NULL. */
static const char *extra_buffer(void **extra, size_t *bytes)
{
    const char *buffer = NULL;

    *bytes = 0;
    for (; extra != NULL && (uintptr_t)extra[0] != 0; extra += 2) {
        if ((uintptr_t)extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT) {
            buffer = extra[1];
        } else if ((uintptr_t)extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT) {
            *bytes = *(size_t *)extra[1];
        } else {
            return NULL;
        }
    }
    return buffer;
}

/* A host function is called with what the plug-in says it takes; an image that says otherwise is a mistake. */
static bool signature_agrees(const struct sim_function *function)
{
    const struct simgpu_kernel *host = function->host;
    const struct sim_image_entry *entry = function->entry;
    bool agrees = host->param_count <= SIMGPU_KERNEL_PARAMS_MAX;

    if (entry != NULL) {
        agrees = agrees && entry->param_count == host->param_count &&
                 memcmp(entry->sizes, host->param_sizes, host->param_count * sizeof(entry->sizes[0])) == 0;
    }
    if (!agrees) {
        fprintf(stderr, "simgpu: kernel %s: the plug-in's parameters are not those of the image\n", function->name);
    }
    return agrees;
}

static unsigned align_up(unsigned offset, unsigned bytes)
{
    unsigned align = bytes >= 8 ? 8 : bytes >= 4 ? 4 : bytes >= 2 ? 2 : 1;

    return (offset + align - 1) & ~(align - 1);
}

/* How many bytes each parameter has: the plug-in's word, else the image's; NULL: nobody knows. */
static const unsigned *parameter_sizes(const struct sim_function *function, unsigned *count)
{
    *count = function->host != NULL ? function->host->param_count : 0;
    if (function->host != NULL) {
        return function->host->param_sizes;
    }
    if (function->entry == NULL) {
        return NULL;
    }
    *count = function->entry->param_count;
    return function->entry->sizes;
}

/* The first argument as a number of at most 64 bits; 0 when nobody knows how large it is. */
static uint64_t first_argument(const struct launch *launch)
{
    size_t bytes, buffer_bytes;
    const char *buffer = extra_buffer(launch->extra, &buffer_bytes);
    unsigned count;
    const unsigned *sizes = parameter_sizes(launch->function, &count);
    uint64_t value = 0;

    if (count == 0) {
        return 0;
    }
    bytes = sizes[0] < sizeof(value) ? sizes[0] : sizeof(value);
    if (launch->params != NULL) {
        memcpy(&value, launch->params[0], bytes);
    } else if (buffer != NULL && bytes <= buffer_bytes) {
        memcpy(&value, buffer, bytes);
    }
    return value;
}

static uint64_t duration_ns(const struct launch *launch, uint64_t threads)
{
    const struct sim_kernel_cost *cost = &launch->function->cost;
    double ns = cost->fixed_ns + cost->per_thread_ns * (double)threads + 0.5;

    if (cost->per_argument_ns > 0) {
        ns += cost->per_argument_ns * (double)first_argument(launch);
    }
    return ns < 1e18 ? (uint64_t)ns : (uint64_t)1e18;
}

/* Fills run->params, one allocation: the pointers, then the bytes. */
static CUresult copy_arguments(const struct launch *launch, struct sim_kernel_run *run)
{
    const struct sim_image_entry *entry = launch->function->entry;
    size_t buffer_bytes, total, pointers;
    const char *buffer = extra_buffer(launch->extra, &buffer_bytes);
    unsigned offset = 0, in_buffer = 0, count;
    const unsigned *sizes = parameter_sizes(launch->function, &count);
    char *bytes;

    if ((run->fn != NULL && !signature_agrees(launch->function)) ||
        (count > 0 && launch->params == NULL && buffer == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pointers = count > SIMGPU_KERNEL_PARAMS_MAX ? count : SIMGPU_KERNEL_PARAMS_MAX; /* room for any host function */
    total = pointers * sizeof(void *);
    for (unsigned i = 0; i < count; i++) {
        total += sizes[i] + 8;
    }
    run->params = malloc(total);
    if (run->params == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    run->params_bytes = total;
    run->param_count = count;
    bytes = (char *)(run->params + pointers);
    for (unsigned i = 0; i < count; i++) {
        unsigned size = sizes[i];

        offset = align_up(offset, size);
        in_buffer = entry != NULL ? entry->offsets[i] : align_up(in_buffer, size);
        run->params[i] = bytes + offset;
        if (launch->params != NULL) {
            memcpy(run->params[i], launch->params[i], size);
        } else if (in_buffer + size <= buffer_bytes) {
            memcpy(run->params[i], buffer + in_buffer, size);
        } else {
            free(run->params);
            return CUDA_ERROR_INVALID_VALUE;
        }
        offset += size;
        in_buffer += size;
    }
    return CUDA_SUCCESS;
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

bool sim_launches_block(void)
{
    static _Atomic int known = -1;

    if (known < 0) {
        const char *value = getenv("CUDA_LAUNCH_BLOCKING");

        known = value != NULL && strcmp(value, "1") == 0;
    }
    return known == 1;
}

/* The time that the call itself costs the host, counted from its entry. */
static void spend_host_time(struct sim_function *function)
{
    uint64_t until_ns = sim_self()->call_start_ns + sim_model.launch_ns;

    if (!atomic_exchange(&function->loaded, true)) {
        until_ns += sim_model.first_launch_ns;
    }
    if (until_ns > sim_self()->call_start_ns) {
        sim_sleep_until(until_ns);
    }
}

/* The operation that the launch stands for. `keep`: its arguments are copied even if nobody here reads them, since
 * the program may ask a node of a graph for them. */
static CUresult make_op(const struct launch *launch, struct sim_stream *stream, bool keep, struct sim_op **made)
{
    struct sim_function *function = launch->function;
    struct sim_kernel_run run = {.function = function};
    CUresult result = CUDA_SUCCESS;
    uint64_t threads = 1;
    struct sim_op *op;

    if (!dimensions_valid(launch) || (launch->params != NULL && launch->extra != NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    run.fn = function->host != NULL ? function->host->fn : NULL;
    if (run.fn != NULL || (keep && function->entry != NULL)) {
        result = copy_arguments(launch, &run);
    }
    op = result == CUDA_SUCCESS ? sim_op_create(SIM_OP_KERNEL, stream) : NULL;
    if (op == NULL) {
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (int i = 0; i < 3; i++) {
        threads *= (uint64_t)launch->grid[i] * launch->block[i];
        op->record.grid[i] = launch->grid[i];
        op->record.block[i] = launch->block[i];
    }
    op->record.name = function->name;
    op->record.shared_bytes = launch->shared_bytes;
    op->record.is_async = 1;
    op->duration_ns = duration_ns(launch, threads);
    op->effect = run.fn != NULL ? sim_effect_kernel : NULL;
    op->u.kernel = run;
    *made = op;
    return CUDA_SUCCESS;
}

CUresult sim_plan_kernel(struct sim_context *context, const CUDA_KERNEL_NODE_PARAMS *p, struct sim_op **plan)
{
    struct launch launch = {
        sim_function_check(p->func != NULL ? (const void *)p->func : (const void *)p->kern),
        {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes, NULL,
        p->kernelParams, p->extra,
    };

    return launch.function == NULL ? CUDA_ERROR_INVALID_HANDLE : make_op(&launch, context->legacy, true, plan);
}

static CUresult launch_kernel(const struct launch *launch)
{
    struct sim_stream *stream = sim_stream_find(launch->stream);
    bool captured;
    CUresult result;
    struct sim_op *op;

    if (launch->function == NULL || stream == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    result = sim_capture_check(stream, &captured);
    if (result == CUDA_SUCCESS) {
        result = make_op(launch, stream, captured, &op);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    spend_host_time(launch->function);
    if (captured) {
        return sim_capture_add(stream, CU_GRAPH_NODE_TYPE_KERNEL, op);
    }
    result = planned_fault(stream->context);
    if (result != CUDA_SUCCESS) {
        sim_plan_release(op);
        return result;
    }
    sim_enqueue(op, NULL);
    if (sim_launches_block()) {
        sim_wait_op(op);
    }
    sim_op_release(op);
    return CUDA_SUCCESS;
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                            unsigned bz, unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
    struct launch launch = {sim_function_check(function), {gx, gy, gz}, {bx, by, bz}, shared_bytes, stream, params,
                            extra};

    return launch_kernel(&launch);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra,
                              CUstream default_stream)
{
    struct launch launch;

    if (config == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    launch = (struct launch){
        sim_function_check(function), {config->gridDimX, config->gridDimY, config->gridDimZ},
        {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
        config->hStream != NULL ? config->hStream : default_stream, params, extra,
    };
    return launch_kernel(&launch);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                       unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream, void **params)
{
    return sim_cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, NULL);
}
