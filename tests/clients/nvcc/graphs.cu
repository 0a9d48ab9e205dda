// SPDX-License-Identifier: Apache-2.0
// A captured graph with two branches, one made node by node, an updated one; each is launched several times.
#include "check.cuh"

__global__ void step(float *values, int n)
{
    values[threadIdx.x] += n;
}

static cudaGraph_t capture(cudaStream_t stream, cudaStream_t other, float *device, int kernels)
{
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(device, 0, 4096, stream));
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(other, fork, 0));
    for (int i = 0; i < kernels; i++) {
        step<<<1, 64, 0, i % 2 ? other : stream>>>(device, i);
    }
    OK(cudaEventRecord(join, other));
    OK(cudaStreamWaitEvent(stream, join, 0));
    OK(cudaMemcpyAsync(device + 512, device, 1024, cudaMemcpyDeviceToDevice, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    return graph;
}

static cudaGraph_t build(float *device)
{
    cudaGraph_t graph;
    cudaGraphNode_t clear, node;
    cudaMemsetParams zeros = {};
    cudaKernelNodeParams kernel = {};
    int n = 7;
    void *arguments[] = {&device, &n};
    zeros.dst = device;
    zeros.elementSize = 4;
    zeros.width = 256;
    zeros.height = 1;
    kernel.func = (void *)step;
    kernel.gridDim = dim3(2);
    kernel.blockDim = dim3(32);
    kernel.kernelParams = arguments;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&clear, graph, NULL, 0, &zeros));
    OK(cudaGraphAddKernelNode(&node, graph, &clear, 1, &kernel));
    return graph;
}

int main()
{
    cudaStream_t stream, other;
    cudaGraphExec_t captured, built;
    cudaGraphExecUpdateResultInfo info;
    float *device;
    size_t nodes = 0;
    OK(cudaMalloc(&device, 65536));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    cudaGraph_t graph = capture(stream, other, device, 6);
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    std::printf("%zu nodes\n", nodes);
    OK(cudaGraphInstantiate(&captured, graph, 0));
    for (int i = 0; i < 5; i++) {
        OK(cudaGraphLaunch(captured, stream));
    }
    OK(cudaGraphDestroy(graph));
    graph = capture(stream, other, device + 4096, 6);
    OK(cudaGraphExecUpdate(captured, graph, &info));
    OK(cudaGraphLaunch(captured, stream));
    OK(cudaGraphDestroy(graph));
    graph = build(device);
    OK(cudaGraphInstantiate(&built, graph, 0));
    OK(cudaGraphLaunch(built, stream));
    OK(cudaGraphLaunch(built, other));
    step<<<1, 1, 0, stream>>>(device, 1);
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(captured));
    OK(cudaGraphExecDestroy(built));
    OK(cudaGraphDestroy(graph));
    std::puts("done");
    return 0;
}
