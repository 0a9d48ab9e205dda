/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches and questions about kernels. A kernel is a host address (looked up in register.c) or a
 * cudaKernel_t; the driver takes a CUkernel wherever it takes a CUfunction. `kernel<<<…>>>` compiled by nvcc
 * arrives as __cudaPushCallConfiguration, __cudaPopCallConfiguration, then cudaLaunchKernel or, from nvcc 13,
 * __cudaLaunchKernel with the handle that __cudaGetKernel gave. Any thread.
 */
#include <string.h>

#include "runtime.h"

#define CONFIG_DEPTH 16

struct call_config {
    struct sim_dim3 grid, block;
    size_t shared_bytes;
    void *stream;
};

static __thread struct call_config configs[CONFIG_DEPTH];
static __thread unsigned config_count;

unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared_bytes, void *stream);
int __cudaPopCallConfiguration(struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared_bytes, void *stream);

unsigned __cudaPushCallConfiguration(struct sim_dim3 grid, struct sim_dim3 block, size_t shared_bytes, void *stream)
{
    if (config_count == CONFIG_DEPTH) {
        return 1;
    }
    configs[config_count++] = (struct call_config){grid, block, shared_bytes, stream};
    return 0;
}

int __cudaPopCallConfiguration(struct sim_dim3 *grid, struct sim_dim3 *block, size_t *shared_bytes, void *stream)
{
    if (config_count == 0) {
        return sim_rt_leave(SIM_MISSING_CONFIGURATION);
    }
    const struct call_config *c = &configs[--config_count];
    *grid = c->grid;
    *block = c->block;
    *shared_bytes = c->shared_bytes;
    *(void **)stream = c->stream;
    return SIM_SUCCESS;
}

/* The runtime itself refuses what no device accepts; the driver would say INVALID_VALUE. */
static int check_shape(struct sim_dim3 grid, struct sim_dim3 block)
{
    int fits = grid.x && grid.y && grid.z && grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535 && block.x &&
               block.y && block.z && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
               (size_t)block.x * block.y * block.z <= 1024;
    return fits ? SIM_SUCCESS : SIM_INVALID_CONFIGURATION;
}

static int prepare(const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **kernel)
{
    int result = sim_kernel_of(function, kernel);
    return result == SIM_SUCCESS ? check_shape(grid, block) : result;
}

static int launch(const struct sim_driver *drv, const void *function, struct sim_dim3 grid, struct sim_dim3 block,
                  void **args, size_t shared_bytes, void *stream)
{
    void *kernel;
    int result = prepare(function, grid, block, &kernel);
    if (result != SIM_SUCCESS) {
        return result;
    }
    return drv->cuLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared_bytes,
                               stream, args, NULL);
}

SIM_API_SZ(SIM_CONTEXT, cudaLaunchKernel, _ptsz, (function, grid, block, args, shared_bytes, stream),
           const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **args, size_t shared_bytes,
           void *stream)
{
    return launch(drv, function, grid, block, args, shared_bytes, stream);
}

SIM_API_SZ(SIM_CONTEXT, __cudaLaunchKernel, _ptsz, (kernel, grid, block, args, shared_bytes, stream), void *kernel,
           struct sim_dim3 grid, struct sim_dim3 block, void **args, size_t shared_bytes, void *stream)
{
    return launch(drv, kernel, grid, block, args, shared_bytes, stream);
}

SIM_API_SZ(SIM_CONTEXT, cudaLaunchCooperativeKernel, _ptsz, (function, grid, block, args, shared_bytes, stream),
           const void *function, struct sim_dim3 grid, struct sim_dim3 block, void **args, size_t shared_bytes,
           void *stream)
{
    void *kernel;
    int result = prepare(function, grid, block, &kernel);
    if (result != SIM_SUCCESS) {
        return result;
    }
    return drv->cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                          (unsigned)shared_bytes, stream, args);
}

SIM_API_SZ(SIM_CONTEXT, cudaLaunchKernelExC, _ptsz, (config, function, args), const struct sim_launch_config *config,
           const void *function, void **args)
{
    void *kernel;
    int result = config ? prepare(function, config->gridDim, config->blockDim, &kernel) : SIM_INVALID_VALUE;
    if (result != SIM_SUCCESS) {
        return result;
    }
    CUlaunchConfig c = {
        config->gridDim.x,
        config->gridDim.y,
        config->gridDim.z,
        config->blockDim.x,
        config->blockDim.y,
        config->blockDim.z,
        (unsigned)config->dynamicSmemBytes,
        config->stream,
        config->attrs,
        config->numAttrs,
    };
    return drv->cuLaunchKernelEx(&c, kernel, args, NULL);
}

static int get_kernel(void **kernel, const void *function)
{
    int result = kernel ? sim_kernel_of(function, kernel) : SIM_INVALID_VALUE;
    if (result == SIM_SUCCESS) {
        sim_kernel_known(*kernel);
    }
    return result;
}

SIM_API(SIM_CONTEXT, __cudaGetKernel, (kernel, function), void **kernel, const void *function)
{
    return get_kernel(kernel, function);
}

SIM_API(SIM_CONTEXT, cudaGetKernel, (kernel, function), void **kernel, const void *function)
{
    return get_kernel(kernel, function);
}

SIM_API(SIM_CONTEXT, cudaGetFuncBySymbol, (result_function, function), void **result_function, const void *function)
{
    void *kernel;
    int result = result_function ? sim_kernel_of(function, &kernel) : SIM_INVALID_VALUE;
    return result == SIM_SUCCESS ? drv->cuKernelGetFunction(result_function, kernel) : result;
}

