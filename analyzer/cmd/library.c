/* SPDX-License-Identifier: Apache-2.0 */
/* See library.h. The library is read, not loaded. */
#include "analyzer/cmd/library.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/trace/notes.h"

bool st_library_find(char ret[PATH_MAX])
{
    static const char *const places[] = {"../preload/" ST_LIBRARY, "../" STAGETAP_LIBDIR "/" ST_LIBRARY,
                                         "../lib/" ST_LIBRARY};
    char program[PATH_MAX], path[PATH_MAX + 64], *slash;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (length <= 0) return false;
    program[length] = '\0';
    slash = strrchr(program, '/');
    if (slash == NULL) return false;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", program, places[i]);
        if (realpath(path, ret) != NULL && access(ret, R_OK) == 0) return true;
    }
    return false;
}

bool st_library_version(const char *path, char *ret, size_t size)
{
    struct stat status;
    const char *bytes = MAP_FAILED, *mark = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return false;
    if (fstat(fd, &status) == 0 && status.st_size > 0) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (bytes == MAP_FAILED) return false;
    mark = memmem(bytes, (size_t)status.st_size, ST_VERSION_MARK, strlen(ST_VERSION_MARK));
    if (mark != NULL) {
        size_t rest = (size_t)(bytes + status.st_size - mark) - strlen(ST_VERSION_MARK);

        snprintf(ret, size, "%.*s", rest < 64 ? (int)rest : 64, mark + strlen(ST_VERSION_MARK));
    }
    munmap((void *)(uintptr_t)bytes, (size_t)status.st_size);
    return mark != NULL;
}
