/* SPDX-License-Identifier: Apache-2.0 */
/* Naming and filling the trace file; see sink.h. */
#include "sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "preload/record/clock.h"
#include "preload/record/files.h"
#include "preload/trace/chunk.h"

static const char DEFAULT_NAME[] = "stagetap-%e-%p.stap";
static const uint64_t DEFAULT_LIMIT = UINT64_C(2) << 30;
enum { MAX_NUMBERED = 10000 };

/* ---- names ------------------------------------------------------------------------------------ */

struct name {
    char text[ST_SINK_PATH_BYTES];
    size_t length;
    bool is_pattern; /* a %x was replaced */
};

static void put(struct name *name, const char *text)
{
    while (*text && name->length < sizeof(name->text) - 1) {
        name->text[name->length++] = *text++;
    }
    name->text[name->length] = '\0';
}

/* A name from outside must not lead into another folder. */
static void put_safe(struct name *name, const char *text)
{
    size_t from = name->length;
    put(name, text);
    for (; from < name->length; from++) {
        if (name->text[from] == '/') {
            name->text[from] = '_';
        }
    }
}

static void put_expanded(struct name *name, char letter, const char *program)
{
    char text[80];
    time_t now = (time_t)(st_clock_ns(CLOCK_REALTIME) / 1000000000);
    struct tm utc;
    switch (letter) {
    case 'e':
        put_safe(name, program);
        break;
    case 'p':
        snprintf(text, sizeof(text), "%d", (int)getpid());
        put(name, text);
        break;
    case 'h':
        if (gethostname(text, sizeof(text)) != 0) {
            strcpy(text, "localhost");
        }
        text[sizeof(text) - 1] = '\0';
        put_safe(name, text);
        break;
    case 't':
        strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
        put(name, text);
        break;
    case '%':
        put(name, "%");
        return;
    default:
        put(name, (char[]){'%', letter, '\0'});
        return;
    }
    name->is_pattern = true;
}

static void expand(struct name *name, const char *pattern, const char *program)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1]) {
            put_expanded(name, *++pattern, program);
        } else {
            put(name, (char[]){*pattern, '\0'});
        }
    }
}

static void make_name(struct name *name, const struct st_sink_request *request)
{
    const char *pattern = request->pattern ? request->pattern : DEFAULT_NAME;
    *name = (struct name){.length = 0};
    if (pattern[0] != '/') {
        put(name, request->folder);
        put(name, "/");
        while (pattern[0] == '.' && pattern[1] == '/') {
            pattern += 2;
        }
    }
    expand(name, pattern, request->program);
    struct stat status;
    if (name->length && name->text[name->length - 1] != '/' && st_stat(name->text, &status, 0) == 0 &&
        S_ISDIR(status.st_mode)) {
        put(name, "/"); /* a folder that is there is a folder, slash or not */
    }
    if (name->length && name->text[name->length - 1] == '/') {
        expand(name, DEFAULT_NAME, request->program);
    }
}

/* ---- files that are there already --------------------------------------------------------------- */

/* The header of a trace file; a damaged one belongs to a trace as well. False: no file, or not a trace. */
static bool read_header(int fd, struct st_trace_header *ret_header)
{
    uint8_t bytes[256];
    size_t after;
    ssize_t got = pread(fd, bytes, sizeof(bytes), 0);
    enum st_header_status status = got > 0 ? st_header_decode(bytes, (size_t)got, ret_header, &after) : ST_HEADER_CUT;
    return status == ST_HEADER_OK || status == ST_HEADER_DAMAGED;
}

static bool is_trace_or_absent(const char *path)
{
    struct st_trace_header header;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is_good = fd < 0 ? errno == ENOENT : read_header(fd, &header);
    if (fd >= 0) {
        close(fd);
    }
    return is_good;
}

