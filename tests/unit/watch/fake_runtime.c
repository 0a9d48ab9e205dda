/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in libcudart.so.13: finds the driver as the real one does, with dlopen and cuGetProcAddress_v2,
 * and calls it. Counts by printing through the driver stand-in's fake_executed().
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 13
#endif
#define EXPORT __attribute__((visibility("default")))

struct three {
    unsigned x, y, z;
};

EXPORT int cudaMalloc(void **pointer, size_t bytes);
EXPORT int cudaMemcpy(void *target, const void *source, size_t bytes, int kind);
EXPORT int cudaLaunchKernel(const void *function, struct three grid, struct three block, void **args, size_t shared,
                            void *stream);
EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                                   void *tid, void *bid, void *block, void *grid, int *size);
EXPORT int cudaGetDriverEntryPoint(const char *symbol, void **pointer, uint64_t flags, int *status);

static int executed_launches, executed_copies, executed_allocations, executed_registrations;

EXPORT void fake_runtime_executed(void);
void fake_runtime_executed(void)
{
    printf("executed cudaLaunchKernel %d\nexecuted cudaMemcpy %d\nexecuted cudaMalloc %d\nregistered %d\n",
           executed_launches, executed_copies, executed_allocations, executed_registrations);
}

typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);

static lookup_fn driver_lookup(void)
{
    static lookup_fn lookup;
    if (!lookup) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        lookup = driver ? (lookup_fn)dlsym(driver, "cuGetProcAddress_v2") : NULL;
        if (!lookup) {
            fprintf(stderr, "fake runtime: no driver: %s\n", dlerror());
            exit(9);
        }
    }
    return lookup;
}

static void *driver_function(const char *symbol, int version)
{
    void *function = NULL;
    driver_lookup()(symbol, &function, version, 0, NULL);
    return function;
}

int cudaMalloc(void **pointer, size_t bytes)
{
    static int (*allocate)(uint64_t *, size_t);
    allocate = allocate ? allocate : (int (*)(uint64_t *, size_t))driver_function("cuMemAlloc", 3020);
    executed_allocations++;
    uint64_t address = 0;
    int result = allocate(&address, bytes);
    *pointer = (void *)(address + FAKE_MAJOR); /* says who answered */
    return result;
}

int cudaMemcpy(void *target, const void *source, size_t bytes, int kind)
{
    static int (*copy)(uint64_t, const void *, size_t);
    copy = copy ? copy : (int (*)(uint64_t, const void *, size_t))driver_function("cuMemcpyHtoD", 3020);
    executed_copies++;
    return bytes ? copy((uint64_t)target, source, bytes) : 0; /* nothing to copy: no driver call, as the real one */
}

int cudaLaunchKernel(const void *function, struct three grid, struct three block, void **args, size_t shared,
                     void *stream)
{
    typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                             void **, void **);
    static launch_fn launch;
    launch = launch ? launch : (launch_fn)driver_function("cuLaunchKernel", 7000);
    executed_launches++;
    return launch((void *)(uintptr_t)function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                  stream, args, (void **)10);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *tid,
                            void *bid, void *block, void *grid, int *size)
{
    executed_registrations++;
}

int cudaGetDriverEntryPoint(const char *symbol, void **pointer, uint64_t flags, int *status)
{
    return driver_lookup()(symbol, pointer, 13000, flags, status);
}
