/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How late a line may be: it was printed after this process last saw that there was nothing to read. Mostly it was printed
 * some microseconds ago, but how long it takes to wake a process nobody knows. (A terminal may keep text for itself a
 * little, while there seems to be nothing.)
 */
#include "analyzer/cmd/tee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "config/tee.h"

enum { CHANNELS = 2, COPY_BYTES = 65536, GRACE_MS = 200, WINDOW_MS = 250 };

struct channel {
    int near, far;  /* -1: none, or not any more */
    int sink;       /* where it goes: 1 or 2 */
    bool is_terminal;
    uint64_t empty_ns; /* when there was nothing more to read */
    int owed;          /* bytes that the target had printed when it ended */
    struct winsize window;
    struct st_line line;
};

static struct {
    const struct st_map *map;
    struct st_tee *ring;
    struct channel channels[CHANNELS];
    int stop[2]; /* a pipe: closed when the target has ended */
    pthread_t thread;
    bool has_err; /* stderr was open */
} copier;

/* ---- lines ---- */

static uint64_t raw_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct when {
    uint64_t at_ns, late_ns;
};

static void hand_over(const char *text, const struct when *when)
{
    uint64_t n = atomic_load_explicit(&copier.ring->count, memory_order_relaxed);
    struct st_tee_line *to = &copier.ring->lines[n % ST_TEE_LINES];

    atomic_store_explicit(&to->ready, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    to->raw_ns = when->at_ns;
    to->late_ns = when->late_ns;
    strcpy(to->text, text);
    atomic_store_explicit(&to->ready, n + 1, memory_order_release);
    atomic_store_explicit(&copier.ring->count, n + 1, memory_order_release);
}

/* As the library does: the first rule counts; one with $1 wants the whole line. */
static void match_line(void *context, struct st_line *line, bool is_whole, const char *text)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];

    for (uint32_t i = 0; i < copier.map->count; i++) {
        const struct st_map_rule *rule = &copier.map->rules[i];

        if (rule->source != ST_MAP_LOG || !st_map_glob(rule->pattern, text, captures)) continue;
        if ((is_whole || strchr(rule->name, '$') == NULL) && st_line_is_news(line, (uint16_t)i))
            hand_over(text, context);
        return;
    }
}

/* ---- copying ---- */

/* Write all of it; false: nobody takes it any more. */
static bool pass_on(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, text, length);

        if (done >= 0) {
            text += done;
            length -= (size_t)done;
        } else if (errno == EAGAIN) {
            poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void close_channel(struct channel *channel)
{
    close(channel->near);
    channel->near = -1;
}

static void copy(struct channel *channel)
{
    static char text[COPY_BYTES];
    uint64_t before_ns = raw_ns();
    ssize_t length = read(channel->near, text, sizeof(text));

    if (length < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (length <= 0) { /* a terminal whose other side is closed says EIO */
        close_channel(channel);
        return;
    }
    channel->owed -= (int)length;
    uint64_t now_ns = raw_ns();
    struct when when = {now_ns, now_ns - channel->empty_ns};
    if (length < (ssize_t)sizeof(text)) channel->empty_ns = before_ns;
    if (st_line_is_binary(text, (size_t)length)) {
        st_line_tear(&channel->line);
    } else {
        st_line_add(&channel->line, text, (size_t)length, match_line, &when);
        st_line_offer(&channel->line, match_line, &when);
    }
    if (!pass_on(channel->sink, text, (size_t)length)) close_channel(channel); /* the target gets its SIGPIPE, too */
}

static void follow_window(struct channel *channel)
{
    struct winsize now;

    if (ioctl(channel->sink, TIOCGWINSZ, &now) != 0 || memcmp(&now, &channel->window, sizeof(now)) == 0) return;
    channel->window = now;
    ioctl(channel->near, TIOCSWINSZ, &now);
}

/* The target has ended. What it printed is copied; what others print now, for a little while. */
static void note_owed(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *channel = &copier.channels[i];
        if (channel->near < 0 || ioctl(channel->near, FIONREAD, &channel->owed) != 0) channel->owed = 0;
    }
}

static bool is_open(int *ret_timeout_ms, bool *ret_owes)
{
    bool any = false;

    *ret_owes = false;
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *channel = &copier.channels[i];

        if (channel->near < 0) continue;
        any = true;
        if (channel->owed > 0) *ret_owes = true;
        if (!channel->is_terminal) continue;
        follow_window(channel);
        if (*ret_timeout_ms < 0) *ret_timeout_ms = WINDOW_MS;
    }
    return any;
}

