/* SPDX-License-Identifier: Apache-2.0 */
/* A program of the runtime API: one kernel registered by a constructor, launches, copies, one of 0 bytes. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

struct three {
    unsigned x, y, z;
};
int cudaMalloc(void **pointer, size_t bytes);
int cudaMemcpy(void *target, const void *source, size_t bytes, int kind);
int cudaLaunchKernel(const void *function, struct three grid, struct three block, void **args, size_t shared,
                     void *stream);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
                            void *bid, void *block, void *grid, int *size);
int cudaGetDriverEntryPoint(const char *symbol, void **pointer, uint64_t flags, int *status);
void fake_runtime_executed(void);

static const char stub[] = "stub";

__attribute__((constructor)) static void start(void)
{
    __cudaRegisterFunction(NULL, stub, (char *)(uintptr_t)stub, "decode_kernel", -1, NULL, NULL, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return 0; /* registered, but CUDA is not used */
    }
    void *memory = NULL;
    printf("malloc %d %p\n", cudaMalloc(&memory, 1 << 20), memory);
    printf("copy %d\n", cudaMemcpy(memory, stub, 5, 1));
    printf("copy of nothing %d\n", cudaMemcpy(memory, stub, 0, 1));
    for (int i = 0; i < 3; i++) {
        struct three grid = {1, 2, 3}, block = {4, 5, 6};
        printf("launch %d\n", cudaLaunchKernel(stub, grid, block, (void **)9, 7, (void *)8));
    }
    void *pointer = NULL;
    printf("entry point %d", cudaGetDriverEntryPoint("cuStreamSynchronize", &pointer, 0, NULL));
    printf(" sync %d\n", ((int (*)(void *))pointer)(NULL));
    fake_runtime_executed();
    ((void (*)(void))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_executed"))();
    return 0;
}
