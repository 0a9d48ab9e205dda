/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: what each kind takes and refuses. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/settings.h"

static void check_all(enum st_setting_id id, const char *const *values, bool is_good)
{
    for (; *values; values++) {
        if (st_setting_check(&st_settings[id], *values) != is_good) {
            fail_msg("%s=%s: expected %s", st_settings[id].variable, *values, is_good ? "good" : "refused");
        }
    }
}

#define GOOD(id, ...) check_all(id, (const char *const[]){__VA_ARGS__, NULL}, true)
#define BAD(id, ...) check_all(id, (const char *const[]){__VA_ARGS__, NULL}, false)

static void values_are_checked(void **state)
{
    GOOD(ST_SET_MODE, "trace", "baseline", "diagnose-sync", "off");
    BAD(ST_SET_MODE, "Trace", "tracer", "", "trace|off", "trac");
    GOOD(ST_SET_COLLECT, "none", "shapes", "io,hash", "shapes,stacks,memory,io,hash");
    BAD(ST_SET_COLLECT, "shape", "io,", ",", "io;hash");
    GOOD(ST_SET_LIMIT, "65536", "500M", "2G", "64k", "1GiB", "10MB");
    BAD(ST_SET_LIMIT, "0", "1", "63K", "-1", "G", "1.5G", "2X", "99999999999999T", "1 G");
    GOOD(ST_SET_BUFFER, "64K", "1M", "16M");
    BAD(ST_SET_BUFFER, "63K", "17M", "1");
    GOOD(ST_SET_FLUSH, "10ms", "1s", "5m");
    BAD(ST_SET_FLUSH, "9ms", "1", "s", "1sec", "-1s");
    GOOD(ST_SET_WINDOW, "profiler", "steps:10-14", "requests:2", "time:30s+60s", "steps:1-2,profiler");
    BAD(ST_SET_WINDOW, "steps:0-3", "steps:4-3", "step:1", "time:30s", "time:+1s", "profiler,");
    GOOD(ST_SET_ROUNDS, "warmup=0", "warmup=3", "stable=2%/5", "stable=0.5%/2");
    BAD(ST_SET_ROUNDS, "warmup", "warmup=-1", "stable=2/5", "stable=0%/5", "stable=2%/1", "stable=%/3", "warmup=2x");
    GOOD(ST_SET_META, "size=512", "a=b;c=d", "a=;", "a=b=c");
    BAD(ST_SET_META, "size", "=x", "a=b;c");
    GOOD(ST_SET_LOG, "quiet", "debug", "warn=/tmp/x");
    BAD(ST_SET_LOG, "verbose", "warn=", "warning=/x");
}

static void numbers_are_right(void **state)
{
    uint64_t value;
    struct st_rounds_rule rule;
    assert_true(st_parse_size("2G", &value) && value == UINT64_C(2) << 30);
    assert_true(st_parse_size("64k", &value) && value == 65536);
    assert_true(st_parse_duration("250ms", &value) && value == 250000000);
    assert_true(st_parse_duration("2m", &value) && value == UINT64_C(120000000000));
    assert_true(st_parse_rounds("stable=2.5%/4", &rule) && rule.is_stable_rule && rule.stable_count == 4);
    assert_true(rule.stable_percent > 2.499 && rule.stable_percent < 2.501);
    assert_true(st_parse_rounds("warmup=2", &rule) && !rule.is_stable_rule && rule.warmup_count == 2);
}

static void windows_are_understood(void **state)
{
    struct st_window_rule rule;
    assert_true(st_parse_window("steps:10-14,requests:2,time:30s+500ms,profiler,steps:20", &rule));
    assert_int_equal(rule.step_count, 2);
    assert_true(st_window_has(rule.steps, rule.step_count, 10) && st_window_has(rule.steps, rule.step_count, 14));
    assert_true(st_window_has(rule.steps, rule.step_count, 20));
    assert_false(st_window_has(rule.steps, rule.step_count, 15) || st_window_has(rule.steps, rule.step_count, 9));
    assert_int_equal(rule.request_count, 1);
    assert_true(st_window_has(rule.requests, 1, 2));
    assert_int_equal(rule.times[0].first, 30000000000);
    assert_int_equal(rule.times[0].last, 30500000000);
    assert_true(rule.uses_profiler);
    assert_false(st_parse_window("", &rule) || st_parse_window("steps:", &rule) || st_parse_window("time:1s+", &rule));
    assert_false(st_parse_window("steps:1,steps:2,steps:3,steps:4,steps:5,steps:6,steps:7,steps:8,steps:9,steps:10,"
                                 "steps:11,steps:12,steps:13,steps:14,steps:15,steps:16,steps:17",
                                 &rule));
}

static void choices_have_places(void **state)
{
    assert_int_equal(st_setting_choice(&st_settings[ST_SET_MODE], "trace"), 0);
    assert_int_equal(st_setting_choice(&st_settings[ST_SET_MODE], "off"), 3);
    assert_int_equal(st_setting_choice(&st_settings[ST_SET_DEVICE], "none"), 3);
    assert_ptr_equal(st_setting_find("STAGETAP_ON_FULL"), &st_settings[ST_SET_ON_FULL]);
    assert_null(st_setting_find("STAGETAP_MPA"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(numbers_are_right),
        cmocka_unit_test(windows_are_understood),
        cmocka_unit_test(choices_have_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
