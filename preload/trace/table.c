/* SPDX-License-Identifier: Apache-2.0 */
/* Tables <-> columns; see table.h and FORMAT.md "Table". */
#include "table.h"

#include <string.h>

#include "varint.h"

/* ST_ENC_GROUP keeps one predecessor a key; keys outside 0 … GROUPS-1 share the last one. */
enum { GROUPS = 1024 };
/* More rows than this take at least a byte each. */
enum { MAX_CONST_ROWS = 64 };

#define INT ST_TYPE_INT
#define TEXT ST_TYPE_TEXT
static const struct st_table_def TABLES[] = {
#define ST_TABLE(number, NAME) {.id = number, .column_count = ST_COUNT_C_##NAME, .name = #NAME, .columns = {
#define ST_COLUMN(TABLE, id, NAME, TYPE, ENC) [id] = {#NAME, TYPE, ST_ENC_##ENC},
#define ST_TABLE_END(NAME) }},
#include "tables.def"
#undef ST_TABLE
#undef ST_COLUMN
#undef ST_TABLE_END
};
#undef INT
#undef TEXT

const struct st_table_def *st_table_find(uint16_t id)
{
    for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
        if (TABLES[i].id == id) {
            return &TABLES[i];
        }
    }
    return NULL;
}

static unsigned group_of(int64_t key)
{
    return key >= 0 && key < GROUPS - 1 ? (unsigned)key : GROUPS - 1;
}

/* ---- writing ---------------------------------------------------------------------------------- */

bool st_rows_add(struct st_rows *rows, const int64_t *values, const struct st_text *texts)
{
    const struct st_table_def *def = st_table_find(rows->table);
    if (!def || rows->count >= ST_MAX_CHUNK_ROWS) {
        return false;
    }
    int64_t cells[ST_MAX_COLUMNS];
    size_t text_bytes = 0, text_index = 0;
    for (unsigned c = 0; c < def->column_count; c++) {
        if (def->columns[c].type == ST_TYPE_TEXT) {
            uint32_t length = texts[text_index++].length;
            cells[c] = length < ST_MAX_TEXT_BYTES ? length : ST_MAX_TEXT_BYTES;
            text_bytes += (size_t)cells[c];
        } else {
            cells[c] = values[c];
        }
    }
    if (!st_buffer_reserve(&rows->texts, text_bytes) ||
        !st_buffer_append(&rows->cells, cells, def->column_count * sizeof(cells[0]))) {
        return false;
    }
    for (unsigned c = 0, t = 0; c < def->column_count; c++) {
        if (def->columns[c].type == ST_TYPE_TEXT) {
            st_buffer_append(&rows->texts, texts[t++].bytes, (size_t)cells[c]);
        }
    }
    rows->count++;
    return true;
}

void st_rows_reset(struct st_rows *rows)
{
    rows->count = 0;
    rows->cells.length = 0;
    rows->texts.length = 0;
}

void st_rows_finish(struct st_rows *rows)
{
    st_buffer_finish(&rows->cells);
    st_buffer_finish(&rows->texts);
    rows->count = 0;
}

static bool is_constant(const int64_t *cell, unsigned stride, uint32_t rows)
{
    for (uint32_t r = 1; r < rows; r++) {
        if (cell[(size_t)r * stride] != cell[0]) {
            return false;
        }
    }
    return true;
}

/* One integer column, `cell` = its first value. Room for rows * ST_VARINT_MAX bytes is reserved. */
static uint8_t *put_ints(uint8_t *at, const int64_t *cell, unsigned stride, uint32_t rows, enum st_encoding encoding,
                         const int64_t *key)
{
    int64_t group[GROUPS];
    if (encoding == ST_ENC_CONST) {
        return st_varint_put(at, st_zigzag(cell[0]));
    }
    if (encoding == ST_ENC_GROUP) {
        memset(group, 0, sizeof(group));
    }
    int64_t before = 0;
    for (uint32_t r = 0; r < rows; r++) {
        int64_t value = cell[(size_t)r * stride];
        int64_t *base = encoding == ST_ENC_GROUP ? &group[group_of(key[(size_t)r * stride])] : &before;
        uint64_t difference = (uint64_t)value - (encoding == ST_ENC_VALUE ? 0 : (uint64_t)*base);
        at = st_varint_put(at, st_zigzag((int64_t)difference));
        *base = value;
    }
    return at;
}

