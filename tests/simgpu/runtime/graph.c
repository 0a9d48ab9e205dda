/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graph functions whose arguments differ from the driver's: kernels by host address, copies by cudaMemcpy3DParms,
 * no context. A kernel that the runtime is asked for comes back as its cudaKernel_t. What is the same: forward.def.
 */
#include "runtime.h"

static int kernel_params(const struct sim_kernel_node_params *p, CUDA_KERNEL_NODE_PARAMS *out)
{
    void *kernel;
    int result = p ? sim_kernel_of(p->func, &kernel) : SIM_INVALID_VALUE;
    if (result != SIM_SUCCESS) {
        return result;
    }
    *out = (CUDA_KERNEL_NODE_PARAMS){
        .func = kernel,
        .gridDimX = p->gridDim.x,
        .gridDimY = p->gridDim.y,
        .gridDimZ = p->gridDim.z,
        .blockDimX = p->blockDim.x,
        .blockDimY = p->blockDim.y,
        .blockDimZ = p->blockDim.z,
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
        .extra = p->extra,
    };
    return SIM_SUCCESS;
}

SIM_API(SIM_CONTEXT, cudaGraphAddKernelNode, (node, graph, before, count, params), void **node, void *graph,
        const void *before, size_t count, const struct sim_kernel_node_params *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    int result = kernel_params(params, &p);
    return result == SIM_SUCCESS ? drv->cuGraphAddKernelNode(node, graph, before, count, &p) : result;
}

SIM_API(SIM_CONTEXT, cudaGraphKernelNodeGetParams, (node, params), void *node, struct sim_kernel_node_params *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    int result = params ? drv->cuGraphKernelNodeGetParams(node, &p) : SIM_INVALID_VALUE;
    if (result != SIM_SUCCESS) {
        return result;
    }
    sim_kernel_known(p.func);
    *params = (struct sim_kernel_node_params){
        p.func,           {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ},
        p.sharedMemBytes, p.kernelParams,                       p.extra,
    };
    return SIM_SUCCESS;
}

SIM_API(SIM_CONTEXT, cudaGraphKernelNodeSetParams, (node, params), void *node,
        const struct sim_kernel_node_params *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    int result = kernel_params(params, &p);
    return result == SIM_SUCCESS ? drv->cuGraphKernelNodeSetParams(node, &p) : result;
}

SIM_API(SIM_CONTEXT, cudaGraphExecKernelNodeSetParams, (exec, node, params), void *exec, void *node,
        const struct sim_kernel_node_params *params)
{
    CUDA_KERNEL_NODE_PARAMS p;
    int result = kernel_params(params, &p);
    return result == SIM_SUCCESS ? drv->cuGraphExecKernelNodeSetParams(exec, node, &p) : result;
}

SIM_API(SIM_CONTEXT, cudaGraphAddMemcpyNode, (node, graph, before, count, parms), void **node, void *graph,
        const void *before, size_t count, const struct sim_memcpy3d_parms *parms)
{
    CUDA_MEMCPY3D c;
    int result = sim_memcpy3d_of(parms, &c);
    return result == SIM_SUCCESS ? drv->cuGraphAddMemcpyNode(node, graph, before, count, &c, NULL) : result;
}

SIM_API(SIM_CONTEXT, cudaGraphMemcpyNodeSetParams, (node, parms), void *node, const struct sim_memcpy3d_parms *parms)
{
    CUDA_MEMCPY3D c;
    int result = sim_memcpy3d_of(parms, &c);
    return result == SIM_SUCCESS ? drv->cuGraphMemcpyNodeSetParams(node, &c) : result;
}

SIM_API(SIM_CONTEXT, cudaGraphExecMemcpyNodeSetParams, (exec, node, parms), void *exec, void *node,
        const struct sim_memcpy3d_parms *parms)
{
    CUDA_MEMCPY3D c;
    int result = sim_memcpy3d_of(parms, &c);
    return result == SIM_SUCCESS ? drv->cuGraphExecMemcpyNodeSetParams(exec, node, &c, NULL) : result;
}

/* A copy of so many bytes, as a cudaMemcpy3DParms says it. */
static struct sim_memcpy3d_parms one_row(void *target, const void *source, size_t bytes, int kind)
{
    return (struct sim_memcpy3d_parms){
        .srcPtr = {(void *)(uintptr_t)source, bytes, bytes, 1},
        .dstPtr = {target, bytes, bytes, 1},
        .extent = {bytes, 1, 1},
        .kind = kind,
    };
}

SIM_API(SIM_CONTEXT, cudaGraphAddMemcpyNode1D, (node, graph, before, count, target, source, bytes, kind), void **node,
        void *graph, const void *before, size_t count, void *target, const void *source, size_t bytes, int kind)
{
    const struct sim_memcpy3d_parms parms = one_row(target, source, bytes, kind);
    return cudaGraphAddMemcpyNode_body(drv, node, graph, before, count, &parms);
}

SIM_API(SIM_CONTEXT, cudaGraphExecMemcpyNodeSetParams1D, (exec, node, target, source, bytes, kind), void *exec,
        void *node, void *target, const void *source, size_t bytes, int kind)
{
    const struct sim_memcpy3d_parms parms = one_row(target, source, bytes, kind);
    return cudaGraphExecMemcpyNodeSetParams_body(drv, exec, node, &parms);
}

SIM_API(SIM_CONTEXT, cudaGraphAddMemsetNode, (node, graph, before, count, params), void **node, void *graph,
        const void *before, size_t count, const CUDA_MEMSET_NODE_PARAMS *params)
{
    return drv->cuGraphAddMemsetNode(node, graph, before, count, params, NULL);
}

SIM_API(SIM_CONTEXT, cudaGraphExecMemsetNodeSetParams, (exec, node, params), void *exec, void *node,
        const CUDA_MEMSET_NODE_PARAMS *params)
{
    return drv->cuGraphExecMemsetNodeSetParams(exec, node, params, NULL);
}
