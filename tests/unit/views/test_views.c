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
#include "analyzer/render/missing.h"
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

static bool show_all(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    return st_view_report(report, filter, style) && show_lists(report, filter, style);
}

/* A terminal never has to break a line of ours: the longest word of the sample is short enough. */
static void test_nothing_is_wider_than_the_terminal(void **state)
{
    static const int widths[] = {80, 90, 100, 132, 200};
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20, .name_file = true};

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        char *text = show(show_all, &report, &filter, (struct st_style){.terminal = true, .width = widths[i]});
        char *line, *rest = text;

        while ((line = strsep(&rest, "\n")) != NULL) {
            if (st_text_columns(line) > (size_t)widths[i]) fail_msg("wider than %d: %s", widths[i], line);
        }
        free(text);
    }
}

static void test_cause_and_drain_are_never_cut(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    char *text = show(st_view_gaps, &report, &filter, (struct st_style){.terminal = true, .width = 80});

    assert_non_null(strstr(text, "host late: after a wait"));
    assert_non_null(strstr(text, "cuStreamSynchronize in encode"));
    free(text);
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

static void check_explained(const char *word)
{
    if (st_explain(word) == NULL) fail_msg("\"%s\" is on the screen and not explained", word);
}

/* The heads of every table of a Markdown page: the line above a line of dashes. */
static void check_heads(char *page)
{
    char *line = page, *next;
    int tables = 0;

    for (; (next = strchr(line, '\n')) != NULL; line = next + 1) {
        char *cell, *rest = line;

        *next = '\0';
        if (strncmp(next + 1, "| ---", 5) != 0) continue;
        tables++;
        while ((cell = strsep(&rest, "|")) != NULL) {
            size_t length = strlen(cell);
            if (length < 3) continue;
            cell[length - 1] = '\0';
            check_explained(cell + 1);
        }
    }
    assert_true(tables >= 6);
    free(page);
}

static void test_every_head_of_every_table_is_explained(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20}, utc = {.top = 20, .utc = true};
    struct st_style md = {.format = ST_GRID_FORMAT_MD};

    check_heads(show(show_all, &report, &filter, md));
    check_heads(show(show_all, &report, &utc, md));
}

static void test_words_between_the_tables_are_explained(void **state)
{
    static const char *const words[] = {"complete",
                                        "NOT complete",
                                        "still running",
                                        "device time",
                                        "not_collected",
                                        "SIMULATED",
                                        "no CUDA work seen",
                                        "requests",
                                        "first",
                                        "warm-up",
                                        "steady",
                                        "open",
                                        "rule",
                                        "one shape",
                                        "several shapes",
                                        "load",
                                        "median",
                                        "device done",
                                        "host returned",
                                        "rows",
                                        "steps",
                                        "identity",
                                        "stages",
                                        "shared",
                                        "unattributed",
                                        "other",
                                        "idle",
                                        "residual",
                                        "after the request",
                                        "before the first request",
                                        "between requests",
                                        "after the last request",
                                        "largest gaps",
                                        "waiting calls",
                                        "transfers",
                                        "kernels",
                                        "lost",
                                        "events lost",
                                        "failed CUDA calls",
                                        "not intercepted",
                                        "calls not seen",
                                        "not collected",
                                        "rules that matched nothing",
                                        "note",
                                        "pageable",
                                        "pinned",
                                        "managed",
                                        "h2d",
                                        "d2h",
                                        "d2d",
                                        "p2p",
                                        "h2h",
                                        "unknown",
                                        "host slower than device",
                                        "request begin",
                                        "nothing more to do",
                                        "GPU",
                                        "GPU0 busy ms",
                                        "wall share ms",
                                        "Wall Share",
                                        "rate GB/s",
                                        "h2d kB",
                                        "wall_ns",
                                        "busy_ns",
                                        "host_self_ns",
                                        "rate_bytes_per_s",
                                        "shape",
                                        "with tail",
                                        "outside",
                                        "spread",
                                        "host functions",
                                        "host function",
                                        "handed over in",
                                        "handed over",
                                        "captured",
                                        "ran",
                                        "left out",
                                        "process",
                                        "clock",
                                        "manifest",
                                        "uuid",
                                        "own overhead",
                                        "failed",
                                        "edges",
                                        "graph",
                                        "not closed",
                                        "chosen afterwards",
                                        "no device record in the trace",
                                        "process begin",
                                        "memory"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) check_explained(words[i]);
    assert_string_equal(st_explain("busy_ns")->name, "busy");
    assert_ptr_equal(st_explain("wall share ms"), st_explain("wall_share_ns"));
    assert_null(st_explain("no such figure"));
    assert_null(st_explain(""));
    assert_null(st_explain("ms"));
    assert_null(st_explain("|"));
}

