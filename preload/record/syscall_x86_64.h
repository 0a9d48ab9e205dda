/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc: the recorder runs where argument vector registers are live and where
 * errno, PLT slots and signal-unsafe code must not be touched. Returns the value or -errno. Linux x86_64.
 */
#ifndef ST_RECORD_SYSCALL_X86_64_H
#define ST_RECORD_SYSCALL_X86_64_H

static inline long st_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
