/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile names, JSON and tables: what a stranger's bytes may do to a terminal, a parser or a column. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/render/grid.h"
#include "analyzer/render/json.h"
#include "analyzer/util/text.h"

/* Collects what is written to `out`. */
struct sink {
    FILE *out;
    char *text;
    size_t length;
};

static void sink_open(struct sink *sink)
{
    sink->out = open_memstream(&sink->text, &sink->length);
    assert_non_null(sink->out);
}

static void sink_close(struct sink *sink)
{
    assert_int_equal(fclose(sink->out), 0);
}

static void check_printable(const char *text, size_t length, size_t columns, const char *expected)
{
    char *copy = st_text_printable(text, length, columns);

    assert_non_null(copy);
    assert_string_equal(copy, expected);
    free(copy);
}

static void test_printable_escapes_what_steers_a_terminal(void **state)
{
    check_printable("plain", 5, 0, "plain");
    check_printable("\033[2Jx", 5, 0, "\\x1b[2Jx");
    check_printable("a\nb\tc\r", 6, 0, "a\\x0ab\\x09c\\x0d");
    check_printable("\xc2\x9b"
                    "31m",
                    5, 0, "\\u{9b}31m");
    check_printable("\xe2\x80\xae"
                    "abc",
                    6, 0, "\\u{202e}abc");
    check_printable("\x00z", 2, 0, "\\x00z");
    check_printable("gr\xc3\xb6\xc3\x9f"
                    "e \xe6\x97\xa5",
                    11, 0,
                    "gr\xc3\xb6\xc3\x9f"
                    "e \xe6\x97\xa5");
}

static void test_printable_marks_broken_utf8(void **state)
{
    check_printable("\xff\xfe", 2, 0, "\\xff\\xfe");
    check_printable("\xc0\xaf", 2, 0, "\\xc0\\xaf");          /* overlong */
    check_printable("\xed\xa0\x80", 3, 0, "\\xed\\xa0\\x80"); /* surrogate */
    check_printable("\xf5\x80\x80\x80", 4, 0, "\\xf5\\x80\\x80\\x80");
    check_printable("\xe6\x97", 2, 0, "\\xe6\\x97"); /* cut */
}

static void test_printable_cuts_to_columns(void **state)
{
    check_printable("abcdef", 6, 6, "abcdef");
    check_printable("abcdefg", 7, 6, "abcde\xe2\x80\xa6");
    check_printable("ab\033cd", 5, 4, "ab\xe2\x80\xa6"); /* an escape is never split */
    check_printable("\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", 9, 4, "\xe6\x97\xa5\xe2\x80\xa6");
}

