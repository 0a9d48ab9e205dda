/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of the race test: calls in its constructor, by a slot, and by its own look-up. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
__attribute__((visibility("default"))) void racer_run(void);

__attribute__((constructor)) static void start(void)
{
    cuMemcpyHtoD_v2(1, "start", 5);
}

void racer_run(void)
{
    int (*copy)(uint64_t, const void *, size_t) =
        (int (*)(uint64_t, const void *, size_t))dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2");
    void *handle = dlopen("libcuda.so.1", RTLD_NOW);
    copy = copy ? copy : (int (*)(uint64_t, const void *, size_t))dlsym(handle, "cuMemcpyHtoD_v2");
    copy(1, "looked up", 9);
    cuMemcpyHtoD_v2(1, "slot", 4);
    dlclose(handle);
}
