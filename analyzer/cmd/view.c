/* SPDX-License-Identifier: Apache-2.0 */
/* Shared options of the views, and the way from a FILE argument to a shown report. Main thread. */
#include "analyzer/cmd/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/traces.h"
#include "analyzer/model/model.h"
#include "analyzer/reader/find.h"
#include "analyzer/render/explain.h"
#include "analyzer/render/missing.h"
#include "analyzer/render/report_json.h"
#include "config/settings.h"

enum {
    KEY_REQUEST = 0x2000,
    KEY_STAGE,
    KEY_DEVICE,
    KEY_MIN,
    KEY_TOP,
    KEY_UNIT,
    KEY_COLOR,
    KEY_UTC,
    KEY_FORMAT,
    KEY_STRICT,
    KEY_JSON,
    KEY_EXPLAIN,
    KEY_ROUNDS
};

static const struct argp_option view_options[] = {
    {"json", KEY_JSON, NULL, 0, "the whole document stagetap.report/1", 1},
    {"request", KEY_REQUEST, "WHICH", 0, "steady (default), first, all, or a number (several processes: PID:N)", 1},
    {"stage", KEY_STAGE, "NAME", 0, "only this row and what is below it", 1},
    {"device", KEY_DEVICE, "N", 0,
     "device columns, identity and lists of this device only; wall share stays over all devices", 1},
    {"rounds", KEY_ROUNDS, "RULE", 0, "warmup=N or stable=P%/K instead of the trace's own rule; marked so", 1},
    {"explain", KEY_EXPLAIN, "FIGURE", 0, "what a word on the screen or a name in the JSON document means", 1},
    {"min", KEY_MIN, "TIME", 0, "shortest gap in the list, e.g. 20us (default); 0 = all", 2},
    {"top", KEY_TOP, "N", 0, "lines of a list (default 20); 0 = all", 2},
    {"unit", KEY_UNIT, "UNIT", 0, "auto, ns, us, ms or s", 2},
    {"utc", KEY_UTC, NULL, 0, "instants as UTC time of day", 2},
    {"format", KEY_FORMAT, "FORMAT", 0, "csv or md for tables; csv holds the first table only", 2},
    {"color", KEY_COLOR, "WHEN", 0, "auto, always or never; NO_COLOR is respected", 2},
    {"strict", KEY_STRICT, NULL, 0,
     "exit 1 when the list `missing` of the JSON document is not empty: a file was left out, a trace is not complete, "
     "anything under "
     "`lost` is not 0, CUDA functions were not intercepted, device time was not collected, or the collecting of "
     "something stopped or has holes; stderr says which. Without device time it is 1 also when --device=none asked for "
     "that",
     2},
    {0},
};

/* "0" or a time as in STAGETAP_FLUSH. */
static bool parse_min(const char *text, int64_t *ret_ns)
{
    uint64_t value = 0;

    if (strcmp(text, "0") != 0 && !st_parse_duration(text, &value)) return false;
    *ret_ns = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    return true;
}

static bool parse_format(const char *text, enum st_grid_format *ret)
{
    if (strcmp(text, "csv") != 0 && strcmp(text, "md") != 0) return false;
    *ret = text[0] == 'c' ? ST_GRID_FORMAT_CSV : ST_GRID_FORMAT_MD;
    return true;
}

/* A phase, a number, or PID:N; a second image of a process id is called PID.2. */
static bool is_request(const char *text)
{
    const char *colon = strchr(text, ':');
    int64_t id;

    return strcmp(text, "steady") == 0 || strcmp(text, "first") == 0 || strcmp(text, "all") == 0 ||
           ((colon == NULL || (colon > text && strspn(text, "0123456789.") == (size_t)(colon - text))) &&
            st_count_parse(colon == NULL ? text : colon + 1, &id));
}

