/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring slots as tables, so that whoever reads a trace needs one way only: the slots go the way that the writer
 * would have sent them, through preload/trace – rows, columns, and back. One thread.
 */
#include <string.h>

#include "preload/trace/slots.h"
#include "rings.h"

/* The ring's THREAD row, then its events. */
static bool encode_ring(const struct st_ring_copy *ring, uint64_t from, struct st_buffer *payload)
{
    struct st_rows thread = {.table = ST_T_THREAD};
    struct st_slot_rows events;
    st_slot_rows_init(&events);
    struct st_text name = {ring->thread_name, (uint32_t)strnlen(ring->thread_name, sizeof(ring->thread_name))};
    bool is_encoded = st_rows_add(&thread, (int64_t[ST_COUNT_C_THREAD]){ring->thread, ring->tid, 0}, &name) &&
                      /* the copy is straight: no mask */
                      st_slot_rows_add(&events, ring->slots, UINT64_MAX, from, ring->end_slot - ring->first_slot,
                                       false) != UINT64_MAX &&
                      st_table_encode(&thread, payload) && st_slot_rows_encode(&events, payload);
    st_rows_finish(&thread);
    st_slot_rows_finish(&events);
    return is_encoded;
}

enum st_status st_ring_each_table(const struct st_ring_copy *ring, uint64_t from_slot, st_reader_table_fn each,
                                  void *context)
{
    uint64_t from = from_slot > ring->first_slot ? from_slot - ring->first_slot : 0;
    struct st_chunk_head head = {.sequence = UINT32_MAX,
                                 .kind = ST_CHUNK_EVENTS,
                                 .ring = ring->ring,
                                 .thread = ring->thread,
                                 .first_slot = ring->first_slot + from,
                                 .end_slot = ring->end_slot};
    struct st_buffer payload = {0};
    struct st_table_decoder decoder = {0};
    struct st_table table;
    size_t offset = 0;
    enum st_decode decoded = ST_DECODE_OK;
    enum st_status status = encode_ring(ring, from, &payload) ? ST_OK : ST_NO_MEMORY;
    while (status == ST_OK && (decoded = st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table)) ==
                                  ST_DECODE_OK) {
        status = each(context, &head, &table);
    }
    st_table_decoder_finish(&decoder);
    st_buffer_finish(&payload);
    return decoded == ST_DECODE_NO_MEMORY ? ST_NO_MEMORY : status;
}
