/* SPDX-License-Identifier: Apache-2.0 */
/* The few system calls of the recorder, libc-free; see the architecture file for why. -errno on failure. */
#ifndef ST_RECORD_SYSCALL_H
#define ST_RECORD_SYSCALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#if defined(__x86_64__)
#include "syscall_x86_64.h"
#elif defined(__aarch64__)
#include "syscall_aarch64.h"
#else
#error "stagetap's recorder is written for x86_64 and aarch64"
#endif

static inline long st_sys_open(const char *path, int flags, int mode)
{
    return st_syscall6(SYS_openat, -100 /* AT_FDCWD */, (long)path, flags, mode, 0, 0);
}
static inline long st_sys_close(int fd)
{
    return st_syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
}
static inline long st_sys_unlink(const char *path)
{
    return st_syscall6(SYS_unlinkat, -100, (long)path, 0, 0, 0, 0);
}
/* Reserves the bytes, so that touching the pages later can not fail. */
static inline long st_sys_fallocate(int fd, uint64_t length)
{
    return st_syscall6(SYS_fallocate, fd, 0, 0, (long)length, 0, 0);
}
static inline void *st_sys_mmap(size_t length, int flags, int fd)
{
    return (void *)st_syscall6(SYS_mmap, 0, (long)length, 3 /* read, write */, flags, fd, 0);
}
static inline int st_sys_mmap_failed(const void *address)
{
    return (uintptr_t)address >= (uintptr_t)-4095;
}
static inline long st_sys_munmap(void *address, size_t length)
{
    return st_syscall6(SYS_munmap, (long)address, (long)length, 0, 0, 0, 0);
}
static inline uint32_t st_sys_gettid(void)
{
    return (uint32_t)st_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}
/* Is there a thread `tid` in this process? */
static inline int st_sys_has_thread(uint32_t tid)
{
    enum { ESRCH_RESULT = -3 };
    long pid = st_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0);
    return st_syscall6(SYS_tgkill, pid, (long)tid, 0, 0, 0, 0) != ESRCH_RESULT;
}
/* RLIMIT_FSIZE as it is now: a larger file would mean a signal to the target. */
static inline uint64_t st_sys_largest_file_bytes(void)
{
    uint64_t limits[2] = {UINT64_MAX, UINT64_MAX};
    st_syscall6(SYS_prlimit64, 0, 1 /* RLIMIT_FSIZE */, 0, (long)limits, 0, 0);
    return limits[0];
}
/* CPU time of the calling thread, ns. */
static inline uint64_t st_sys_thread_cpu_ns(void)
{
    struct timespec now;
    st_syscall6(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
/* Can the 8 bytes there be read? rt_sigprocmask reads its set before it refuses a wrong `how`. */
static inline int st_sys_is_readable(uintptr_t address)
{
    enum { NO_SUCH_HOW = 99, EFAULT_RESULT = -14 };
    return st_syscall6(SYS_rt_sigprocmask, NO_SUCH_HOW, (long)address, 0, 8, 0, 0) != EFAULT_RESULT;
}
static inline void st_sys_sleep_ns(long ns)
{
    struct timespec wait = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    st_syscall6(SYS_nanosleep, (long)&wait, 0, 0, 0, 0, 0);
}

#endif
