/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth file. Lines gather in a buffer, which is written when a thread waits for the device anyway, and by
 * a thread of its own at the latest 20 ms after a line came: that is what a killed process may lose. The thread
 * sleeps while there is nothing to write. (A shared mapping of the file would lose nothing, but costs 10 us for
 * each 4 KiB on ext4, five times as much.) A line: about 100 ns.
 */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

enum { BUFFER_BYTES = 1 << 20, LINE_BYTES = 1024, NAME_BYTES = 512, FLUSH_NS = 20000000 };
enum truth_state { UNOPENED, OPEN, CLOSING, OFF };

static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock`: keeps writes in order */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* the buffer */
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static _Atomic enum truth_state state = UNOPENED;
static int file = -1;
static char *buffer, *writing; /* lines come into one while the other is written */
static size_t used;

/* Takes the path itself when no other process has written there yet, else PATH.PID. */
static int open_file(const char *path)
{
    char own[PATH_MAX];
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && status.st_size == 0) {
        return fd;
    }
    if (fd < 0) {
        return -1;
    }
    close(fd);
    if (snprintf(own, sizeof(own), "%s.%d", path, (int)getpid()) >= (int)sizeof(own)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(own, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static void give_up(const char *what)
{
    fprintf(stderr, "simgpu: SIMGPU_TRUTH: %s: %s; no truth is written from here on\n", what, strerror(errno));
    atomic_store(&state, OFF);
}

/* Writes out all lines so far. */
static void flush(void)
{
    size_t length, done = 0;
    char *lines;

    pthread_mutex_lock(&write_lock);
    pthread_mutex_lock(&lock);
    lines = buffer;
    length = used;
    buffer = writing;
    writing = lines;
    used = 0;
    pthread_mutex_unlock(&lock);
    while (done < length) {
        ssize_t part = write(file, lines + done, length - done);

        if (part < 0 && errno != EINTR) {
            give_up("writing");
            break;
        }
        done += part > 0 ? (size_t)part : 0;
    }
    pthread_mutex_unlock(&write_lock);
}

static void *flush_thread(void *unused)
{
    pthread_setname_np(pthread_self(), "simgpu-truth");
    for (;;) {
        struct timespec pause = sim_timespec(FLUSH_NS);

        pthread_mutex_lock(&lock);
        while (used == 0) {
            pthread_cond_wait(&filled, &lock);
        }
        pthread_mutex_unlock(&lock);
        nanosleep(&pause, NULL);
        flush();
    }
    return unused;
}

/* The program's signals must not be delivered to this thread. */
static bool start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, flush_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        pthread_detach(thread);
    }
    errno = error;
    return error == 0;
}

static void open_locked(void)
{
    const char *path = getenv("SIMGPU_TRUTH");

    if (path == NULL || *path == '\0') {
        atomic_store(&state, OFF);
        return;
    }
    file = open_file(path);
    buffer = buffer != NULL ? buffer : malloc(BUFFER_BYTES);
    writing = writing != NULL ? writing : malloc(BUFFER_BYTES);
    if (file < 0 || buffer == NULL || writing == NULL || !start_thread()) {
        give_up(path);
        return;
    }
    atomic_store(&state, OPEN);
}

bool sim_truth_on(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == UNOPENED) {
        pthread_mutex_lock(&lock);
        if (atomic_load(&state) == UNOPENED) {
            open_locked();
        }
        pthread_mutex_unlock(&lock);
    }
    return atomic_load_explicit(&state, memory_order_acquire) != OFF;
}

static void write_line(const char *line, size_t length)
{
    bool first, closing;

    pthread_mutex_lock(&lock);
    while (BUFFER_BYTES - used < length) {
        pthread_mutex_unlock(&lock);
        flush();
        pthread_mutex_lock(&lock);
    }
    first = used == 0;
    memcpy(buffer + used, line, length);
    used += length;
    closing = atomic_load_explicit(&state, memory_order_relaxed) == CLOSING;
    pthread_mutex_unlock(&lock);
    if (closing) {
        flush();
    } else if (first) {
        pthread_cond_signal(&filled);
    }
}

void sim_truth_flush(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == OPEN) {
        flush();
    }
}

/* ---- a line is put together without stdio: about 100 ns ------------------------------------------------ */

struct line {
    size_t length;
    char text[LINE_BYTES];
};

static void add(struct line *line, const char *text)
{
    size_t length = strlen(text);

    memcpy(line->text + line->length, text, length);
    line->length += length;
}

static void add_number(struct line *line, uint64_t value)
{
    char digits[20];
    unsigned count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (count > 0) {
        line->text[line->length++] = digits[--count];
    }
}

static void add_field(struct line *line, const char *key, uint64_t value)
{
    add(line, key);
    add_number(line, value);
}

/* Text that came from outside: quotes, backslashes and control characters are escaped; cut at NAME_BYTES. */
static void add_text(struct line *line, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    size_t limit = line->length + NAME_BYTES;

    line->text[line->length++] = '"';
    for (; *text != '\0' && line->length < limit; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\') {
            line->text[line->length++] = '\\';
            line->text[line->length++] = (char)c;
        } else if (c < 0x20) {
            add(line, "\\u00");
            line->text[line->length++] = hex[c >> 4];
            line->text[line->length++] = hex[c & 15];
        } else {
            line->text[line->length++] = (char)c;
        }
    }
    line->text[line->length++] = '"';
}

void sim_truth_call(const char *name, uint32_t thread, uint64_t start_ns, uint64_t end_ns, int result)
{
    struct line line = {.length = 0};

    if (!sim_truth_on()) {
        return;
    }
    add(&line, "{\"op\":\"call\",\"name\":\"");
    add(&line, name);
    add_field(&line, "\",\"thread\":", thread);
    add_field(&line, ",\"start_ns\":", start_ns);
    add_field(&line, ",\"end_ns\":", end_ns);
    add_field(&line, ",\"result\":", (uint64_t)result);
    add(&line, "}\n");
    write_line(line.text, line.length);
}

static const char *op_name(enum simgpu_op_kind kind)
{
    switch (kind) {
    case SIMGPU_KERNEL:
        return "kernel";
    case SIMGPU_MEMCPY:
        return "memcpy";
    case SIMGPU_MEMSET:
        return "memset";
    default:
        return "host_func";
    }
}

static const char *copy_name(uint32_t copy_kind)
{
    switch (copy_kind) {
    case 1:
        return "\"h2d\"";
    case 2:
        return "\"d2h\"";
    case 8:
        return "\"d2d\"";
    case 10:
        return "\"p2p\"";
    default:
        return "null";
    }
}

/* The host's side of a transfer says more than the device's, so it wins; managed memory on either side too. */
static const char *memory_name(const struct simgpu_op *op)
{
    uint32_t source = op->source_memory, target = op->target_memory;

    if (op->kind != SIMGPU_MEMCPY && op->kind != SIMGPU_MEMSET) {
        return "null";
    }
    if (source == SIM_MEMORY_MANAGED || target == SIM_MEMORY_MANAGED) {
        return "\"managed\"";
    }
    if (source == SIM_MEMORY_PAGEABLE || target == SIM_MEMORY_PAGEABLE) {
        return "\"pageable\"";
    }
    return source == SIM_MEMORY_PINNED || target == SIM_MEMORY_PINNED ? "\"pinned\"" : "\"device\"";
}

void sim_truth_op(const struct simgpu_op *op)
{
    struct line line = {.length = 0};

    if (!sim_truth_on()) {
        return;
    }
    add(&line, "{\"op\":\"");
    add(&line, op_name(op->kind));
    add(&line, "\",\"name\":");
    add_text(&line, op->name);
    add_field(&line, ",\"device\":", op->device);
    add_field(&line, ",\"stream\":", op->stream);
    add_field(&line, ",\"context\":", op->context);
    add_field(&line, ",\"thread\":", op->thread);
    add_field(&line, ",\"correlation\":", op->correlation);
    add_field(&line, ",\"launched_ns\":", op->launched_ns);
    add_field(&line, ",\"start_ns\":", op->start_ns);
    add_field(&line, ",\"end_ns\":", op->end_ns);
    add_field(&line, ",\"bytes\":", op->bytes);
    add(&line, ",\"kind\":");
    add(&line, copy_name(op->copy_kind));
    add(&line, ",\"memory\":");
    add(&line, memory_name(op));
    if (op->peer_device != UINT32_MAX) {
        add_field(&line, ",\"peer_device\":", op->peer_device);
    }
    if (op->graph != 0) {
        add_field(&line, ",\"graph\":", op->graph);
        add_field(&line, ",\"graph_node\":", op->graph_node);
        add(&line, "}\n");
    } else {
        add(&line, ",\"graph\":null}\n");
    }
    write_line(line.text, line.length);
}

void sim_truth_idle(uint32_t device, uint64_t start_ns, uint64_t end_ns, const char *why)
{
    struct line line = {.length = 0};

    add_field(&line, "{\"op\":\"idle\",\"device\":", device);
    add_field(&line, ",\"start_ns\":", start_ns);
    add_field(&line, ",\"end_ns\":", end_ns);
    add(&line, ",\"why\":\"");
    add(&line, why);
    add(&line, "\"}\n");
    write_line(line.text, line.length);
}

void sim_truth_finish(void)
{
    if (sim_truth_on()) {
        atomic_store(&state, CLOSING);
        flush();
    }
}

void sim_truth_fork(enum sim_fork side)
{
    if (side == SIM_FORK_BEFORE) {
        pthread_mutex_lock(&write_lock);
        pthread_mutex_lock(&lock);
        return;
    }
    if (side == SIM_FORK_CHILD && file >= 0) {
        /* The parent's lock on the file belongs to the open file description: closing our copy leaves it. */
        close(file);
        file = -1;
        used = 0; /* the parent writes those lines */
        atomic_store(&state, UNOPENED);
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&write_lock);
}
