/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printer KIND [END]: printer.h with lines printed in each of the ways that libc has, and a process that ends in one of
 * several ways. `printer is-patched FILE`: writes whether libc prints by its own functions, without printing.
 */
#include "printer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static int copy = 1;

static void by_printf(const char *line)
{
    printf("%s%c", line, '\n');
}

static void by_fprintf(const char *line)
{
    fprintf(stdout, "%s%c", line, '\n');
}

static void list(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static void by_vprintf(const char *line)
{
    list("%s\n", line);
}

/* Nothing ends the line until the next one begins. */
static void by_bar(const char *line)
{
    printf("\r  |=>  | %s - 1.00s/it\033[K", line);
    fflush(stdout);
}

static void by_puts(const char *line)
{
    puts(line);
}

static void by_fputs(const char *line)
{
    fputs(line, stdout);
    fputs("\n", stdout);
    fflush(stdout);
}

static void by_putc(const char *line)
{
    for (; *line; line++)
        putc(*line, stdout);
    putc('\n', stdout);
}

static void by_putchar_unlocked(const char *line)
{
    flockfile(stdout);
    for (; *line; line++)
        putchar_unlocked(*line);
    putchar_unlocked('\n');
    funlockfile(stdout);
}

static void by_fwrite(const char *line)
{
    fwrite(line, strlen(line), 1, stdout);
    fwrite("\n", 1, 1, stdout);
}

static void by_dprintf(const char *line)
{
    dprintf(1, "%s\n", line);
}

static void by_perror(const char *line)
{
    errno = 0;
    perror(line);
}

static void by_stderr(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static void put(int fd, const char *line)
{
    char text[80];
    int length = snprintf(text, sizeof(text), "%s\n", line);

    if (write(fd, text, (size_t)length) != length)
        exit(9);
}

static void by_write(const char *line)
{
    put(1, line);
}

/* No function of libc prints. */
static void by_syscall(const char *line)
{
    char text[80];
    int length = snprintf(text, sizeof(text), "%s\n", line);

    if (syscall(SYS_write, 1, text, length) != length)
        exit(9);
}

static void by_copy(const char *line)
{
    put(copy, line);
}

static void by_writev(const char *line)
{
    const struct iovec parts[] = {{(void *)line, strlen(line)}, {(void *)"\n", 1}};

    if (writev(1, parts, 2) < 0)
        exit(9);
}

static void by_wprintf(const char *line)
{
    wprintf(L"%s\n", line);
    fflush(stdout);
}

static const struct {
    const char *name;
    void (*say)(const char *line);
    int mode;
} kinds[] = {
    {"printf", by_printf, -1},           {"printf-full", by_printf, _IOFBF}, {"printf-line", by_printf, _IOLBF},
    {"printf-none", by_printf, _IONBF},  {"fprintf-full", by_fprintf, _IOFBF}, {"vprintf-full", by_vprintf, _IOFBF},
    {"bar", by_bar, -1},                 {"puts", by_puts, -1},              {"fputs", by_fputs, -1},
    {"putc-full", by_putc, _IOFBF},      {"putchar_unlocked", by_putchar_unlocked, -1},
    {"fwrite-full", by_fwrite, _IOFBF},  {"dprintf", by_dprintf, -1},        {"perror", by_perror, -1},
    {"stderr", by_stderr, -1},           {"write", by_write, -1},            {"copy", by_copy, -1},
    {"writev", by_writev, -1},           {"wprintf", by_wprintf, -1},        {"syscall", by_syscall, -1},
};

/* Is the program's write() libc's, and do libc's FILEs print by _IO_file_write? */
static int tell_patched(const char *path)
{
    void **table = dlsym(RTLD_DEFAULT, "_IO_file_jumps"), *file_write = dlsym(RTLD_DEFAULT, "_IO_file_write");
    int words = 0;
    Dl_info info = {0};
    FILE *file = fopen(path, "w");

    for (int i = 0; table && i < 21; i++)
        words += table[i] == file_write;
    dladdr((void *)write, &info);
    return !file || fprintf(file, "%s %d\n", strstr(info.dli_fname, "/libc.so") ? "libc" : "other", words) < 0 ||
           fclose(file) != 0;
}

/* Stdout goes elsewhere and comes back. */
static void redirect(void)
{
    int kept = dup(1), ends[2];
    char text[16];

    if (pipe(ends) != 0 || dup2(ends[1], 1) != 1)
        exit(9);
    printf("aside\n");
    fflush(stdout);
    ssize_t got = read(ends[0], text, sizeof(text));
    dup2(kept, 1);
    close(kept);
    close(ends[0]);
    close(ends[1]);
    printf("read %d\n", (int)got);
    fflush(stdout);
}

/* What libc takes without a look: no FILE, no message, a FILE whose descriptor is what its memory held before. */
static void print_oddly(void)
{
    enum { CHUNKS = 40, STEP = 16 };
    FILE *volatile no_file = NULL;
    const struct msghdr *volatile no_message = NULL;
    int *dirty[CHUNKS];
    char *text;
    size_t bytes;

    for (int i = 0; i < CHUNKS; i++) {
        size_t words = (size_t)(400 + i * STEP) / sizeof(int);

        dirty[i] = malloc(words * sizeof(int));
        for (size_t at = 0; dirty[i] && at < words; at++)
            dirty[i][at] = 1;
    }
    for (int i = 0; i < CHUNKS; i++)
        free(dirty[i]);
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory || fprintf(memory, "picture 3\nencode\n") < 0 || fclose(memory) != 0)
        exit(9);
    free(text);
    fprintf(stderr, "%d ", (int)fwrite("", 0, 1, no_file));
    fprintf(stderr, "%d %d\n", (int)sendmsg(1, no_message, 0), errno);
}

static int end(const char *how)
{
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "fork") == 0) {
        int status;
        pid_t child = fork();

        if (child == 0) {
            printf("picture of a child\n");
            exit(3);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 9;
        printf("child %d\n", WEXITSTATUS(status));
    }
    if (strcmp(how, "error") == 0) {
        int result = printf("the last words\n"), flushed = fflush(stdout);

        fprintf(stderr, "%d %d %d\n", result, flushed, flushed ? errno : 0);
    }
    if (strcmp(how, "odd") == 0)
        print_oddly();
    if (strcmp(how, "redirect") == 0)
        redirect();
    return 0;
}

int main(int argc, char **argv)
{
    size_t kind = 0, count = sizeof(kinds) / sizeof(kinds[0]);

    if (argc == 3 && strcmp(argv[1], "is-patched") == 0)
        return tell_patched(argv[2]);
    while (argc > 1 && kind < count && strcmp(kinds[kind].name, argv[1]) != 0)
        kind++;
    if (argc < 2 || kind == count)
        return 2;
    if (argc > 2 && strcmp(argv[2], "error") == 0)
        signal(SIGPIPE, SIG_IGN);
    if (kinds[kind].mode >= 0)
        setvbuf(stdout, NULL, kinds[kind].mode, 65536);
    if (strcmp(argv[1], "copy") == 0)
        copy = fcntl(dup(1), F_DUPFD_CLOEXEC, 10);
    printer_run(kinds[kind].say);
    return argc > 2 ? end(argv[2]) : 0;
}
