/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: every encoding there and back, what a reader does with the unknown, and any bytes at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "preload/trace/table.h"
#include "preload/trace/varint.h"

static const int64_t EDGES[] = {0, 1, -1, 63, 64, -64, -65, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 42};
enum { EDGE_COUNT = sizeof(EDGES) / sizeof(EDGES[0]) };

static void varints_come_back(void **state)
{
    for (int i = 0; i < EDGE_COUNT; i++) {
        uint8_t bytes[ST_VARINT_MAX];
        uint64_t back = 0;
        const uint8_t *end = st_varint_put(bytes, st_zigzag(EDGES[i]));
        assert_ptr_equal(st_varint_get(bytes, end, &back), end);
        assert_int_equal(st_unzigzag(back), EDGES[i]);
        if (end > bytes) {
            assert_null(st_varint_get(bytes, end - 1, &back)); /* cut */
        }
    }
    uint8_t too_long[11];
    uint64_t value;
    memset(too_long, 0xff, sizeof(too_long));
    assert_null(st_varint_get(too_long, too_long + sizeof(too_long), &value));
}

/* All columns take all edge values, so DELTA and GROUP wrap around in both directions. */
static void integers_come_back(void **state)
{
    struct st_rows rows = {.table = ST_T_CALL};
    struct st_buffer payload = {0};
    int64_t expected[EDGE_COUNT * EDGE_COUNT][ST_COUNT_C_CALL];
    int count = 0;
    for (int i = 0; i < EDGE_COUNT; i++) {
        for (int k = 0; k < EDGE_COUNT; k++, count++) {
            for (int c = 0; c < ST_COUNT_C_CALL; c++) {
                expected[count][c] = c == 0 ? EDGES[k] : EDGES[(i + k * c) % EDGE_COUNT];
            }
            assert_true(st_rows_add(&rows, expected[count], NULL));
        }
    }
    assert_true(st_table_encode(&rows, &payload));
    struct st_table_decoder decoder = {0};
    struct st_table table;
    size_t offset = 0;
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_OK);
    assert_int_equal(table.id, ST_T_CALL);
    assert_int_equal(table.rows, count);
    for (int r = 0; r < count; r++) {
        for (int c = 0; c < ST_COUNT_C_CALL; c++) {
            assert_int_equal(table.ints[c][r], expected[r][c]);
        }
    }
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_END);
    st_table_decoder_finish(&decoder);
    st_buffer_finish(&payload);
    st_rows_finish(&rows);
}

static void texts_come_back(void **state)
{
    struct st_rows rows = {.table = ST_T_KEY};
    struct st_buffer payload = {0};
    static char long_text[ST_MAX_TEXT_BYTES + 10];
    memset(long_text, 'x', sizeof(long_text));
    st_rows_add(&rows, (int64_t[]){1, 0, 0}, (struct st_text[]){{"size", 4}, {"512", 3}});
    st_rows_add(&rows, (int64_t[]){2, 0, 0}, (struct st_text[]){{"", 0}, {"a\0b", 3}});
    st_rows_add(&rows, (int64_t[]){2, 0, 0}, (struct st_text[]){{"long", 4}, {long_text, sizeof(long_text)}});
    assert_true(st_table_encode(&rows, &payload));
    struct st_table_decoder decoder = {0};
    struct st_table table;
    size_t offset = 0;
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_OK);
    assert_int_equal(table.rows, 3);
    assert_memory_equal(table.texts[ST_KEY_C_key][0].bytes, "size", 4);
    assert_int_equal(table.texts[ST_KEY_C_key][1].length, 0);
    assert_memory_equal(table.texts[ST_KEY_C_value][1].bytes, "a\0b", 3);
    assert_int_equal(table.texts[ST_KEY_C_value][2].length, ST_MAX_TEXT_BYTES); /* cut, not refused */
    st_table_decoder_finish(&decoder);
    st_buffer_finish(&payload);
    st_rows_finish(&rows);
}

