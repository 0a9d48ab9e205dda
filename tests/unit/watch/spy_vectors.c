/* SPDX-License-Identifier: Apache-2.0 */
/* Destroys every vector register that the processor has and dirties the x87 stack. Plain C. */
#include <immintrin.h>
#include <stddef.h>

#include "spy_hooks.h"

__attribute__((target("avx"))) static void destroy_avx(void)
{
    _mm256_zeroall();
}

__attribute__((target("avx512f"))) static void destroy_avx512(void)
{
    __asm__ volatile("vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0\n\t"
                     "vmovdqa64 %%zmm0, %%zmm1\n\t"
                     "vmovdqa64 %%zmm0, %%zmm17" ::: "xmm0", "xmm1", "xmm17");
}

void spy_destroy_vectors(void *unused)
{
    __asm__ volatile("xorps %%xmm0, %%xmm0\n\t"
                     "xorps %%xmm1, %%xmm1\n\t"
                     "xorps %%xmm7, %%xmm7\n\t"
                     "fninit" ::: "xmm0", "xmm1", "xmm7", "memory");
    if (__builtin_cpu_supports("avx512f")) {
        destroy_avx512();
    } else if (__builtin_cpu_supports("avx")) {
        destroy_avx();
    }
}
