/* SPDX-License-Identifier: Apache-2.0 */
/* See proc.h. */
#include "proc.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (64u << 20) /* of one file */

/* The whole of /proc/PID/NAME, NUL behind it; NULL: errno. Caller frees. */
static char *read_whole(pid_t pid, const char *name, size_t *ret_length)
{
    char path[64], *text = NULL;
    size_t length = 0, room = 0;
    ssize_t got = 1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    while (got > 0 && length < MOST_BYTES) {
        if (length + 1 >= room) {
            char *more = realloc(text, room + 65536);

            if (more == NULL) break;
            text = more;
            room += 65536;
        }
        got = read(fd, text + length, room - length - 1);
        if (got > 0) length += (size_t)got;
    }
    close(fd);
    if (got < 0 || text == NULL) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    *ret_length = length;
    return text;
}

static bool is_known(const struct st_proc *proc, const char *path)
{
    for (size_t i = proc->file_count; i > 0; i--) { /* mappings of one file stand together */
        if (strcmp(proc->files[i - 1], path) == 0) return true;
    }
    return false;
}

/* "7f…-7f… r-xp 0001a000 fe:01 1234   /usr/lib/libm.so.6" */
static bool read_maps(struct st_proc *proc, struct st_arena *arena, char *text)
{
    size_t lines = 0;
    char *rest, *line;

    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) lines++;
    proc->files = st_arena_array(arena, lines + 1, sizeof(*proc->files));
    if (proc->files == NULL) return false;
    for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        const char *path = strchr(line, '/');

        if (path == NULL || is_known(proc, path)) continue;
        proc->files[proc->file_count] = st_arena_text(arena, path, strlen(path));
        if (proc->files[proc->file_count] == NULL) return false;
        proc->file_count++;
    }
    return true;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, two;

    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static void read_small(struct st_proc *proc, struct st_arena *arena)
{
    char path[64], link[PATH_MAX], *text;
    size_t length;
    ssize_t got;

    snprintf(proc->exe_link, sizeof(proc->exe_link), "/proc/%d/exe", (int)proc->pid);
    got = readlink(proc->exe_link, link, sizeof(link));
    proc->exe = got > 0 ? st_arena_text(arena, link, (size_t)got) : "";
    text = read_whole(proc->pid, "comm", &length);
    if (text != NULL) snprintf(proc->name, sizeof(proc->name), "%.*s", (int)strcspn(text, "\n"), text);
    free(text);
    text = read_whole(proc->pid, "auxv", &length);
    for (size_t at = 0; text != NULL && at + sizeof(Elf64_auxv_t) <= length; at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;

        memcpy(&entry, text + at, sizeof(entry));
        if (entry.a_type == AT_SECURE) proc->is_secure = entry.a_un.a_val != 0;
    }
    free(text);
    snprintf(path, sizeof(path), "/proc/%d/root", (int)proc->pid);
    proc->is_other_root = !is_same_file(path, "/");
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)proc->pid);
    proc->is_other_root = proc->is_other_root || !is_same_file(path, "/proc/self/ns/mnt");
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)proc->pid);
    proc->is_other_pid_names = !is_same_file(path, "/proc/self/ns/pid");
}

enum st_proc_status st_proc_read(pid_t pid, struct st_arena *arena, struct st_proc *ret)
{
    size_t length;
    char *text;
    bool good;

    *ret = (struct st_proc){.pid = pid, .exe = ""};
    errno = 0;
    text = read_whole(pid, "maps", &length);
    if (text == NULL || length == 0) { /* nothing is mapped: it has ended, or it is a thread of the kernel */
        free(text);
        return errno == EACCES || errno == EPERM ? ST_PROC_REFUSED : ST_PROC_GONE;
    }
    good = read_maps(ret, arena, text);
    free(text);
    if (!good) return ST_PROC_NO_MEMORY;
    text = read_whole(pid, "environ", &length);
    if (text == NULL) return errno == EACCES || errno == EPERM ? ST_PROC_REFUSED : ST_PROC_GONE;
    ret->environment = st_arena_text(arena, text, length);
    ret->environment_bytes = length;
    free(text);
    if (ret->environment == NULL) return ST_PROC_NO_MEMORY;
    read_small(ret, arena);
    return ret->exe != NULL ? ST_PROC_OK : ST_PROC_NO_MEMORY;
}

const char *st_proc_variable(const struct st_proc *proc, const char *name)
{
    size_t length = strlen(name);

    for (size_t at = 0; at < proc->environment_bytes; at += strlen(proc->environment + at) + 1) {
        const char *entry = proc->environment + at;

        if (strncmp(entry, name, length) == 0 && entry[length] == '=') return entry + length + 1;
    }
    return NULL;
}

const char *st_proc_mapped(const struct st_proc *proc, const char *prefix)
{
    for (size_t i = 0; i < proc->file_count; i++) {
        const char *name = strrchr(proc->files[i], '/') + 1;

        if (strncmp(name, prefix, strlen(prefix)) == 0) return proc->files[i];
    }
    return NULL;
}

void st_proc_path(const struct st_proc *proc, const char *path, char *ret, size_t size)
{
    snprintf(ret, size, "/proc/%d/%s%s", (int)proc->pid, path[0] == '/' ? "root" : "cwd/", path);
}

size_t st_proc_children(pid_t pid, pid_t *ret, size_t most)
{
    char path[64];
    size_t count = 0;
    struct dirent *entry;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        char name[300], *text, *at;
        size_t length;

        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof(name), "task/%s/children", entry->d_name);
        text = read_whole(pid, name, &length);
        at = text;
        while (at != NULL && *at != '\0' && count < most) {
            char *end;
            long child = strtol(at, &end, 10);

            if (end == at) break;
            ret[count++] = (pid_t)child;
            at = end + strspn(end, " ");
        }
        free(text);
    }
    if (threads != NULL) closedir(threads);
    return count;
}
