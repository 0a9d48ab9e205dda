/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that is only a door, as on WSL: it loads another driver and forwards each call to it. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
EXPORT int cuGetProcAddress_v2(const char *symbol, void **pointer, int version, uint64_t flags, int *status);
EXPORT void fake_executed(void);

static void *inner(const char *name)
{
    static void *handle;
    handle = handle ? handle : dlopen("./libcuda_inner.so", RTLD_NOW);
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) {
        printf("outer driver: %s\n", dlerror());
        exit(1);
    }
    return address;
}

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes)
{
    return ((int (*)(uint64_t, const void *, size_t))inner("cuMemcpyHtoD_v2"))(target, source, bytes);
}

int cuGetProcAddress_v2(const char *symbol, void **pointer, int version, uint64_t flags, int *status)
{
    typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);
    return ((lookup_fn)inner("cuGetProcAddress_v2"))(symbol, pointer, version, flags, status);
}

void fake_executed(void)
{
    ((void (*)(void))inner("fake_executed"))();
}
