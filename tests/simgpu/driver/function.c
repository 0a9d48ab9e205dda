/* SPDX-License-Identifier: Apache-2.0 */
/* What functions and kernels say of themselves, and occupancy. A kernel is a function here. */
#include "call.h"
#include "device.h"
#include "driver_gen.h"
#include "module.h"

static CUresult get_name(const char **name, const struct sim_function *function)
{
    if (function == NULL || name == NULL) {
        return function == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *name = function->name;
    return CUDA_SUCCESS;
}

static CUresult get_attribute(int *value, CUfunction_attribute attribute, struct sim_function *function)
{
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (value == NULL || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = SIM_THREADS_PER_BLOCK;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = 80;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = function->dynamic_shared_bytes != 0 ? function->dynamic_shared_bytes : 49152;
        break;
    default:
        *value = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult set_attribute(struct sim_function *function, CUfunction_attribute attribute, int value)
{
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (attribute >= CU_FUNC_ATTRIBUTE_MAX || attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
        (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
         (value < 0 || value > SIM_SHARED_OPTIN_BYTES))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        function->dynamic_shared_bytes = value;
    }
    return CUDA_SUCCESS;
}

static CUresult get_param_info(const struct sim_function *function, size_t index, size_t *offset, size_t *bytes)
{
    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (offset == NULL || function->entry == NULL || index >= function->entry->param_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = function->entry->offsets[index];
    if (bytes != NULL) {
        *bytes = function->entry->sizes[index];
    }
    return CUDA_SUCCESS;
}

static CUresult accept_setting(const void *handle)
{
    return sim_function_check(handle) == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

CUresult sim_cuFuncGetName(const char **name, CUfunction function)
{
    return get_name(name, sim_function_check(function));
}

CUresult sim_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    struct sim_function *function = sim_function_check(handle);

    if (function == NULL || module == NULL) {
        return function == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *module = (CUmodule)function->module;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    return get_attribute(value, attribute, sim_function_check(function));
}

CUresult sim_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    return set_attribute(sim_function_check(function), attribute, value);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
    return accept_setting(function);
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
    return accept_setting(function);
}

CUresult sim_cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    return get_param_info(sim_function_check(function), index, offset, bytes);
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    struct sim_function *function = sim_function_check(handle);

    if (function == NULL || state == NULL) {
        return function == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    }
    *state = function->loaded;
    return CUDA_SUCCESS;
}

CUresult sim_cuFuncLoad(CUfunction handle)
{
    struct sim_function *function = sim_function_check(handle);

    if (function == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    function->loaded = true;
    return CUDA_SUCCESS;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

CUresult sim_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    if (sim_function_check(kernel) == NULL || function == NULL) {
        return function == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    *function = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    return sim_cuFuncGetModule((CUmodule *)library, (CUfunction)kernel);
}

CUresult sim_cuKernelGetName(const char **name, CUkernel kernel)
{
    return get_name(name, sim_function_check(kernel));
}

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)
{
    return !sim_device_valid(device) ? CUDA_ERROR_INVALID_DEVICE
                                     : get_attribute(value, attribute, sim_function_check(kernel));
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)
{
    return !sim_device_valid(device) ? CUDA_ERROR_INVALID_DEVICE
                                     : set_attribute(sim_function_check(kernel), attribute, value);
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
    return accept_setting(kernel);
}

CUresult sim_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    return get_param_info(sim_function_check(kernel), index, offset, bytes);
}

/* ---- occupancy: only the number of threads limits it ------------------------------------------------------------- */

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size,
                                                         size_t shared_bytes)
{
    if (sim_function_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (blocks == NULL || block_size <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *blocks = block_size > SIM_THREADS_PER_BLOCK ? 0 : SIM_THREADS_PER_SM / block_size;
    *blocks = *blocks > 32 ? 32 : *blocks;
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                                  size_t shared_bytes, unsigned flags)
{
    return sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes);
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, CUoccupancyB2DSize shared,
                                              size_t shared_bytes, int limit)
{
    if (sim_function_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (grid == NULL || block == NULL || limit < 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *block = limit > 0 && limit < SIM_THREADS_PER_BLOCK ? limit : SIM_THREADS_PER_BLOCK;
    *grid = SIM_SM_COUNT * (SIM_THREADS_PER_SM / *block > 32 ? 32 : SIM_THREADS_PER_SM / *block);
    return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
                                                       CUoccupancyB2DSize shared, size_t shared_bytes, int limit,
                                                       unsigned flags)
{
    return sim_cuOccupancyMaxPotentialBlockSize(grid, block, function, shared, shared_bytes, limit);
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int block_size)
{
    if (sim_function_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (bytes == NULL || blocks <= 0 || block_size <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *bytes = (size_t)SIM_SHARED_OPTIN_BYTES / (size_t)blocks;
    return CUDA_SUCCESS;
}
