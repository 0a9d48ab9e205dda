/* SPDX-License-Identifier: Apache-2.0 */
/* What `stagetap run` refuses: every row of the settings table, typos, maps and folders. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/map_load.h"
#include "analyzer/cmd/refuse.h"

static bool is_usable(enum st_setting_id id, const char *value)
{
    char why[ST_WHY_BYTES] = "";
    bool usable = st_value_is_usable(&st_settings[id], value, why);

    assert_true(usable || why[0] != '\0'); /* a refusal always says why */
    return usable;
}

/* For each setting one value that must pass (NULL: this version can do none), one that must not, and one that
 * is only for later versions. */
static void test_every_setting_has_its_check(void **state)
{
    static const struct {
        const char *good, *bad, *later;
    } values[ST_SETTING_COUNT] = {
        [ST_SET_MAP] = {"symbol a* -> encode", "symbol a*"},
        [ST_SET_OUT] = {"/nowhere/at/all/", ""},
        [ST_SET_MODE] = {"off", "tracing", "baseline"},
        [ST_SET_DEVICE] = {"none", "gpu", "event"},
        [ST_SET_CUPTI] = {"/proc/self/exe", "/nowhere/libcupti.so"},
        [ST_SET_GRAPHS] = {"graph", "nodes", "node"},
        [ST_SET_PY] = {"walk", "yes"},
        [ST_SET_AUDIT] = {"1", "maybe"},
        [ST_SET_COLLECT] = {"none", "io,all", "io,hash"},
        [ST_SET_WINDOW] = {"steps:10-14", "steps:14-10"},
        [ST_SET_META] = {"steps=20;size=512", "=20"},
        [ST_SET_ROUNDS] = {"stable=2%/3", "stable=2"},
        [ST_SET_LIMIT] = {"2G", "2X"},
        [ST_SET_FLUSH] = {"1s", "1"},
        [ST_SET_BUFFER] = {"4M", "1K"},
        [ST_SET_ON_FULL] = {"wait", "block"},
        [ST_SET_LOG] = {"debug=/tmp/log", "loud"},
    };

    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        enum st_setting_id id = (enum st_setting_id)i;
        char why[ST_WHY_BYTES] = "";

        assert_non_null(values[i].bad); /* a new row of the table needs a line here */
        assert_int_equal(values[i].good == NULL, st_settings[i].now != NULL && st_settings[i].now[0] == '\0');
        assert_int_equal(values[i].later != NULL, st_settings[i].now != NULL);
        if (values[i].good != NULL && !is_usable(id, values[i].good)) fail_msg("%s refused", values[i].good);
        if (is_usable(id, values[i].bad)) fail_msg("%s accepted", values[i].bad);
        if (values[i].later == NULL) continue;
        assert_false(st_value_is_usable(&st_settings[i], values[i].later, why));
        assert_non_null(strstr(why, "not in this version"));
    }
}

static void test_environment_is_searched_for_typos(void **state)
{
    char good[] = "STAGETAP_MODE=trace", typo[] = "STAGETAP_MPA=x", internal[] = "STAGETAP_INTERNAL_X=1",
         empty[] = "STAGETAP_DEVICE=", bad[] = "STAGETAP_LIMIT=lots", other[] = "PATH=/bin";
    char *fine[] = {other, good, internal, empty, NULL}, *wrong_name[] = {good, typo, NULL},
         *wrong_value[] = {bad, NULL};
    char why[ST_WHY_BYTES];

    assert_true(st_environment_is_usable(fine, why));
    assert_false(st_environment_is_usable(wrong_name, why));
    assert_non_null(strstr(why, "STAGETAP_MPA"));
    assert_false(st_environment_is_usable(wrong_value, why));
    assert_non_null(strstr(why, "STAGETAP_LIMIT=lots"));
}

static void check_map(const char *value, const char *expected_in_why)
{
    char why[ST_WHY_BYTES] = "";

    assert_false(st_map_load_check(value, why, sizeof(why)));
    if (strstr(why, expected_in_why) == NULL) fail_msg("\"%s\" does not contain \"%s\"", why, expected_in_why);
}

static void test_map_mistakes_have_a_place(void **state)
{
    check_map("symbol a* -> encode\nsimbol b -> decode", "inline: line 2, column 1");
    check_map("no-such-preset", "no preset");
    check_map("demo+", "empty name");
    check_map("/nowhere/x.map", "/nowhere/x.map: No such file");
    check_map("/tmp/", "folder");
    check_map("demo+/nowhere/x.map", "/nowhere/x.map");
}

static char said[2048];

static void keep_line(void *context, const struct st_map_mistake *mistake)
{
    char line[512];

    assert_null(context);
    st_map_mistake_text(mistake, line, sizeof(line));
    strcat(strcat(said, line), "\n");
}

static void test_map_check_tells_every_mistake(void **state)
{
    static const char rules[] = "symbol a -> encode\nsymbol b\nx y -> z; symbol \"c;d\" -> -> e; symbol f -> decode\n"
                                "symbol \"g;h -> i\nkernel k -> request # ; symbol x\nsymbol z -> output";
    struct st_map map;

    said[0] = '\0';
    assert_int_equal(st_map_load_all(rules, &map, keep_line, NULL), ST_MAP_MISTAKEN);
    assert_non_null(strstr(said, "inline: line 2, column 9: '->' is missing"));
    assert_non_null(strstr(said, "inline: line 3, column 1: unknown source"));
    assert_non_null(strstr(said, "inline: line 3, column 27: a second '->'"));
    assert_non_null(strstr(said, "inline: line 4, column 8: the quote"));
    assert_non_null(strstr(said, "inline: line 5, column 1: a kernel rule"));
    assert_int_equal(map.count, 3); /* the right ones */
    assert_string_equal(map.rules[1].pattern, "f");
    assert_string_equal(map.rules[2].pattern, "z");
    st_map_load_finish(&map);
    for (char *at = said; (at = strchr(at, '\n')) != NULL; at++) map.count++;
    assert_int_equal(map.count, 5);

    said[0] = '\0';
    assert_int_equal(st_map_load_all("nope+/nowhere/x.map+demo", &map, keep_line, NULL), ST_MAP_UNREADABLE);
    assert_non_null(strstr(said, "no preset"));
    assert_non_null(strstr(said, "/nowhere/x.map: No such file"));
    assert_true(map.count > 0);
    st_map_load_finish(&map);
}

static void test_map_parts_are_joined(void **state)
{
    char path[] = "/tmp/stagetap-test-XXXXXX", value[64], why[ST_WHY_BYTES] = "";
    struct st_map map, preset;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "kernel x* -> decode\n", 20), 20);
    close(fd);
    assert_true(st_map_load("demo", &preset, why, sizeof(why)));
    snprintf(value, sizeof(value), "demo+%s", path);
    assert_true(st_map_load(value, &map, why, sizeof(why)));
    assert_true(preset.count > 0);
    assert_int_equal(map.count, preset.count + 1);
    assert_string_equal(map.rules[map.count - 1].origin, path);
    st_map_load_finish(&map);
    st_map_load_finish(&preset);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_setting_has_its_check),   cmocka_unit_test(test_environment_is_searched_for_typos),
        cmocka_unit_test(test_map_mistakes_have_a_place),     cmocka_unit_test(test_map_parts_are_joined),
        cmocka_unit_test(test_map_check_tells_every_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
