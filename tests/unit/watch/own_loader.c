/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that loads the driver by itself: under RTLD_DEEPBIND its dlopen and dlsym are bound to libc. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int own_loader_run(void);

int own_loader_run(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    int (*copy)(uint64_t, const void *, size_t) =
        handle ? (int (*)(uint64_t, const void *, size_t))dlsym(handle, "cuMemcpyHtoD_v2") : 0;
    void (*executed)(void) = handle ? (void (*)(void))dlsym(handle, "fake_executed") : 0;
    int result = copy ? copy(1, &handle, 8) : -1;
    if (executed) {
        executed();
    }
    return result;
}
