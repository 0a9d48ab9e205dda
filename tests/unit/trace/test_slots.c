/* SPDX-License-Identifier: Apache-2.0 */
/* Ring slots -> rows: each kind, texts over several slots, records cut by the read range, skipped calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "preload/trace/slots.h"

enum { CAPACITY = 8 };
static struct st_slot slots[CAPACITY];

static const int64_t *row(const struct st_rows *rows, unsigned columns, unsigned n)
{
    return (const int64_t *)(const void *)rows->cells.bytes + n * columns;
}

static void kinds_become_rows(void **state)
{
    struct st_slot_rows set;
    st_slot_rows_init(&set);
    slots[0] = (struct st_slot){.kind = ST_SLOT_CALL, .code = 7, .span = 3, .begin = 100, .end = 150, .result = -1,
                                .flags = 2, .a = 11, .b = 12, .c = 13, .d = 14};
    slots[1] = (struct st_slot){.kind = ST_SLOT_SPAN_BEGIN, .code = ST_ROLE_STAGE, .span = 4, .begin = 90, .end = 5000,
                                .result = 2, .flags = 6, .a = 3, .b = 1, .c = 40, .d = 1};
    slots[2] = (struct st_slot){.kind = ST_SLOT_SPAN_END, .code = ST_END_THROWN, .span = 4, .begin = 170, .end = 6000,
                                .c = 30, .d = 1};
    slots[3] = (struct st_slot){.kind = 999}; /* a later version's: stepped over */
    assert_int_equal(st_slot_rows_add(&set, slots, CAPACITY - 1, 0, 4, false), 0);
    assert_int_equal(set.call.count, 1);
    assert_memory_equal(row(&set.call, ST_COUNT_C_CALL, 0), ((int64_t[]){7, 100, 50, 3, -1, 2, 11, 12, 13, 14}),
                        ST_COUNT_C_CALL * sizeof(int64_t));
    assert_memory_equal(row(&set.span_begin, ST_COUNT_C_SPAN_BEGIN, 0),
                        ((int64_t[]){1, 90, 4, 3, 6, 1, 2, 5000, 40, 1}),
                        ST_COUNT_C_SPAN_BEGIN * sizeof(int64_t));
    assert_memory_equal(row(&set.span_end, ST_COUNT_C_SPAN_END, 0), ((int64_t[]){ST_END_THROWN, 170, 4, 6000, 30, 1}),
                        ST_COUNT_C_SPAN_END * sizeof(int64_t));
    assert_int_equal(set.first_ticks, 90);
    assert_int_equal(set.last_ticks, 170);
    st_slot_rows_finish(&set);
}

static void long_names_take_slots(void **state)
{
    struct st_slot_rows set;
    st_slot_rows_init(&set);
    char text[100];
    memset(text, 'k', sizeof(text));
    slots[1] = (struct st_slot){.kind = ST_SLOT_NAME, .code = ST_NAME_FUNCTION, .span = sizeof(text), .begin = 5,
                                .end = 77};
    memcpy(&slots[2], text, sizeof(text));
    slots[4] = (struct st_slot){.kind = ST_SLOT_SPAN_END, .span = 9, .begin = 6};
    st_slot_rows_add(&set, slots, CAPACITY - 1, 9, 13, false); /* the second time around the ring */
    assert_int_equal(set.name.count, 1);
    assert_int_equal(set.name.texts.length, sizeof(text));
    assert_memory_equal(set.name.texts.bytes, text, sizeof(text));
    assert_int_equal(set.span_end.count, 1);
    st_slot_rows_finish(&set);
}

/* A length that would lead out of the ring or of the range (a damaged ring) gives no row and no crash. */
static void wild_names_are_skipped(void **state)
{
    struct st_slot_rows set;
    st_slot_rows_init(&set);
    memset(slots, 0, sizeof(slots));
    slots[6] = (struct st_slot){.kind = ST_SLOT_NAME, .span = 64 * 3};
    slots[0] = (struct st_slot){.kind = ST_SLOT_NAME, .span = UINT32_MAX};
    slots[7] = (struct st_slot){.kind = ST_SLOT_SPAN_END, .span = 1};
    st_slot_rows_add(&set, slots, CAPACITY - 1, 6, 9, false);
    assert_int_equal(set.name.count, 0);
    assert_int_equal(set.span_end.count, 1);
    st_slot_rows_finish(&set);
}

static void calls_can_be_left_out(void **state)
{
    struct st_slot_rows set;
    st_slot_rows_init(&set);
    memset(slots, 0, sizeof(slots));
    slots[0].kind = slots[2].kind = ST_SLOT_CALL;
    slots[1].kind = ST_SLOT_SPAN_BEGIN;
    assert_int_equal(st_slot_rows_add(&set, slots, CAPACITY - 1, 0, 3, true), 2);
    assert_int_equal(set.call.count, 0);
    assert_int_equal(set.span_begin.count, 1);
    st_slot_rows_finish(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_become_rows),
        cmocka_unit_test(long_names_take_slots),
        cmocka_unit_test(wild_names_are_skipped),
        cmocka_unit_test(calls_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