/* Written by an earlier image of this very process (exec)? */
static bool is_our_earlier_image(const struct st_trace_header *header, const struct st_sink_request *request)
{
    return header->pid == (uint32_t)getpid() && header->start_realtime_ns >= request->process_start_ns;
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* Away from the numbers that the program's own files get, 0, 1 and 2 above all: one that closed its standard output
 * must not write into the trace. Returns the descriptor to use, or -1 (errno kept) if there is none. */
static int raise_descriptor(int fd)
{
    enum { OUT_OF_THE_WAY = 64 };
    if (fd < 0 || fd >= OUT_OF_THE_WAY) {
        return fd;
    }
    int high = st_fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (high < 0 && fd > 2) {
        return fd;
    }
    high = high < 0 ? st_fcntl(fd, F_DUPFD_CLOEXEC, 3) : high;
    int saved_errno = errno;
    close(fd);
    errno = saved_errno;
    return high;
}

/* The name gets a file that is locked already: who finds it there must not take it for one that nobody writes. */
static int open_locked(const char *path)
{
    char unnamed[ST_SINK_PATH_BYTES + 32];
    snprintf(unnamed, sizeof(unnamed), "%s.%d.new", path, (int)getpid());
    int fd = raise_descriptor(open(unnamed, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0) {
        return -1;
    }
    flock(fd, LOCK_EX | LOCK_NB); /* a fixed name belongs to the process that holds it */
    if (st_rename_to_free(unnamed, path) == 0) {
        return fd;
    }
    int saved_errno = errno;
    unlink(unnamed);
    close(fd);
    errno = saved_errno;
    return -1;
}

static bool create(struct st_sink *sink, const char *path)
{
    sink->fd = open_locked(path);
    if (sink->fd < 0) {
        sink->last_errno = errno;
        return false;
    }
    struct stat status;
    if (st_fstat(sink->fd, &status) == 0) {
        sink->device = status.st_dev;
        sink->inode = status.st_ino;
    }
    snprintf(sink->path, sizeof(sink->path), "%s", path);
    return true;
}

static bool create_numbered(struct st_sink *sink, const char *path, int from)
{
    char numbered[ST_SINK_PATH_BYTES + 32];
    for (int n = from; n < MAX_NUMBERED; n++) {
        snprintf(numbered, sizeof(numbered), "%s.%d", path, n);
        if (create(sink, numbered)) {
            return true;
        }
        if (sink->last_errno != EEXIST) {
            return false;
        }
    }
    return false;
}

/* NAME.old is the run before; what was it until now becomes NAME.old.1, .2 … False: it could not be moved. */
static bool keep_older(const char *old)
{
    char numbered[ST_SINK_PATH_BYTES + 32];
    if (access(old, F_OK) != 0) {
        return true;
    }
    for (int n = 1; n < MAX_NUMBERED; n++) {
        snprintf(numbered, sizeof(numbered), "%s.%d", old, n);
        if (st_rename_to_free(old, numbered) == 0) {
            return true;
        }
        if (errno != EEXIST) {
            return false;
        }
    }
    return false;
}

/* Written by another process of this run, which may be over? */
static bool is_of_this_run(int existing, const struct st_sink_request *request)
{
    struct st_trace_header header;
    return request->run && existing >= 0 && read_header(existing, &header) &&
           memcmp(header.run, request->run, sizeof(header.run)) == 0;
}

/* A fixed name is taken: by a process that lives or is of this run, or by something that is no file (/dev/null, a
 * folder) → NAME.PID, else the file becomes NAME.old. */
static bool replace_fixed(struct st_sink *sink, const char *path, int existing, const struct st_sink_request *request)
{
    char other[ST_SINK_PATH_BYTES + 16];
    struct stat info;
    bool is_file = st_stat(path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
    bool is_held = (existing >= 0 && flock(existing, LOCK_EX | LOCK_NB) != 0) || is_of_this_run(existing, request);
    snprintf(other, sizeof(other), "%s.old", path);
    if (is_file && !is_held && is_trace_or_absent(other) && keep_older(other) && rename(path, other) == 0) {
        return create(sink, path);
    }
    snprintf(other, sizeof(other), "%s.%d", path, (int)getpid());
    return create(sink, other) || (sink->last_errno == EEXIST && create_numbered(sink, other, 1));
}

static bool create_beside(struct st_sink *sink, const struct name *name, const struct st_sink_request *request)
{
    if (create(sink, name->text)) {
        return true;
    }
    if (sink->last_errno != EEXIST) {
        return false;
    }
    struct st_trace_header header;
    int existing = open(name->text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); /* it may be a pipe */
    bool done;
    if (existing >= 0 && read_header(existing, &header) && is_our_earlier_image(&header, request)) {
        done = create_numbered(sink, name->text, 2);
    } else if (name->is_pattern) {
        done = create_numbered(sink, name->text, 1);
    } else {
        done = replace_fixed(sink, name->text, existing, request);
    }
    if (existing >= 0) {
        close(existing);
    }
    return done;
}

/* The same base name in TMPDIR or /tmp. */
static bool create_elsewhere(struct st_sink *sink, const struct name *wanted, const struct st_sink_request *request)
{
    const char *slash = strrchr(wanted->text, '/'), *base = slash ? slash + 1 : wanted->text;
    const char *folders[] = {request->temporary, "/tmp"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        struct name name = {.is_pattern = wanted->is_pattern};
        if (!folders[i] || folders[i][0] != '/') {
            continue;
        }
        put(&name, folders[i]);
        put(&name, "/");
        put(&name, base);
        if (create_beside(sink, &name, request)) {
            sink->is_elsewhere = true;
            return true;
        }
    }
    return false;
}

static uint64_t default_limit(int fd)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0) {
        return DEFAULT_LIMIT;
    }
    uint64_t tenth = (uint64_t)disk.f_bavail * disk.f_frsize / 10;
    return tenth < DEFAULT_LIMIT ? tenth : DEFAULT_LIMIT;
}

bool st_sink_open(struct st_sink *sink, const struct st_sink_request *request)
{
    struct name name;
    *sink = (struct st_sink){.fd = -1};
    make_name(&name, request);
    if (!create_beside(sink, &name, request)) {
        int first_errno = sink->last_errno;
        bool done = create_elsewhere(sink, &name, request);
        sink->last_errno = first_errno; /* why not where it was wanted */
        if (!done) {
            snprintf(sink->path, sizeof(sink->path), "%s", name.text);
            return false;
        }
    } else {
        sink->last_errno = 0;
    }
    uint64_t limit = request->limit_bytes ? request->limit_bytes : default_limit(sink->fd);
    struct rlimit size;
    bool is_limited = getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < limit;
    sink->limit_bytes = is_limited ? size.rlim_cur : limit;
    return true;
}

static bool is_our_file(const struct st_sink *sink, int fd)
{
    struct stat status;
    return fd >= 0 && st_fstat(fd, &status) == 0 && status.st_dev == sink->device && status.st_ino == sink->inode;
}

/* The descriptor still is our file, or the file is opened again by its name. */
static bool hold_file(struct st_sink *sink)
{
    if (is_our_file(sink, sink->fd)) {
        return true;
    }
    sink->fd = raise_descriptor(open(sink->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (sink->fd >= 0 && !is_our_file(sink, sink->fd)) {
        close(sink->fd);
        sink->fd = -1;
        errno = ESTALE;
    }
    sink->last_errno = sink->fd < 0 ? errno : sink->last_errno;
    return sink->fd >= 0;
}

bool st_sink_append(struct st_sink *sink, const void *bytes, size_t length)
{
    size_t done = 0;
    if (!hold_file(sink)) {
        return false;
    }
    while (done < length) {
        ssize_t written = pwrite(sink->fd, (const uint8_t *)bytes + done, length - done, (off_t)(sink->offset + done));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            sink->last_errno = written < 0 ? errno : ENOSPC;
            if (ftruncate(sink->fd, (off_t)sink->offset) != 0) {
                /* a reader stops at the cut frame */
            }
            return false;
        }
        done += (size_t)written;
    }
    sink->offset += length;
    return true;
}

void st_sink_close(struct st_sink *sink)
{
    if (is_our_file(sink, sink->fd)) {
        close(sink->fd);
    }
    sink->fd = -1;
}