static void *copy_all(void *unused)
{
    uint64_t end_ns = 0;
    int timeout_ms = -1;
    bool owes;

    while (is_open(&timeout_ms, &owes)) {
        if (end_ns != 0 && !owes && raw_ns() - end_ns > GRACE_MS * 1000000ull) break;
        struct pollfd fds[CHANNELS + 1] = {{copier.channels[0].near, POLLIN, 0},
                                           {copier.channels[1].near, POLLIN, 0},
                                           {end_ns != 0 ? -1 : copier.stop[0], 0, 0}};
        uint64_t before_ns = raw_ns();
        int ready = poll(fds, CHANNELS + 1, end_ns != 0 ? GRACE_MS : timeout_ms);
        if (ready == 0 && end_ns != 0) break;
        if (ready < 0) continue;
        if (fds[CHANNELS].revents != 0) {
            end_ns = raw_ns();
            note_owed();
        }
        for (int i = 0; i < CHANNELS; i++) {
            if (copier.channels[i].near >= 0 && fds[i].revents != 0) {
                copy(&copier.channels[i]);
            } else {
                copier.channels[i].empty_ns = before_ns;
            }
        }
    }
    return NULL;
}

/* ---- channels ---- */

static bool is_same_file(int a, int b)
{
    struct stat one, other;
    long same = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);

    if (same >= 0) return same == 0;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* A terminal like the one at `channel->sink`, which does what it does to the bytes. */
static bool open_terminal(struct channel *channel)
{
    char name[64];
    struct termios mode;

    channel->near = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (channel->near < 0 || grantpt(channel->near) != 0 || unlockpt(channel->near) != 0 ||
        ptsname_r(channel->near, name, sizeof(name)) != 0)
        return false;
    channel->far = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (channel->far < 0) return false;
    if (tcgetattr(channel->sink, &mode) == 0) {
        mode.c_oflag &= ~(tcflag_t)OPOST;
        tcsetattr(channel->far, TCSANOW, &mode);
    }
    follow_window(channel);
    return true;
}

static bool open_channel(struct channel *channel, int sink)
{
    int ends[2];

    channel->sink = sink;
    channel->is_terminal = isatty(sink) != 0;
    if (channel->is_terminal) return open_terminal(channel);
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    channel->near = ends[0];
    channel->far = ends[1];
    return true;
}

static bool make_ring(void)
{
    char path[64];
    int fd = memfd_create("stagetap-tee", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, sizeof(*copier.ring)) != 0) return false;
    copier.ring = mmap(NULL, sizeof(*copier.ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (copier.ring == MAP_FAILED) return false;
    copier.ring->magic = ST_TEE_MAGIC;
    copier.ring->bytes = sizeof(*copier.ring);
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), fd);
    return setenv(ST_TEE_VARIABLE, path, 1) == 0;
}

static bool start_thread(void)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* SIGPIPE, too */
    int error = pthread_create(&copier.thread, NULL, copy_all, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return error == 0;
}

/* Nothing of ours may become the descriptor of a stdout or stderr that is closed. */
static bool fill_standard(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

bool st_tee_open(const struct st_map *map, char *why, size_t why_bytes)
{
    bool has_out = fcntl(STDOUT_FILENO, F_GETFD) >= 0;

    copier.map = map;
    copier.has_err = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    bool is_one = has_out && copier.has_err && is_same_file(STDOUT_FILENO, STDERR_FILENO);
    for (int i = 0; i < CHANNELS; i++)
        copier.channels[i] = (struct channel){.near = -1, .far = -1, .empty_ns = raw_ns()};
    if (fill_standard() && make_ring() && pipe2(copier.stop, O_CLOEXEC) == 0 &&
        (!has_out || open_channel(&copier.channels[0], STDOUT_FILENO)) &&
        (!copier.has_err || is_one || open_channel(&copier.channels[1], STDERR_FILENO)) && start_thread())
        return true;
    snprintf(why, why_bytes, "cannot copy the output: %s", strerror(errno));
    return false;
}

void st_tee_enter_child(void)
{
    int out = copier.channels[0].far, err = copier.channels[1].far;

    if (out >= 0) dup2(out, STDOUT_FILENO);
    if (copier.has_err) dup2(err >= 0 ? err : out, STDERR_FILENO);
}

void st_tee_let_go(void)
{
    for (int i = 0; i < CHANNELS; i++)
        if (copier.channels[i].far >= 0) close(copier.channels[i].far);
}

void st_tee_finish(void)
{
    close(copier.stop[1]);
    pthread_join(copier.thread, NULL);
}