static void test_no_word_is_explained_twice(void **state)
{
    for (size_t i = 0; i < st_explanation_count; i++) {
        const char *words = st_explanations[i].screen;
        char first[128];

        snprintf(first, sizeof(first), "%.*s", (int)strcspn(words, "|"), words);
        for (size_t k = 0; k < i; k++) {
            const char *others = st_explanations[k].screen;
            size_t length = strcspn(others, "|");

            if (strlen(first) == length && strncasecmp(first, others, length) == 0) fail_msg("\"%s\" twice", first);
        }
    }
}

static void check_nearest(const char *word, const char *wanted)
{
    const char *words[ST_NEAREST];
    size_t lengths[ST_NEAREST], count = st_explain_nearest(word, words, lengths);

    assert_int_equal(count, ST_NEAREST);
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] == strlen(wanted) && memcmp(words[i], wanted, lengths[i]) == 0) return;
    }
    fail_msg("\"%s\" is not near \"%s\"", wanted, word);
}

static void test_a_slip_finds_the_word(void **state)
{
    check_nearest("wal", "wall");
    check_nearest("own cpus", "own CPU");
    check_nearest("unatributed", "unattributed");
    check_nearest("host fun", "host functions");
    check_nearest("deviec busy", "device busy");
}

/* The closed list of the specification: each has words of its own and a text. */
static void test_every_cause_has_words(void **state)
{
    static const char *const causes[] = {"excluded.window_edge",
                                         "excluded.missing_data",
                                         "excluded.own_overhead",
                                         "before_first",
                                         "after_last",
                                         "host_late.after_sync",
                                         "host_late.after_copy",
                                         "host_late.own_code",
                                         "host_late.off_cpu",
                                         "host_late.alloc_free",
                                         "host_late.module_load",
                                         "host_late.graph_instantiate",
                                         "host_late.other_call",
                                         "dependency.event_wait",
                                         "dependency.other_stream",
                                         "dependency.host_function",
                                         "dependency.pageable_staging",
                                         "launch_floor",
                                         "unseen_work",
                                         "unknown"};
    char words[ST_WORDS_BYTES], others[ST_WORDS_BYTES];

    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        check_explained(causes[i]);
        assert_ptr_equal(st_words(causes[i], words), words);
        assert_ptr_equal(st_explain(words), st_explain(causes[i]));
        for (size_t k = 0; k < i; k++) assert_string_not_equal(words, st_words(causes[k], others));
    }
    assert_string_equal(st_words("something.new", words), "something.new");
}

static void test_losses_are_on_the_first_line(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    struct st_report_count lost[] = {{"ring_full", 1}, {"limit", 240}, {"launches_without_record", 9}}, *kept;
    char *text;

    kept = report.traces[0].lost.items;
    report.traces[0].lost.items = lost;
    report.traces[0].lost.count = 3;
    report.traces[0].lost_events = 241;
    report.cuda_work_seen = false;
    text = show(st_view_report, &report, &filter, (struct st_style){0});
    report.traces[0].lost.items = kept;
    report.traces[0].lost.count = 2;
    report.traces[0].lost_events = 0;
    assert_non_null(strstr(text, "lost: ring full 1 · limit 240 · launches without a record 9\n"));
    assert_null(strstr(text, "no CUDA work seen"));
    text[strcspn(text, "\n")] = '\0';
    assert_non_null(strstr(text, "trace: complete, 241 events lost (ring full, limit) ·"));
    free(text);
}

