/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a trace file; see chunk.h and FORMAT.md "Frames". */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_initStaticCCtx: compress in memory that we mapped ourselves */
#include "chunk.h"

#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FRAME_HEAD_BYTES = 8 /* magic, size */ };
/* The thread that packs takes its time from the target: level 1 packs columns 2.5 times as fast as level 3, which saves
 * a sixth of the bytes. */
enum { LEVEL = 1 };

/* ---- writing ---------------------------------------------------------------------------------- */

bool st_chunk_encoder_init(struct st_chunk_encoder *encoder)
{
    *encoder = (struct st_chunk_encoder){0};
    size_t bytes = ZSTD_estimateCCtxSize(LEVEL);
    if (!st_buffer_reserve(&encoder->workspace, bytes)) {
        return false;
    }
    encoder->context = ZSTD_initStaticCCtx(encoder->workspace.bytes, encoder->workspace.capacity);
    if (!encoder->context) {
        st_buffer_finish(&encoder->workspace);
        return false;
    }
    ZSTD_CCtx_setParameter(encoder->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(encoder->context, ZSTD_c_checksumFlag, 1);
    return true;
}

void st_chunk_encoder_finish(struct st_chunk_encoder *encoder)
{
    st_buffer_finish(&encoder->workspace);
    encoder->context = NULL;
}

static void put_frame_head(uint8_t *at, uint32_t magic, uint32_t bytes)
{
    memcpy(at, &magic, sizeof(magic));
    memcpy(at + sizeof(magic), &bytes, sizeof(bytes));
}

bool st_header_encode(const struct st_trace_header *header, struct st_buffer *out)
{
    if (!st_buffer_reserve(out, FRAME_HEAD_BYTES + sizeof(*header))) {
        return false;
    }
    struct st_trace_header checked = *header;
    checked.check = XXH64(&checked, offsetof(struct st_trace_header, check), 0);
    put_frame_head(out->bytes + out->length, ST_MAGIC_HEADER, sizeof(checked));
    memcpy(out->bytes + out->length + FRAME_HEAD_BYTES, &checked, sizeof(checked));
    out->length += FRAME_HEAD_BYTES + sizeof(*header);
    return true;
}

bool st_chunk_encode(struct st_chunk_encoder *encoder, struct st_chunk_head *head, const uint8_t *payload,
                     size_t length, struct st_buffer *out)
{
    const size_t head_bytes = FRAME_HEAD_BYTES + sizeof(*head);
    size_t bound = ZSTD_compressBound(length);
    if (length == 0) {
        return true;
    }
    if (length > ST_MAX_CHUNK_BYTES || !st_buffer_reserve(out, head_bytes + bound)) {
        return false;
    }
    uint8_t *at = out->bytes + out->length;
    size_t compressed = ZSTD_compress2(encoder->context, at + head_bytes, bound, payload, length);
    if (ZSTD_isError(compressed)) {
        return false;
    }
    head->sequence = encoder->next_sequence++;
    head->compressed_bytes = (uint32_t)compressed;
    head->payload_bytes = (uint32_t)length;
    head->check = XXH64(head, offsetof(struct st_chunk_head, check), 0);
    put_frame_head(at, ST_MAGIC_CHUNK, sizeof(*head));
    memcpy(at + FRAME_HEAD_BYTES, head, sizeof(*head));
    out->length += head_bytes + compressed;
    return true;
}

uint64_t st_chunk_check(const uint8_t *bytes, size_t length)
{
    return XXH64(bytes, length, 0);
}

bool st_index_encode(const struct st_index_entry *entries, uint32_t count, struct st_buffer *out)
{
    size_t entry_bytes = (size_t)count * sizeof(*entries);
    struct st_index_footer footer = {.entries = count, .version = ST_INDEX_VERSION};
    memcpy(footer.magic, ST_TRACE_MAGIC, sizeof(footer.magic));
    if (!st_buffer_reserve(out, FRAME_HEAD_BYTES + entry_bytes + sizeof(footer))) {
        return false;
    }
    put_frame_head(out->bytes + out->length, ST_MAGIC_INDEX, (uint32_t)(entry_bytes + sizeof(footer)));
    out->length += FRAME_HEAD_BYTES;
    st_buffer_append(out, entries, entry_bytes);
    st_buffer_append(out, &footer, offsetof(struct st_index_footer, check));
    size_t checked = entry_bytes + offsetof(struct st_index_footer, check);
    footer.check = XXH64(out->bytes + out->length - checked, checked, 0);
    out->length -= offsetof(struct st_index_footer, check);
    st_buffer_append(out, &footer, sizeof(footer));
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* Clocks count from a system start or from 1970: differences of such times fit a signed number. */
static bool are_times_believable(const struct st_trace_header *header)
{
    const uint64_t never = UINT64_C(1) << 62;
    return header->start_monotonic_ns < never && header->start_raw_ns < never && header->start_realtime_ns < never;
}

enum st_header_status st_header_decode(const uint8_t *bytes, size_t length, struct st_trace_header *ret_header,
                                       size_t *ret_bytes)
{
    const size_t needed = offsetof(struct st_trace_header, boot);
    if (length < FRAME_HEAD_BYTES + sizeof(ret_header->magic)) {
        return ST_HEADER_CUT;
    }
    uint32_t frame_bytes = get32(bytes + 4);
    if (get32(bytes) != ST_MAGIC_HEADER || memcmp(bytes + FRAME_HEAD_BYTES, ST_TRACE_MAGIC, 8) != 0 ||
        frame_bytes < needed || frame_bytes > ST_MAX_CHUNK_BYTES) {
        return ST_HEADER_NOT_OURS;
    }
    if (length - FRAME_HEAD_BYTES < frame_bytes) {
        return ST_HEADER_CUT;
    }
    *ret_header = (struct st_trace_header){0};
    memcpy(ret_header, bytes + FRAME_HEAD_BYTES, frame_bytes < sizeof(*ret_header) ? frame_bytes : sizeof(*ret_header));
    *ret_bytes = FRAME_HEAD_BYTES + (size_t)frame_bytes;
    if (ret_header->version_major > ST_TRACE_VERSION_MAJOR) {
        return ST_HEADER_TOO_NEW;
    }
    const size_t checked = offsetof(struct st_trace_header, check);
    bool has_check = frame_bytes >= checked + sizeof(ret_header->check);
    bool is_good = ret_header->header_bytes == frame_bytes &&
                   (!has_check || ret_header->check == XXH64(bytes + FRAME_HEAD_BYTES, checked, 0)) &&
                   are_times_believable(ret_header);
    return is_good ? ST_HEADER_OK : ST_HEADER_DAMAGED;
}

static bool is_head_good(const struct st_chunk_head *head, uint32_t frame_bytes)
{
    return frame_bytes == sizeof(*head) && head->check == XXH64(head, offsetof(struct st_chunk_head, check), 0) &&
           head->payload_bytes <= ST_MAX_CHUNK_BYTES && head->payload_bytes > 0 &&
           head->compressed_bytes <= ZSTD_COMPRESSBOUND(ST_MAX_CHUNK_BYTES);
}

void st_frame_look(const uint8_t *bytes, size_t length, struct st_frame *ret_frame)
{
    *ret_frame = (struct st_frame){.kind = ST_FRAME_CUT};
    if (length < FRAME_HEAD_BYTES) {
        return;
    }
    uint32_t magic = get32(bytes), frame_bytes = get32(bytes + 4);
    if ((magic & 0xFFFFFFF0u) != (ST_MAGIC_HEADER & 0xFFFFFFF0u)) {
        ret_frame->kind = ST_FRAME_BAD;
        return;
    }
    if (length - FRAME_HEAD_BYTES < frame_bytes) {
        return;
    }
    ret_frame->bytes = FRAME_HEAD_BYTES + (size_t)frame_bytes;
    if (magic == ST_MAGIC_INDEX || magic != ST_MAGIC_CHUNK) {
        ret_frame->kind = magic == ST_MAGIC_INDEX ? ST_FRAME_INDEX : ST_FRAME_UNKNOWN;
        return;
    }
    memcpy(&ret_frame->head, bytes + FRAME_HEAD_BYTES,
           frame_bytes < sizeof(ret_frame->head) ? frame_bytes : sizeof(ret_frame->head));
    if (!is_head_good(&ret_frame->head, frame_bytes)) {
        ret_frame->kind = ST_FRAME_BAD;
        return;
    }
    if (length - ret_frame->bytes < ret_frame->head.compressed_bytes) {
        return;
    }
    ret_frame->kind = ST_FRAME_CHUNK;
    ret_frame->compressed = bytes + ret_frame->bytes;
    ret_frame->bytes += ret_frame->head.compressed_bytes;
}

bool st_index_look(const uint8_t *bytes, size_t length, struct st_index *ret_index)
{
    struct st_index_footer footer;
    if (length < FRAME_HEAD_BYTES + sizeof(footer)) {
        return false;
    }
    const uint8_t *contents = bytes + FRAME_HEAD_BYTES;
    size_t entry_bytes = length - FRAME_HEAD_BYTES - sizeof(footer); /* of all */
    memcpy(&footer, contents + entry_bytes, sizeof(footer));
    size_t checked = entry_bytes + (footer.version > 1 ? offsetof(struct st_index_footer, check) : 0);
    if (memcmp(footer.magic, ST_TRACE_MAGIC, sizeof(footer.magic)) != 0 ||
        footer.check != XXH64(contents, checked, 0)) {
        return false;
    }
    *ret_index = (struct st_index){.entries = footer.entries,
                                   .has_checks = footer.version == ST_INDEX_VERSION,
                                   .contents = contents,
                                   .entry_bytes = footer.version == 1 ? ST_INDEX_ENTRY_BYTES_1
                                                  : footer.version == ST_INDEX_VERSION
                                                      ? sizeof(struct st_index_entry)
                                                      : 0};
    return ret_index->entry_bytes == 0 || entry_bytes == ret_index->entries * ret_index->entry_bytes;
}

struct st_index_entry st_index_entry_at(const struct st_index *index, uint32_t entry)
{
    struct st_index_entry ret = {0};
    memcpy(&ret, index->contents + entry * index->entry_bytes, index->entry_bytes);
    return ret;
}

bool st_chunk_decode(const struct st_frame *frame, struct st_buffer *payload)
{
    payload->length = 0;
    if (!st_buffer_reserve(payload, frame->head.payload_bytes)) {
        return false;
    }
    size_t got = ZSTD_decompress(payload->bytes, frame->head.payload_bytes, frame->compressed,
                                 frame->head.compressed_bytes);
    if (ZSTD_isError(got) || got != frame->head.payload_bytes) {
        return false;
    }
    payload->length = got;
    return true;
}