static bool is_color(const char *text)
{
    return strcmp(text, "auto") == 0 || strcmp(text, "always") == 0 || strcmp(text, "never") == 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct st_view *view = state->input;
    struct st_rounds_rule rule;

    switch (key) {
    case KEY_JSON:
        view->json = true;
        return 0;
    case KEY_STRICT:
        view->strict = true;
        return 0;
    case KEY_UTC:
        view->filter.utc = true;
        return 0;
    case KEY_REQUEST:
        if (!is_request(argument))
            argp_error(state, "--request=%s: give steady, first, all, a number or PID:N", argument);
        view->options.request = argument;
        return 0;
    case KEY_STAGE:
        view->filter.stage = argument;
        return 0;
    case KEY_DEVICE:
        if (!st_count_parse(argument, &view->options.device)) argp_error(state, "--device=%s: give a number", argument);
        return 0;
    case KEY_ROUNDS:
        if (!st_parse_rounds(argument, &rule))
            argp_error(state, "--rounds=%s: give warmup=N or stable=P%%/K", argument);
        view->options.rounds = argument;
        return 0;
    case KEY_EXPLAIN:
        view->explain = argument;
        return 0;
    case KEY_MIN:
        if (!parse_min(argument, &view->options.min_gap_ns)) {
            argp_error(state, "--min=%s: give a time such as 20us, or 0", argument);
        }
        return 0;
    case KEY_TOP:
        if (!st_count_parse(argument, &view->filter.top)) argp_error(state, "--top=%s: give a number", argument);
        return 0;
    case KEY_UNIT:
        if (!st_unit_parse(argument, &view->style.unit)) {
            argp_error(state, "--unit=%s: give auto, ns, us, ms or s", argument);
        }
        return 0;
    case KEY_FORMAT:
        if (!parse_format(argument, &view->style.format)) argp_error(state, "--format=%s: give csv or md", argument);
        return 0;
    case KEY_COLOR:
        if (!is_color(argument)) argp_error(state, "--color=%s: give auto, always or never", argument);
        view->color = argument;
        return 0;
    case ARGP_KEY_ARG:
        view->words[view->word_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Colours, width and cutting depend on where the output goes. */
static void choose_style(struct st_view *view)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int64_t width;

    view->style.out = stdout;
    view->style.terminal = isatty(STDOUT_FILENO) != 0;
    if (view->style.terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) view->style.width = size.ws_col;
    if (view->style.terminal && columns != NULL && st_count_parse(columns, &width) && width > 0 && width < 10000) {
        view->style.width = (int)width;
    }
    if (strcmp(view->color, "auto") == 0) {
        view->style.color = view->style.terminal && (no_color == NULL || no_color[0] == '\0') &&
                            (terminal == NULL || strcmp(terminal, "dumb") != 0);
    } else {
        view->style.color = strcmp(view->color, "always") == 0;
    }
    if (view->style.format != ST_GRID_FORMAT_TEXT) view->style.color = false;
}

/* Print a|b|c as a, b, c. */
static void print_names(FILE *out, const char *list, const char *between)
{
    for (; *list != '\0'; list++) {
        if (*list == '|') {
            fputs(between, out);
        } else {
            fputc(*list, out);
        }
    }
}

static void say_nearest(const char *figure)
{
    const char *words[ST_NEAREST];
    size_t lengths[ST_NEAREST], count = st_explain_nearest(figure, words, lengths), used = 0;
    char near[512] = "";

    for (size_t i = 0; i < count && used < sizeof(near); i++) {
        used += (size_t)snprintf(near + used, sizeof(near) - used, "%s%.*s", i > 0 ? ", " : "", (int)lengths[i],
                                 words[i]);
    }
    st_say_error("--explain=%.100s: no such word; nearest to it: %s", figure, near);
}

/* Print what a figure means; exits. */
static void explain(const char *figure)
{
    const struct st_explanation *found = st_explain(figure);

    if (found != NULL) {
        print_names(stdout, found->screen, ", ");
        if (strcmp(found->screen, found->name) != 0) {
            fputs(" (JSON: ", stdout);
            print_names(stdout, found->name, ", ");
            fputs(")", stdout);
        }
        printf(": %s\n", found->text);
        exit(ST_EXIT_OK);
    }
    say_nearest(figure);
    exit(ST_EXIT_USAGE);
}

void st_view_parse(struct st_view *view, int argc, char **argv, const char *arguments, const char *doc)
{
    struct argp argp = {view_options, parse_option, arguments, doc};

    *view = (struct st_view){.color = "auto", .words = calloc((size_t)argc, sizeof(*view->words))};
    if (view->words == NULL) {
        st_say_error("out of memory");
        exit(ST_EXIT_UNREADABLE);
    }
    view->options.device = -1;
    view->options.min_gap_ns = 20000;
    view->filter.top = 20;
    argp_parse(&argp, argc, argv, 0, NULL, view);
    if (view->explain != NULL) explain(view->explain);
    choose_style(view);
}

void st_view_finish(struct st_view *view)
{
    free(view->words);
}

/* The exit code for a failed call of the library. */
static int exit_code_of(enum st_status status)
{
    return status == ST_USAGE ? ST_EXIT_USAGE : ST_EXIT_UNREADABLE;
}

/* Does the run know this device (-1 = no particular one)? One that lists none is shown without. */
static bool has_device(const struct st_report *report, int64_t device)
{
    if (report->device_count == 0) return true;
    for (size_t i = 0; i < report->device_count; i++) {
        if (report->devices[i].device == device) return true;
    }
    return device < 0;
}

static void say_no_device(const struct st_report *report, int64_t device)
{
    char known[256] = "";

    for (size_t i = 0; i < report->device_count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, " %d", (int)report->devices[i].device);
    }
    st_say_error("%s%s: has no device %d; it has:%s", report->traces[0].file, report->trace_count > 1 ? " …" : "",
                 (int)device, known);
}

/* The report of the files that were found. What failed was said. */
static enum st_status open_files(const struct st_view *view, struct st_run_files *files, struct st_report *ret)
{
    struct st_report_options options = view->options;
    struct st_err err = {.offset = -1};
    struct st_model *model = NULL;
    enum st_status status;

    status = st_traces_load(files, &model);
    if (status != ST_OK) return status;
    options.left_out = (const char *const *)files->left_out.items;
    options.left_out_count = files->left_out.count;
    status = st_report_build(model, &options, ret, &err);
    if (status != ST_OK) st_say_err(&err);
    st_model_destroy(model);
    return status;
}

int st_view_open(struct st_view *view, int first_word, struct st_report *ret)
{
    struct st_run_files files;
    struct st_err err = {.offset = -1};
    enum st_status status =
        st_reader_find_run(view->words + first_word, (size_t)(view->word_count - first_word), &files, &err);

    if (status != ST_OK) {
        st_say_err(&err);
        return exit_code_of(status);
    }
    if (view->json) view->options.min_gap_ns = 0; /* --min cuts the screen only */
    view->filter.name_file = files.guessed;
    status = open_files(view, &files, ret);
    st_run_files_finish(&files);
    if (status != ST_OK) return exit_code_of(status);
    if (!has_device(ret, view->options.device)) {
        say_no_device(ret, view->options.device);
        st_report_finish(ret);
        return ST_EXIT_USAGE;
    }
    return ST_EXIT_OK;
}

static void say_one_missing(void *context, const char *what)
{
    st_say_error("--strict: %s", what);
}

#define MOST_NAMES 64 /* in a message */

struct row_names {
    const char *names[MOST_NAMES]; /* each once */
    size_t count;
    const char *wanted;
    bool found; /* a row of the wanted name, or below it */
};

static void look_at_rows(struct row_names *rows, const struct st_report_row *row, size_t count)
{
    for (; count > 0; count--, row++) {
        size_t known = 0;

        if (st_row_is_within(row->name, rows->wanted)) rows->found = true;
        while (known < rows->count && strcmp(rows->names[known], row->name) != 0) known++;
        if (known == rows->count && known < MOST_NAMES) rows->names[rows->count++] = row->name;
    }
}

bool st_view_has_stage(const struct st_report *report, const char *stage)
{
    struct row_names names = {.wanted = stage};
    char text[2048] = "";

    if (stage == NULL) return true;
    for (size_t i = 0; i < report->request_count; i++) {
        look_at_rows(&names, report->requests[i].stages, report->requests[i].stage_count);
        look_at_rows(&names, report->requests[i].after, report->requests[i].after_count);
    }
    look_at_rows(&names, report->before_first, report->before_first_count);
    look_at_rows(&names, report->between, report->between_count);
    look_at_rows(&names, report->after_last, report->after_last_count);
    if (names.found) return true;
    for (size_t i = 0; i < names.count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s %s", i > 0 ? "," : "", names.names[i]);
    }
    st_say_error("%s: no such row; %s%s", stage, names.count > 0 ? "there are:" : "this trace has none", text);
    return false;
}

int st_view_show(const struct st_view *view, const struct st_report *report, st_view_fn show)
{
    bool ok = true;

    if (view->json) {
        st_report_write_json(report, stdout);
    } else {
        ok = show(report, &view->filter, &view->style);
    }
    if (!ok) {
        st_say_error("out of memory");
        return ST_EXIT_UNREADABLE;
    }
    if (!view->strict) return ST_EXIT_OK;
    return st_report_missing(report, say_one_missing, NULL) > 0 ? ST_EXIT_FOUND : ST_EXIT_OK;
}

int st_view_run(int argc, char **argv, const char *request, const char *doc, st_view_fn show)
{
    struct st_view view;
    struct st_report report;
    int code;

    st_view_parse(&view, argc, argv, "[FILE…]", doc);
    if (view.options.request == NULL) view.options.request = request;
    code = st_view_open(&view, 0, &report);
    if (code == ST_EXIT_OK) {
        code = st_view_has_stage(&report, view.filter.stage) ? st_view_show(&view, &report, show) : ST_EXIT_USAGE;
        st_report_finish(&report);
    }
    st_view_finish(&view);
    return code;
}
