/* SPDX-License-Identifier: Apache-2.0 */
/* Walking the frames of a trace file; see reader.h. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/trace/chunk.h"
#include "rings.h"

enum {
    FRAME_HEAD_BYTES = 8,
    CHUNK_HEAD_BYTES = FRAME_HEAD_BYTES + sizeof(struct st_chunk_head),
    WINDOW_BYTES = 1 << 20,
};

/* The next slot of each ring that the file does not hold, by ring id. */
struct ring_end {
    uint32_t ring;
    uint64_t end_slot;
};

struct st_reader {
    char *path;
    int file;
    struct st_trace_header header;
    struct st_reader_summary summary;
    struct st_rings rings;
    struct st_index_entry *seen; /* what an index would say of each chunk that was read, but rows */
    size_t seen_count, seen_capacity;
    struct ring_end *ring_ends;
    size_t ring_end_count, ring_end_capacity;
    struct st_buffer window; /* bytes [window_offset, window_offset + window.length) of the file */
    uint64_t window_offset;
    struct st_buffer payload;
    struct st_table_decoder decoder;
    uint32_t next_sequence;
};

static void __attribute__((format(printf, 3, 4)))
note_problem(struct st_reader *reader, int64_t offset, const char *format, ...)
{
    struct st_reader_summary *summary = &reader->summary;
    if (summary->problem_count < ST_READER_MAX_PROBLEMS) {
        struct st_reader_problem *problem = &summary->problems[summary->problem_count++];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(problem->what, sizeof(problem->what), format, arguments);
        va_end(arguments);
        problem->offset = offset;
    }
}

/* Make the window hold [offset, offset + wanted), or less where the file ends. False: no memory or I/O error. */
static bool window_fill(struct st_reader *reader, uint64_t offset, size_t wanted)
{
    uint64_t end = reader->window_offset + reader->window.length;
    size_t kept = 0;
    if (offset >= reader->window_offset && offset < end) {
        if (end - offset >= wanted) {
            return true;
        }
        kept = (size_t)(end - offset);
        memmove(reader->window.bytes, reader->window.bytes + (offset - reader->window_offset), kept);
    }
    reader->window_offset = offset;
    reader->window.length = kept;
    wanted = wanted > WINDOW_BYTES ? wanted : WINDOW_BYTES;
    if (!st_buffer_reserve(&reader->window, wanted - kept)) {
        return false;
    }
    while (reader->window.length < wanted) {
        ssize_t got = pread(reader->file, reader->window.bytes + reader->window.length, wanted - reader->window.length,
                            (off_t)(offset + reader->window.length));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            break;
        }
        reader->window.length += (size_t)got;
    }
    return true;
}

static const uint8_t *window_at(const struct st_reader *reader, uint64_t offset, size_t *ret_length)
{
    *ret_length = (size_t)(reader->window_offset + reader->window.length - offset);
    return reader->window.bytes + (offset - reader->window_offset);
}

const char *st_reader_header_words(enum st_header_status status, size_t length)
{
    switch (status) {
    case ST_HEADER_CUT:
        return length == 0 ? "empty file" : "the file ends inside its header";
    case ST_HEADER_DAMAGED:
        return "the header is damaged (its check is wrong)";
    case ST_HEADER_TOO_NEW:
        return "written in a later format than this program reads";
    default:
        return "not a stagetap trace";
    }
}

/* The largest payload any header frame can be is far below the window: one fill is enough. */
static enum st_status read_header(struct st_reader *reader, struct st_err *err)
{
    size_t length, header_bytes = 0;
    if (!window_fill(reader, 0, WINDOW_BYTES)) {
        return st_fail(err, ST_IO, reader->path, -1, NULL, "cannot read: %s", strerror(errno));
    }
    const uint8_t *bytes = window_at(reader, 0, &length);
    enum st_header_status got = st_header_decode(bytes, length, &reader->header, &header_bytes);
    if (got == ST_HEADER_TOO_NEW) {
        return st_fail(err, ST_TOO_NEW, reader->path, 0, "use a stagetap at least as new as the one that recorded it",
                       "trace format %u.%u; this program reads up to %u", reader->header.version_major,
                       reader->header.version_minor, ST_TRACE_VERSION_MAJOR);
    }
    if (got != ST_HEADER_OK) {
        return st_fail(err, ST_NOT_A_TRACE, reader->path, 0,
                       got == ST_HEADER_DAMAGED ? "nothing in this file can be trusted; record again"
                                                : "name a .stap file that stagetap wrote",
                       "%s", st_reader_header_words(got, length));
    }
    reader->summary.end_offset = header_bytes;
    return ST_OK;
}

