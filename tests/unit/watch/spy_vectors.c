/* SPDX-License-Identifier: Apache-2.0 */
/* Destroys every vector register that the processor has and dirties the x87 stack. Plain C. */
#include "spy_hooks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>

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
#elif defined(__aarch64__)
void spy_destroy_vectors(void *unused)
{
    __asm__ volatile(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 30, 31\n\t"
                     "movi v\\n\\().2d, #0\n\t"
                     ".endr\n\t"
                     "msr fpsr, %0" ::"r"(0x1full)
                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v30", "v31", "memory");
}
#endif
