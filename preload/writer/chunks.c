/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks into the file, within its limit, and the count of what did not get there. Writer thread only. */
#include "private.h"

#include <string.h>

#include "preload/record/clock.h"

/* ---- losses ----------------------------------------------------------------------------------- */

static uint64_t ring_losses(void)
{
    uint64_t lost = 0;
    for (struct st_thread *t = atomic_load_explicit(&st_threads, memory_order_acquire); t; t = t->next) {
        const struct st_ring_head *ring = atomic_load_explicit(&t->ring, memory_order_acquire);
        lost += ring ? atomic_load_explicit(&ring->lost, memory_order_relaxed) : 0;
    }
    return lost;
}

static uint64_t lost_of(enum st_lost cause)
{
    uint64_t lost = st_writer.lost[cause] + st_writer.device_lost[cause];
    if (cause == ST_LOST_RING_FULL) {
        lost += ring_losses();
    } else if (cause == ST_LOST_NO_THREAD) {
        lost += atomic_load_explicit(&st_lost_no_thread, memory_order_relaxed);
    }
    return lost;
}

static uint64_t lost_total(void)
{
    uint64_t total = 0;
    for (int cause = 1; cause < ST_LOST_CAUSES; cause++) {
        total += lost_of((enum st_lost)cause);
    }
    return total;
}

void st_writer_add_losses(struct st_rows *counters)
{
    static const char *const NAMES[ST_LOST_CAUSES] = {
        [ST_LOST_RING_FULL] = "lost.ring_full",
        [ST_LOST_NO_THREAD] = "lost.no_thread",
        [ST_LOST_DEVICE_DROPPED] = "lost.cupti_dropped",
        [ST_LOST_DEVICE_INVALID] = "lost.device_invalid",
        [ST_LOST_DISK] = "lost.disk",
        [ST_LOST_LIMIT] = "lost.limit",
        [ST_LOST_DEVICE_UNREAD] = "lost.device_unread",
    };
    for (int cause = 1; cause < ST_LOST_CAUSES; cause++) {
        st_rows_add(counters, (int64_t[]){(int64_t)lost_of((enum st_lost)cause), 0},
                    &(struct st_text){NAMES[cause], (uint32_t)strlen(NAMES[cause])});
    }
}

/* ---- chunks ----------------------------------------------------------------------------------- */

static void note_in_index(const struct st_chunk_head *head, uint64_t offset, uint32_t rows)
{
    st_buffer_append(&st_writer.index, &(struct st_index_entry){.offset = offset, .first_ticks = head->first_ticks,
                                                             .last_ticks = head->last_ticks, .kind = head->kind,
                                                             .rows = rows,
                                                             .check = st_chunk_check(st_writer.out.bytes,
                                                                                     st_writer.out.length)},
                     sizeof(struct st_index_entry));
}

/* Kept free for the end of the trace: names, totals, index. */
static uint64_t end_reserve_bytes(void)
{
    uint64_t part = st_writer.sink.limit_bytes / 8;
    return part < 256 << 10 ? part : 256 << 10;
}

/* Detail must leave room for the boundaries, which must leave room for the end. */
static bool is_too_much_detail(uint64_t chunk_bytes)
{
    uint64_t limit = st_writer.sink.limit_bytes;
    return st_writer.sink.offset + chunk_bytes + end_reserve_bytes() + limit / 16 > limit;
}

/* Encode st_writer.payload as one chunk and append it. False: it is not in the file; the payload is gone. */
bool st_writer_put_chunk(struct st_chunk_head *head, uint32_t rows)
{
    uint64_t offset = st_writer.sink.offset;
    uint32_t sequence = st_writer.encoder.next_sequence;
    st_writer.out.length = 0;
    head->lost_total = lost_total();
    const struct st_buffer *payload = &st_writer.payload;
    bool is_written = st_chunk_encode(&st_writer.encoder, head, payload->bytes, payload->length, &st_writer.out);
    st_writer.is_over_limit = head->kind != ST_CHUNK_META && !st_writer.is_at_limit &&
                              is_too_much_detail(st_writer.out.length);
    is_written = is_written && !st_writer.is_over_limit &&
                 st_sink_append(&st_writer.sink, st_writer.out.bytes, st_writer.out.length);
    if (!is_written) {
        st_writer.encoder.next_sequence = sequence; /* the number of the next chunk that is in the file */
    } else if (st_writer.out.length) {
        note_in_index(head, offset, rows);
    }
    st_writer.payload.length = 0;
    return is_written;
}

/* From now on no detail; a LOST row says since when. The payload must be empty. */
void st_writer_reach_limit(void)
{
    st_writer.is_at_limit = true;
    struct st_rows rows = {.table = ST_T_LOST};
    st_rows_add(&rows, (int64_t[ST_COUNT_C_LOST]){ST_LOST_LIMIT, (int64_t)st_ticks(), 0, 0}, NULL);
    st_table_encode(&rows, &st_writer.payload);
    st_rows_finish(&rows);
    st_writer_put_chunk(&(struct st_chunk_head){.kind = ST_CHUNK_META}, 1);
}

/* The first time that the file comes near its limit. The payload must be empty. */
void st_writer_check_limit(void)
{
    if (!st_writer.is_at_limit && is_too_much_detail(0)) {
        st_writer_reach_limit();
    }
}

/* Is there still room for boundaries? Past it nothing but the end is written. */
bool st_writer_has_room_for_boundaries(void)
{
    return st_writer.sink.offset + end_reserve_bytes() < st_writer.sink.limit_bytes;
}
