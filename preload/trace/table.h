/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: rows in memory <-> columns in a chunk's payload. tables.def is the only list of tables; both
 * sides are generic over it, so a new column needs one line there and one paragraph in FORMAT.md.
 * No I/O, no allocation but through struct st_buffer. Not thread-safe.
 */
#ifndef ST_TRACE_TABLE_H
#define ST_TRACE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"
#include "format.h"

#define ST_MAX_COLUMNS 16 /* of one table */

enum st_column_type { ST_TYPE_INT = 0, ST_TYPE_TEXT = 1 };

struct st_column_def {
    const char *name;
    enum st_column_type type;
    enum st_encoding encoding; /* what our writer uses */
};
struct st_table_def {
    uint16_t id;
    uint16_t column_count;
    const char *name;
    struct st_column_def columns[ST_MAX_COLUMNS]; /* index = column id */
};

/* ST_T_CALL = 1 …: table ids. */
enum st_table_id {
#define ST_TABLE(id, NAME) ST_T_##NAME = id,
#define ST_COLUMN(TABLE, id, NAME, TYPE, ENC)
#define ST_TABLE_END(NAME)
#include "tables.def"
#undef ST_TABLE
#undef ST_COLUMN
#undef ST_TABLE_END
};

/* ST_CALL_C_begin_ticks …: column ids; ST_COUNT_C_CALL: how many. */
#define ST_TABLE(id, NAME) enum st_columns_of_##NAME {
#define ST_COLUMN(TABLE, id, NAME, TYPE, ENC) ST_##TABLE##_C_##NAME = id,
#define ST_TABLE_END(NAME) ST_COUNT_C_##NAME };
#include "tables.def"
#undef ST_TABLE
#undef ST_COLUMN
#undef ST_TABLE_END

/* Definition by id, or NULL for a table that this version does not know. */
const struct st_table_def *st_table_find(uint16_t id);

struct st_text {
    const char *bytes; /* not NUL-terminated */
    uint32_t length;
};

/* ---- writing ---- */

/* Rows waiting to be encoded. Zero it, set `table`, add rows; reuse after st_rows_reset(). */
struct st_rows {
    uint16_t table;
    uint32_t count;
    struct st_buffer cells; /* row-major int64; a text cell holds its length */
    struct st_buffer texts; /* bytes of the text cells, row by row */
};

/* `values` has one entry per column of the table (text columns: ignored), `texts` one per text column in
 * column order (NULL if the table has none; copied). A text longer than ST_MAX_TEXT_BYTES is cut.
 * False: out of memory or full (ST_MAX_CHUNK_ROWS), the row is not added. */
bool st_rows_add(struct st_rows *rows, const int64_t *values, const struct st_text *texts);
void st_rows_reset(struct st_rows *rows);
void st_rows_finish(struct st_rows *rows);

/* Append the encoded table to `payload`; nothing for no rows. False: out of memory, payload as before. */
bool st_table_encode(const struct st_rows *rows, struct st_buffer *payload);

/* ---- reading ---- */

/* One decoded table. A column that the file does not have, or in an unknown encoding, is NULL. Pointers
 * are valid until the next st_table_decode() with the same decoder, texts as long as the payload. */
struct st_table {
    uint16_t id;
    uint32_t rows;
    const struct st_table_def *def;             /* NULL: unknown table, columns not decoded */
    const int64_t *ints[ST_MAX_COLUMNS];        /* by column id */
    const struct st_text *texts[ST_MAX_COLUMNS];
};
struct st_table_decoder {
    struct st_buffer cells; /* all columns of the current table */
};

enum st_decode { ST_DECODE_OK = 0, ST_DECODE_END = 1, ST_DECODE_CORRUPT = -1, ST_DECODE_NO_MEMORY = -2 };

/* Decode the table at *offset of a payload and move *offset behind it. Any bytes are safe. */
enum st_decode st_table_decode(struct st_table_decoder *decoder, const uint8_t *payload, size_t length,
                               size_t *offset, struct st_table *ret_table);
void st_table_decoder_finish(struct st_table_decoder *decoder);

#endif
