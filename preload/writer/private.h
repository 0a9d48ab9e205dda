/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the writer share. Everything is the writer thread's, unless a field says otherwise. */
#ifndef ST_WRITER_PRIVATE_H
#define ST_WRITER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "preload/record/thread.h"
#include "preload/trace/chunk.h"
#include "preload/trace/slots.h"
#include "writer.h"

struct st_writer {
    pthread_t thread;
    _Atomic int ready; /* enum readiness, set by the thread */
    _Atomic int stop;  /* set by st_writer_finish, or when the start is given up */
    _Atomic int may_read; /* the starting thread's ring lies where it will stay */
    _Atomic bool is_to_settle; /* set by st_writer_settle() */
    _Atomic int settled;       /* set by the thread when it has */
    _Atomic int done;  /* set by the thread, last */
    bool (*prepare)(struct st_writer_setup *);
    _Atomic bool wants_clock; /* a device source came: read the clocks soon */
    _Atomic(const struct st_device_source *) device;
    struct st_writer_setup setup;
    struct st_sink sink;
    struct st_chunk_encoder encoder;
    struct st_slot_rows slots;
    struct st_device_rows device_rows;
    struct st_buffer payload, out, index;
    uint64_t last_flush_ns, last_device_flush_ns;
    uint64_t lost[ST_LOST_CAUSES];        /* noticed by the writer itself: disk, limit */
    uint64_t device_lost[ST_LOST_CAUSES]; /* as last told by the device side */
    uint64_t state_hash;
    bool is_at_limit;
    bool is_over_limit; /* that is why the last chunk was not written */
    int quiet_polls;
};
extern struct st_writer st_writer;

/* ---- chunks.c: the file's contents, its limit, what was lost ---- */

/* Encode st_writer.payload as one chunk and append it. False: it is not in the file; the payload is gone. */
bool st_writer_put_chunk(struct st_chunk_head *head, uint32_t rows);
/* The first time that the file comes near its limit: from now on no detail. The payload must be empty. */
void st_writer_check_limit(void);
void st_writer_reach_limit(void);
/* Is there still room for boundaries? Past it nothing but the end is written. */
bool st_writer_has_room_for_boundaries(void);
/* COUNTER rows, one for each cause. */
void st_writer_add_losses(struct st_rows *counters);

/* ---- drain.c: the rings ---- */

/* Write what the rings hold: all at a flush, else those that fill up. Returns whether there were events. */
bool st_writer_drain_rings(bool is_flush);
/* Remove the ring files at the end, but for those whose last slots could not be written. */
void st_writer_remove_rings(void);

#endif
