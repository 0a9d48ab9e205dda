/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: header, chunk and index there and back, cut and damaged ones told apart, and zstd's own view. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <zstd.h>

#include "preload/trace/chunk.h"

static const uint8_t PAYLOAD[] = "a payload, a payload, a payload, a payload";

static struct st_trace_header sample_header(void)
{
    return (struct st_trace_header){.magic = ST_TRACE_MAGIC, .version_major = 1,
                                    .header_bytes = sizeof(struct st_trace_header), .pid = 4711, .start_ticks = 5,
                                    .ticks_per_second = 2400000000};
}

/* header, two chunks, index */
static void make_file(struct st_buffer *file)
{
    struct st_chunk_encoder encoder;
    struct st_trace_header header = sample_header();
    struct st_index_entry entry = {.offset = 120, .rows = 3};
    assert_true(st_chunk_encoder_init(&encoder));
    assert_true(st_header_encode(&header, file));
    for (int i = 0; i < 2; i++) {
        struct st_chunk_head head = {.kind = ST_CHUNK_EVENTS, .ring = 9, .first_slot = 10, .end_slot = 20,
                                     .lost_total = 1};
        assert_true(st_chunk_encode(&encoder, &head, PAYLOAD, sizeof(PAYLOAD), file));
        assert_int_equal(head.sequence, i);
    }
    assert_true(st_index_encode(&entry, 1, file));
    st_chunk_encoder_finish(&encoder);
}

static void frames_come_back(void **state)
{
    struct st_buffer file = {0}, payload = {0};
    struct st_trace_header header;
    struct st_frame frame;
    size_t at;
    make_file(&file);
    assert_int_equal(st_header_decode(file.bytes, file.length, &header, &at), ST_HEADER_OK);
    assert_int_equal(header.pid, 4711);
    for (uint32_t i = 0; i < 2; i++) {
        st_frame_look(file.bytes + at, file.length - at, &frame);
        assert_int_equal(frame.kind, ST_FRAME_CHUNK);
        assert_int_equal(frame.head.sequence, i);
        assert_int_equal(frame.head.ring, 9);
        assert_true(st_chunk_decode(&frame, &payload));
        assert_int_equal(payload.length, sizeof(PAYLOAD));
        assert_memory_equal(payload.bytes, PAYLOAD, sizeof(PAYLOAD));
        at += frame.bytes;
    }
    st_frame_look(file.bytes + at, file.length - at, &frame);
    assert_int_equal(frame.kind, ST_FRAME_INDEX);
    assert_int_equal(at + frame.bytes, file.length);
    st_buffer_finish(&file);
    st_buffer_finish(&payload);
}

/* `zstd -dc` must print the payloads: the whole file is one zstd stream. */
static void file_is_valid_zstd(void **state)
{
    struct st_buffer file = {0};
    make_file(&file);
    char plain[256];
    size_t length = ZSTD_decompress(plain, sizeof(plain), file.bytes, file.length);
    assert_false(ZSTD_isError(length));
    assert_int_equal(length, 2 * sizeof(PAYLOAD));
    st_buffer_finish(&file);
}

/* At each length exactly the frames that are whole are seen, and the next one is called cut. */
static void cut_files_end_at_a_whole_frame(void **state)
{
    struct st_buffer file = {0};
    struct st_trace_header header;
    make_file(&file);
    for (size_t length = 0; length < file.length; length++) {
        size_t at;
        enum st_header_status status = st_header_decode(file.bytes, length, &header, &at);
        if (length < 8 + sizeof(header)) {
            assert_int_equal(status, ST_HEADER_CUT);
            continue;
        }
        struct st_frame frame;
        for (;;) {
            st_frame_look(file.bytes + at, length - at, &frame);
            if (frame.kind == ST_FRAME_CUT) {
                break;
            }
            assert_true(frame.kind == ST_FRAME_CHUNK || frame.kind == ST_FRAME_INDEX);
            at += frame.bytes;
        }
        assert_true(at <= length);
    }
    st_buffer_finish(&file);
}

/* A changed bit in a chunk is noticed: by the head's check, or by zstd's checksum. */
static void damage_is_noticed(void **state)
{
    struct st_buffer file = {0}, payload = {0};
    struct st_frame frame;
    struct st_trace_header header;
    size_t start;
    make_file(&file);
    st_header_decode(file.bytes, file.length, &header, &start);
    st_frame_look(file.bytes + start, file.length - start, &frame);
    size_t end = start + frame.bytes;
    for (size_t at = start + 8; at < end; at++) {
        file.bytes[at] ^= 0x10;
        st_frame_look(file.bytes + start, file.length - start, &frame);
        bool is_noticed = frame.kind != ST_FRAME_CHUNK || !st_chunk_decode(&frame, &payload) ||
                          memcmp(payload.bytes, PAYLOAD, sizeof(PAYLOAD)) == 0;
        assert_true(is_noticed);
        file.bytes[at] ^= 0x10;
    }
    st_buffer_finish(&file);
    st_buffer_finish(&payload);
}

static void strange_headers_are_refused(void **state)
{
    struct st_buffer file = {0};
    struct st_trace_header header = sample_header(), back;
    size_t at;
    header.version_major = ST_TRACE_VERSION_MAJOR + 1;
    st_header_encode(&header, &file);
    assert_int_equal(st_header_decode(file.bytes, file.length, &back, &at), ST_HEADER_TOO_NEW);
    file.bytes[8] = 'X';
    assert_int_equal(st_header_decode(file.bytes, file.length, &back, &at), ST_HEADER_NOT_OURS);
    assert_int_equal(st_header_decode((const uint8_t *)"\177ELF............................", 32, &back, &at),
                     ST_HEADER_NOT_OURS);
    st_buffer_finish(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(file_is_valid_zstd),
        cmocka_unit_test(cut_files_end_at_a_whole_frame),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(strange_headers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
