/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launching as before CUDA 4: block shape, shared memory and arguments are state of the function. Programs set and
 * launch on one thread at a time, as the real API asks them to.
 */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "driver_gen.h"
#include "module.h"

enum { ARGUMENT_BYTES = 4096 };

struct sim_old_launch {
    unsigned block[3], shared_bytes;
    size_t bytes;
    char arguments[ARGUMENT_BYTES];
};

static struct sim_old_launch *state_of(CUfunction handle)
{
    struct sim_function *function = sim_function_check(handle);

    if (function != NULL && function->old_launch == NULL) {
        function->old_launch = calloc(1, sizeof(*function->old_launch));
    }
    return function != NULL ? function->old_launch : NULL;
}

CUresult sim_cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    struct sim_old_launch *state = state_of(function);

    if (state == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (x <= 0 || y <= 0 || z <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state->block[0] = (unsigned)x;
    state->block[1] = (unsigned)y;
    state->block[2] = (unsigned)z;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetSharedSize(CUfunction function, unsigned bytes)
{
    struct sim_old_launch *state = state_of(function);

    if (state == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    state->shared_bytes = bytes;
    return CUDA_SUCCESS;
}

CUresult sim_cuParamSetSize(CUfunction function, unsigned bytes)
{
    struct sim_old_launch *state = state_of(function);

    if (state == NULL || bytes > ARGUMENT_BYTES) {
        return state == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    state->bytes = bytes;
    return CUDA_SUCCESS;
}

static CUresult set_argument(CUfunction function, int offset, const void *value, size_t bytes)
{
    struct sim_old_launch *state = state_of(function);

    if (state == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (value == NULL || offset < 0 || bytes > ARGUMENT_BYTES || (size_t)offset > ARGUMENT_BYTES - bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(state->arguments + offset, value, bytes);
    return CUDA_SUCCESS;
}

CUresult sim_cuParamSeti(CUfunction function, int offset, unsigned value)
{
    return set_argument(function, offset, &value, sizeof(value));
}

CUresult sim_cuParamSetf(CUfunction function, int offset, float value)
{
    return set_argument(function, offset, &value, sizeof(value));
}

CUresult sim_cuParamSetv(CUfunction function, int offset, void *value, unsigned bytes)
{
    return set_argument(function, offset, value, bytes);
}

CUresult sim_cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    struct sim_old_launch *state = state_of(function);
    void *extra[5];

    if (state == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (width <= 0 || height <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    extra[0] = (void *)(uintptr_t)CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT;
    extra[1] = state->arguments;
    extra[2] = (void *)(uintptr_t)CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT;
    extra[3] = &state->bytes;
    extra[4] = NULL;
    return sim_cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, state->block[0], state->block[1],
                              state->block[2], state->shared_bytes, stream, NULL, extra);
}

CUresult sim_cuLaunchGrid(CUfunction function, int width, int height)
{
    return sim_cuLaunchGridAsync(function, width, height, NULL);
}

CUresult sim_cuLaunch(CUfunction function)
{
    return sim_cuLaunchGrid(function, 1, 1);
}
