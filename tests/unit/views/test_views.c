/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views on the sample report against the screens in golden/ (UPDATE_GOLDEN=1 writes them anew: look at
 * the difference before committing), and the JSON document through a parser. argv[1] is the golden folder.
 */
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

#include "analyzer/render/explain.h"
#include "analyzer/render/report_json.h"
#include "analyzer/render/views.h"
#include "analyzer/util/text.h"
#include "sample_report.h"

static const char *golden_folder;

typedef bool (*view_fn)(const struct st_report *, const struct st_filter *, const struct st_style *);

static char *show(view_fn view, const struct st_report *report, const struct st_filter *filter, struct st_style style)
{
    char *text = NULL;
    size_t length;

    style.out = open_memstream(&text, &length);
    assert_non_null(style.out);
    assert_true(view(report, filter, &style));
    assert_int_equal(fclose(style.out), 0);
    return text;
}

static char *read_golden(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    assert_non_null(text);
    if (file == NULL) fail_msg("%s is missing; UPDATE_GOLDEN=1 writes it", path);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

static void check_golden(const char *name, char *text)
{
    char path[4096], *expected;

    snprintf(path, sizeof(path), "%s/%s", golden_folder, name);
    if (getenv("UPDATE_GOLDEN") != NULL) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    expected = read_golden(path);
    assert_string_equal(text, expected);
    free(expected);
    free(text);
}

static void test_report_screen(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20, .name_file = true};

    check_golden("report.txt", show(st_view_report, &report, &filter, (struct st_style){0}));
}

static void test_report_without_device_time(void **state)
{
    struct st_report report = sample_report_without_devices();
    struct st_filter filter = {.top = 20};

    check_golden("report-host-only.txt", show(st_view_report, &report, &filter, (struct st_style){0}));
}

static void test_report_on_a_narrow_terminal(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    struct st_style style = {.terminal = true, .width = 80};

    check_golden("report-80.txt", show(st_view_report, &report, &filter, style));
}

static bool show_lists(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    return st_view_gaps(report, filter, style) && st_view_kernels(report, filter, style) &&
           st_view_transfers(report, filter, style) && st_view_syncs(report, filter, style) &&
           st_view_rounds(report, filter, style);
}

static void test_lists(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20}, utc = {.top = 1, .utc = true};
    struct st_style csv = {.format = ST_GRID_FORMAT_CSV}, md = {.format = ST_GRID_FORMAT_MD, .unit = ST_UNIT_US};

    check_golden("lists.txt", show(show_lists, &report, &filter, (struct st_style){0}));
    check_golden("lists-utc-top1.txt", show(show_lists, &report, &utc, (struct st_style){0}));
    check_golden("lists.csv", show(show_lists, &report, &filter, csv));
    check_golden("lists.md", show(show_lists, &report, &filter, md));
}

static void test_stage_filter_cuts_lists_and_keeps_totals(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.stage = "encode"};
    char *text = show(st_view_gaps, &report, &filter, (struct st_style){0});

    assert_null(strstr(text, "sample/step"));
    assert_non_null(strstr(text, "1 of 7 shown"));
    assert_non_null(strstr(text, "12.00 ms"));
    free(text);
}

static void test_rows_are_within(void **state)
{
    assert_true(st_row_is_within("output", "output"));
    assert_true(st_row_is_within("output/d2h", "output"));
    assert_false(st_row_is_within("outputs", "output"));
    assert_false(st_row_is_within("output", "output/d2h"));
    assert_false(st_row_is_within(NULL, "output"));
    assert_true(st_row_is_within(NULL, NULL));
}

static void test_residual_is_an_alarm(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    char *text;

    report.requests[0].devices[0].residual_ns = -3;
    text = show(st_view_report, &report, &filter, (struct st_style){0});
    report.requests[0].devices[0].residual_ns = 0;
    assert_non_null(strstr(text, "residual -3 ns: a defect"));
    assert_null(strstr(text, "\xe2\x9c\x93"));
    free(text);
}

static void test_growing_trace_and_no_cuda_are_on_the_first_line(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    char *text;

    report.traces[0].live = true;
    report.open_requests = 1;
    report.cuda_work_seen = false;
    text = show(st_view_report, &report, &filter, (struct st_style){0});
    report.traces[0].live = false;
    text[strcspn(text, "\n")] = '\0';
    assert_ptr_equal(strstr(text, "no CUDA work seen"), text);
    assert_non_null(strstr(text, "still running, to 900.0 ms, 1 request open"));
    free(text);
}

static void test_every_column_of_the_stage_table_is_explained(void **state)
{
    static const char *const figures[] = {"calls",   "wall share",  "host",    "self",         "own CPU",  "off-CPU",
                                          "in CUDA", "device busy", "kernels", "copies alone", "launches", "waiting",
                                          "h2d",     "wall_ns",     "busy",    "host_self_ns"};

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        if (st_explain(figures[i]) == NULL) fail_msg("%s is not explained", figures[i]);
    }
    assert_string_equal(st_explain("busy_ns")->name, "busy");
    assert_null(st_explain("no such figure"));
    assert_null(st_explain(""));
}

static json_t *document_of(const struct st_report *report)
{
    char *text = NULL;
    size_t length;
    json_error_t error;
    FILE *out = open_memstream(&text, &length);
    json_t *document;

    assert_non_null(out);
    st_report_write_json(report, out);
    assert_int_equal(fclose(out), 0);
    document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL) fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return document;
}

static void test_json_keeps_figures_and_nulls_apart(void **state)
{
    struct st_report report = sample_report();
    json_t *document = document_of(&report), *request, *row;

    assert_string_equal(json_string_value(json_object_get(document, "schema")), "stagetap.report/1");
    request = json_array_get(json_object_get(document, "requests"), 0);
    assert_int_equal(json_integer_value(json_object_get(request, "wall_ns")), 100000000);
    row = json_array_get(json_object_get(request, "stages"), 0);
    assert_true(json_is_null(json_object_get(row, "graph_nodes")));
    assert_int_equal(json_integer_value(json_object_get(row, "graph_launches")), 0);
    assert_true(json_is_null(json_object_get(document, "findings")));
    assert_int_equal(json_array_size(json_object_get(document, "gaps")), 2);
    json_decref(document);
}

static void test_json_without_device_time_has_nulls(void **state)
{
    static const char *const lists[] = {"gaps", "gaps_total", "syncs", "kernels", "transfers"};
    struct st_report report = sample_report_without_devices();
    json_t *document = document_of(&report), *request, *row;

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        assert_true(json_is_null(json_object_get(document, lists[i])));
    }
    request = json_array_get(json_object_get(document, "requests"), 0);
    assert_true(json_is_null(json_object_get(request, "devices")));
    row = json_array_get(json_object_get(request, "stages"), 0);
    assert_true(json_is_null(json_object_get(row, "device")));
    json_decref(document);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report_screen),
        cmocka_unit_test(test_report_without_device_time),
        cmocka_unit_test(test_report_on_a_narrow_terminal),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_stage_filter_cuts_lists_and_keeps_totals),
        cmocka_unit_test(test_rows_are_within),
        cmocka_unit_test(test_residual_is_an_alarm),
        cmocka_unit_test(test_growing_trace_and_no_cuda_are_on_the_first_line),
        cmocka_unit_test(test_every_column_of_the_stage_table_is_explained),
        cmocka_unit_test(test_json_keeps_figures_and_nulls_apart),
        cmocka_unit_test(test_json_without_device_time_has_nulls),
    };

    if (argc != 2) return 2;
    golden_folder = argv[1];
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
