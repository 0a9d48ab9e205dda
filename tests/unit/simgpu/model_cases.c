/* SPDX-License-Identifier: Apache-2.0 */
/* Cases about what SIMGPU_MODEL says of arguments and of small copies; test_simgpu.py writes the model. */
#include "cases.h"

static void *const buffer_pointer = (void *)CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT;
static void *const buffer_size = (void *)CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT;

/* `kernel gemm_* 2us+3ns*argument`: the work may be given in any way that arguments can be, and changed in a graph. */
void case_argument_time(void)
{
    static const char ptx[] = ".version 8.0\n.visible .entry gemm_f32(.param .u64 work, .param .u64 out) { ret; }\n"
                              ".visible .entry gemm_small(.param .u16 work) { ret; }\n"
                              ".visible .entry gemm_none() { ret; }\n";
    static const unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct {
        uint64_t work, out;
    } packed = {4000, ~0ull};
    uint64_t work = 1000, out = 0;
    uint32_t wide = 0xffff0005;
    size_t bytes = sizeof(packed);
    void *params[] = {&work, &out}, *small[] = {&wide};
    void *extra[] = {buffer_pointer, &packed, buffer_size, &bytes, NULL};
    CUDA_KERNEL_NODE_PARAMS node_params = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
                                           .blockDimZ = 1, .extra = extra};
    CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, NULL, NULL, 0};
    CUDA_KERNEL_NODE_PARAMS got;
    CUfunction function;
    CUgraphNode node;
    CUgraphExec exec;
    CUmodule module;
    CUgraph graph;

    start();
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&function, module, "gemm_f32"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    work = 2000;
    OK(cuLaunchKernelEx(&config, function, params, NULL));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));

    /* A node keeps the arguments that the buffer held, and tells them. */
    node_params.func = function;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &node_params));
    packed.work = 7;
    OK(cuGraphKernelNodeGetParams_v2(node, &got));
    REQUIRE(got.extra == NULL && *(uint64_t *)got.kernelParams[0] == 4000 && *(uint64_t *)got.kernelParams[1] == ~0ull);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    packed.work = 5000;
    OK(cuGraphExecKernelNodeSetParams_v2(exec, node, &node_params));
    OK(cuGraphLaunch(exec, NULL));
    bytes = 8; /* of 16 */
    REQUIRE_RESULT(cuGraphExecKernelNodeSetParams_v2(exec, node, &node_params), CUDA_ERROR_INVALID_VALUE);

    /* Only as many bytes as the parameter has; and 0 where there is none, or nobody knows. */
    OK(cuModuleGetFunction(&function, module, "gemm_small"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, small, NULL));
    OK(cuModuleGetFunction(&function, module, "gemm_none"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuModuleLoadData(&module, cubin));
    OK(cuModuleGetFunction(&function, module, "gemm_unknown"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    OK(cuCtxSynchronize());
}

/* `small-d2h zero` */
void case_small_d2h(void)
{
    struct kernels kernels = start();
    unsigned char *pinned, host[32], ones[32];
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcPitch = 8, .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = host, .dstPitch = 16, .WidthInBytes = 4, .Height = 2};
    CUdeviceptr device, managed;
    CUgraphExec exec;
    CUstream stream;
    CUgraph graph;
    void *memory;

    memset(ones, 1, sizeof(ones));
    OK(cuMemAlloc_v2(&device, 32));
    OK(cuMemAllocManaged(&managed, 32, 1));
    OK(cuMemHostAlloc(&memory, 32, 0));
    pinned = memory;
    OK(cuMemcpyHtoD_v2(device, ones, 8)); /* up: as ever */
    OK(cuMemcpyHtoD_v2(device + 8, ones, 24));
    memset(host, 9, sizeof(host));
    OK(cuMemcpyDtoH_v2(host, device, 17));
    REQUIRE(host[0] == 1 && host[16] == 1 && host[17] == 9);
    OK(cuMemcpyDtoH_v2(host, device, 16));
    REQUIRE(host[0] == 0 && host[15] == 0 && host[16] == 1);
    memset(host, 9, sizeof(host));
    rows.srcDevice = device;
    OK(cuMemcpy2D_v2(&rows));
    REQUIRE(host[0] == 0 && host[3] == 0 && host[4] == 9 && host[16] == 0 && host[20] == 9);
    OK(cuMemcpyDtoDAsync_v2(managed, device, 8, NULL));
    memset(pinned, 9, 32);
    launch(kernels.wait_1ms, NULL);
    OK(cuMemcpyDtoHAsync_v2(pinned, device, 1, NULL));
    REQUIRE(pinned[0] == 9);
    OK(cuStreamSynchronize(NULL));
    REQUIRE(pinned[0] == 0 && pinned[1] == 9 && *(unsigned char *)(uintptr_t)managed == 1);

    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyDtoHAsync_v2(pinned + 8, device, 8, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    REQUIRE(pinned[8] == 0 && pinned[15] == 0 && pinned[16] == 9);
}
