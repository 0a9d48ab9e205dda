/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading: a trace made here is cut at every byte, damaged in the middle, still growing, and joined with the
 * rings of its process. Nothing that is there is missed, nothing that is not there is invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/model/model.h"
#include "analyzer/reader/find.h"
#include "analyzer/reader/reader.h"
#include "preload/trace/chunk.h"
#include "preload/trace/ring.h"

enum { RING = 7, THREAD = 3, SLOTS_A_CHUNK = 10, CHUNKS = 3 };

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static struct st_trace_header header_of(uint8_t session)
{
    struct st_trace_header header = {.magic = ST_TRACE_MAGIC,
                                     .version_major = ST_TRACE_VERSION_MAJOR,
                                     .header_bytes = sizeof(struct st_trace_header),
                                     .pid = (uint32_t)getpid(),
                                     .ticks_per_second = 1000000000};
    memset(header.session, session, sizeof(header.session));
    return header;
}

/* The call of slot `n` begins at tick 1000 n. */
static void add_chunk(struct st_chunk_encoder *encoder, uint64_t first_slot, struct st_buffer *file)
{
    struct st_rows rows = {.table = ST_T_CALL};
    struct st_buffer payload = {0};
    struct st_chunk_head head = {.kind = ST_CHUNK_EVENTS, .ring = RING, .thread = THREAD, .first_slot = first_slot,
                                 .end_slot = first_slot + SLOTS_A_CHUNK};
    for (uint64_t n = first_slot; n < first_slot + SLOTS_A_CHUNK; n++) {
        assert_true(st_rows_add(&rows, (int64_t[ST_COUNT_C_CALL]){[ST_CALL_C_begin_ticks] = (int64_t)n * 1000,
                                                                  [ST_CALL_C_duration_ticks] = 10},
                                NULL));
    }
    assert_true(st_table_encode(&rows, &payload));
    assert_true(st_chunk_encode(encoder, &head, payload.bytes, payload.length, file));
    st_rows_finish(&rows);
    st_buffer_finish(&payload);
}

/* Header and CHUNKS chunks; ends[i]: where the i-th whole frame ends (0: the header). */
static void make_trace(struct st_buffer *file, uint64_t ends[CHUNKS + 1])
{
    struct st_trace_header header = header_of(0x5a);
    struct st_chunk_encoder encoder;
    assert_true(st_chunk_encoder_init(&encoder));
    assert_true(st_header_encode(&header, file));
    ends[0] = file->length;
    for (uint64_t i = 0; i < CHUNKS; i++) {
        add_chunk(&encoder, i * SLOTS_A_CHUNK, file);
        ends[i + 1] = file->length;
    }
    st_chunk_encoder_finish(&encoder);
}

/* Cut at every byte: everything up to the last whole frame, and the place where that ends. */
static void cut_anywhere(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    make_trace(&file, ends);
    for (size_t length = 0; length <= file.length; length++) {
        struct st_reader_summary summary;
        struct st_err err;
        size_t whole = 0;
        write_file("cut.stap", file.bytes, length);
        enum st_status status = st_reader_verify(in_folder("cut.stap"), NULL, &summary, &err);
        if (length < ends[0]) {
            assert_int_equal(status, ST_NOT_A_TRACE);
            assert_true(strlen(err.what) > 0);
            continue;
        }
        while (whole < CHUNKS && ends[whole + 1] <= length) {
            whole++;
        }
        assert_int_equal(status, ST_OK);
        assert_int_equal(summary.chunks, whole);
        assert_int_equal(summary.end_offset, ends[whole]);
        assert_int_equal(summary.trailing_bytes, length - ends[whole]);
        assert_int_equal(summary.damaged_chunks, 0);
        assert_false(st_reader_is_complete(&summary));
    }
    st_buffer_finish(&file);
}

/* One flipped byte costs at most the chunk that it is in, and is noticed – but where it does not change the
 * contents (zstd's window size). */
static void damaged_anywhere(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    struct st_reader_summary whole, summary;
    size_t unnoticed = 0;
    make_trace(&file, ends);
    write_file("good.stap", file.bytes, file.length);
    assert_int_equal(st_reader_verify(in_folder("good.stap"), NULL, &whole, NULL), ST_OK);
    for (size_t at = ends[0]; at < file.length; at++) {
        file.bytes[at] ^= 0x55;
        write_file("bad.stap", file.bytes, file.length);
        file.bytes[at] ^= 0x55;
        assert_int_equal(st_reader_verify(in_folder("bad.stap"), NULL, &summary, NULL), ST_OK);
        assert_true(summary.chunks - summary.damaged_chunks >= CHUNKS - 1);
        if (summary.problem_count == 0) {
            unnoticed++;
            assert_int_equal(summary.decoded_bytes, whole.decoded_bytes);
            continue;
        }
        assert_true(summary.damaged_chunks + summary.missing_chunks + summary.skipped_bytes + summary.trailing_bytes >
                    0);
    }
    assert_true(unnoticed <= CHUNKS);
    st_buffer_finish(&file);
}

