/* SPDX-License-Identifier: Apache-2.0 */
/* Which device records are left out: those of calls well outside of every window, nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "preload/device/outside.h"
#include "preload/record/window.h"

enum { MS = 1000000 };
static const uint64_t DEVICE_ZERO = UINT64_C(1796185176991402277); /* the library's clock when ours is 0 */

static struct st_window_rule rule;
static struct st_window_flip flips[8];
static int flip_count, next_flip;
static bool is_whole;

const struct st_window_rule *st_window_rule(void)
{
    return &rule;
}

bool st_window_next_flip(struct st_window_flip *ret_flip, bool *ret_is_whole)
{
    *ret_is_whole = is_whole;
    if (next_flip == flip_count) {
        return false;
    }
    *ret_flip = flips[next_flip++];
    return true;
}

static void flip(uint64_t at_ms, int step, enum st_window_kind kind)
{
    flips[flip_count++] = (struct st_window_flip){at_ms * MS * 3, step, kind}; /* 3 ticks a ns */
}

static void note_clock(uint64_t at_ms)
{
    st_outside_note_clock(at_ms * MS * 3, DEVICE_ZERO + at_ms * MS);
}

static bool is_out(uint32_t correlation, uint64_t at_ms)
{
    bool is_out = st_outside_call(correlation, DEVICE_ZERO + at_ms * MS);
    assert_int_equal(is_out, st_outside_operation(correlation));
    return is_out;
}

/*
 *   ms        0        100         200         300       400
 *   steps               |~~~~~~~~~~|            |~~~~~~~|
 *   profiler  0 ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ 350
 */
static void calls_outside_are_left_out(void **state)
{
    rule = (struct st_window_rule){.step_count = 1, .uses_profiler = true};
    is_whole = true;
    flip(0, 1, ST_WINDOW_PROFILER);
    flip(100, 1, ST_WINDOW_REQUESTS_STEPS);
    flip(150, 1, ST_WINDOW_REQUESTS_STEPS); /* of another request, at the same time */
    flip(160, -1, ST_WINDOW_REQUESTS_STEPS);
    flip(200, -1, ST_WINDOW_REQUESTS_STEPS);
    flip(300, 1, ST_WINDOW_REQUESTS_STEPS);
    flip(350, -1, ST_WINDOW_PROFILER);
    st_outside_look();
    assert_false(is_out(1, 50)); /* the clocks are not known yet: everything is kept */
    note_clock(10);
    note_clock(500);
    assert_true(is_out(2, 50));
    assert_false(is_out(3, 90)); /* less than the margin before */
    assert_false(is_out(4, 100));
    assert_false(is_out(5, 180));
    assert_false(is_out(6, 210));
    assert_true(is_out(7, 250));
    assert_false(is_out(8, 340));
    assert_true(is_out(9, 380)); /* steps go on, the profiler does not */
    assert_false(st_outside_operation(10)); /* its call has not been seen */
    assert_true(is_out(9000000, 250));
    assert_false(st_outside_operation(7)); /* too far back: kept */
    assert_true(is_out(8999999, 250));
}

static void rows_are_taken_out(void **state)
{
    struct st_rows rows = {.table = ST_T_MEMSET};
    for (int64_t i = 0; i < 4; i++) {
        const int64_t values[ST_COUNT_C_MEMSET] = {[ST_MEMSET_C_correlation] = 8999997 + i, [ST_MEMSET_C_bytes] = i};
        assert_true(st_rows_add(&rows, values, NULL));
    }
    st_outside_drop(&rows, ST_COUNT_C_MEMSET, ST_MEMSET_C_correlation); /* 8999999 and 9000000 are outside */
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.cells.length, 2 * ST_COUNT_C_MEMSET * sizeof(int64_t));
    assert_int_equal(((const int64_t *)(const void *)rows.cells.bytes)[ST_COUNT_C_MEMSET + ST_MEMSET_C_bytes], 1);
    st_rows_finish(&rows);
}

/* Late in a long run, ids next to each other. */
static void high_numbers(void **state)
{
    for (uint32_t i = 10000001; i <= 10000100; i++) assert_true(is_out(i, 250));
    for (uint32_t i = 10000001; i <= 10000100; i++) assert_true(st_outside_operation(i));
    assert_false(st_outside_operation(10000101));
}

/* A clock that is set makes times that cannot be compared: from then on everything is kept. */
static void a_clock_that_jumps_ends_it(void **state)
{
    assert_true(is_out(10000102, 250));
    st_outside_note_clock(UINT64_C(600) * MS * 3, DEVICE_ZERO + UINT64_C(2600) * MS);
    assert_false(is_out(10000103, 250));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_outside_are_left_out),
        cmocka_unit_test(rows_are_taken_out),
        cmocka_unit_test(high_numbers),
        cmocka_unit_test(a_clock_that_jumps_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
