/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's kernels for simgpu: the same element functions as on a device, called one element after
 * another when simgpu executes the kernel. simgpu loads this plug-in (simgpu-kernels.so) from the folder of
 * its libcuda.so.1. One call at a time, on whatever thread drives the simulation.
 */
#include "kernels_body.h"
#include "tests/simgpu/kernels.h"
#include <stddef.h>

#define ARGUMENT(type, n) (*(type const *)params[n])

/* Elements to compute: `count`, unless the launch had fewer threads (then a device would miss the rest too). */
static int32_t elements(void *const *params, int count_index, const unsigned grid[3], const unsigned block[3])
{
    int32_t count = ARGUMENT(int32_t, count_index);
    uint64_t threads = (uint64_t)grid[0] * block[0];
    return (uint64_t)count < threads ? count : (int32_t)threads;
}

#define KERNEL_BEGIN(name, count_index)                                                                      \
    static void run_##name(void *const *params, const unsigned grid[3], const unsigned block[3])             \
    {                                                                                                        \
        int32_t count = elements(params, count_index, grid, block);                                          \
        for (int32_t i = 0; i < count; i++)
#define KERNEL_END }
#define KERNEL_1(name, A) KERNEL_BEGIN(name, 1) name##_at(i, ARGUMENT(A, 0)); KERNEL_END
#define KERNEL_2(name, A, B) KERNEL_BEGIN(name, 2) name##_at(i, ARGUMENT(A, 0), ARGUMENT(B, 1)); KERNEL_END
#define KERNEL_3(name, A, B, C)                                                                              \
    KERNEL_BEGIN(name, 3) name##_at(i, ARGUMENT(A, 0), ARGUMENT(B, 1), ARGUMENT(C, 2)); KERNEL_END
#define KERNEL_4(name, A, B, C, D)                                                                           \
    KERNEL_BEGIN(name, 4)                                                                                    \
    name##_at(i, ARGUMENT(A, 0), ARGUMENT(B, 1), ARGUMENT(C, 2), ARGUMENT(D, 3)); KERNEL_END
#define KERNEL_5(name, A, B, C, D, E)                                                                        \
    KERNEL_BEGIN(name, 5)                                                                                    \
    name##_at(i, ARGUMENT(A, 0), ARGUMENT(B, 1), ARGUMENT(C, 2), ARGUMENT(D, 3), ARGUMENT(E, 4)); KERNEL_END
#include "kernels.def"
#undef KERNEL_1
#undef KERNEL_2
#undef KERNEL_3
#undef KERNEL_4
#undef KERNEL_5

#define KERNEL_ROW(name, n, ...) {#name, run_##name, (n) + 1, {__VA_ARGS__, sizeof(int32_t)}},
#define KERNEL_1(name, A) KERNEL_ROW(name, 1, sizeof(A))
#define KERNEL_2(name, A, B) KERNEL_ROW(name, 2, sizeof(A), sizeof(B))
#define KERNEL_3(name, A, B, C) KERNEL_ROW(name, 3, sizeof(A), sizeof(B), sizeof(C))
#define KERNEL_4(name, A, B, C, D) KERNEL_ROW(name, 4, sizeof(A), sizeof(B), sizeof(C), sizeof(D))
#define KERNEL_5(name, A, B, C, D, E) KERNEL_ROW(name, 5, sizeof(A), sizeof(B), sizeof(C), sizeof(D), sizeof(E))
__attribute__((visibility("default"))) const struct simgpu_kernel simgpu_kernels[] = {
#include "kernels.def"
    {NULL, NULL, 0, {0}},
};
