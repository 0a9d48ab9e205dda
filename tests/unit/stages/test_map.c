/* SPDX-License-Identifier: Apache-2.0 */
/* Stage-map grammar: rules as parsed, errors with their exact place, globs, captures, presets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "config/map.h"
#include "config/preset.h"

static struct st_map_rule rules[128];
static char arena[32768];

static struct st_map fresh_map(void)
{
    return (struct st_map){.rules = rules, .capacity = 128, .arena = arena, .arena_bytes = sizeof(arena)};
}

static void assert_rule(const struct st_map_rule *rule, enum st_map_source source, const char *pattern,
                        enum st_map_role role, const char *name)
{
    assert_int_equal(rule->source, source);
    assert_string_equal(rule->pattern, pattern);
    assert_int_equal(rule->role, role);
    assert_string_equal(rule->name, name);
}

static void test_every_meaning(void **state)
{
    static const char text[] =
        "# a comment\n"
        "nvtx    denoise*            -> sample\n"
        "python  a.b:C.d -> begin sample   # why\r\n"
        "\n"
        "  symbol vae_decode*->decode;kernel *bicubic*  ->  decode ; log \"sampling \\\"done\\\" *\" -> end sample\n"
        "python *:*.from_pretrained -> load; nvtx load_* -> load/$1\n"
        "symbol f -> request;symbol g -> step;symbol h -> sample step;symbol i -> sample step-end;symbol j -> off;;"
        "symbol k -> begin request;symbol l -> end request\n"
        "nvtx \"a b\" -> \"my stage/$1 x\"";
    struct st_map map = fresh_map();
    struct st_map_error error;

    assert_false(st_map_parse(&map, text, strlen(text), "inline", &error)); /* $1 without a star, last line */
    assert_int_equal(error.line, 8);
    assert_int_equal(error.column, 15);
    assert_int_equal(map.count, 0);
    assert_int_equal(map.arena_used, 0);

    assert_true(st_map_parse(&map, text, strrchr(text, '\n') - text, "inline", &error));
    assert_int_equal(map.count, 14);
    assert_rule(&rules[0], ST_MAP_NVTX, "denoise*", ST_MAP_STAGE, "sample");
    assert_rule(&rules[1], ST_MAP_PYTHON, "a.b:C.d", ST_MAP_BEGIN, "sample");
    assert_rule(&rules[2], ST_MAP_SYMBOL, "vae_decode*", ST_MAP_STAGE, "decode");
    assert_rule(&rules[3], ST_MAP_KERNEL, "*bicubic*", ST_MAP_STAGE, "decode");
    assert_rule(&rules[4], ST_MAP_LOG, "sampling \"done\" *", ST_MAP_END, "sample");
    assert_rule(&rules[5], ST_MAP_PYTHON, "*:*.from_pretrained", ST_MAP_LOAD, "load");
    assert_rule(&rules[6], ST_MAP_NVTX, "load_*", ST_MAP_LOAD, "load/$1");
    assert_rule(&rules[7], ST_MAP_SYMBOL, "f", ST_MAP_REQUEST, "");
    assert_rule(&rules[8], ST_MAP_SYMBOL, "g", ST_MAP_STEP, "");
    assert_rule(&rules[9], ST_MAP_SYMBOL, "h", ST_MAP_STEP, "sample");
    assert_rule(&rules[10], ST_MAP_SYMBOL, "i", ST_MAP_STEP_END, "sample");
    assert_rule(&rules[11], ST_MAP_SYMBOL, "j", ST_MAP_OFF, "");
    assert_rule(&rules[12], ST_MAP_SYMBOL, "k", ST_MAP_BEGIN_REQUEST, "");
    assert_rule(&rules[13], ST_MAP_SYMBOL, "l", ST_MAP_END_REQUEST, "");
    assert_string_equal(rules[0].text, "nvtx denoise* -> sample");
    assert_string_equal(rules[1].text, "python a.b:C.d -> begin sample");
    assert_string_equal(rules[4].text, "log \"sampling \\\"done\\\" *\" -> end sample");
    assert_string_equal(rules[2].text, "symbol vae_decode*->decode");
    assert_string_equal(rules[2].origin, "inline");
    assert_int_equal(rules[2].line_number, 5);
    assert_int_equal(rules[2].column, 3);
    assert_int_equal(rules[3].column, 30);
}

static void test_texts_are_joined(void **state)
{
    struct st_map map = fresh_map();
    struct st_map_error error;

    assert_true(st_map_parse(&map, "nvtx a -> x", 11, "first", &error));
    assert_true(st_map_parse(&map, "nvtx \"b c\" -> \"y z\"", 19, "second", &error));
    assert_false(st_map_parse(&map, "nvtx", 4, "third", &error));
    assert_int_equal(map.count, 2);
    assert_string_equal(rules[0].origin, "first");
    assert_rule(&rules[1], ST_MAP_NVTX, "b c", ST_MAP_STAGE, "y z");
    assert_string_equal(rules[1].origin, "second");
}