/* One text column: lengths, then its bytes picked out of the row-by-row text store. */
static uint8_t *put_texts(uint8_t *at, const struct st_rows *rows, const struct st_table_def *def, unsigned column)
{
    const int64_t *cells = (const int64_t *)(const void *)rows->cells.bytes;
    for (uint32_t r = 0; r < rows->count; r++) {
        at = st_varint_put(at, (uint64_t)cells[(size_t)r * def->column_count + column]);
    }
    const uint8_t *text = rows->texts.bytes;
    for (uint32_t r = 0; r < rows->count; r++) {
        for (unsigned c = 0; c < def->column_count; c++) {
            size_t length = def->columns[c].type == ST_TYPE_TEXT ? (size_t)cells[(size_t)r * def->column_count + c] : 0;
            if (c == column && length) {
                memcpy(at, text, length);
                at += length;
            }
            text += length;
        }
    }
    return at;
}

bool st_table_encode(const struct st_rows *rows, struct st_buffer *payload)
{
    const struct st_table_def *def = st_table_find(rows->table);
    if (!def || rows->count == 0) {
        return true;
    }
    size_t heads_bytes = sizeof(struct st_table_head) + def->column_count * sizeof(struct st_column_head);
    size_t room = heads_bytes + (size_t)rows->count * def->column_count * ST_VARINT_MAX + rows->texts.length;
    if (!st_buffer_reserve(payload, room)) {
        return false;
    }
    uint8_t *start = payload->bytes + payload->length, *at = start + heads_bytes;
    struct st_table_head head = {.table = def->id, .columns = def->column_count, .rows = rows->count};
    memcpy(start, &head, sizeof(head));
    const int64_t *cells = (const int64_t *)(const void *)rows->cells.bytes;
    for (unsigned c = 0; c < def->column_count; c++) {
        struct st_column_head column = {.column = (uint16_t)c, .encoding = (uint8_t)def->columns[c].encoding};
        uint8_t *begin = at;
        if (def->columns[c].type == ST_TYPE_TEXT) {
            at = put_texts(at, rows, def, c);
        } else {
            if (is_constant(cells + c, def->column_count, rows->count)) {
                column.encoding = ST_ENC_CONST;
            }
            at = put_ints(at, cells + c, def->column_count, rows->count, column.encoding, cells);
        }
        column.bytes = (uint32_t)(at - begin);
        memcpy(start + sizeof(head) + c * sizeof(column), &column, sizeof(column));
    }
    payload->length += (size_t)(at - start);
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool get_ints(const uint8_t *at, const uint8_t *end, uint32_t rows, unsigned encoding, const int64_t *key,
                     int64_t *ret)
{
    int64_t group[GROUPS];
    uint64_t raw = 0;
    if (encoding == ST_ENC_CONST) {
        at = st_varint_get(at, end, &raw);
        for (uint32_t r = 0; at && r < rows; r++) {
            ret[r] = st_unzigzag(raw);
        }
        return at == end;
    }
    if (encoding == ST_ENC_GROUP) {
        memset(group, 0, sizeof(group));
    }
    int64_t before = 0;
    for (uint32_t r = 0; r < rows; r++) {
        at = st_varint_get(at, end, &raw);
        if (!at) {
            return false;
        }
        int64_t *base = encoding == ST_ENC_GROUP ? &group[group_of(key[r])] : &before;
        ret[r] = (int64_t)((encoding == ST_ENC_VALUE ? 0 : (uint64_t)*base) + (uint64_t)st_unzigzag(raw));
        *base = ret[r];
    }
    return at == end;
}

static bool get_texts(const uint8_t *at, const uint8_t *end, uint32_t rows, struct st_text *ret)
{
    uint64_t total = 0;
    for (uint32_t r = 0; r < rows; r++) {
        uint64_t length = 0;
        at = st_varint_get(at, end, &length);
        if (!at || length > ST_MAX_TEXT_BYTES) {
            return false;
        }
        ret[r].length = (uint32_t)length;
        total += length;
    }
    if (total != (uint64_t)(end - at)) {
        return false;
    }
    for (uint32_t r = 0; r < rows; r++) {
        ret[r].bytes = (const char *)at;
        at += ret[r].length;
    }
    return true;
}

/* Decode one column of a known table into the decoder's cells at `*used`. */
static bool get_column(struct st_table_decoder *decoder, size_t *used, struct st_table *table,
                       const struct st_column_head *head, const uint8_t *bytes)
{
    const uint8_t *end = bytes + head->bytes;
    bool is_text = table->def->columns[head->column].type == ST_TYPE_TEXT;
    if (is_text != (head->encoding == ST_ENC_TEXT) || table->ints[head->column] || table->texts[head->column]) {
        return false;
    }
    uint8_t *cells = decoder->cells.bytes + *used;
    *used += table->rows * (is_text ? sizeof(struct st_text) : sizeof(int64_t));
    if (is_text) {
        struct st_text *texts = (struct st_text *)(void *)cells;
        table->texts[head->column] = texts;
        return get_texts(bytes, end, table->rows, texts);
    }
    int64_t *ints = (int64_t *)(void *)cells;
    if (head->encoding == ST_ENC_GROUP && !table->ints[0]) {
        return false;
    }
    if (!get_ints(bytes, end, table->rows, head->encoding, table->ints[0], ints)) {
        return false;
    }
    table->ints[head->column] = ints;
    return true;
}

/* Bytes of all columns, as their heads say. */
static uint64_t column_bytes(const uint8_t *heads, unsigned columns)
{
    uint64_t total = 0;
    for (unsigned c = 0; c < columns; c++) {
        struct st_column_head column;
        memcpy(&column, heads + c * sizeof(column), sizeof(column));
        total += column.bytes;
    }
    return total;
}

enum st_decode st_table_decode(struct st_table_decoder *decoder, const uint8_t *payload, size_t length,
                               size_t *offset, struct st_table *ret_table)
{
    struct st_table_head head;
    if (*offset == length) {
        return ST_DECODE_END;
    }
    if (length - *offset < sizeof(head)) {
        return ST_DECODE_CORRUPT;
    }
    memcpy(&head, payload + *offset, sizeof(head));
    size_t at = *offset + sizeof(head), heads_bytes = head.columns * sizeof(struct st_column_head);
    if (head.rows == 0 || head.rows > ST_MAX_CHUNK_ROWS || length - at < heads_bytes) {
        return ST_DECODE_CORRUPT;
    }
    /* Each table has a column of at least a byte a row; without that a few bytes could ask for gigabytes. */
    if (head.rows > MAX_CONST_ROWS && head.rows > column_bytes(payload + at, head.columns)) {
        return ST_DECODE_CORRUPT;
    }
    *ret_table = (struct st_table){.id = head.table, .rows = head.rows, .def = st_table_find(head.table)};
    if (ret_table->def && !st_buffer_reserve(&decoder->cells, (size_t)head.rows * ret_table->def->column_count *
                                                                  sizeof(struct st_text))) {
        return ST_DECODE_NO_MEMORY;
    }
    size_t data = at + heads_bytes, used = 0;
    for (unsigned c = 0; c < head.columns; c++) {
        struct st_column_head column;
        memcpy(&column, payload + at + c * sizeof(column), sizeof(column));
        if (column.bytes > length - data) {
            return ST_DECODE_CORRUPT;
        }
        bool is_known = ret_table->def && column.column < ret_table->def->column_count &&
                        column.encoding <= ST_ENC_TEXT;
        if (is_known && !get_column(decoder, &used, ret_table, &column, payload + data)) {
            return ST_DECODE_CORRUPT;
        }
        data += column.bytes;
    }
    *offset = data;
    return ST_DECODE_OK;
}

void st_table_decoder_finish(struct st_table_decoder *decoder)
{
    st_buffer_finish(&decoder->cells);
}
