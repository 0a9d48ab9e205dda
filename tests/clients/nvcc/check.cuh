/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs share: a failed call is said on stdout, so that two runs can be compared, and ends the program. */
#pragma once
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

static inline void fail(int line, const char *call, const char *why)
{
    std::printf("line %d: %s: %s\n", line, call, why);
    std::exit(1);
}

static inline void fail_unless_ok(cudaError_t result, int line, const char *call)
{
    if (result != cudaSuccess) {
        fail(line, call, cudaGetErrorName(result));
    }
}

#define OK(call) fail_unless_ok((call), __LINE__, #call)
#define SAME(left, right)                                     \
    do {                                                      \
        if (!((left) == (right))) {                           \
            fail(__LINE__, #left " == " #right, "they differ"); \
        }                                                     \
    } while (0)
