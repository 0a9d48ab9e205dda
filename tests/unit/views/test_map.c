/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in words, warnings, near misses, and rules made from names. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyzer/cmd/map_match.h"
#include "analyzer/cmd/map_warn.h"
#include "analyzer/cmd/map_words.h"

static struct st_map_rule rules[16];
static char arena[4096];
static struct st_map map;

static void parse(const char *text)
{
    struct st_map_error error;

    map = (struct st_map){.rules = rules, .capacity = 16, .arena = arena, .arena_bytes = sizeof(arena)};
    if (!st_map_parse(&map, text, strlen(text), "inline", &error)) fail_msg("%s: %s", text, error.what);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *rule, *sentence;
    } cases[] = {
        {"python a.b:C.d -> request",
         "When the Python function a.b:C.d runs, that is one request, the making of one picture or batch."},
        {"symbol f* -> load/unet", "When a native function whose name matches f* runs, that is load/unet: loading, "
                                   "which is kept apart from requests."},
        {"nvtx x -> encode", "When an NVTX range of the name x is open, that is the stage encode."},
        {"nvtx x -> step", "When an NVTX range of the name x is open, that is one step of the stage around it."},
        {"nvtx x -> s step", "When an NVTX range of the name x is open, that is one step of s."},
        {"python a:b -> s step-end",
         "When the Python function a:b returns, one step of s is over and the next one begins."},
        {"python a:b -> begin s", "When the Python function a:b begins, the stage s opens, if it is not open; `end s`, "
                                  "the next stage, or the end of the request closes it."},
        {"log x* -> end s", "When a line that matches x* is printed, the stage s that `begin s` opened is over."},
        {"nvtx x -> off", "When an NVTX range of the name x is open, nothing inside it is recorded as a stage."},
        {"log x -> begin request",
         "When the line x is printed, a request begins; one that `begin request` opened before is over."},
        {"log x -> end request", "When the line x is printed, the request that `begin request` opened is over."},
        {"log x -> request",
         "When the line x is printed, a request begins; one that `begin request` opened before is over."},
        {"log x -> step",
         "When the line x is printed, one step of the stage around it is over and the next one begins."},
        {"kernel k -> decode", "Device work of the kernel k counts as decode, with its launches; this labels device "
                               "work only: host figures stay with the range that launched it."},
        {"nvtx l_* -> l$1", "When an NVTX range whose name matches l_* is open, that is the stage l$1. $1 … $9 are "
                            "what each * stood for; of many names, 64 are told apart."},
    };
    char sentence[ST_MAP_SENTENCE_BYTES];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        parse(cases[i].rule);
        st_map_sentence(&rules[0], sentence, sizeof(sentence));
        assert_string_equal(sentence, cases[i].sentence);
    }
}

/* A rule for a name is a rule, and matches that name – whatever the name is. */
static void test_rules_for_names(void **state)
{
    static const struct {
        const char *name, *rule;
    } cases[] = {
        {"encode", "nvtx encode -> x"},
        {"denoise step", "nvtx \"denoise step\" -> x"},
        {"a\"b\\c;d", "nvtx \"a\\\"b\\\\c;d\" -> x"},
        {"a\\b", "nvtx a\\b -> x"},
        {"a->b", "nvtx \"a->b\" -> x"},
        {"#1", "nvtx \"#1\" -> x"},
        {"a\nb", "nvtx a?b -> x"},
        {"caf\xe9", "nvtx caf? -> x"},
        {"\xe9t\xc3\xa9", "nvtx ?t\xc3\xa9 -> x"},
        {"\xf4\x90\x80\x80\x80z", "nvtx ?z -> x"},
        {"\xe2\x82", "nvtx ? -> x"},
        {"a\xed\xa0\x80z\xe2\x80\x8b", "nvtx a?z? -> x"},
        {"void f<int*>()", "nvtx \"void f<int*>()\" -> x"},
    };
    char rule[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        st_map_rule_for(ST_MAP_NVTX, cases[i].name, false, "x", rule, sizeof(rule));
        assert_string_equal(rule, cases[i].rule);
        parse(rule);
        assert_true(st_map_glob(rules[0].pattern, cases[i].name, NULL));
    }
    st_map_rule_for(ST_MAP_KERNEL, "cut off", true, "decode", rule, sizeof(rule));
    assert_string_equal(rule, "kernel \"cut off*\" -> decode");
    st_map_rule_for(ST_MAP_NVTX, "pay \xe2\x82", true, "x", rule, sizeof(rule));
    assert_string_equal(rule, "nvtx \"pay *\" -> x");
    st_map_rule_for(ST_MAP_KERNEL, "cut off", false, "decode", rule, 12);
    assert_int_equal(strlen(rule), 11);
}

static void test_meanings(void **state)
{
    static const char *const meanings[] = {"encode",  "load",    "request", "step",          "s step",
                                           "s step-end", "begin s", "end s",   "begin request", "end request", "off"};
    char rule[64], meaning[64];

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        snprintf(rule, sizeof(rule), "nvtx x -> %s", meanings[i]);
        parse(rule);
        st_map_meaning((enum st_map_role)rules[0].role, rules[0].name, meaning, sizeof(meaning));
        assert_string_equal(meaning, meanings[i]);
    }
}

