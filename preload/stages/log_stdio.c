/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Printing by FILE. Every flush of every FILE goes through a pointer in libc's tables of functions, which leads to
 * ours: there the text is seen, under the lock of the FILE. What libc keeps in a buffer first is looked at in the
 * buffer, right after the call that put it there, and left out when it is flushed; nothing is formatted twice.
 *
 * Of a FILE only what its installed header shows is used.
 */
#include <stdarg.h>
#include <stdio.h>

#include "log_private.h"
#include "preload/record/clock.h"
#include "preload/record/thread.h"

/* Of FILE::_flags; the header does not name them. */
enum { IS_UNBUFFERED = 0x2, CALLER_LOCKS = 0x8000 };
enum { FIRST = 1, LAST = 2 }; /* descriptors whose buffers are looked at */

/* What of the present buffer was seen already; guarded by the lock of the FILE. */
static struct seen {
    const FILE *file;
    size_t bytes;
} seen[LAST + 1];

static struct {
    ssize_t (*file_write)(FILE *, const void *, ssize_t);
    void (*perror)(const char *);
    int (*vfprintf)(FILE *, const char *, va_list);
    int (*vfprintf_chk)(FILE *, int, const char *, va_list);
    int (*puts)(const char *);
    int (*fputs)(const char *, FILE *), (*fputs_unlocked)(const char *, FILE *);
    size_t (*fwrite)(const void *, size_t, size_t, FILE *), (*fwrite_unlocked)(const void *, size_t, size_t, FILE *);
    int (*putchar)(int), (*putchar_unlocked)(int);
    int (*fputc)(int, FILE *), (*fputc_unlocked)(int, FILE *), (*putc)(int, FILE *), (*putc_unlocked)(int, FILE *);
    int (*overflow)(FILE *, int);
} real;

/* ---- flushes ---- */

/* perror prints on a FILE of its own, made from a copy of descriptor 2. 0: not now. */
static int stands_for(void)
{
    const struct st_lines *lines = st_lines_get();
    return lines != NULL ? lines->as_fd : 0;
}

/* A thread that is cancelled within a write must leave no lock of ours behind: see hold(). */
static ssize_t write_unheld(FILE *file, const void *text, ssize_t length)
{
    struct st_lines *lines = st_lines_get();

    if (lines == NULL || lines->held != file) return real.file_write(file, text, length);
    lines->held = NULL;
    funlockfile(file);
    ssize_t done = real.file_write(file, text, length);
    flockfile(file);
    lines->held = file;
    return done;
}

static ssize_t our_file_write(FILE *file, const void *text, ssize_t length)
{
    int fd = file->_fileno;

    if (!st_fd_is_watched(fd) && (fd = stands_for()) == 0) return real.file_write(file, text, length);
    uint64_t begin_ticks = st_ticks();
    struct seen *of = fd <= LAST && seen[fd].file == file && text == (const void *)file->_IO_write_base ? &seen[fd]
                                                                                                        : NULL;
    ssize_t before = of == NULL ? 0 : of->bytes < (size_t)length ? (ssize_t)of->bytes : length;
    ssize_t done = write_unheld(file, text, length);
    int channel = done > before ? st_fd_channel(fd) : -1;
    if (channel >= 0) st_lines_add(channel, (const char *)text + before, (size_t)(done - before), begin_ticks);
    if (of != NULL) of->bytes = 0; /* also after a failure: libc gives the text up */
    return done;
}

/* ---- looks ---- */

/* Of a FILE that is locked. */
static void look_into(FILE *file, uint64_t begin_ticks)
{
    struct seen *of = &seen[file->_fileno];
    ptrdiff_t waiting = file->_IO_write_ptr - file->_IO_write_base;
    size_t bytes = waiting > 0 ? (size_t)waiting : 0;
    if (of->file != file || of->bytes > bytes) *of = (struct seen){file, 0};
    size_t before = of->bytes;
    of->bytes = bytes;
    if (bytes > before) {
        int channel = file->_fileno == FIRST ? ST_LINES_OUT : ST_LINES_ERR;
        st_lines_add(channel, file->_IO_write_base + before, bytes - before, begin_ticks);
    }
}