/* No complete request: what the host knows of the one that returned, and no device figure of it. */
static void test_an_open_request_is_shown_where_there_is_no_other(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};
    struct st_report_request open = report.requests[0], unfinished = open;
    struct st_report_request both[2];
    char *text;

    open.complete = unfinished.complete = open.devices_known = unfinished.devices_known = false;
    open.phase = unfinished.phase = ST_PHASE_NONE;
    open.wall_ns.known = unfinished.wall_ns.known = unfinished.host_return_ns.known = false;
    unfinished.id.number = 3;
    both[0] = open;
    both[1] = unfinished;
    report.requests = both;
    report.request_count = 2;
    report.typical = -1;
    report.selected_requests = 0;
    report.selection = "all";
    assert_ptr_equal(st_view_request(&report), &both[0]);
    text = show(st_view_report, &report, &filter, (struct st_style){0});
    assert_non_null(strstr(text, "request 2 (open: when its device work was done is not in the trace): \xe2\x80\x93;"));
    assert_non_null(strstr(text, "identity: \xe2\x80\x93 (the request is open)\n"));
    assert_non_null(strstr(text, "open: host figures as far as the trace goes"));
    assert_null(strstr(text, "80.00    80.00")); /* what the device is known to have done for sample */
    free(text);
    report.selected_requests = 1; /* complete requests were selected, but none is listed */
    assert_null(st_view_request(&report));
}

static void collect_missing(void *context, const char *what)
{
    strcat(strcat(context, what), "\n");
}

static void test_missing_is_what_strict_counts(void **state)
{
    struct st_report report = sample_report(), bare = sample_report_without_devices();
    struct st_report_capability capabilities[] = {{"kernel", "seen", "cupti", ""},
                                                  {"io", "not_collected", "host", "off"},
                                                  {"memcpy", "degraded", "cupti", "refused"}};
    struct st_report_trace holes = report.traces[0];
    const char *unreached[] = {"libcuda.so.1 (dlmopen)"};
    char text[1024] = "";

    assert_int_equal(st_report_missing(&report, collect_missing, text), 1);
    assert_string_equal(text, "not intercepted: 1 CUDA function\n");
    text[0] = '\0';
    holes.completeness = (struct st_report_completeness){
        .runtime_without_driver = 3, .driver_without_runtime = 9, .out_of_reach = {unreached, 1},
        .untracked_captures = {2, true}};
    report.traces = &holes;
    assert_int_equal(st_report_missing(&report, collect_missing, text), 4);
    assert_non_null(strstr(text, "runtime launches with no driver call inside: 3\n"
                                 "out of reach: libcuda.so.1 (dlmopen)\nstream captures not followed: 2\n"));
    text[0] = '\0';
    bare.capabilities = capabilities;
    bare.capability_count = 3;
    assert_int_equal(st_report_missing(&bare, collect_missing, text), 3);
    assert_non_null(strstr(text, "device time not collected\nmemcpy: stopped or incomplete: refused\n"));
    assert_int_equal(st_report_missing(&bare, NULL, NULL), 3);
}

static void test_without_a_request_there_is_a_table_and_a_hint(void **state)
{
    struct st_report report = sample_report();
    struct st_filter filter = {.top = 20};

    report.before_first = report.requests[0].stages;
    report.before_first_count = report.requests[0].stage_count;
    report.request_count = report.request_total = 0;
    report.typical = -1;
    report.selected_requests = 0;
    report.gap_count = 0;
    report.rounds = (struct st_report_rounds){.rule = "warmup=1"};
    check_golden("no-request.txt", show(st_view_report, &report, &filter, (struct st_style){0}));
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
        cmocka_unit_test(test_nothing_is_wider_than_the_terminal),
        cmocka_unit_test(test_cause_and_drain_are_never_cut),
        cmocka_unit_test(test_every_head_of_every_table_is_explained),
        cmocka_unit_test(test_words_between_the_tables_are_explained),
        cmocka_unit_test(test_an_open_request_is_shown_where_there_is_no_other),
        cmocka_unit_test(test_every_cause_has_words),
        cmocka_unit_test(test_no_word_is_explained_twice),
        cmocka_unit_test(test_a_slip_finds_the_word),
        cmocka_unit_test(test_losses_are_on_the_first_line),
        cmocka_unit_test(test_missing_is_what_strict_counts),
        cmocka_unit_test(test_without_a_request_there_is_a_table_and_a_hint),
        cmocka_unit_test(test_json_keeps_figures_and_nulls_apart),
        cmocka_unit_test(test_json_without_device_time_has_nulls),
    };

    if (argc != 2) return 2;
    golden_folder = argv[1];
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