enum st_status st_reader_open(const char *path, struct st_reader **ret_reader, struct st_err *err)
{
    struct stat info;
    struct st_reader *reader = calloc(1, sizeof(*reader));
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        return st_fail(err, ST_NO_MEMORY, path, -1, NULL, "out of memory");
    }
    reader->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum st_status status = ST_OK;
    if (reader->file < 0 || fstat(reader->file, &info) != 0) {
        status = st_fail(err, ST_IO, path, -1, NULL, "cannot open: %s", strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        status = st_fail(err, ST_NOT_A_TRACE, path, -1, "name a .stap file that stagetap wrote", "not a regular file");
    } else {
        reader->summary.file_bytes = (uint64_t)info.st_size;
        status = read_header(reader, err);
    }
    if (status == ST_OK) {
        char *folder = strdup(path);
        char *slash = folder ? strrchr(folder, '/') : NULL;
        if (slash) {
            *(slash == folder ? slash + 1 : slash) = 0;
        }
        if (!folder || !st_rings_snapshot(&reader->rings, reader->header.session, slash ? folder : ".")) {
            status = st_fail(err, ST_NO_MEMORY, path, -1, NULL, "out of memory");
        }
        free(folder);
    }
    if (status != ST_OK) {
        st_reader_close(reader);
        return status;
    }
    *ret_reader = reader;
    return ST_OK;
}

void st_reader_close(struct st_reader *reader)
{
    if (!reader) {
        return;
    }
    if (reader->file >= 0) {
        close(reader->file);
    }
    st_rings_finish(&reader->rings);
    st_buffer_finish(&reader->window);
    st_buffer_finish(&reader->payload);
    st_table_decoder_finish(&reader->decoder);
    free(reader->seen);
    free(reader->ring_ends);
    free(reader->path);
    free(reader);
}

const struct st_trace_header *st_reader_header(const struct st_reader *reader)
{
    return &reader->header;
}

const struct st_reader_summary *st_reader_summary(const struct st_reader *reader)
{
    return &reader->summary;
}

/* Remember how far the file holds ring `ring`. */
static bool note_ring_end(struct st_reader *reader, uint32_t ring, uint64_t end_slot)
{
    for (size_t i = reader->ring_end_count; i-- > 0;) {
        if (reader->ring_ends[i].ring == ring) {
            if (end_slot > reader->ring_ends[i].end_slot) {
                reader->ring_ends[i].end_slot = end_slot;
            }
            return true;
        }
    }
    if (reader->ring_end_count == ST_MAX_RINGS) {
        return true;
    }
    if (reader->ring_end_count == reader->ring_end_capacity) {
        size_t capacity = reader->ring_end_capacity ? reader->ring_end_capacity * 2 : 16;
        struct ring_end *ends = realloc(reader->ring_ends, capacity * sizeof(*ends));
        if (!ends) {
            return false;
        }
        reader->ring_ends = ends;
        reader->ring_end_capacity = capacity;
    }
    reader->ring_ends[reader->ring_end_count++] = (struct ring_end){ring, end_slot};
    return true;
}

/* Is this ring one that a snapshot exists of? Only those ends are worth keeping. */
static bool has_snapshot(const struct st_reader *reader, uint32_t ring)
{
    for (size_t i = 0; i < reader->rings.count; i++) {
        if (reader->rings.items[i].ring == ring) {
            return true;
        }
    }
    return false;
}

static enum st_status each_table(struct st_reader *reader, const struct st_frame *frame, uint64_t offset,
                                 st_reader_table_fn each, void *context)
{
    size_t at = 0;
    for (;;) {
        struct st_table table;
        switch (st_table_decode(&reader->decoder, reader->payload.bytes, reader->payload.length, &at, &table)) {
        case ST_DECODE_END:
            return ST_OK;
        case ST_DECODE_NO_MEMORY:
            return ST_NO_MEMORY;
        case ST_DECODE_CORRUPT:
            reader->summary.damaged_chunks++;
            note_problem(reader, (int64_t)offset, "chunk %u: a table is unreadable", frame->head.sequence);
            return ST_OK;
        case ST_DECODE_OK:
            break;
        }
        if (table.id == ST_T_END && table.rows > 0) {
            reader->summary.has_end = true;
        }
        enum st_status status = each ? each(context, &frame->head, &table) : ST_OK;
        if (status != ST_OK) {
            return status;
        }
    }
}

