/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shared-memory rings of a session hold (preload/trace/ring.h), of a live or a killed writer.
 * A ring is read before its file: a slot that the snapshot misses because the writer moved on is then in
 * the file. Rings are read with pread, never mapped: a file that shrinks cannot kill the reader. Only rings
 * of the same user are opened, and no symbolic link is followed. One thread.
 */
#ifndef ST_READER_RINGS_H
#define ST_READER_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyzer/reader/reader.h"
#include "preload/trace/ring.h"

#define ST_RING_FOLDER "/dev/shm"
#define ST_MAX_RINGS 65536
#define ST_MAX_RING_SLOTS ST_MAX_CHUNK_ROWS /* 16 MiB, the largest that STAGETAP_BUFFER allows */

struct st_ring_copy {
    uint32_t ring, thread, tid, pid;
    uint64_t pid_start;
    char thread_name[17];
    uint64_t first_slot; /* slots [first_slot, end_slot) are below */
    uint64_t end_slot;
    uint64_t lost, nested;
    struct st_slot *slots;
};
struct st_rings {
    struct st_ring_copy *items;
    size_t count, capacity;
};

/* Copy every ring of `session` found in ST_RING_FOLDER and in `folder` (NULL = none). False: no memory. */
bool st_rings_snapshot(struct st_rings *rings, const uint8_t session[16], const char *folder);
void st_rings_finish(struct st_rings *rings);

/* Does the process that wrote the ring still run (same pid, same start time)? */
bool st_ring_writer_lives(const struct st_ring_copy *ring);

/* Hand out the slots from `from_slot` on as tables CALL … NAME, LOST, preceded by the ring's THREAD row. */
enum st_status st_ring_each_table(const struct st_ring_copy *ring, uint64_t from_slot, st_reader_table_fn each,
                                  void *context);

/* Path of the trace that belongs to a ring of process `pid` of this user; false = no such ring. */
bool st_rings_trace_of(pid_t pid, char *ret_path, size_t size);

#endif
