/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of rings; see rings.h. */
#include "rings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(int file, void *target, size_t length, off_t offset)
{
    char *at = target;
    while (length > 0) {
        ssize_t got = pread(file, at, length, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        offset += got;
        length -= (size_t)got;
    }
    return true;
}

/* Open a ring file and read its head page; -1 when it is none of ours. */
static int open_ring(int folder, const char *name, struct st_ring_head *ret_head)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    if (file < 0) {
        return -1;
    }
    bool good = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || geteuid() == 0) &&
                info.st_size > ST_RING_HEAD_BYTES && read_all(file, ret_head, sizeof(*ret_head), 0) &&
                memcmp(ret_head->magic, ST_RING_MAGIC, sizeof(ret_head->magic)) == 0 &&
                ret_head->version == ST_RING_VERSION && ret_head->slot_bytes == ST_SLOT_BYTES &&
                ret_head->capacity > 0 && ret_head->capacity <= ST_MAX_RING_SLOTS &&
                (ret_head->capacity & (ret_head->capacity - 1)) == 0 &&
                (uint64_t)info.st_size >= ST_RING_HEAD_BYTES + ret_head->capacity * ST_SLOT_BYTES;
    if (!good) {
        close(file);
        return -1;
    }
    return file;
}

/* Copy slots [first, end) of an open ring, in at most two runs. */
static bool copy_slots(int file, uint64_t capacity, uint64_t first, uint64_t end, struct st_slot *target)
{
    while (first < end) {
        uint64_t index = first & (capacity - 1);
        uint64_t run = capacity - index < end - first ? capacity - index : end - first;
        off_t offset = (off_t)(ST_RING_HEAD_BYTES + index * ST_SLOT_BYTES);
        if (!read_all(file, target, (size_t)(run * ST_SLOT_BYTES), offset)) {
            return false;
        }
        target += run;
        first += run;
    }
    return true;
}

/* Take [tail, head); then drop what the writer released meanwhile, as the producer may have reused it. The
 * head is read again after the tail: in one reading of the page the tail could be the later of the two. */
static bool take_ring(int file, const struct st_ring_head *head, struct st_ring_copy *ret_copy)
{
    struct st_ring_head later;
    uint64_t tail = head->tail;
    if (!read_all(file, &later, sizeof(later), 0) || later.head < tail) {
        return false;
    }
    uint64_t end = later.head;
    if (end - tail > head->capacity) {
        tail = end - head->capacity;
    }
    struct st_slot *slots = calloc(end - tail ? end - tail : 1, sizeof(*slots));
    if (!slots || !copy_slots(file, head->capacity, tail, end, slots) || !read_all(file, &later, sizeof(later), 0)) {
        free(slots);
        return false;
    }
    uint64_t kept_from = later.tail > tail ? later.tail : tail;
    kept_from = kept_from < end ? kept_from : end;
    memmove(slots, slots + (kept_from - tail), (end - kept_from) * sizeof(*slots));
    *ret_copy = (struct st_ring_copy){.ring = head->ring,
                                      .thread = head->thread,
                                      .tid = head->tid,
                                      .pid = head->pid,
                                      .pid_start = head->pid_start,
                                      .first_slot = kept_from,
                                      .end_slot = end,
                                      .lost = later.lost,
                                      .nested = later.nested,
                                      .slots = slots};
    memcpy(ret_copy->thread_name, head->thread_name, sizeof(head->thread_name));
    return true;
}

static bool add_ring(struct st_rings *rings, int folder, const char *name, const uint8_t session[16])
{
    struct st_ring_head head;
    struct st_ring_copy copy;
    int file = open_ring(folder, name, &head);
    if (file < 0) {
        return true;
    }
    bool taken = memcmp(head.session, session, sizeof(head.session)) == 0 && take_ring(file, &head, &copy);
    close(file);
    if (!taken) {
        return true;
    }
    if (rings->count == rings->capacity) {
        size_t capacity = rings->capacity ? rings->capacity * 2 : 16;
        struct st_ring_copy *items = realloc(rings->items, capacity * sizeof(*items));
        if (!items) {
            free(copy.slots);
            return false;
        }
        rings->items = items;
        rings->capacity = capacity;
    }
    rings->items[rings->count++] = copy;
    return true;
}

static bool scan_folder(struct st_rings *rings, const char *path, const uint8_t session[16])
{
    char hex[33];
    for (int i = 0; i < 16; i++) {
        snprintf(hex + 2 * i, 3, "%02x", session[i]);
    }
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool good = true;
    while (folder && good && rings->count < ST_MAX_RINGS && (entry = readdir(folder))) {
        if (strncmp(entry->d_name, "stagetap.", 9) == 0 && strstr(entry->d_name, hex)) {
            good = add_ring(rings, dirfd(folder), entry->d_name, session);
        }
    }
    if (folder) {
        closedir(folder);
    }
    return good;
}

bool st_rings_snapshot(struct st_rings *rings, const uint8_t session[16], const char *folder)
{
    return scan_folder(rings, ST_RING_FOLDER, session) && (!folder || scan_folder(rings, folder, session));
}

void st_rings_finish(struct st_rings *rings)
{
    for (size_t i = 0; i < rings->count; i++) {
        free(rings->items[i].slots);
    }
    free(rings->items);
    *rings = (struct st_rings){0};
}

bool st_ring_writer_lives(const struct st_ring_copy *ring)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%u/stat", ring->pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, sizeof(text) - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    /* the program's name (field 2) may hold anything, so count from its closing parenthesis: the state is
     * field 3, the start time field 22 */
    const char *at = strrchr(text, ')');
    if (!at || at[1] == 0 || at[2] == 'Z' || at[2] == 'X') {
        return false;
    }
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at && strtoull(at + 1, NULL, 10) == ring->pid_start;
}

bool st_rings_trace_of(pid_t pid, char *ret_path, size_t size)
{
    DIR *folder = opendir(ST_RING_FOLDER);
    struct dirent *entry;
    bool found = false;
    while (folder && !found && (entry = readdir(folder))) {
        struct st_ring_head head;
        int file = strncmp(entry->d_name, "stagetap.", 9) == 0 ? open_ring(dirfd(folder), entry->d_name, &head) : -1;
        if (file < 0) {
            continue;
        }
        close(file);
        if (head.pid == (uint32_t)pid && memchr(head.trace_path, 0, sizeof(head.trace_path)) && head.trace_path[0]) {
            snprintf(ret_path, size, "%s", head.trace_path);
            found = access(ret_path, R_OK) == 0;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}