static bool note_chunk(struct st_reader *reader, const struct st_frame *frame, uint64_t offset)
{
    if (reader->seen_count == reader->seen_capacity) {
        size_t capacity = reader->seen_capacity ? reader->seen_capacity * 2 : 64;
        struct st_index_entry *seen = realloc(reader->seen, capacity * sizeof(*seen));
        if (!seen) {
            return false;
        }
        reader->seen = seen;
        reader->seen_capacity = capacity;
    }
    const uint8_t *bytes = frame->compressed + frame->head.compressed_bytes - frame->bytes;
    reader->seen[reader->seen_count++] = (struct st_index_entry){.offset = offset,
                                                                 .first_ticks = frame->head.first_ticks,
                                                                 .last_ticks = frame->head.last_ticks,
                                                                 .kind = frame->head.kind,
                                                                 .check = st_chunk_check(bytes, frame->bytes)};
    return true;
}

/* The index was written last and knows the bytes of each chunk: what is not so any more was damaged since. */
static void compare_index(struct st_reader *reader, const struct st_index *index, uint64_t offset)
{
    size_t at = 0;
    for (uint32_t i = 0; index->entry_bytes > 0 && i < index->entries; i++) {
        struct st_index_entry want = st_index_entry_at(index, i);
        while (at < reader->seen_count && reader->seen[at].offset < want.offset) {
            at++;
        }
        const struct st_index_entry *got = at < reader->seen_count ? &reader->seen[at] : NULL;
        if (!got || got->offset != want.offset) {
            reader->summary.index_faults++;
            note_problem(reader, (int64_t)want.offset, "the index has a chunk here that cannot be read");
        } else if (got->kind != want.kind || got->first_ticks != want.first_ticks ||
                   got->last_ticks != want.last_ticks || (index->has_checks && got->check != want.check)) {
            reader->summary.index_faults++;
            note_problem(reader, (int64_t)want.offset, "the chunk is not what was written (check in the index)");
        }
    }
    if (index->entry_bytes > 0 && index->entries != reader->seen_count) {
        reader->summary.index_faults++;
        note_problem(reader, (int64_t)offset, "the index has %u chunks, the file %zu", index->entries,
                     reader->seen_count);
    }
}

/* False: cannot read. */
static bool take_index(struct st_reader *reader, uint64_t offset, uint64_t bytes)
{
    struct st_index index;
    size_t length = 0;
    const uint64_t most = (reader->seen_count + 64) * 2 * sizeof(struct st_index_entry); /* later ones may be wider */
    if (bytes <= most && !window_fill(reader, offset, (size_t)bytes)) {
        return false;
    }
    const uint8_t *at = window_at(reader, offset, &length);
    reader->summary.has_index = true;
    if (bytes > most || length < bytes || !st_index_look(at, (size_t)bytes, &index)) {
        reader->summary.index_faults++;
        note_problem(reader, (int64_t)offset, "the index is damaged");
        return true;
    }
    compare_index(reader, &index, offset);
    return true;
}

static enum st_status take_chunk(struct st_reader *reader, const struct st_frame *frame, uint64_t offset,
                                 st_reader_table_fn each, void *context)
{
    struct st_reader_summary *summary = &reader->summary;
    summary->chunks++;
    if (frame->head.sequence != reader->next_sequence) {
        note_problem(reader, (int64_t)offset, "chunk %u where %u was expected", frame->head.sequence,
                     reader->next_sequence);
        if (frame->head.sequence < reader->next_sequence) { /* read already, or of another trace */
            summary->damaged_chunks++;
            return ST_OK;
        }
        summary->missing_chunks += frame->head.sequence - reader->next_sequence;
    }
    reader->next_sequence = frame->head.sequence + 1;
    if (frame->head.lost_total > summary->lost_total) {
        summary->lost_total = frame->head.lost_total;
    }
    if (!st_chunk_decode(frame, &reader->payload)) {
        summary->damaged_chunks++;
        note_problem(reader, (int64_t)offset, "chunk %u: checksum or content wrong", frame->head.sequence);
        return ST_OK;
    }
    summary->decoded_bytes += reader->payload.length;
    if (!note_chunk(reader, frame, offset)) {
        return ST_NO_MEMORY;
    }
    if (frame->head.kind == ST_CHUNK_EVENTS && has_snapshot(reader, frame->head.ring) &&
        !note_ring_end(reader, frame->head.ring, frame->head.end_slot)) {
        return ST_NO_MEMORY;
    }
    return each_table(reader, frame, offset, each, context);
}