static void test_nothing_is_a_map(void **state)
{
    struct st_map map = fresh_map();
    struct st_map_error error;

    assert_true(st_map_parse(&map, "", 0, "inline", &error));
    assert_true(st_map_parse(&map, " ;\n# nvtx a ->\n\t", 15, "inline", &error));
    assert_int_equal(map.count, 0);
}

static void test_errors_name_their_place(void **state)
{
    static const struct {
        const char *text;
        int line, column;
        const char *what; /* a part of the message */
    } cases[] = {
        {"symbl a -> b", 1, 1, "unknown source 'symbl'; allowed: nvtx, python, symbol, kernel, log"},
        {"nvtx a -> b\n  foo a -> b", 2, 3, "unknown source 'foo'"},
        {"\"nvtx\" a -> b", 1, 1, "unknown source"},
        {"nvtx a -> b; -> c", 1, 14, "missing before '->'"},
        {"nvtx", 1, 5, "a pattern is missing after 'nvtx'"},
        {"nvtx  -> encode", 1, 7, "a pattern is missing after 'nvtx'"},
        {"nvtx \"\" -> encode", 1, 6, "the pattern is empty"},
        {"nvtx abc", 1, 9, "'->' is missing"},
        {"nvtx abc # -> x", 1, 10, "'->' is missing"},
        {"nvtx abc def -> x", 1, 10, "'->' expected"},
        {"nvtx \"abc -> x\nnvtx \" -> x", 1, 6, "not closed"},
        {"nvtx \"abc\"d -> x", 1, 11, "blank is missing"},
        {"nvtx abc ->", 1, 12, "nothing after '->'"},
        {"nvtx abc -> ; nvtx d -> e", 1, 13, "nothing after '->'"},
        {"nvtx abc -> a b", 1, 15, "'b' after a stage name"},
        {"nvtx abc -> a step x", 1, 20, "too many words"},
        {"nvtx abc -> a -> b", 1, 15, "second '->'"},
        {"nvtx abc -> begin", 1, 13, "'begin' needs a stage name"},
        {"nvtx abc -> end", 1, 13, "'end' needs a stage name"},
        {"nvtx abc -> step-end", 1, 13, "needs a stage name before"},
        {"nvtx abc -> begin step", 1, 19, "'step' is reserved"},
        {"nvtx abc -> off step", 1, 13, "'off' is reserved"},
        {"nvtx abc -> unattributed", 1, 13, "reserved"},
        {"nvtx abc -> \"\"", 1, 13, "cannot be empty"},
        {"nvtx abc -> /a", 1, 13, "stands between"},
        {"nvtx abc -> a/", 1, 13, "stands between"},
        {"nvtx abc -> a//b", 1, 13, "stands between"},
        {"nvtx a*c -> x$", 1, 13, "digit"},
        {"nvtx a*c -> x$0", 1, 13, "digit"},
        {"nvtx a*c -> x$2", 1, 13, "the pattern has 1 '*'"},
        {"nvtx a -> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 1, 11, "at most 64"},
        {"python abc -> x", 1, 8, "module:function"},
        {"python a:b:c -> x", 1, 8, "module:function"},
        {"python :b -> x", 1, 8, "module:function"},
        {"log abc -> off", 1, 1, "a log rule cannot mean off"},
        {"kernel abc -> request", 1, 1, "only a stage name"},
        {"kernel abc -> begin x", 1, 1, "only a stage name"},
        {"nvtx \xc3\xa4\xc3\xb6 -> x y", 1, 14, "'y' after"}, /* columns count characters */
        {"nvtx a -> x\nnvtx \x01 -> x", 2, 6, "control character 0x01"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct st_map map = fresh_map();
        struct st_map_error error;
        bool parsed = st_map_parse(&map, cases[i].text, strlen(cases[i].text), "inline", &error);
        if (parsed || error.line != cases[i].line || error.column != cases[i].column ||
            strstr(error.what, cases[i].what) == NULL)
            fail_msg("'%s': parsed %d, %d:%d: %s", cases[i].text, parsed, error.line, error.column, error.what);
        assert_int_equal(map.count, 0);
        assert_int_equal(map.arena_used, 0);
    }
}

static void test_limits(void **state)
{
    struct st_map_error error;
    struct st_map map = fresh_map();

    map.capacity = 1;
    assert_false(st_map_parse(&map, "nvtx a -> b;nvtx c -> d", 23, "inline", &error));
    assert_int_equal(error.column, 13);
    assert_non_null(strstr(error.what, "more than 1 rules"));
    for (size_t bytes = 0; bytes < 60; bytes++) { /* whatever is too small: an error, and no byte behind it */
        memset(arena, 0x55, sizeof(arena));
        map = fresh_map();
        map.arena_bytes = bytes;
        bool parsed = st_map_parse(&map, "nvtx \"a \\\"b\" -> \"c d\"", 21, "inline", &error);
        assert_int_equal(parsed, bytes >= 7 + 5 + 5 + 4 + 22);
        for (size_t i = bytes; i < 100; i++) assert_int_equal(arena[i], 0x55);
        map = fresh_map();
        map.arena_bytes = bytes;
        st_map_parse(&map, "nvtx \"\"", 7, "inline", &error);
        for (size_t i = bytes; i < 100; i++) assert_int_equal(arena[i], 0x55);
    }
}

static void test_glob(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"**", "", true},
        {"a", "a", true},
        {"a", "A", false},
        {"a", "ab", false},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"*b", "abc", false},
        {"*b*", "abc", true},
        {"a*c*e", "abcde", true},
        {"a*c*f", "abcde", false},
        {"*ab", "aab", true},
        {"*aab*b", "aaabab", true},
        {"?", "", false},
        {"?", "x", true},
        {"??", "x", false},
        {"?", "\xc3\xa4", true},
        {"??", "\xc3\xa4", false},
        {"a?c",
         "a\xe2\x82\xac"
         "c",
         true},
        {"[a]", "a", false},
        {"\\*", "\\x", true},
        {"*x*y*z", "xyzxyz", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (st_map_glob(cases[i].pattern, cases[i].text, NULL) != cases[i].matches)
            fail_msg("glob '%s' on '%s'", cases[i].pattern, cases[i].text);
}

static void assert_expands(const char *pattern, const char *text, const char *name, const char *expected)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];
    char out[64];

    assert_true(st_map_glob(pattern, text, captures));
    assert_int_equal(st_map_expand(name, captures, out, sizeof(out)), strlen(expected));
    assert_string_equal(out, expected);
}

