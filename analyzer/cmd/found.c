/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output pattern becomes a file-name pattern, and the run id in the header decides: so a trace that the
 * library had to rename or to write elsewhere is found as well.
 */
#include "analyzer/cmd/found.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/trace/chunk.h"

#define DEFAULT_NAME "stagetap-%e-%p.stap"
#define PATTERN_BYTES 8192

/* "%e" and friends match anything, "%%" is a percent sign, the rest means itself. */
static bool make_pattern(const char *folder, const char *name, char ret[PATTERN_BYTES])
{
    size_t used = 0;
    const char *parts[] = {folder, name};

    for (int part = 0; part < 2; part++) {
        for (const char *at = parts[part]; *at != '\0'; at++) {
            if (used + 4 >= PATTERN_BYTES) return false;
            if (*at == '%' && at[1] != '\0' && strchr("epht", at[1]) != NULL) {
                ret[used++] = '*';
                at++;
                continue;
            }
            if (*at == '%' && at[1] == '%') at++;
            if (strchr("*?[\\", *at) != NULL) ret[used++] = '\\';
            ret[used++] = *at;
        }
    }
    strcpy(ret + used, "*"); /* NAME.1, NAME.PID, NAME.2 after exec */
    return true;
}

static bool read_header(const char *path, struct st_trace_header *ret)
{
    uint8_t bytes[4096];
    size_t begin;
    ssize_t length;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) return false;
    length = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? read(fd, bytes, sizeof(bytes)) : -1;
    close(fd);
    return length > 0 && st_header_decode(bytes, (size_t)length, ret, &begin) == ST_HEADER_OK;
}

static void add(struct st_found *found, const char *path, bool in_front)
{
    char **paths = realloc(found->paths, (found->count + 1) * sizeof(*paths)), *copy = strdup(path);

    if (paths != NULL) found->paths = paths;
    if (paths == NULL || copy == NULL) {
        free(copy);
        return;
    }
    paths[found->count] = in_front && found->count > 0 ? paths[0] : copy;
    if (in_front) paths[0] = copy;
    found->count++;
}

void st_found_finish(struct st_found *found)
{
    for (size_t i = 0; i < found->count; i++) free(found->paths[i]);
    free(found->paths);
    *found = (struct st_found){.count = 0};
}

static void search_pattern(const char *pattern, const uint8_t run[16], pid_t pid, struct st_found *found)
{
    glob_t matches;

    if (glob(pattern, GLOB_NOSORT, NULL, &matches) != 0) return;
    for (size_t i = 0; i < matches.gl_pathc; i++) {
        struct st_trace_header header;

        if (!read_header(matches.gl_pathv[i], &header) || memcmp(header.run, run, 16) != 0) continue;
        add(found, matches.gl_pathv[i], header.pid == (uint32_t)pid);
    }
    globfree(&matches);
}

struct st_found st_found_search(const char *out, const uint8_t run[16], pid_t pid)
{
    struct st_found found = {NULL, 0};
    const char *name, *folders[] = {getenv("TMPDIR"), "/tmp"};
    char pattern[PATTERN_BYTES], fallback[4096];

    if (out == NULL || out[0] == '\0') out = DEFAULT_NAME;
    name = strrchr(out, '/');
    name = name == NULL ? out : name + 1;
    if (make_pattern(out, *name == '\0' ? DEFAULT_NAME : "", pattern)) search_pattern(pattern, run, pid, &found);
    /* a folder that is there is used as one, slash or not */
    if (*name != '\0' && found.count == 0 && make_pattern(out, "/" DEFAULT_NAME, pattern)) {
        search_pattern(pattern, run, pid, &found);
    }
    if (*name == '\0') name = DEFAULT_NAME;
    for (size_t i = 0; i < 2 && found.count == 0; i++) {
        if (folders[i] == NULL || folders[i][0] == '\0') continue;
        snprintf(fallback, sizeof(fallback), "%s/", folders[i]);
        if (make_pattern(fallback, name, pattern)) search_pattern(pattern, run, pid, &found);
    }
    return found;
}
