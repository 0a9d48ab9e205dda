/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool in LD_PRELOAD: exports a driver function and finds the real one by RTLD_NEXT. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

__attribute__((visibility("default"))) int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes)
{
    int (*next)(uint64_t, const void *, size_t) =
        (int (*)(uint64_t, const void *, size_t))dlsym(RTLD_NEXT, "cuMemcpyHtoD_v2");
    return next ? next(target, source, bytes) : -1;
}
