/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a trace file: header, chunk (head + zstd payload), index. Bytes in, bytes out; no I/O.
 * Any bytes given to the readers are safe. Not thread-safe per object.
 */
#ifndef ST_TRACE_CHUNK_H
#define ST_TRACE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "format.h"

/* ---- writing ---- */

struct st_chunk_encoder {
    void *context;          /* ZSTD_CCtx in `workspace` */
    struct st_buffer workspace;
    uint32_t next_sequence;
};

/* False: out of memory. */
bool st_chunk_encoder_init(struct st_chunk_encoder *encoder);
void st_chunk_encoder_finish(struct st_chunk_encoder *encoder);

/* Append the header frame; its check is filled in here. */
bool st_header_encode(const struct st_trace_header *header, struct st_buffer *out);

/* Append one chunk. The caller fills kind, ring, thread, slots, ticks, lost_total of *head; the rest is
 * filled in here. An empty payload appends nothing. False: out of memory, `out` as before. */
bool st_chunk_encode(struct st_chunk_encoder *encoder, struct st_chunk_head *head, const uint8_t *payload,
                     size_t length, struct st_buffer *out);

/* What the index keeps of the bytes of one chunk, both frames. */
uint64_t st_chunk_check(const uint8_t *bytes, size_t length);

/* Append the index frame. */
bool st_index_encode(const struct st_index_entry *entries, uint32_t count, struct st_buffer *out);

/* ---- reading ---- */

enum st_frame_kind {
    ST_FRAME_CUT = 0,     /* the bytes end inside the frame */
    ST_FRAME_CHUNK = 1,
    ST_FRAME_INDEX = 2,
    ST_FRAME_UNKNOWN = 3, /* a skippable frame of a later version: skip it */
    ST_FRAME_BAD = 4,     /* none of ours, or a head that does not check */
};
struct st_frame {
    enum st_frame_kind kind;
    size_t bytes;              /* of the whole frame (chunk: head frame and zstd frame) */
    struct st_chunk_head head; /* ST_FRAME_CHUNK */
    const uint8_t *compressed; /* ST_FRAME_CHUNK: head.compressed_bytes of it */
};

/* DAMAGED: ours, but its check or its size is wrong. */
enum st_header_status { ST_HEADER_OK = 0, ST_HEADER_CUT, ST_HEADER_NOT_OURS, ST_HEADER_TOO_NEW, ST_HEADER_DAMAGED };

/* The header at the start of the file; *ret_bytes: where the first chunk begins. */
enum st_header_status st_header_decode(const uint8_t *bytes, size_t length, struct st_trace_header *ret_header,
                                       size_t *ret_bytes);

/* Look at the frame at `bytes`; decompresses nothing. */
void st_frame_look(const uint8_t *bytes, size_t length, struct st_frame *ret_frame);

struct st_index {
    uint32_t entries;
    bool has_checks;        /* of the chunks: version 2 */
    const uint8_t *contents; /* of the frame */
    size_t entry_bytes;      /* 0: of a later version, the entries are not known */
};
/* The index frame at `bytes`, all `length` of it. False: its check or its size is wrong. */
bool st_index_look(const uint8_t *bytes, size_t length, struct st_index *ret_index);
struct st_index_entry st_index_entry_at(const struct st_index *index, uint32_t entry);

/* Decompress a chunk's payload into `payload` (replaced). False: checksum or content wrong, or no memory. */
bool st_chunk_decode(const struct st_frame *frame, struct st_buffer *payload);

#endif