/* With header and index every flipped byte is noticed, also where zstd does not mind. */
static void damaged_with_index(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    struct st_index_entry entries[CHUNKS];
    struct st_reader_summary summary;
    make_trace(&file, ends);
    for (size_t i = 0; i < CHUNKS; i++) {
        entries[i] = (struct st_index_entry){.offset = ends[i],
                                             .kind = ST_CHUNK_EVENTS,
                                             .check = st_chunk_check(file.bytes + ends[i], ends[i + 1] - ends[i])};
    }
    assert_true(st_index_encode(entries, CHUNKS, &file));
    write_file("good.stap", file.bytes, file.length);
    assert_int_equal(st_reader_verify(in_folder("good.stap"), NULL, &summary, NULL), ST_OK);
    assert_true(summary.has_index);
    assert_int_equal(summary.index_faults + summary.problem_count, 0);
    for (size_t at = 0; at < file.length; at++) {
        for (uint8_t bits = 0x01; bits; bits = bits == 0x01 ? 0x55 : bits == 0x55 ? 0x80 : 0) {
            struct st_err err;
            file.bytes[at] ^= bits;
            write_file("bad.stap", file.bytes, file.length);
            file.bytes[at] ^= bits;
            enum st_status status = st_reader_verify(in_folder("bad.stap"), NULL, &summary, &err);
            assert_true(status != ST_OK || summary.problem_count > 0 || !summary.has_index);
            assert_true(status != ST_OK || !summary.has_index || summary.index_faults + summary.damaged_chunks +
                        summary.skipped_bytes + summary.missing_chunks + summary.trailing_bytes > 0);
            assert_true(at >= ends[0] || status != ST_OK);
        }
    }
    st_buffer_finish(&file);
}

/* A header of 1.0 has no check: it is read; damage in a newer one is told from a file that is none of ours. */
static void header_with_and_without_check(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    struct st_reader_summary summary;
    struct st_trace_header header;
    struct st_err err;
    make_trace(&file, ends);
    file.bytes[8 + offsetof(struct st_trace_header, pid)] ^= 1;
    write_file("damaged.stap", file.bytes, file.length);
    assert_int_equal(st_reader_verify(in_folder("damaged.stap"), &header, &summary, &err), ST_NOT_A_TRACE);
    assert_non_null(strstr(err.what, "header is damaged"));
    const uint32_t old_bytes = offsetof(struct st_trace_header, check);
    memmove(file.bytes + 8 + old_bytes, file.bytes + ends[0], file.length - ends[0]);
    file.length -= sizeof(header) - old_bytes;
    memcpy(file.bytes + 4, &old_bytes, sizeof(old_bytes));
    memcpy(file.bytes + 8 + offsetof(struct st_trace_header, header_bytes), &old_bytes, sizeof(old_bytes));
    write_file("old.stap", file.bytes, file.length);
    assert_int_equal(st_reader_verify(in_folder("old.stap"), &header, &summary, &err), ST_OK);
    assert_int_equal(summary.chunks, CHUNKS);
    assert_int_equal(summary.problem_count, 0);
    st_buffer_finish(&file);
}

static void not_ours(void **state)
{
    static const uint8_t noise[4096] = {0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 'S', 'T', 'A', 'G', 'E'};
    struct st_trace_header header = header_of(1);
    struct st_reader *reader = NULL;
    struct st_buffer file = {0};
    struct st_err err;
    write_file("noise.stap", noise, sizeof(noise));
    assert_int_equal(st_reader_open(in_folder("noise.stap"), &reader, &err), ST_NOT_A_TRACE);
    assert_int_equal(st_reader_open(in_folder("missing.stap"), &reader, &err), ST_IO);
    assert_int_equal(st_reader_open(folder, &reader, &err), ST_NOT_A_TRACE);
    header.version_major = ST_TRACE_VERSION_MAJOR + 1;
    assert_true(st_header_encode(&header, &file));
    write_file("new.stap", file.bytes, file.length);
    assert_int_equal(st_reader_open(in_folder("new.stap"), &reader, &err), ST_TOO_NEW);
    assert_null(reader);
    st_buffer_finish(&file);
}

/* A frame of a later version is stepped over. */
static void unknown_frame(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    struct st_reader_summary summary;
    static const uint8_t frame[] = {0x57, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4};
    make_trace(&file, ends);
    assert_true(st_buffer_append(&file, frame, sizeof(frame)));
    memmove(file.bytes + ends[1] + sizeof(frame), file.bytes + ends[1], file.length - sizeof(frame) - ends[1]);
    memcpy(file.bytes + ends[1], frame, sizeof(frame));
    write_file("later.stap", file.bytes, file.length);
    assert_int_equal(st_reader_verify(in_folder("later.stap"), NULL, &summary, NULL), ST_OK);
    assert_int_equal(summary.chunks, CHUNKS);
    assert_int_equal(summary.problem_count, 0);
    st_buffer_finish(&file);
}

/* ---- rings ---- */

