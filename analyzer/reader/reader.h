/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From trace bytes to decoded tables: a whole file, one that still grows, or one cut anywhere, together
 * with what the rings of its process hold and the file does not have yet. One pass, one frame in memory at
 * a time. Any bytes are safe: damage is counted and stepped over. One thread a reader.
 */
#ifndef ST_READER_READER_H
#define ST_READER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/reader/status.h"
#include "preload/trace/chunk.h"
#include "preload/trace/format.h"
#include "preload/trace/table.h"

#define ST_READER_MAX_PROBLEMS 16

struct st_reader_problem {
    int64_t offset; /* byte in the file, -1 = not one place */
    char what[128];
};

/* What one pass found; complete after st_reader_run(). */
struct st_reader_summary {
    uint64_t file_bytes;     /* size when opened */
    uint64_t end_offset;     /* behind the last whole frame */
    uint64_t trailing_bytes; /* from there to the end of what was read: a cut or unreadable tail */
    uint64_t chunks;
    uint64_t damaged_chunks; /* whole frame, content unreadable */
    uint64_t missing_chunks; /* jumps of the sequence number */
    uint64_t skipped_bytes;  /* between frames, stepped over */
    uint64_t decoded_bytes;  /* payloads, decompressed */
    uint64_t lost_total;     /* largest chunk_head.lost_total */
    uint64_t ring_count;     /* rings of this session that were found */
    uint64_t ring_slots;     /* slots taken from them, not in the file */
    uint64_t ring_lost;      /* their own counts of events that did not fit */
    uint64_t index_faults;   /* the index itself is damaged, or a chunk is not what it says */
    bool has_index;
    bool has_end; /* END row: the process ended in order */
    bool live;    /* the writing process still runs */
    uint32_t problem_count; /* of problems[]; more are only counted above */
    struct st_reader_problem problems[ST_READER_MAX_PROBLEMS];
};

struct st_reader;

/* Open `path`, read its header and take a snapshot of its rings. On failure *ret_reader is untouched:
 * ST_IO, ST_NOT_A_TRACE (also: damaged), ST_TOO_NEW, ST_NO_MEMORY. */
enum st_status st_reader_open(const char *path, struct st_reader **ret_reader, struct st_err *err);
void st_reader_close(struct st_reader *reader); /* NULL is fine */

const struct st_trace_header *st_reader_header(const struct st_reader *reader);
const struct st_reader_summary *st_reader_summary(const struct st_reader *reader);

/* One table of one chunk. `head->sequence` is UINT32_MAX for tables made from a ring. Pointers are valid
 * during the call. Anything but ST_OK ends the pass with that status. */
typedef enum st_status (*st_reader_table_fn)(void *context, const struct st_chunk_head *head,
                                             const struct st_table *table);

/* Walk all frames, then the rings, and hand out every table in file order. `each` may be NULL (only the
 * summary). Damage is no failure: it is in the summary. Call once. Fails with ST_IO, ST_NO_MEMORY or what
 * `each` returned. */
enum st_status st_reader_run(struct st_reader *reader, st_reader_table_fn each, void *context, struct st_err *err);

/* Open, run without a consumer, close: what `stagetap verify` prints. ret_header may be NULL. */
enum st_status st_reader_verify(const char *path, struct st_trace_header *ret_header,
                                struct st_reader_summary *ret_summary, struct st_err *err);

/* Why a header of this status cannot be read; `length`: bytes of the file that were seen. */
const char *st_reader_header_words(enum st_header_status status, size_t length);

/* Is this a trace closed in order with nothing missing and nothing damaged? */
bool st_reader_is_complete(const struct st_reader_summary *summary);

#endif
