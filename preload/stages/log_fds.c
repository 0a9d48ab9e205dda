/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing by file descriptor: write and its kin, and which descriptors lead to stdout and stderr. Descriptors 1 and 2
 * always do, whatever the program put there; copies of them (dup, fcntl) do as long as they are what they were when
 * they were made. What is printed is looked at when the real function has returned: only what was taken counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log_private.h"
#include "preload/record/clock.h"
#include "preload/record/files.h"

enum { MAX_FDS = 64, STANDARD_FDS = 3 };

_Atomic uint64_t st_fds_watched;
static int owner; /* the process whose descriptors these are: the child of vfork() has our memory, too */
static struct copy {
    _Atomic uint8_t channel;
    _Atomic uint64_t device, node;
} copies[MAX_FDS];

static struct {
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*pwrite)(int, const void *, size_t, off_t);
    ssize_t (*pwritev)(int, const struct iovec *, int, off_t);
    ssize_t (*pwritev2)(int, const struct iovec *, int, off_t, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*sendto)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    ssize_t (*sendmsg)(int, const struct msghdr *, int);
    int (*dup)(int);
    int (*dup2)(int, int);
    int (*dup3)(int, int, int);
    int (*fcntl)(int, int, ...);
    int (*close)(int);
} real;

/* ---- which descriptors ---- */

void st_fds_start(void)
{
    owner = getpid();
    if (atomic_load(&st_fds_watched) == 0) {
        atomic_store(&copies[STDERR_FILENO].channel, ST_LINES_ERR);
        atomic_store(&st_fds_watched, 1u << STDOUT_FILENO | 1u << STDERR_FILENO);
    }
}

static void forget(int fd)
{
    atomic_fetch_and_explicit(&st_fds_watched, ~(1ull << fd), memory_order_relaxed);
}

int st_fd_channel(int fd)
{
    struct stat now;
    struct copy *copy = &copies[fd];

    if (fd >= STANDARD_FDS) { /* libc's own close() is not seen: another file may be there by now */
        int saved_errno = errno;
        bool is_same = st_fstat(fd, &now) == 0 && now.st_dev == atomic_load(&copy->device) &&
                       now.st_ino == atomic_load(&copy->node);
        errno = saved_errno;
        if (!is_same) {
            forget(fd);
            return -1;
        }
    }
    return atomic_load_explicit(&copy->channel, memory_order_relaxed);
}

/* `fd` is now what `from` is. */
static void note_copy(int from, int fd)
{
    struct stat now;
    int saved_errno = errno;

    if (fd >= STANDARD_FDS && fd < MAX_FDS && (st_fd_is_watched(from) || st_fd_is_watched(fd)) && getpid() == owner) {
        int channel = st_fd_is_watched(from) ? st_fd_channel(from) : -1;
        if (channel >= 0 && st_fstat(fd, &now) == 0) {
            atomic_store(&copies[fd].channel, (uint8_t)channel);
            atomic_store(&copies[fd].device, now.st_dev);
            atomic_store(&copies[fd].node, now.st_ino);
            atomic_fetch_or_explicit(&st_fds_watched, 1ull << fd, memory_order_release);
        } else {
            forget(fd);
        }
    }
    errno = saved_errno;
}

/* ---- what was printed ---- */

static void note_printed(int fd, const void *text, ssize_t length, uint64_t begin_ticks)
{
    int channel = length > 0 ? st_fd_channel(fd) : -1;
    if (channel >= 0) st_lines_add(channel, text, (size_t)length, begin_ticks);
}

static void note_parts(int fd, const struct iovec *parts, size_t count, ssize_t length, uint64_t begin_ticks)
{
    int channel = length > 0 ? st_fd_channel(fd) : -1;

    for (size_t i = 0; channel >= 0 && i < count && length > 0; i++) {
        size_t taken = parts[i].iov_len < (size_t)length ? parts[i].iov_len : (size_t)length;
        if (taken > 0) st_lines_add(channel, parts[i].iov_base, taken, begin_ticks);
        length -= (ssize_t)taken;
    }
}

