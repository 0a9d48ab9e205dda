// SPDX-License-Identifier: Apache-2.0
// What most programs do: memory of every kind, copies, memsets, launches in several streams, events, a host function.
// Compiled with the shared runtime, with the static one, and for per-thread default streams.
#include "check.cuh"

static const int N = 1 << 16;

template <typename T> __global__ void scale(T *values, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        values[i] *= by;
    }
}

__constant__ float table[16];

__global__ void look_up(float *values)
{
    values[threadIdx.x] = table[threadIdx.x % 16];
}

static void CUDART_CB count_up(void *data)
{
    ++*(int *)data;
}

static void copies(float *host, float *pinned, float *device, cudaStream_t stream)
{
    float *pitched;
    size_t pitch, free_bytes, total_bytes;
    const size_t bytes = N * sizeof(float);
    OK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++) {
        SAME(pinned[i], host[i]);
    }
    OK(cudaMallocPitch(&pitched, &pitch, 100 * sizeof(float), 50));
    OK(cudaMemcpy2D(pitched, pitch, host, 100 * sizeof(float), 100 * sizeof(float), 50, cudaMemcpyHostToDevice));
    OK(cudaMemset2DAsync(pitched, pitch, 1, 100 * sizeof(float), 50, stream));
    OK(cudaMemcpyAsync(device + N / 2, device, bytes / 2, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemsetAsync(device, 0, bytes, stream));
    OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    SAME(free_bytes < total_bytes, true);
    OK(cudaFree(pitched));
}

static void streams(float *device)
{
    cudaStream_t first, second;
    cudaEvent_t start, middle, end;
    float ms = -1;
    int counted = 0;
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(start, first));
    for (int i = 0; i < 10; i++) {
        scale<<<N / 256, 256, 0, first>>>(device, 2.0f, N);
    }
    OK(cudaEventRecord(middle, first));
    OK(cudaStreamWaitEvent(second, middle, 0));
    scale<<<1, 32, 1024, second>>>((int *)device, 3, 32);
    OK(cudaLaunchHostFunc(second, count_up, &counted));
    OK(cudaEventRecord(end, second));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    OK(cudaStreamQuery(second));
    SAME(counted, 1);
    SAME(ms > 0, true);
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(middle));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
}

int main()
{
    static float host[N];
    float *pinned, *device, *pooled, numbers[16] = {1, 2, 3}, back[16];
    cudaDeviceProp about;
    for (int i = 0; i < N; i++) {
        host[i] = (float)i;
    }
    OK(cudaGetDeviceProperties(&about, 0));
    std::printf("%s, compute capability %d.%d\n", about.name, about.major, about.minor);
    OK(cudaMallocHost(&pinned, sizeof(host)));
    OK(cudaMalloc(&device, sizeof(host)));
    copies(host, pinned, device, 0);
    streams(device);
    OK(cudaMemcpyToSymbol(table, numbers, sizeof(numbers)));
    OK(cudaMemcpyFromSymbol(back, table, sizeof(back)));
    SAME(back[2], 3.0f);
    OK(cudaMallocAsync(&pooled, 4096, 0));
    look_up<<<1, 256>>>(pooled);
    OK(cudaFreeAsync(pooled, 0));
    scale<<<1, 2048>>>(device, 2.0f, N);
    SAME(cudaGetLastError(), cudaErrorInvalidConfiguration);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
    std::puts("done");
    return 0;
}