SIM_API(SIM_CONTEXT, cudaLibraryLoadData, (library, code, jit, jit_values, jit_count, options, values, count),
        void **library, const void *code, void *jit, void **jit_values, unsigned jit_count, void *options,
        void **values, unsigned count)
{
    return drv->cuLibraryLoadData(library, code, jit, jit_values, jit_count, options, values, count);
}

SIM_API(SIM_CONTEXT, cudaLibraryLoadFromFile, (library, path, jit, jit_values, jit_count, options, values, count),
        void **library, const char *path, void *jit, void **jit_values, unsigned jit_count, void *options,
        void **values, unsigned count)
{
    return drv->cuLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count);
}

SIM_API(SIM_CONTEXT, cudaLibraryGetKernel, (kernel, library, name), void **kernel, void *library, const char *name)
{
    int result = kernel ? drv->cuLibraryGetKernel(kernel, library, name) : SIM_INVALID_VALUE;
    if (result == SIM_SUCCESS) {
        sim_kernel_known(*kernel);
    }
    return result;
}

SIM_API(SIM_CONTEXT, cudaFuncGetName, (name, function), const char **name, const void *function)
{
    void *kernel;
    int result = name ? sim_kernel_of(function, &kernel) : SIM_INVALID_VALUE;
    return result == SIM_SUCCESS ? drv->cuKernelGetName(name, kernel) : result;
}

SIM_API(SIM_CONTEXT, cudaFuncGetAttributes, (attributes, function), struct sim_func_attributes *attributes,
        const void *function)
{
    /* CUfunction_attribute numbers of each field, in order */
    static const struct {
        unsigned short offset, attribute, wide;
    } fields[] = {
#define FIELD(name, attribute, wide) {offsetof(struct sim_func_attributes, name), attribute, wide}
        FIELD(maxThreadsPerBlock, 0, 0),
        FIELD(sharedSizeBytes, 1, 1),
        FIELD(constSizeBytes, 2, 1),
        FIELD(localSizeBytes, 3, 1),
        FIELD(numRegs, 4, 0),
        FIELD(ptxVersion, 5, 0),
        FIELD(binaryVersion, 6, 0),
        FIELD(cacheModeCA, 7, 0),
        FIELD(maxDynamicSharedSizeBytes, 8, 0),
        FIELD(preferredShmemCarveout, 9, 0),
        FIELD(clusterDimMustBeSet, 10, 0),
        FIELD(requiredClusterWidth, 11, 0),
        FIELD(requiredClusterHeight, 12, 0),
        FIELD(requiredClusterDepth, 13, 0),
        FIELD(nonPortableClusterSizeAllowed, 14, 0),
        FIELD(clusterSchedulingPolicyPreference, 15, 0),
#undef FIELD
    };
    void *kernel;
    int result = attributes ? sim_kernel_of(function, &kernel) : SIM_INVALID_VALUE;
    if (result != SIM_SUCCESS) {
        return result;
    }
    memset(attributes, 0, sizeof(*attributes));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        int value = 0;
        if (drv->cuKernelGetAttribute(&value, fields[i].attribute, kernel, sim_rt_device()) == SIM_SUCCESS) {
            size_t wide = (size_t)value;
            memcpy((char *)attributes + fields[i].offset, fields[i].wide ? (void *)&wide : (void *)&value,
                   fields[i].wide ? sizeof(wide) : sizeof(value));
        }
    }
    return SIM_SUCCESS;
}

SIM_API(SIM_CONTEXT, cudaFuncSetAttribute, (function, attribute, value), const void *function, int attribute, int value)
{
    void *kernel;
    int result = sim_kernel_of(function, &kernel);
    return result == SIM_SUCCESS ? drv->cuKernelSetAttribute(attribute, value, kernel, sim_rt_device()) : result;
}

SIM_API(SIM_CONTEXT, cudaKernelSetAttributeForDevice, (kernel, attribute, value, device), void *kernel, int attribute,
        int value, int device)
{
    return drv->cuKernelSetAttribute(attribute, value, kernel, device);
}

/* Preferences without effect on a simulated device; a bad function is still an error. */
SIM_API(SIM_CONTEXT, cudaFuncSetCacheConfig, (function, config), const void *function, int config)
{
    void *kernel;
    return sim_kernel_of(function, &kernel);
}

SIM_API(SIM_CONTEXT, cudaFuncSetSharedMemConfig, (function, config), const void *function, int config)
{
    void *kernel;
    return sim_kernel_of(function, &kernel);
}

SIM_API(SIM_CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
        (blocks, function, block_size, shared_bytes, flags), int *blocks, const void *function, int block_size,
        size_t shared_bytes, unsigned flags)
{
    void *kernel;
    int result = sim_kernel_of(function, &kernel);
    if (result != SIM_SUCCESS) {
        return result;
    }
    return drv->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, block_size, shared_bytes, flags);
}

SIM_API(SIM_CONTEXT, cudaOccupancyMaxActiveBlocksPerMultiprocessor, (blocks, function, block_size, shared_bytes),
        int *blocks, const void *function, int block_size, size_t shared_bytes)
{
    void *kernel;
    int result = sim_kernel_of(function, &kernel);
    if (result != SIM_SUCCESS) {
        return result;
    }
    return drv->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, block_size, shared_bytes, 0);
}

SIM_API(SIM_CONTEXT, cudaOccupancyAvailableDynamicSMemPerBlock, (bytes, function, blocks, block_size), size_t *bytes,
        const void *function, int blocks, int block_size)
{
    void *kernel;
    int result = sim_kernel_of(function, &kernel);
    return result == SIM_SUCCESS ? drv->cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, block_size)
                                 : result;
}