/* Behind damage: the offset of the next chunk whose head checks, or the end of the file. */
static bool find_next_chunk(struct st_reader *reader, uint64_t from, uint64_t *ret_offset)
{
    const uint32_t magic = ST_MAGIC_CHUNK;
    for (uint64_t offset = from;;) {
        size_t length;
        if (!window_fill(reader, offset, WINDOW_BYTES)) {
            return false;
        }
        const uint8_t *bytes = window_at(reader, offset, &length);
        if (length < CHUNK_HEAD_BYTES) {
            *ret_offset = offset + length;
            return true;
        }
        size_t last = length - CHUNK_HEAD_BYTES;
        for (size_t i = 0; i <= last; i++) {
            const uint8_t *hit = memchr(bytes + i, (int)(magic & 0xFF), last - i + 1);
            struct st_frame frame;
            if (!hit) {
                break;
            }
            i = (size_t)(hit - bytes);
            if (memcmp(hit, &magic, sizeof(magic)) != 0) {
                continue;
            }
            st_frame_look(hit, CHUNK_HEAD_BYTES, &frame);
            if (frame.kind != ST_FRAME_BAD && frame.bytes != 0) {
                *ret_offset = offset + i;
                return true;
            }
        }
        offset += last + 1;
    }
}

/* Look at the frame at `offset`, with all of its bytes in the window if it is a chunk. *ret_bytes: its length. */
static bool look_at(struct st_reader *reader, uint64_t offset, struct st_frame *ret_frame, uint64_t *ret_bytes)
{
    size_t length;
    uint32_t head[2];
    if (!window_fill(reader, offset, CHUNK_HEAD_BYTES)) {
        return false;
    }
    const uint8_t *bytes = window_at(reader, offset, &length);
    st_frame_look(bytes, length, ret_frame);
    *ret_bytes = ret_frame->bytes;
    if (ret_frame->kind != ST_FRAME_CUT || length < FRAME_HEAD_BYTES) {
        return true;
    }
    memcpy(head, bytes, sizeof(head));
    if (head[0] != ST_MAGIC_CHUNK) { /* index, or a frame of a later version: step over it by its size */
        *ret_bytes = FRAME_HEAD_BYTES + (uint64_t)head[1];
        if (reader->summary.file_bytes >= offset + *ret_bytes) {
            ret_frame->kind = head[0] == ST_MAGIC_INDEX ? ST_FRAME_INDEX : ST_FRAME_UNKNOWN;
        }
        return true;
    }
    if (ret_frame->bytes == 0) { /* cut inside the head, or a head of another size */
        if (length >= CHUNK_HEAD_BYTES) {
            ret_frame->kind = ST_FRAME_BAD;
        }
        return true;
    }
    if (!window_fill(reader, offset, ret_frame->bytes + ret_frame->head.compressed_bytes)) {
        return false;
    }
    bytes = window_at(reader, offset, &length);
    st_frame_look(bytes, length, ret_frame);
    *ret_bytes = ret_frame->bytes;
    return true;
}

static bool is_header(const struct st_reader *reader, uint64_t offset)
{
    size_t length;
    uint32_t magic = 0;
    const uint8_t *bytes = window_at(reader, offset, &length);
    memcpy(&magic, bytes, length < sizeof(magic) ? length : sizeof(magic));
    return magic == ST_MAGIC_HEADER;
}

