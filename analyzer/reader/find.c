/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the trace that is meant; see find.h. */
#include "find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "find_private.h"
#include "preload/trace/chunk.h"
#include "reader.h"
#include "rings.h"

bool st_find_header(const char *path, struct st_trace_header *ret_header, struct timespec *ret_changed,
                    const char **ret_why)
{
    uint8_t bytes[512];
    struct stat info;
    size_t header_bytes;
    const char *why = NULL;
    ssize_t got = -1;
    *ret_changed = (struct timespec){0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 ? fstat(file, &info) == 0 : stat(path, &info) == 0) {
        *ret_changed = info.st_mtim;
        if (S_ISREG(info.st_mode)) {
            got = file >= 0 ? read(file, bytes, sizeof(bytes)) : -1;
            why = got < 0 ? strerror(errno) : NULL;
        }
    }
    if (file >= 0) {
        close(file);
    }
    if (got >= 0) {
        enum st_header_status status = st_header_decode(bytes, (size_t)got, ret_header, &header_bytes);
        why = status == ST_HEADER_OK ? NULL : st_reader_header_words(status, (size_t)got);
    }
    if (ret_why) {
        *ret_why = why;
    }
    return got >= 0 && !why;
}

bool st_find_is_named_like_a_trace(const char *name)
{
    const char *at = strstr(name, ".stap");
    for (const char *next; at && (next = strstr(at + 1, ".stap")); at = next) {
    }
    if (!at) {
        return false;
    }
    for (at += strlen(".stap"); *at == '.';) {
        size_t digits = strspn(at + 1, "0123456789");
        size_t length = digits ? digits : strncmp(at + 1, "old", 3) == 0 ? 3 : 0;
        at += 1 + length;
        if (length == 0) {
            return false;
        }
    }
    return *at == 0;
}

bool st_find_is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

int st_find_path(const char *folder, const char *name, char ret_path[PATH_MAX])
{
    int length = strcmp(folder, ".") == 0 ? snprintf(ret_path, PATH_MAX, "%s", name)
                                          : snprintf(ret_path, PATH_MAX, "%s/%s", folder, name);
    return strstr(name, ".stap") && length < PATH_MAX ? length : -1;
}

/* The newest trace in `folder`, of process `pid` if that is not 0. */
static bool newest_in(const char *folder, long pid, char *ret_path, size_t size)
{
    struct timespec best = {0};
    struct dirent *entry;
    bool found = false;
    DIR *open_folder = opendir(folder);
    while (open_folder && (entry = readdir(open_folder))) {
        char path[PATH_MAX];
        struct st_trace_header header;
        struct timespec changed;
        int length = st_find_path(folder, entry->d_name, path);
        if (length < 0 || (size_t)length >= size ||
            !st_find_header(path, &header, &changed, NULL) || (pid != 0 && header.pid != (uint32_t)pid)) {
            continue;
        }
        if (!found || st_find_is_later(changed, best)) {
            memcpy(ret_path, path, (size_t)length + 1);
            best = changed;
            found = true;
        }
    }
    if (open_folder) {
        closedir(open_folder);
    }
    return found;
}

static bool find_by_pid(const char *word, char *ret_path, size_t size)
{
    char *end, folder[64];
    long pid = strtol(word, &end, 10);
    if (*end != 0 || pid <= 0 || pid > INT_MAX) {
        return false;
    }
    snprintf(folder, sizeof(folder), "/proc/%ld/cwd", pid);
    return st_rings_trace_of((pid_t)pid, ret_path, size) || newest_in(".", pid, ret_path, size) ||
           newest_in(folder, pid, ret_path, size);
}

enum st_status st_reader_find(const char *word, char *ret_path, size_t size, bool *ret_guessed, struct st_err *err)
{
    struct stat info;
    *ret_guessed = true;
    if (!word) {
        return newest_in(".", 0, ret_path, size)
                   ? ST_OK
                   : st_fail(err, ST_NOT_FOUND, NULL, -1, "name a .stap file, a folder or a process id",
                             "no trace in the current folder");
    }
    if (stat(word, &info) != 0) {
        return find_by_pid(word, ret_path, size)
                   ? ST_OK
                   : st_fail(err, ST_NOT_FOUND, word, -1, "name a .stap file, a folder or a process id",
                             "no such file, and no traced process of that id");
    }
    if (S_ISDIR(info.st_mode)) {
        return newest_in(word, 0, ret_path, size) ? ST_OK
                                                  : st_fail(err, ST_NOT_FOUND, word, -1,
                                                            "name the folder that STAGETAP_OUT pointed to",
                                                            "no trace in this folder");
    }
    if (strlen(word) >= size) {
        return st_fail(err, ST_USAGE, NULL, -1, NULL, "path too long");
    }
    memcpy(ret_path, word, strlen(word) + 1);
    *ret_guessed = false;
    return ST_OK;
}