/* Write {"name": TEXT} and give it to a real parser; `expected` is what must come back. */
static void check_json_text(const char *text, size_t length, const char *expected)
{
    struct sink sink;
    struct st_json json;
    json_error_t error;
    json_t *document;

    sink_open(&sink);
    st_json_init(&json, sink.out, 0);
    st_json_object(&json, NULL);
    st_json_text(&json, "name", text, length);
    st_json_end(&json);
    sink_close(&sink);
    for (size_t i = 0; i + 1 < sink.length; i++) assert_true((unsigned char)sink.text[i] >= 0x20);
    document = json_loads(sink.text, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(document);
    assert_string_equal(json_string_value(json_object_get(document, "name")), expected);
    json_decref(document);
    free(sink.text);
}

static void test_json_texts_survive_a_parser(void **state)
{
    check_json_text("a\"b\\c/", 6, "a\"b\\c/");
    check_json_text("\n\t\r\x01\x7f", 5, "\n\t\r\x01\x7f");
    check_json_text("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae", 8, "\xc2\x9b\xe2\x80\xa8\xe2\x80\xae");
    check_json_text("\xf3\xa0\x80\x81", 4, "\xf3\xa0\x80\x81"); /* a tag character, as a surrogate pair */
    check_json_text("\xff"
                    "ok\xed\xa0\x80",
                    6, "\xef\xbf\xbdok\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    check_json_text("gr\xc3\xb6\xc3\x9f", 6, "gr\xc3\xb6\xc3\x9f");
}

static void test_json_of_random_bytes_is_valid(void **state)
{
    char *text = malloc(10000);
    uint32_t random = 1;

    assert_non_null(text);
    for (int round = 0; round < 20; round++) {
        struct sink sink;
        struct st_json json;
        json_t *document;

        for (size_t i = 0; i < 10000; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = (char)(random >> 24);
            if (text[i] == '\0') text[i] = 'x'; /* jansson takes no NUL; ours are written as \u0000 */
        }
        sink_open(&sink);
        st_json_init(&json, sink.out, 2);
        st_json_array(&json, NULL);
        st_json_text(&json, NULL, text, 10000);
        st_json_end(&json);
        sink_close(&sink);
        document = json_loads(sink.text, 0, NULL);
        assert_non_null(document);
        json_decref(document);
        free(sink.text);
    }
    free(text);
}

static void test_json_structure(void **state)
{
    struct sink sink;
    struct st_json json;

    sink_open(&sink);
    st_json_init(&json, sink.out, 1);
    st_json_object(&json, NULL);
    st_json_int(&json, "least", INT64_MIN);
    st_json_decimal(&json, "spread", 12345, 6);
    st_json_null(&json, "nothing");
    st_json_string(&json, "also", NULL);
    st_json_array(&json, "list");
    st_json_bool(&json, NULL, true);
    st_json_object(&json, NULL);
    st_json_end(&json);
    st_json_end(&json);
    st_json_end(&json);
    sink_close(&sink);
    assert_string_equal(sink.text,
                        "{\n  \"least\": -9223372036854775808,\n  \"spread\": 0.012345,\n  \"nothing\": null,\n"
                        "  \"also\": null,\n  \"list\": [true, {}]\n}\n");
    free(sink.text);
}

/* Two rows: one known, one with a hostile name and figures that were not collected. */
static void fill_grid(struct st_grid *grid)
{
    st_grid_init(grid);
    st_grid_add_cuttable(grid, 0, "stage");
    st_grid_add_column(grid, ST_GRID_TIME, 1, "host");
    st_grid_add_column(grid, ST_GRID_TIME, 1, "self");
    st_grid_add_column(grid, ST_GRID_BYTES, 2, "h2d");
    st_grid_add_text(grid, "encode");
    st_grid_add_value(grid, true, 1500000);
    st_grid_add_value(grid, true, 250000);
    st_grid_add_value(grid, true, 2000000);
    st_grid_add_text(grid, "a,\"b\"|\n");
    st_grid_add_value(grid, false, 0);
    st_grid_add_value(grid, true, 0);
    st_grid_add_value(grid, false, 0);
}

static char *print_grid(enum st_grid_format format, enum st_unit unit, int width)
{
    struct sink sink;
    struct st_grid grid;
    struct st_style style = {.format = format, .unit = unit, .terminal = width > 0, .width = width};

    sink_open(&sink);
    style.out = sink.out;
    fill_grid(&grid);
    assert_true(st_grid_print(&grid, &style));
    st_grid_finish(&grid);
    sink_close(&sink);
    return sink.text;
}

static void test_csv_is_exact_and_leaves_gaps_empty(void **state)
{
    char *text = print_grid(ST_GRID_FORMAT_CSV, ST_UNIT_AUTO, 0);

    assert_string_equal(text, "stage,host ns,self ns,h2d B\n"
                              "encode,1500000,250000,2000000\n"
                              "\"a,\"\"b\"\"|\\x0a\",,0,\n");
    free(text);
}

static void test_md_escapes_bars(void **state)
{
    char *text = print_grid(ST_GRID_FORMAT_MD, ST_UNIT_AUTO, 0);

    assert_string_equal(text, "| stage | host ms | self ms | h2d MB |\n"
                              "| --- | ---: | ---: | ---: |\n"
                              "| encode | 1.500 | 0.250 | 2.000 |\n"
                              "| a,\"b\"\\|\\\\x0a | \xe2\x80\x93 | 0.000 | \xe2\x80\x93 |\n");
    free(text);
}

static void test_text_has_one_unit_and_no_colour(void **state)
{
    char *text = print_grid(ST_GRID_FORMAT_TEXT, ST_UNIT_US, 0);

    assert_non_null(strstr(text, "host us"));
    assert_non_null(strstr(text, "1500.0"));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xe2\x80\xa6"));
    free(text);
}

static void test_narrow_terminal_gets_blocks(void **state)
{
    char *text = print_grid(ST_GRID_FORMAT_TEXT, ST_UNIT_AUTO, 36);
    const char *again = strstr(text, "stage");

    assert_non_null(again);
    assert_non_null(strstr(again + 1, "stage")); /* the name column is repeated in front of each block */
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char copy[256];

        assert_true(length < sizeof(copy));
        memcpy(copy, line, length);
        copy[length] = '\0';
        assert_true(st_text_columns(copy) <= 36);
        line += length + (line[length] == '\n');
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printable_escapes_what_steers_a_terminal),
        cmocka_unit_test(test_printable_marks_broken_utf8),
        cmocka_unit_test(test_printable_cuts_to_columns),
        cmocka_unit_test(test_json_texts_survive_a_parser),
        cmocka_unit_test(test_json_of_random_bytes_is_valid),
        cmocka_unit_test(test_json_structure),
        cmocka_unit_test(test_csv_is_exact_and_leaves_gaps_empty),
        cmocka_unit_test(test_md_escapes_bars),
        cmocka_unit_test(test_text_has_one_unit_and_no_colour),
        cmocka_unit_test(test_narrow_terminal_gets_blocks),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
