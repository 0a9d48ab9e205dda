// SPDX-License-Identifier: Apache-2.0
// Driver API: what images_kernels.cu was compiled to – PTX, a cubin, a fat binary – loaded as module and as library.
// images FILE…
#include <fstream>
#include <iterator>
#include <vector>

#include <cuda.h>

#include "check.cuh"

static inline void fail_unless_ok(CUresult result, int line, const char *call)
{
    if (result != CUDA_SUCCESS) {
        const char *name = "unknown";
        cuGetErrorName(result, &name);
        fail(line, call, name);
    }
}

static const char *const OTHER = "_Z5otherILi3EEvPd";

static std::vector<char> read(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    image.push_back('\0'); // PTX is text
    return image;
}

static void by_module(const std::vector<char> &image, CUdeviceptr device, CUstream stream)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr variable;
    size_t bytes = 0;
    short by = 2;
    int value = 12;
    void *arguments[] = {&device, &by};
    char packed[10];
    size_t packed_bytes = sizeof(packed);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                     CU_LAUNCH_PARAM_END};
    OK(cuModuleLoadData(&module, image.data()));
    OK(cuModuleGetFunction(&function, module, "first"));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL));
    *(CUdeviceptr *)packed = device;
    *(short *)(packed + 8) = by;
    OK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    OK(cuModuleGetGlobal(&variable, &bytes, module, "setting"));
    SAME(bytes, sizeof(value));
    OK(cuMemcpyHtoD(variable, &value, sizeof(value)));
    OK(cuModuleGetFunction(&function, module, OTHER));
    OK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, stream, arguments, NULL));
    SAME(cuModuleGetFunction(&function, module, "missing"), CUDA_ERROR_NOT_FOUND);
    OK(cuStreamSynchronize(stream));
    OK(cuModuleUnload(module));
}

static void by_library(const std::vector<char> &image, CUdeviceptr device, CUstream stream)
{
    CUlibrary library;
    CUkernel kernel;
    CUlaunchConfig config = {};
    void *arguments[] = {&device};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 16;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream;
    OK(cuLibraryLoadData(&library, image.data(), NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, OTHER));
    OK(cuLaunchKernelEx(&config, (CUfunction)kernel, arguments, NULL));
    OK(cuStreamSynchronize(stream));
    OK(cuLibraryUnload(library));
}

int main(int count, char **files)
{
    CUdevice gpu;
    CUcontext context;
    CUstream stream;
    CUdeviceptr device;
    OK(cuInit(0));
    OK(cuDeviceGet(&gpu, 0));
    OK(cuDevicePrimaryCtxRetain(&context, gpu));
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&device, 65536));
    for (int i = 1; i < count; i++) {
        const std::vector<char> image = read(files[i]);
        by_module(image, device, stream);
        by_library(image, device, stream);
    }
    OK(cuMemFree(device));
    OK(cuStreamDestroy(stream));
    std::puts("done");
    return 0;
}
