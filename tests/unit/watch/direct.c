/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program linked against the fakes that reaches the driver in every way that a slot or a look-up can
 * give: a direct call, constant and writable tables, dlsym, RTLD_DEFAULT, cuGetProcAddress of both versions, an
 * inner address. Prints the same with and without a profiler. Built in several ways (see meson.build).
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);
typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);

int cuInit(unsigned flags);
int cuStreamSynchronize(void *stream);
int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra);
int cuGetProcAddress_v2(const char *symbol, void **pointer, int version, uint64_t flags, int *status);
void fake_executed(void);

static const launch_fn constant_table[] = {cuLaunchKernel};
static launch_fn writable_table[] = {cuLaunchKernel};

static void launch(const char *how, launch_fn function)
{
    int result = function((void *)0xabc, 1, 2, 3, 4, 5, 6, 7, (void *)8, (void **)9, (void **)10);
    printf("%s: %d\n", how, result);
}

int main(void)
{
    errno = 77;
    printf("init %d errno %d\n", cuInit(0), errno);
    void *function = NULL;
    printf("function %d\n", cuModuleGetFunction(&function, (void *)1, "decode_kernel"));
    launch("direct", cuLaunchKernel);
    launch("constant table", constant_table[0]);
    launch("writable table", writable_table[0]);
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    if (!handle) {
        printf("no driver: %s\n", dlerror());
        return 1;
    }
    launch("dlsym", (launch_fn)dlsym(handle, "cuLaunchKernel"));
    launch("dlsym default", (launch_fn)dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
    printf("same address %d\n", dlsym(handle, "cuLaunchKernel") == dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
    launch_fn asked = NULL;
    cuGetProcAddress_v2("cuLaunchKernel", (void **)&asked, 12000, 0, NULL);
    printf("one address: table %d dlsym %d look-up %d\n", constant_table[0] == cuLaunchKernel,
           (launch_fn)dlsym(handle, "cuLaunchKernel") == cuLaunchKernel,
           asked == (launch_fn)dlsym(handle, "cuLaunchKernel"));
    printf("unknown %d, message %d\n", dlsym(handle, "cuNoSuchThing") == NULL, dlerror() != NULL);
    lookup_fn lookup = cuGetProcAddress_v2;
    void *pointer = NULL;
    int status = -1;
    printf("lookup %d status %d\n", lookup("cuLaunchKernel", &pointer, 12000, 0, &status), status);
    launch("looked up", (launch_fn)pointer);
    lookup("cuLaunchKernel", &pointer, 12000, 2, NULL);
    launch("looked up, per thread", (launch_fn)pointer);
    lookup("cuGetProcAddress", &pointer, 12000, 0, NULL);
    lookup = (lookup_fn)pointer;
    lookup("cuEventRecord", &pointer, 12000, 0, NULL);
    printf("inner event record %d\n", ((int (*)(void *, void *))pointer)((void *)1, (void *)2));
    lookup("cuStreamQuery", &pointer, 99000, 0, NULL); /* newer than any table: passes through */
    printf("inner query %d\n", ((int (*)(void *))pointer)((void *)1));
    lookup("fakeNothing", &pointer, 12000, 0, NULL);
    printf("not found %d\n", lookup("cuNoSuchThing", &pointer, 12000, 0, NULL));
    printf("copy %d\n", cuMemcpyHtoD_v2(0x7000, &pointer, 4096));
    printf("sync %d\n", cuStreamSynchronize((void *)0x55));
    printf("errno %d\n", errno);
    fake_executed();
    return 0;
}
