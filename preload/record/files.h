/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on files for which libc has new names only (fcntl64, renameat2: glibc 2.28; stat64 and kin: 2.33): made by
 * number, so that an older libc does not stop the program. The structure is the kernel's own on 64 bits. Results and
 * errno are libc's.
 */
#ifndef ST_RECORD_FILES_H
#define ST_RECORD_FILES_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int st_fstat(int fd, struct stat *ret)
{
    return (int)syscall(SYS_fstat, fd, ret);
}
/* `flags`: 0 or AT_SYMLINK_NOFOLLOW. */
static inline int st_stat(const char *path, struct stat *ret, int flags)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, flags);
}
static inline int st_fcntl(int fd, int command, int argument)
{
    return (int)syscall(SYS_fcntl, fd, command, argument);
}
/* EEXIST if there is a file named `to`. */
static inline int st_rename_to_free(const char *from, const char *to)
{
    enum { NO_REPLACE = 1 };
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE);
}

#endif