static uint64_t own_start_time(void)
{
    char text[1024] = "";
    int file = open("/proc/self/stat", O_RDONLY);
    assert_true(read(file, text, sizeof(text) - 1) > 0);
    close(file);
    char *at = strrchr(text, ')');
    for (int field = 2; field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return strtoull(at + 1, NULL, 10);
}

/* A ring file of 64 slots beside the trace, holding [tail, head); every slot is a call like in add_chunk(). */
static void make_ring(uint64_t tail, uint64_t head, uint64_t pid_start)
{
    enum { CAPACITY = 64 };
    size_t bytes = ST_RING_HEAD_BYTES + CAPACITY * ST_SLOT_BYTES;
    struct st_ring_head *ring = aligned_alloc(64, bytes);
    assert_non_null(ring);
    memset((void *)ring, 0, bytes);
    struct st_slot *slots = (struct st_slot *)(void *)((char *)ring + ST_RING_HEAD_BYTES);
    memcpy(ring->magic, ST_RING_MAGIC, sizeof(ring->magic));
    ring->version = ST_RING_VERSION;
    ring->slot_bytes = ST_SLOT_BYTES;
    ring->capacity = CAPACITY;
    memset(ring->session, 0x5a, sizeof(ring->session));
    ring->uid = getuid();
    ring->pid = (uint32_t)getpid();
    ring->pid_start = pid_start;
    ring->ring = RING;
    ring->thread = THREAD;
    ring->tid = 4242;
    memcpy(ring->thread_name, "worker", 6);
    ring->head = head;
    ring->tail = tail;
    ring->lost = 5;
    for (uint64_t n = head > CAPACITY ? head - CAPACITY : 0; n < head; n++) {
        slots[n % CAPACITY] = (struct st_slot){.kind = ST_SLOT_CALL, .begin = n * 1000, .end = n * 1000 + 10};
    }
    write_file("stagetap.0.5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.7", ring, bytes);
    free(ring);
}

/*
 *   file   slots 0 ───────────── 30
 *   ring              20 ─────────────────── 40      what the file has is not read again: 30 … 39 are new
 */
static void ring_after_file(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    struct st_model *model;
    make_trace(&file, ends);
    write_file("live.stap", file.bytes, file.length);
    make_ring(20, 40, own_start_time());
    assert_int_equal(st_model_load(in_folder("live.stap"), &model, NULL), ST_OK);
    assert_int_equal(model->call_count, 40);
    for (size_t i = 0; i < model->call_count; i++) {
        assert_int_equal(model->calls[i].begin_ns, (int64_t)i * 1000);
    }
    assert_int_equal(model->traces->summary.ring_slots, 10);
    assert_int_equal(model->traces->summary.ring_lost, 5);
    assert_true(model->traces->is_live);
    assert_int_equal(model->thread_count, 1);
    assert_string_equal(model->threads[0].name, "worker");
    st_model_destroy(model);

    make_ring(20, 40, own_start_time() + 1); /* another process had this pid: dead, its slots count all the same */
    assert_int_equal(st_model_load(in_folder("live.stap"), &model, NULL), ST_OK);
    assert_int_equal(model->call_count, 40);
    assert_false(model->traces->is_live);
    st_model_destroy(model);

    make_ring(30, 94, 1); /* full and wrapped */
    assert_int_equal(st_model_load(in_folder("live.stap"), &model, NULL), ST_OK);
    assert_int_equal(model->call_count, 94);
    assert_int_equal(model->calls[93].begin_ns, 93000);
    st_model_destroy(model);
    unlink(in_folder("stagetap.0.5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a.7"));
    st_buffer_finish(&file);
}

/* ---- finding ---- */

static void find_newest(void **state)
{
    struct st_buffer file = {0};
    uint64_t ends[CHUNKS + 1];
    char path[256];
    struct st_err err;
    bool guessed;
    make_trace(&file, ends);
    assert_int_equal(mkdir(in_folder("runs"), 0700), 0);
    assert_int_equal(st_reader_find(in_folder("runs"), path, sizeof(path), &guessed, &err), ST_NOT_FOUND);
    write_file("runs/old.stap", file.bytes, file.length);
    write_file("runs/new.stap", file.bytes, file.length);
    write_file("runs/newest.stap", "no trace", 8);
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder("runs/old.stap"), then, 0), 0);
    assert_int_equal(st_reader_find(in_folder("runs"), path, sizeof(path), &guessed, &err), ST_OK);
    assert_true(guessed);
    assert_string_equal(strrchr(path, '/'), "/new.stap");
    assert_int_equal(st_reader_find(in_folder("runs/old.stap"), path, sizeof(path), &guessed, &err), ST_OK);
    assert_false(guessed);
    assert_int_equal(st_reader_find("no-such-file", path, sizeof(path), &guessed, &err), ST_NOT_FOUND);
    st_buffer_finish(&file);
}

static int make_folder(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/st-reader-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_anywhere),  cmocka_unit_test(damaged_anywhere), cmocka_unit_test(not_ours),
        cmocka_unit_test(damaged_with_index), cmocka_unit_test(header_with_and_without_check),
        cmocka_unit_test(unknown_frame), cmocka_unit_test(ring_after_file),  cmocka_unit_test(find_newest),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