/* Of others nothing is read: of NULL, and of FILEs without a descriptor (the number of open_memstream's is what its
 * memory held before). What goes through a further FILE of 1 or 2 is seen when it is flushed. */
static inline bool is_looked_at(const FILE *file)
{
    return file != NULL && (file == stdout || file == stderr) && !(file->_flags & IS_UNBUFFERED) &&
           (file->_fileno == FIRST || file->_fileno == LAST);
}

/* A call that prints, with the FILE locked around it, so that what is new in the buffer afterwards is this thread's. */
struct printing {
    FILE *file; /* NULL: there is nothing to look at */
    struct st_lines *lines;
    void *held_before; /* by what a signal handler interrupted */
    uint64_t begin_ticks;
};

static struct printing hold(FILE *file)
{
    struct printing printing = {0};

    if (!is_looked_at(file) || (printing.lines = st_lines_make()) == NULL) return printing;
    printing.file = file;
    printing.begin_ticks = st_ticks();
    if (!(file->_flags & CALLER_LOCKS)) {
        flockfile(file);
        printing.held_before = printing.lines->held;
        printing.lines->held = file;
    }
    return printing;
}

static void look(const struct printing *printing)
{
    FILE *file = printing->file;

    if (file == NULL) return;
    if (is_looked_at(file)) look_into(file, printing->begin_ticks);
    if (printing->lines->held == file) {
        printing->lines->held = printing->held_before;
        funlockfile(file);
    }
}

/* After a function that takes no lock, and so must not wait for one: else the text is seen later. */
static void look_if_free(FILE *file, uint64_t begin_ticks)
{
    if (ftrylockfile(file) != 0) return;
    look_into(file, begin_ticks);
    funlockfile(file);
}

/* Call the real function, then look into the buffer. */
#define THEN(type, file, call)                                                                                         \
    struct printing printing = hold(file);                                                                             \
    type done = call;                                                                                                  \
    look(&printing);                                                                                                   \
    return done;

/* The same for a function with arguments behind `last`, by way of the one that takes a list. */
#define BY_LIST(file, last, call)                                                                                      \
    va_list list;                                                                                                      \
    va_start(list, last);                                                                                              \
    struct printing printing = hold(file);                                                                             \
    int done = call;                                                                                                   \
    look(&printing);                                                                                                   \
    va_end(list);                                                                                                      \
    return done;

/* The same for a function that takes no lock. */
#define THEN_IF_FREE(type, file, call)                                                                                 \
    if (!is_looked_at(file)) return call;                                                                              \
    uint64_t begin_ticks = st_ticks();                                                                                 \
    type done = call;                                                                                                  \
    look_if_free(file, begin_ticks);                                                                                   \
    return done;

/* The same for a single character: only the end of a line is worth a look. */
#define AT_LINE_END(then, c, file, call)                                                                               \
    if ((c) != '\n' && (c) != '\r') return call;                                                                       \
    then(int, file, call)

