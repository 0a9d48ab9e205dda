/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's ring as it lies in shared memory, for its producer (preload/record), its consumer
 * (preload/writer) and readers of a live or killed process (analyzer/reader).
 *
 *   page 0: struct st_ring_head      then `capacity` slots of 64 bytes (a power of two)
 *
 * Slot number n lies at index n & (capacity - 1). The producer fills slots, then publishes them with one
 * release store of `head`. The consumer writes slots to the trace file and only then stores `tail`, so
 * that at every instant each committed slot is in the file, in the ring, or in both (the chunk heads'
 * slot numbers tell which). Ring files: /dev/shm/stagetap.<uid>.<session in hex>.<ring id>.
 */
#ifndef ST_TRACE_RING_H
#define ST_TRACE_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "format.h"

#define ST_RING_MAGIC "STAPRING"
#define ST_RING_VERSION 1
#define ST_RING_HEAD_BYTES 4096
#define ST_SLOT_BYTES 64
#define ST_RING_PATH_BYTES 2048

enum st_slot_kind {
    ST_SLOT_SKIP = 0, /* nothing: padding in front of a record that must not wrap */
    ST_SLOT_CALL = 1,
    ST_SLOT_SPAN_BEGIN = 2,
    ST_SLOT_SPAN_END = 3,
    ST_SLOT_MARK = 4,
    ST_SLOT_NAME = 5, /* followed by (span + 63) / 64 slots of text; the record never wraps */
    ST_SLOT_LOST = 6,
    ST_SLOT_HOST_RUN = 7,
};

/* One slot. What the fields hold, by kind (unused: 0):
 *             code              span     begin      end           result  flags    a       b        c d
 * CALL        CALLDEF.call      span     begin      end           result  flags    a       b        c d
 * SPAN_BEGIN  enum st_span_role span     at         thread CPU ns rule    row name parent  request late inferred
 * SPAN_END    enum st_span_end  span     at         thread CPU ns                                   late inferred
 * MARK        enum st_mark      span     at                                        a       b
 * NAME        enum st_name_kind bytes    at         key
 * LOST        enum st_lost               at         count
 * HOST_RUN                               begin      end                            function argument   */
struct st_slot {
    uint16_t kind; /* enum st_slot_kind */
    uint16_t code;
    uint32_t span;
    uint64_t begin; /* ticks */
    uint64_t end;
    int32_t result;
    uint32_t flags;
    uint64_t a, b, c, d;
};

struct st_ring_head {
    char magic[8];
    uint32_t version;
    uint32_t slot_bytes;
    uint64_t capacity; /* slots */
    uint8_t session[16];
    uint8_t boot[16]; /* /proc/sys/kernel/random/boot_id */
    uint32_t uid;
    uint32_t pid;
    uint64_t pid_start; /* field 22 of /proc/PID/stat: tells a reused pid */
    uint32_t ring;
    uint32_t thread;
    uint32_t tid;
    uint32_t reserved;
    char thread_name[16];
    uint64_t sample_ticks; /* one clock reading: lets a ring be read without its trace file */
    uint64_t sample_monotonic_ns;
    uint64_t ticks_per_second;
    char trace_path[ST_RING_PATH_BYTES]; /* absolute; NUL-terminated */

    /* written by the producer only */
    _Alignas(64) _Atomic uint64_t head; /* next slot to be published; release, pairs with acquire in readers */
    _Atomic uint64_t lost;              /* events not recorded because the ring was full */
    _Atomic uint64_t nested;            /* watched calls inside a watched call of the same layer */

    /* written by the consumer only */
    _Alignas(64) _Atomic uint64_t tail; /* slots below it are in the file; release, pairs with the producer's acquire */
};

_Static_assert(sizeof(struct st_slot) == ST_SLOT_BYTES, "slot layout");
_Static_assert(sizeof(struct st_ring_head) <= ST_RING_HEAD_BYTES, "ring head fits its page");

#endif