static char kinds[512];

static void note_kind(void *context, const struct st_map_warning *warning)
{
    size_t used = strlen(kinds);

    snprintf(kinds + used, sizeof(kinds) - used, "%s:%d ", warning->kind,
             warning->rule != NULL ? (int)(warning->rule - rules) : -1);
}

static void assert_warnings(const char *text, const char *expected)
{
    parse(text);
    kinds[0] = '\0';
    st_map_warn(&map, note_kind, NULL);
    assert_string_equal(kinds, expected);
}

static void test_warnings(void **state)
{
    assert_warnings("nvtx r -> request; nvtx a -> x; nvtx b -> step", "");
    assert_warnings("nvtx a -> x", "no_request:-1 ");
    assert_warnings("nvtx r -> begin request", "");
    assert_warnings("nvtx r -> request; nvtx r -> x", "duplicate:1 ");
    assert_warnings("nvtx r -> request; symbol r -> x", "");
    assert_warnings("nvtx r* -> request; nvtx r? -> x; nvtx r -> y; nvtx q -> z", "shadowed:1 shadowed:2 ");
    assert_warnings("nvtx r? -> request; nvtx r* -> x", "");
    assert_warnings("nvtx r -> request; nvtx s -> step", "step_without_stage:1 ");
    assert_warnings("nvtx r -> request; nvtx s -> x step; nvtx y -> y", "step_without_stage:1 ");
    assert_warnings("nvtx r -> request; nvtx s -> x step-end; nvtx y -> begin x", "");
    assert_warnings("nvtx r -> request; nvtx s -> x step; nvtx l_* -> $1", "");
    assert_warnings("nvtx r -> request; kernel k -> x; nvtx s -> x step", "step_without_stage:2 ");
    assert_warnings("nvtx r -> request; nvtx y -> x; nvtx s -> end x", "never_opened:2 ");
    assert_warnings("nvtx r -> request; nvtx s -> end request", "never_opened:1 ");
    assert_warnings("log r -> request; log a -> x; log s -> end request; log b -> end x", "");
    assert_warnings("", "");
}

static void test_distance(void **state)
{
    const int far = ST_MAP_FAR;

    assert_int_equal(st_map_distance(ST_MAP_NVTX, "Encode", "encode"), 0);
    assert_int_equal(st_map_distance(ST_MAP_PYTHON, "pipe:Pipe.encode_prompt", "diffusers.pipe:Pipe.encode_prompt"), 1);
    assert_int_equal(st_map_distance(ST_MAP_PYTHON, "x:encode_prompt", "diffusers.pipe:Pipe.encode_prompt"), 1);
    assert_int_equal(st_map_distance(ST_MAP_SYMBOL, "decode*", "vae::decode_tiled"), 1);
    assert_int_equal(st_map_distance(ST_MAP_NVTX, "step", "denoise step"), 1);
    assert_int_equal(st_map_distance(ST_MAP_NVTX, "step", "step 4"), 2);
    assert_int_equal(st_map_distance(ST_MAP_PYTHON, "a:Pipe.encode_promt", "b:Other.encode_prompt"), 3 + 1);
    assert_int_equal(st_map_distance(ST_MAP_SYMBOL, "vae_decoed", "vae_decode"), 3 + 2);
    assert_true(st_map_distance(ST_MAP_NVTX, "encode", "decode") < far); /* two letters of six */
    assert_true(st_map_distance(ST_MAP_NVTX, "encode", "sample") >= far);
    assert_true(st_map_distance(ST_MAP_NVTX, "ab", "cd") >= far);
    assert_true(st_map_distance(ST_MAP_NVTX, "*", "") < far);
}

static void test_globs_meet(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool meet;
    } cases[] = {
        {"a.b:C.f", "a.b:C.f", true},
        {"a.b:C.f", "*b:C.f", true},
        {"a.*:*C*.f", "*b:BigC.f", true},
        {"a.b:C.f", "*c:C.f", false},
        {"a.b:C.f", "*:C.f", true},
        {"a.b:C.f", "*b:C.g", false},
        {"a.b:C.f", "*b:*f", true}, /* before 3.11 */
        {"a.b:C.g", "*b:*f", false},
        {"a?b:f", "a.*:f", true},
        {"*", "", true},
        {"", "*", true},
        {"?", "", false},
        {"ab*", "*cd", true},
        {"ab", "*cd", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (st_map_globs_meet(cases[i].pattern, cases[i].name) != cases[i].meet)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
}

static void test_long_texts(void **state)
{
    char pattern[1000], name[1000];

    memset(pattern, 'a', sizeof(pattern) - 1);
    pattern[sizeof(pattern) - 1] = '\0';
    memcpy(name, pattern, sizeof(name));
    name[0] = 'b';
    st_map_distance(ST_MAP_PYTHON, pattern, name); /* reads and writes nothing beyond */
    pattern[20] = name[20] = ':';
    st_map_distance(ST_MAP_PYTHON, pattern, name);
    assert_false(st_map_globs_meet(pattern, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_rules_for_names), cmocka_unit_test(test_meanings),
        cmocka_unit_test(test_warnings),  cmocka_unit_test(test_distance),        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_globs_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
