/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to text and back: choice of unit, rounding, extremes, refusals. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "analyzer/util/units.h"

static void check_scale(enum st_unit unit, int64_t largest, int64_t value, const char *name, const char *expected)
{
    struct st_scale scale = st_scale_time(unit, largest);
    char number[ST_NUMBER_BYTES];

    assert_string_equal(scale.name, name);
    assert_string_equal(st_scale_format(&scale, value, number), expected);
}

static void test_unit_follows_the_largest_value(void **state)
{
    check_scale(ST_UNIT_AUTO, 999, 7, "ns", "7");
    check_scale(ST_UNIT_AUTO, 1000, 1000, "us", "1.000");
    check_scale(ST_UNIT_AUTO, 999999, 500, "us", "0.5");
    check_scale(ST_UNIT_AUTO, 1842000000, 1842000000, "ms", "1842.0");
    check_scale(ST_UNIT_AUTO, 1842000000, 49999, "ms", "0.0");
    check_scale(ST_UNIT_AUTO, 1842000000, 50000, "ms", "0.1");
    check_scale(ST_UNIT_AUTO, 10000000000, 10000000000, "s", "10.00");
    check_scale(ST_UNIT_AUTO, -5000000, -5000000, "ms", "-5.000");
}

static void test_unit_can_be_chosen(void **state)
{
    check_scale(ST_UNIT_NS, 1842000000, 1842000000, "ns", "1842000000");
    check_scale(ST_UNIT_S, 1842000000, 1842000000, "s", "1.842");
    check_scale(ST_UNIT_US, 1842000000, 1842000001, "us", "1842000.0");
    check_scale(ST_UNIT_MS, 0, 0, "ms", "0.000");
}

static void test_extremes_do_not_overflow(void **state)
{
    check_scale(ST_UNIT_NS, INT64_MAX, INT64_MAX, "ns", "9223372036854775807");
    check_scale(ST_UNIT_NS, INT64_MIN, INT64_MIN, "ns", "-9223372036854775808");
    check_scale(ST_UNIT_MS, INT64_MIN, INT64_MIN, "ms", "-9223372036854.8");
    check_scale(ST_UNIT_AUTO, INT64_MAX, INT64_MAX, "s", "9223372036.9");
}

static void test_nothing_rounds_to_minus_zero(void **state)
{
    check_scale(ST_UNIT_MS, 1000000000, -100, "ms", "0.0");
}

static void test_single_time_carries_its_unit(void **state)
{
    char text[ST_NUMBER_BYTES];

    assert_string_equal(st_time_format(ST_UNIT_AUTO, 1842000000, text), "1.842 s");
    assert_string_equal(st_time_format(ST_UNIT_AUTO, 999000000, text), "999.0 ms");
    assert_string_equal(st_time_format(ST_UNIT_AUTO, 0, text), "0 ns");
    assert_string_equal(st_time_format(ST_UNIT_NS, 1842000000, text), "1842000000 ns");
}

static void test_bytes_use_decimal_prefixes(void **state)
{
    struct st_scale scale = st_scale_bytes(999, 0);
    char number[ST_NUMBER_BYTES];

    assert_string_equal(scale.name, "B");
    assert_string_equal(st_scale_format(&scale, 17, number), "17");
    scale = st_scale_bytes(12345678, 0);
    assert_string_equal(scale.name, "MB");
    assert_string_equal(st_scale_format(&scale, 12345678, number), "12.35");
    scale = st_scale_bytes(INT64_MAX, 0);
    assert_string_equal(scale.name, "TB");
}

static void check_bytes(int64_t largest, int64_t smallest, const char *name, const char *expected)
{
    struct st_scale scale = st_scale_bytes(largest, smallest);
    char number[ST_NUMBER_BYTES];

    assert_string_equal(scale.name, name);
    assert_string_equal(st_scale_format(&scale, smallest, number), expected);
}

static void test_small_volumes_are_never_zero(void **state)
{
    check_bytes(196600, 4, "kB", "0.004");
    check_bytes(196600, 800, "kB", "0.8");
    check_bytes(196600, 49, "kB", "0.05");
    check_bytes(1500000, 4, "kB", "0.004");
    check_bytes(1500000000, 400, "kB", "0.400");
    check_bytes(1500000000, 500000, "GB", "0.001");
    check_bytes(INT64_MAX, 1, "kB", "0.001");
    check_bytes(999, 1, "B", "1");
}

static void check_shown(int64_t largest, int64_t value, const char *expected)
{
    struct st_scale scale = st_scale_time(ST_UNIT_AUTO, largest);
    char number[ST_NUMBER_BYTES];

    assert_string_equal(st_scale_show(&scale, value, number), expected);
}

static void test_short_times_are_never_zero(void **state)
{
    check_shown(1842000000, 0, "0.0");
    check_shown(1842000000, 1, "<0.1");
    check_shown(1842000000, 49999, "<0.1");
    check_shown(1842000000, 50000, "0.1");
    check_shown(1842000, 499, "<0.001");
    check_shown(10000000000, 4999999, "<0.01");
    check_shown(999, 1, "1");
    check_shown(1000000000, -100, "0.0");
    check_shown(INT64_MAX, INT64_MAX, "9223372036.9");
}

static void test_counts_are_read_strictly(void **state)
{
    static const char *const wrong[] = {"", "-1", "1x", " 1", "1 ", "0x10", "1.5", "99999999999999999999"};
    int64_t value = -7;

    assert_true(st_count_parse("0", &value));
    assert_int_equal(value, 0);
    assert_true(st_count_parse("4711", &value));
    assert_int_equal(value, 4711);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) assert_false(st_count_parse(wrong[i], &value));
    assert_int_equal(value, 4711);
}

static void test_unit_names(void **state)
{
    enum st_unit unit = ST_UNIT_S;

    assert_true(st_unit_parse("us", &unit));
    assert_int_equal(unit, ST_UNIT_US);
    assert_true(st_unit_parse("auto", &unit));
    assert_int_equal(unit, ST_UNIT_AUTO);
    assert_false(st_unit_parse("sec", &unit));
    assert_false(st_unit_parse("", &unit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit_follows_the_largest_value), cmocka_unit_test(test_unit_can_be_chosen),
        cmocka_unit_test(test_extremes_do_not_overflow),       cmocka_unit_test(test_nothing_rounds_to_minus_zero),
        cmocka_unit_test(test_single_time_carries_its_unit),   cmocka_unit_test(test_bytes_use_decimal_prefixes),
        cmocka_unit_test(test_counts_are_read_strictly),       cmocka_unit_test(test_unit_names),
        cmocka_unit_test(test_small_volumes_are_never_zero),   cmocka_unit_test(test_short_times_are_never_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
