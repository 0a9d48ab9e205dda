/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are one run; see family.h. */
#include "family.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_GENERATIONS = 64, PIECE_BYTES = 4096, NAME_BYTES = 64 };

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

/* One entry of an environment, as far as it is read: its beginning, and whether our name was in it. */
struct entry {
    char text[NAME_BYTES + PIECE_BYTES];
    size_t length;
};

static bool names_us(const struct entry *entry)
{
    static const char VARIABLE[] = "LD_PRELOAD=";
    return strncmp(entry->text, VARIABLE, sizeof(VARIABLE) - 1) == 0 && strstr(entry->text, "libstagetap") != NULL;
}

/* Was the process started with us in front? */
static bool is_preloaded(uint32_t pid)
{
    char path[64], piece[PIECE_BYTES];
    struct entry entry = {.length = 0};
    bool is_found = false;
    snprintf(path, sizeof(path), "/proc/%u/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && !is_found && (got = read(fd, piece, sizeof(piece))) > 0;) {
        for (ssize_t i = 0; i < got && !is_found; i++) {
            if (piece[i] == '\0') {
                entry.text[entry.length] = '\0';
                is_found = names_us(&entry);
                entry.length = 0;
            } else if (entry.length < sizeof(entry.text) - 1) {
                entry.text[entry.length++] = piece[i];
            }
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

bool st_family_run(const uint8_t boot[16], uint8_t ret_run[16])
{
    struct {
        uint8_t boot[16];
        uint64_t pid, start_ticks;
        char space[64]; /* two containers may have a process of this number each */
    } first = {.pid = (uint64_t)getpid()};
    uint32_t pid = (uint32_t)getpid(), parent = 0;
    memcpy(first.boot, boot, sizeof(first.boot));
    if (!st_family_stat(pid, &parent, &first.start_ticks)) {
        return false;
    }
    for (int i = 0; i < MAX_GENERATIONS && parent && is_preloaded(parent); i++) {
        uint32_t grandparent = 0;
        uint64_t start_ticks;
        if (!st_family_stat(parent, &grandparent, &start_ticks)) {
            break;
        }
        first.pid = parent;
        first.start_ticks = start_ticks;
        parent = grandparent;
    }
    ssize_t length = readlink("/proc/self/ns/pid", first.space, sizeof(first.space) - 1);
    first.space[length > 0 ? length : 0] = '\0';
    XXH128_hash_t hash = XXH3_128bits(&first, sizeof(first));
    memcpy(ret_run, &hash, 16);
    return true;
}