/* Call the real function; if the descriptor is watched, note what it took. */
#define PRINTING(name, note, ...)                                                                                      \
    if (!st_fd_is_watched(fd)) return real.name(__VA_ARGS__);                                                          \
    uint64_t begin_ticks = st_ticks();                                                                                 \
    ssize_t done = real.name(__VA_ARGS__);                                                                             \
    note;                                                                                                              \
    return done;

static ssize_t our_write(int fd, const void *text, size_t length)
{
    PRINTING(write, note_printed(fd, text, done, begin_ticks), fd, text, length)
}
static ssize_t our_pwrite(int fd, const void *text, size_t length, off_t at)
{
    PRINTING(pwrite, note_printed(fd, text, done, begin_ticks), fd, text, length, at)
}
static ssize_t our_writev(int fd, const struct iovec *parts, int count)
{
    PRINTING(writev, note_parts(fd, parts, (size_t)count, done, begin_ticks), fd, parts, count)
}
static ssize_t our_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    PRINTING(pwritev, note_parts(fd, parts, (size_t)count, done, begin_ticks), fd, parts, count, at)
}
static ssize_t our_pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
    PRINTING(pwritev2, note_parts(fd, parts, (size_t)count, done, begin_ticks), fd, parts, count, at, flags)
}
static ssize_t our_send(int fd, const void *text, size_t length, int flags)
{
    PRINTING(send, note_printed(fd, text, done, begin_ticks), fd, text, length, flags)
}
static ssize_t our_sendto(int fd, const void *text, size_t length, int flags, const struct sockaddr *to,
                          socklen_t to_bytes)
{
    PRINTING(sendto, note_printed(fd, text, done, begin_ticks), fd, text, length, flags, to, to_bytes)
}
static ssize_t our_sendmsg(int fd, const struct msghdr *message, int flags)
{
    PRINTING(sendmsg, if (done > 0) note_parts(fd, message->msg_iov, message->msg_iovlen, done, begin_ticks), fd,
             message, flags)
}

static int our_dup(int from)
{
    int fd = real.dup(from);
    note_copy(from, fd);
    return fd;
}
static int our_dup2(int from, int to)
{
    int fd = real.dup2(from, to);
    if (from != to) note_copy(from, fd);
    return fd;
}
static int our_dup3(int from, int to, int flags)
{
    int fd = real.dup3(from, to, flags);
    note_copy(from, fd);
    return fd;
}
static int our_fcntl(int fd, int command, ...)
{
    va_list arguments;

    va_start(arguments, command);
    long argument = va_arg(arguments, long); /* libc does the same, also for commands that have none */
    va_end(arguments);
    int result = real.fcntl(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) note_copy(fd, result);
    return result;
}
static int our_close(int fd)
{
    if (fd >= STANDARD_FDS && st_fd_is_watched(fd) && getpid() == owner) forget(fd);
    return real.close(fd);
}

#define REDIRECT(name, function) {#name, (const void *)our_##function, (void **)(void *)&real.function}
const struct st_watch_redirect st_lines_fd_functions[] = {
    REDIRECT(write, write),       REDIRECT(writev, writev),     REDIRECT(pwrite, pwrite),
    REDIRECT(pwrite64, pwrite),   REDIRECT(pwritev, pwritev),   REDIRECT(pwritev64, pwritev),
    REDIRECT(pwritev2, pwritev2), REDIRECT(pwritev64v2, pwritev2), REDIRECT(send, send),
    REDIRECT(sendto, sendto),     REDIRECT(sendmsg, sendmsg),   REDIRECT(dup, dup),
    REDIRECT(dup2, dup2),         REDIRECT(dup3, dup3),         REDIRECT(fcntl, fcntl),
    REDIRECT(fcntl64, fcntl),     REDIRECT(close, close),
};
const uint32_t st_lines_fd_function_count = sizeof(st_lines_fd_functions) / sizeof(st_lines_fd_functions[0]);