static void test_captures(void **state)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];
    char out[8];

    assert_expands("run_*", "run_encode", "$1", "encode");
    assert_expands("*.*", "a.b.c", "$1-$2", "a-b.c"); /* the first takes the shortest */
    assert_expands("x*y*", "xyy", "<$1><$2>", "<><y>");
    assert_expands("**b", "aab", "$1|$2", "|aa");
    assert_expands("*a*a*a*a*a*a*a*a*a*a", "1a2a3a4a5a6a7a8a9aXa", "$9$8$7$1", "9871"); /* ten stars, nine kept */
    assert_expands("f*", "f", "x$1y", "xy");
    assert_expands("plain", "plain", "$1", "");
    assert_true(st_map_glob("*", "0123456789", captures));
    assert_int_equal(st_map_expand("ab$1", captures, out, sizeof(out)), 7);
    assert_string_equal(out, "ab01234");
    assert_int_equal(st_map_expand("ab$1", captures, out, 1), 0);
    assert_string_equal(out, "");
}

static void test_covers(void **state)
{
    static const struct {
        const char *pattern, *other;
        bool covers;
    } cases[] = {
        {"*", "", true},        {"*", "a*b?", true},     {"a", "a", true},        {"a", "b", false},
        {"a*", "a", true},      {"a*", "ab*", true},     {"a*", "*", false},      {"a*", "?", false},
        {"?", "a", true},       {"?", "?", true},        {"?", "*", false},       {"?", "\xc3\xa4", true},
        {"a", "?", false},      {"a*c", "abc", true},    {"a*c", "a*bc", true},   {"a*c", "a*b", false},
        {"*b*", "abc*", true},  {"**", "*", true},       {"a*b*c", "a*c", false}, {"*.step", "d.*:*.step", true},
        {"a?", "a", false},     {"*x*y", "xay*y", true}, {"*ab", "*aab", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (st_map_covers(cases[i].pattern, cases[i].other) != cases[i].covers)
            fail_msg("'%s' covers '%s'", cases[i].pattern, cases[i].other);
}

/* "P:name" preset, "F:path" file, "R:text" rules, in the order of the value. */
static void test_parts_of_a_value(void **state)
{
    static const struct {
        const char *value, *parts;
    } cases[] = {
        {"demo", "P:demo|"},
        {"demo+diffusers", "P:demo|P:diffusers|"},
        {"a/b+x.map+.map+demo", "F:a/b|F:x.map|P:.map|P:demo|"},
        {"demo+", "P:demo|P:|"},
        {"", "P:|"},
        {"nvtx a -> b", "R:nvtx a -> b|"},
        {"nvtx a+b -> c; log \"x/y+z\" -> d", "R:nvtx a+b -> c; log \"x/y+z\" -> d|"},
        {"demo+./my map+nvtx a+b -> c+d", "P:demo|F:./my map|R:nvtx a+b -> c+d|"},
        {"\n # x+y\n nvtx a -> b", "R:\n # x+y\n nvtx a -> b|"},
        {"log \"a/b+c\" -> d", "R:log \"a/b+c\" -> d|"},
        {"symbl a+b -> c", "R:symbl a+b -> c|"}, /* no preset has a blank: the parser will say what is wrong */
        {"x -> y", "R:x -> y|"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *at = cases[i].value;
        struct st_map_part part;
        char parts[256] = "";
        while (st_map_next_part(&at, &part)) {
            size_t used = strlen(parts);
            snprintf(parts + used, sizeof(parts) - used, "%c:%.*s|", "PFR"[part.kind], (int)part.length, part.text);
        }
        assert_string_equal(parts, cases[i].parts);
    }
}

static void test_rules_as_shown(void **state)
{
    struct st_map map = fresh_map();
    struct st_map_error error;
    static const char text[] = "nvtx  a\"b   ->   \"x  y\"  # c\nnvtx \"a\\\\\"   ->  q\nnvtx c->\"d  e\"\n";

    assert_true(st_map_parse(&map, text, strlen(text), "inline", &error));
    assert_string_equal(rules[0].text, "nvtx a\"b -> \"x  y\"");
    assert_string_equal(rules[1].text, "nvtx \"a\\\\\" -> q");
    assert_string_equal(rules[2].text, "nvtx c->\"d  e\"");
}

static void test_presets(void **state)
{
    int count = 0;

    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++, count++) {
        struct st_map map = fresh_map();
        struct st_map_error error;
        if (!st_map_parse(&map, preset->text, strlen(preset->text), preset->name, &error))
            fail_msg("preset %s, %d:%d: %s", preset->name, error.line, error.column, error.what);
        assert_true(map.count > 1);
        assert_ptr_equal(st_preset_find(preset->name), preset);
        assert_int_equal(preset->text[0], '#'); /* what it is for and what it was checked against */
        for (uint32_t i = 0; *preset->modules != NULL && i < map.count; i++)
            assert_int_equal(map.rules[i].source, ST_MAP_PYTHON); /* nothing else is taken in behind the start */
    }
    assert_true(count >= 10);
    assert_null(st_preset_find("nothing"));
    assert_ptr_equal(st_preset_for_program("generate_rt"), st_preset_find("demo"));
    assert_ptr_equal(st_preset_for_program("generate"), st_preset_find("demo"));
    assert_ptr_equal(st_preset_for_program("sd-cli"), st_preset_find("sdcli"));
    assert_ptr_equal(st_preset_for_program("sd"), st_preset_find("sdcli"));
    assert_ptr_equal(st_preset_for_program("sd-server"), st_preset_find("sdcpp"));
    assert_null(st_preset_for_program("generate_"));
    assert_null(st_preset_for_program("sda"));
    assert_null(st_preset_for_program("python3"));
    assert_null(st_preset_for_program(""));
}

/* A preset brings what belongs to it, behind its own rules. */
static void test_preset_with_another(void **state)
{
    const struct st_preset *swarmui = st_preset_find("swarmui"), *comfyui = st_preset_find("comfyui");
    struct st_map own = fresh_map(), other = fresh_map(), map = fresh_map();
    struct st_map_error error;

    assert_true(st_map_parse(&own, swarmui->text, strlen(swarmui->text), "swarmui", &error));
    assert_true(st_map_parse(&other, comfyui->text, strlen(comfyui->text), "comfyui", &error));
    assert_true(st_preset_parse(swarmui, &map, &error));
    assert_int_equal(map.count, own.count + other.count);
    assert_string_equal(map.rules[0].origin, "swarmui");
    assert_string_equal(map.rules[own.count].origin, "comfyui");
    map.capacity = map.count; /* no room: nothing of it is left behind */
    map.count = own.count;
    assert_false(st_preset_parse(swarmui, &map, &error));
    assert_int_equal(map.count, own.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_meaning),    cmocka_unit_test(test_texts_are_joined),
        cmocka_unit_test(test_nothing_is_a_map), cmocka_unit_test(test_errors_name_their_place),
        cmocka_unit_test(test_limits),           cmocka_unit_test(test_glob),
        cmocka_unit_test(test_captures),         cmocka_unit_test(test_covers),
        cmocka_unit_test(test_parts_of_a_value), cmocka_unit_test(test_rules_as_shown),
        cmocka_unit_test(test_presets),          cmocka_unit_test(test_preset_with_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