static enum st_status walk_frames(struct st_reader *reader, st_reader_table_fn each, void *context, struct st_err *err)
{
    struct st_reader_summary *summary = &reader->summary;
    uint64_t offset = summary->end_offset;
    for (;;) {
        struct st_frame frame;
        uint64_t bytes = 0;
        size_t length;
        enum st_status status = ST_OK;
        if (!look_at(reader, offset, &frame, &bytes)) {
            return st_fail(err, ST_IO, reader->path, (int64_t)offset, NULL, "cannot read: %s", strerror(errno));
        }
        window_at(reader, offset, &length);
        if (length == 0 || frame.kind == ST_FRAME_CUT) {
            summary->trailing_bytes = reader->window_offset + reader->window.length - summary->end_offset;
            if (summary->trailing_bytes > 0) {
                note_problem(reader, (int64_t)offset, "the file ends inside a frame");
            }
            return ST_OK;
        }
        if (frame.kind == ST_FRAME_BAD) {
            uint64_t next = offset;
            note_problem(reader, (int64_t)offset, "bytes that are no frame");
            if (!find_next_chunk(reader, offset + 1, &next)) {
                return st_fail(err, ST_IO, reader->path, (int64_t)offset, NULL, "cannot read: %s", strerror(errno));
            }
            summary->skipped_bytes += next - offset;
            offset = next;
            continue;
        }
        if (frame.kind == ST_FRAME_UNKNOWN && is_header(reader, offset)) {
            note_problem(reader, (int64_t)offset, "another trace begins here: it is not read");
            summary->skipped_bytes += summary->file_bytes - offset;
            return ST_OK;
        }
        if (frame.kind == ST_FRAME_CHUNK) {
            status = take_chunk(reader, &frame, offset, each, context);
        }
        if (frame.kind == ST_FRAME_INDEX && !take_index(reader, offset, bytes)) {
            return st_fail(err, ST_IO, reader->path, (int64_t)offset, NULL, "cannot read: %s", strerror(errno));
        }
        if (status != ST_OK) {
            return st_fail(err, status, reader->path, (int64_t)offset, NULL,
                           status == ST_NO_MEMORY ? "out of memory" : "stopped");
        }
        offset += bytes;
        summary->end_offset = offset;
    }
}

static enum st_status walk_rings(struct st_reader *reader, st_reader_table_fn each, void *context)
{
    struct st_reader_summary *summary = &reader->summary;
    for (size_t i = 0; i < reader->rings.count; i++) {
        const struct st_ring_copy *ring = &reader->rings.items[i];
        uint64_t from = ring->first_slot;
        for (size_t k = 0; k < reader->ring_end_count; k++) {
            if (reader->ring_ends[k].ring == ring->ring && reader->ring_ends[k].end_slot > from) {
                from = reader->ring_ends[k].end_slot;
            }
        }
        summary->ring_count++;
        summary->ring_lost += ring->lost;
        summary->live = summary->live || st_ring_writer_lives(ring);
        if (from < ring->end_slot) {
            summary->ring_slots += ring->end_slot - from;
            enum st_status status = each ? st_ring_each_table(ring, from, each, context) : ST_OK;
            if (status != ST_OK) {
                return status;
            }
        }
    }
    return ST_OK;
}

enum st_status st_reader_run(struct st_reader *reader, st_reader_table_fn each, void *context, struct st_err *err)
{
    enum st_status status = walk_frames(reader, each, context, err);
    if (status == ST_OK) {
        status = walk_rings(reader, each, context);
        if (status != ST_OK) {
            st_fail(err, status, reader->path, -1, NULL, status == ST_NO_MEMORY ? "out of memory" : "stopped");
        }
    }
    return status;
}

enum st_status st_reader_verify(const char *path, struct st_trace_header *ret_header,
                                struct st_reader_summary *ret_summary, struct st_err *err)
{
    struct st_reader *reader;
    enum st_status status = st_reader_open(path, &reader, err);
    if (status != ST_OK) {
        return status;
    }
    status = st_reader_run(reader, NULL, NULL, err);
    if (status == ST_OK) {
        if (ret_header) {
            *ret_header = reader->header;
        }
        *ret_summary = reader->summary;
    }
    st_reader_close(reader);
    return status;
}

bool st_reader_is_complete(const struct st_reader_summary *summary)
{
    return summary->has_end && summary->trailing_bytes == 0 && summary->damaged_chunks == 0 &&
           summary->missing_chunks == 0 && summary->skipped_bytes == 0 && summary->index_faults == 0;
}
