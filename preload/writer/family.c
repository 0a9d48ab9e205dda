/* SPDX-License-Identifier: Apache-2.0 */
/* The run of an ancestor; see family.h. */
#include "family.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/record/files.h"
#include "preload/trace/chunk.h"
#include "preload/trace/ring.h"

enum { MAX_GENERATIONS = 32 };

struct ancestor {
    uint32_t pid;
    uint64_t start_ticks;
};

bool st_family_stat(uint32_t pid, uint32_t *ret_parent, uint64_t *ret_start_ticks)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[length > 0 ? length : 0] = '\0';
    char *at = strrchr(text, ')'); /* the name before it may hold anything */
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
        if (at && field == 3) {
            *ret_parent = (uint32_t)strtoul(at + 1, NULL, 10);
        }
    }
    *ret_start_ticks = at ? strtoull(at + 1, NULL, 10) : 0;
    return at != NULL;
}

/* The process itself – an earlier image may have left rings – and its parents, nearest first. */
static int list_ancestors(struct ancestor *ret)
{
    uint32_t pid = (uint32_t)getpid(), parent = 0;
    int count = 0;
    while (pid && count < MAX_GENERATIONS && st_family_stat(pid, &parent, &ret[count].start_ticks)) {
        ret[count++].pid = pid;
        pid = parent;
    }
    return count;
}

/* Which ancestor made this ring, or `count`; its trace in `ret_path` (ST_RING_PATH_BYTES). */
static int owner_of_ring(int folder, const char *name, const struct ancestor *ancestors, int count, char *ret_path)
{
    struct st_ring_head head;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), i = count;
    if (fd < 0) {
        return count;
    }
    struct stat status;
    bool is_own = st_fstat(fd, &status) == 0 && status.st_uid == getuid();
    if (is_own && read(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) &&
        memcmp(head.magic, ST_RING_MAGIC, sizeof(head.magic)) == 0 && head.version == ST_RING_VERSION) {
        for (i = 0; i < count && (ancestors[i].pid != head.pid || ancestors[i].start_ticks != head.pid_start); i++) {
        }
        memcpy(ret_path, head.trace_path, ST_RING_PATH_BYTES);
        ret_path[ST_RING_PATH_BYTES - 1] = '\0';
    }
    close(fd);
    return i;
}

static bool read_run(const char *path, uint8_t ret_run[16])
{
    uint8_t bytes[256];
    struct st_trace_header header;
    size_t after;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    bool is_read = got > 0 && st_header_decode(bytes, (size_t)got, &header, &after) == ST_HEADER_OK;
    if (is_read) {
        memcpy(ret_run, header.run, 16);
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_read;
}

bool st_family_run(uint8_t ret_run[16])
{
    struct ancestor ancestors[MAX_GENERATIONS];
    char prefix[48], path[ST_RING_PATH_BYTES];
    int nearest = list_ancestors(ancestors);
    int length = snprintf(prefix, sizeof(prefix), "stagetap.%u.", getuid());
    DIR *folder = opendir("/dev/shm");
    bool is_found = false;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, prefix, (size_t)length) == 0) {
            int owner = owner_of_ring(dirfd(folder), entry->d_name, ancestors, nearest, path);
            if (owner < nearest && read_run(path, ret_run)) {
                nearest = owner; /* from now on only nearer ones count */
                is_found = true;
            }
        }
    }
    if (folder) {
        closedir(folder);
    }
    return is_found;
}
