/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at each moment of a linked program's life: .preinit_array, constructors, main, destructor. 13 calls with
 * those of its library (racer.c). With DATA_SYMBOL the driver is found by dlsym, and the program exports pointers
 * with the driver's names. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#ifdef DATA_SYMBOL
__attribute__((visibility("default"))) int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
static void (*fake_executed)(void);
#else
int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
void fake_executed(void);
void racer_run(void);

static void first(int argc, char **argv, char **envp)
{
    cuMemcpyHtoD_v2(1, "preinit", 7);
    cuMemcpyHtoD_v2(1, "preinit", 7);
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **, char **) = first;

__attribute__((constructor)) static void start(void)
{
    cuMemcpyHtoD_v2(1, "constructor", 11);
    cuMemcpyHtoD_v2(1, "constructor", 11);
}

__attribute__((destructor)) static void end(void)
{
    cuMemcpyHtoD_v2(1, "destructor", 10);
    cuMemcpyHtoD_v2(1, "destructor", 10);
    fake_executed();
    fflush(stdout);
}
#endif

int main(void)
{
#ifdef DATA_SYMBOL
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    cuMemcpyHtoD_v2 = handle ? (int (*)(uint64_t, const void *, size_t))dlsym(handle, "cuMemcpyHtoD_v2") : NULL;
    fake_executed = handle ? (void (*)(void))dlsym(handle, "fake_executed") : NULL;
    if (!cuMemcpyHtoD_v2 || !fake_executed) {
        return 1;
    }
#else
    racer_run();
#endif
    for (int i = 0; i < 4; i++) {
        printf("copy %d\n", cuMemcpyHtoD_v2(1, "main", 4));
    }
#ifdef DATA_SYMBOL
    fake_executed();
#endif
    return 0;
}