/* A table of a later version, an unknown column and an unknown encoding are stepped over. */
static void unknown_parts_are_skipped(void **state)
{
    struct st_buffer payload = {0};
    struct st_table_head head = {.table = 999, .columns = 1, .rows = 5};
    struct st_column_head column = {.column = 0, .encoding = 77, .bytes = 3};
    st_buffer_append(&payload, &head, sizeof(head));
    st_buffer_append(&payload, &column, sizeof(column));
    st_buffer_append(&payload, "abc", 3);
    head = (struct st_table_head){.table = ST_T_COUNTER, .columns = 3, .rows = 1};
    st_buffer_append(&payload, &head, sizeof(head));
    struct st_column_head columns[] = {{.column = 40, .encoding = ST_ENC_CONST, .bytes = 1},
                                       {.column = ST_COUNTER_C_name, .encoding = 200, .bytes = 2},
                                       {.column = ST_COUNTER_C_value, .encoding = ST_ENC_CONST, .bytes = 1}};
    st_buffer_append(&payload, columns, sizeof(columns));
    st_buffer_append(&payload, "\x02zz\x0e", 4);
    struct st_table_decoder decoder = {0};
    struct st_table table;
    size_t offset = 0;
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_OK);
    assert_null(table.def);
    assert_int_equal(table.rows, 5);
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_OK);
    assert_int_equal(table.ints[ST_COUNTER_C_value][0], 7);
    assert_null(table.texts[ST_COUNTER_C_name]); /* absent, not empty */
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_END);
    st_table_decoder_finish(&decoder);
    st_buffer_finish(&payload);
}

/* Forty bytes that claim 2^18 rows of nothing but constants would cost megabytes each. */
static void empty_promises_are_refused(void **state)
{
    struct st_buffer payload = {0};
    struct st_table_head head = {.table = ST_T_CALL, .columns = 2, .rows = ST_MAX_CHUNK_ROWS};
    struct st_column_head columns[] = {{.column = 0, .encoding = ST_ENC_CONST, .bytes = 1},
                                       {.column = 1, .encoding = ST_ENC_CONST, .bytes = 1}};
    st_buffer_append(&payload, &head, sizeof(head));
    st_buffer_append(&payload, columns, sizeof(columns));
    st_buffer_append(&payload, "\x02\x02", 2);
    struct st_table_decoder decoder = {0};
    struct st_table table;
    size_t offset = 0;
    assert_int_equal(st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table), ST_DECODE_CORRUPT);
    assert_null(decoder.cells.bytes);
    st_buffer_finish(&payload);
}

/* Cut anywhere, and every byte changed in every bit: an answer, never a crash (run under sanitizers, too). */
static void any_bytes_are_safe(void **state)
{
    struct st_rows rows = {.table = ST_T_RULE};
    struct st_buffer payload = {0};
    for (int i = 0; i < 20; i++) {
        st_rows_add(&rows, (int64_t[ST_COUNT_C_RULE]){i, 3, 1, i * 1000, 0, 0, 0},
                    (struct st_text[]){{"encode*", 7}, {"encode", 6}, {"symbol encode* -> encode", 24}});
    }
    assert_true(st_table_encode(&rows, &payload));
    struct st_table_decoder decoder = {0};
    struct st_table table;
    for (size_t length = 1; length < payload.length; length++) {
        size_t offset = 0;
        assert_int_equal(st_table_decode(&decoder, payload.bytes, length, &offset, &table), ST_DECODE_CORRUPT);
    }
    int refused = 0;
    for (size_t at = 0; at < payload.length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            size_t offset = 0;
            payload.bytes[at] ^= (uint8_t)(1u << bit);
            refused += st_table_decode(&decoder, payload.bytes, payload.length, &offset, &table) < 0;
            payload.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    assert_true(refused > 0);
    st_table_decoder_finish(&decoder);
    st_buffer_finish(&payload);
    st_rows_finish(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(integers_come_back),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(unknown_parts_are_skipped),
        cmocka_unit_test(empty_promises_are_refused),
        cmocka_unit_test(any_bytes_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