static int our_printf(const char *format, ...)
{
    BY_LIST(stdout, format, real.vfprintf(stdout, format, list))
}
static int our_fprintf(FILE *file, const char *format, ...)
{
    BY_LIST(file, format, real.vfprintf(file, format, list))
}
static int our_vprintf(const char *format, va_list list)
{
    THEN(int, stdout, real.vfprintf(stdout, format, list))
}
static int our_vfprintf(FILE *file, const char *format, va_list list)
{
    THEN(int, file, real.vfprintf(file, format, list))
}
static int our_printf_chk(int level, const char *format, ...)
{
    BY_LIST(stdout, format, real.vfprintf_chk(stdout, level, format, list))
}
static int our_fprintf_chk(FILE *file, int level, const char *format, ...)
{
    BY_LIST(file, format, real.vfprintf_chk(file, level, format, list))
}
static int our_vprintf_chk(int level, const char *format, va_list list)
{
    THEN(int, stdout, real.vfprintf_chk(stdout, level, format, list))
}
static int our_vfprintf_chk(FILE *file, int level, const char *format, va_list list)
{
    THEN(int, file, real.vfprintf_chk(file, level, format, list))
}
static int our_puts(const char *text)
{
    THEN(int, stdout, real.puts(text))
}
static int our_fputs(const char *text, FILE *file)
{
    THEN(int, file, real.fputs(text, file))
}
static int our_fputs_unlocked(const char *text, FILE *file)
{
    THEN_IF_FREE(int, file, (real.fputs_unlocked)(text, file))
}
static size_t our_fwrite(const void *text, size_t size, size_t count, FILE *file)
{
    THEN(size_t, file, real.fwrite(text, size, count, file))
}
static size_t our_fwrite_unlocked(const void *text, size_t size, size_t count, FILE *file)
{
    THEN_IF_FREE(size_t, file, (real.fwrite_unlocked)(text, size, count, file))
}
static int our_putchar(int c)
{
    AT_LINE_END(THEN, c, stdout, (real.putchar)(c))
}
static int our_putchar_unlocked(int c)
{
    AT_LINE_END(THEN_IF_FREE, c, stdout, (real.putchar_unlocked)(c))
}
static int our_fputc(int c, FILE *file)
{
    AT_LINE_END(THEN, c, file, (real.fputc)(c, file))
}
static int our_fputc_unlocked(int c, FILE *file)
{
    AT_LINE_END(THEN_IF_FREE, c, file, (real.fputc_unlocked)(c, file))
}
static int our_putc(int c, FILE *file)
{
    AT_LINE_END(THEN, c, file, (real.putc)(c, file))
}
static int our_putc_unlocked(int c, FILE *file)
{
    AT_LINE_END(THEN_IF_FREE, c, file, (real.putc_unlocked)(c, file))
}
static int our_overflow(FILE *file, int c)
{
    AT_LINE_END(THEN_IF_FREE, c, file, real.overflow(file, c))
}

static void our_perror(const char *text)
{
    struct st_lines *lines = st_lines_make();

    if (lines != NULL) lines->as_fd = LAST;
    real.perror(text);
    if (lines != NULL) lines->as_fd = 0;
}

void st_stdio_end(void)
{
    FILE *const files[] = {stdout, stderr};

    for (int i = 0; i < 2; i++)
        if (is_looked_at(files[i])) look_if_free(files[i], st_ticks());
}

#define REDIRECT(name, function) {#name, (const void *)our_##function, (void **)(void *)&real.function}
#define REDIRECT_ONLY(name, function) {#name, (const void *)our_##function, NULL}
const struct st_watch_redirect st_lines_stdio_functions[] = {
    REDIRECT(perror, perror),
    REDIRECT_ONLY(printf, printf),
    REDIRECT_ONLY(fprintf, fprintf),
    REDIRECT_ONLY(vprintf, vprintf),
    REDIRECT(vfprintf, vfprintf),
    REDIRECT_ONLY(__printf_chk, printf_chk),
    REDIRECT_ONLY(__fprintf_chk, fprintf_chk),
    REDIRECT_ONLY(__vprintf_chk, vprintf_chk),
    REDIRECT(__vfprintf_chk, vfprintf_chk),
    REDIRECT(puts, puts),
    REDIRECT(fputs, fputs),
    REDIRECT(fputs_unlocked, fputs_unlocked),
    REDIRECT(fwrite, fwrite),
    REDIRECT(fwrite_unlocked, fwrite_unlocked),
    REDIRECT(putchar, putchar),
    REDIRECT(putchar_unlocked, putchar_unlocked),
    REDIRECT(fputc, fputc),
    REDIRECT(fputc_unlocked, fputc_unlocked),
    REDIRECT(putc, putc),
    REDIRECT(putc_unlocked, putc_unlocked),
    REDIRECT(__overflow, overflow),
};
const uint32_t st_lines_stdio_function_count = sizeof(st_lines_stdio_functions) / sizeof(st_lines_stdio_functions[0]);
const struct st_watch_redirect st_lines_file_write = REDIRECT(_IO_file_write, file_write);
