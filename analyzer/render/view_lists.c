/* SPDX-License-Identifier: Apache-2.0 */
/* The list views: gaps, kernels, transfers, syncs, rounds. One table and one total each. One thread. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analyzer/render/explain.h"
#include "analyzer/render/views.h"

const char *st_phase_name(enum st_phase phase)
{
    static const char *const names[] = {[ST_PHASE_NONE] = "open",
                                        [ST_PHASE_FIRST] = "first",
                                        [ST_PHASE_WARMUP] = "warm-up",
                                        [ST_PHASE_STEADY] = "steady"};

    return names[phase];
}

char *st_request_name(struct st_report_id id, char ret[ST_REQUEST_BYTES])
{
    snprintf(ret, ST_REQUEST_BYTES, "%.32s%s%" PRId64, id.process != NULL ? id.process : "",
             id.process != NULL ? ":" : "", id.number);
    return ret;
}

char *st_view_scope(const struct st_report *report, char ret[ST_SCOPE_BYTES])
{
    const char *selection = report->selection != NULL ? report->selection : "";
    const char *plural = report->selected_requests == 1 ? "" : "s";

    if (report->request_total == 0) {
        snprintf(ret, ST_SCOPE_BYTES, report->trace_count > 1 ? "in all processes" : "in the whole process");
    } else if (strncmp(selection, "request ", 8) == 0) {
        snprintf(ret, ST_SCOPE_BYTES, "in %.40s", selection);
    } else if (strcmp(selection, "all") == 0) {
        snprintf(ret, ST_SCOPE_BYTES, "over %s%" PRId64 " complete request%s",
                 report->selected_requests > 1 ? "all " : "", report->selected_requests, plural);
    } else {
        snprintf(ret, ST_SCOPE_BYTES, "over %" PRId64 " %.40s request%s", report->selected_requests, selection, plural);
    }
    return ret;
}

/* Is there room for one more line? */
static bool has_room(const struct st_filter *filter, const struct st_grid *grid)
{
    return filter->top == 0 || (int64_t)grid->row_count < filter->top;
}

static bool print_list(struct st_grid *grid, const struct st_style *style)
{
    bool ok = grid->row_count == 0 && style->format != ST_GRID_FORMAT_CSV ? !grid->failed : st_grid_print(grid, style);

    st_grid_finish(grid);
    return ok;
}

/* What of a list is on the screen. */
struct shown {
    int64_t rows, all; /* of how many */
    bool has_stage;    /* the list knows stages … */
    bool has_min;      /* … and shortest entries */
    int64_t shorter;   /* entries that --min left out */
};

/* The options that would show more: "(--top, --min)". */
static void add_reasons(const struct st_filter *filter, const struct shown *shown, char *ret, size_t size)
{
    bool top = filter->top > 0 && shown->rows >= filter->top, min = shown->has_min && shown->shorter > 0;
    bool stage = shown->has_stage && filter->stage != NULL && !filter->one_stage;

    snprintf(ret, size, " shown%s%s%s%s%s%s", top || min || stage ? " (" : "", top ? "--top" : "",
             min ? (top ? ", --min" : "--min") : "", stage ? (top || min ? ", --stage" : "--stage") : "",
             top || min || stage ? ")" : "", "");
}

/* "gaps over 2 steady requests: 20 of 312 shown (--top)" beside a list that was cut, ": 312" else. */
static void say_shown(const struct st_report *report, const struct st_filter *filter, const struct st_style *style,
                      const char *what, const struct shown *shown, const char *total)
{
    char scope[ST_SCOPE_BYTES], reasons[96], at[256] = "";

    if (style->format == ST_GRID_FORMAT_CSV) return;
    st_view_scope(report, scope);
    if (filter->one_stage && shown->has_stage) snprintf(at, sizeof(at), " of %.200s", filter->stage);
    add_reasons(filter, shown, reasons, sizeof(reasons));
    if (filter->is_part && shown->rows < shown->all) {
        st_style_line(style, "%s %s: %" PRId64 " of %" PRId64 " shown (`stagetap %s --min 0 --top 0` lists all)%s",
                      what, scope, shown->rows, shown->all, what, total);
    } else if (shown->rows < shown->all) {
        st_style_line(style, "%s%s %s: %" PRId64 " of %" PRId64 "%s%s", what, at, scope, shown->rows, shown->all,
                      reasons, total);
    } else {
        st_style_line(style, "%s%s %s: %" PRId64 "%s", what, at, scope, shown->all, total);
    }
}

/* The entry counts for the list: with `one_stage` only those of the stage do. */
static bool counts(const struct st_filter *filter, bool is_within)
{
    return is_within || !filter->one_stage;
}

static bool say_not_collected(const struct st_style *style, const char *what)
{
    if (style->format != ST_GRID_FORMAT_CSV) st_style_line(style, "%s: not collected (no device time)", what);
    return true;
}

static void add_instant(struct st_grid *grid, const struct st_report *report, const struct st_filter *filter,
                        int64_t at_ns)
{
    int64_t utc_ns;
    time_t seconds;
    struct tm utc;
    char text[48], clock[32];

    if (!filter->utc || report->trace_count == 0) {
        st_grid_add_value(grid, true, at_ns);
        return;
    }
    utc_ns = report->traces[0].realtime_start_ns + at_ns;
    seconds = (time_t)(utc_ns / 1000000000);
    if (utc_ns <= 0 || gmtime_r(&seconds, &utc) == NULL || strftime(clock, sizeof(clock), "%H:%M:%S", &utc) == 0) {
        st_grid_add_text(grid, NULL);
        return;
    }
    snprintf(text, sizeof(text), "%s.%06d", clock, (int)(utc_ns % 1000000000 / 1000));
    st_grid_add_text(grid, text);
}

/* Requests are numbers where there is one process, names where there are several. */
static void add_request_column(struct st_grid *grid, const struct st_report *report)
{
    st_grid_add_column(grid, report->trace_count > 1 ? ST_GRID_TEXT : ST_GRID_COUNT, 0, "request");
}

static void add_request(struct st_grid *grid, struct st_report_id id)
{
    char name[ST_REQUEST_BYTES];

    if (id.process == NULL) {
        st_grid_add_value(grid, id.number > 0, id.number); /* from 1; 0 = outside of requests */
    } else {
        st_grid_add_text(grid, st_request_name(id, name));
    }
}

/* In words; a CSV reader gets the name of the JSON document. */
static void add_words(struct st_grid *grid, const char *name, const struct st_style *style)
{
    char words[ST_WORDS_BYTES];

    st_grid_add_text(grid, name == NULL || style->format == ST_GRID_FORMAT_CSV ? name : st_words(name, words));
}

static void add_drained_by(struct st_grid *grid, const struct st_report_gap *gap)
{
    char text[512];

    if (gap->drained_call == NULL) {
        st_grid_add_text(grid, gap->drained_why);
        return;
    }
    snprintf(text, sizeof(text), "%.200s in %.200s", gap->drained_call,
             gap->drained_stage != NULL ? gap->drained_stage : "no stage");
    st_grid_add_text(grid, text);
}

bool st_view_gaps(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    bool name_device = report->device_count != 1 || style->format == ST_GRID_FORMAT_CSV;
    struct st_grid grid;
    struct shown shown = {.has_stage = true, .has_min = true};
    char total[192] = "", time[ST_NUMBER_BYTES], all_time[ST_NUMBER_BYTES];
    int64_t within_ns = 0;

    if (!report->gaps_known) return say_not_collected(style, "gaps");
    st_grid_init(&grid);
    add_request_column(&grid, report);
    if (name_device) st_grid_add_column(&grid, ST_GRID_COUNT, 0, "GPU");
    st_grid_add_column(&grid, filter->utc ? ST_GRID_TEXT : ST_GRID_TIME, 0, filter->utc ? "start UTC" : "start");
    st_grid_add_column(&grid, ST_GRID_TIME, 1, "duration");
    st_grid_add_cuttable(&grid, 1, "before");
    st_grid_add_cuttable(&grid, 1, "after");
    st_grid_add_column(&grid, ST_GRID_TEXT, 2, "cause");
    st_grid_add_column(&grid, ST_GRID_TEXT, 3, "queue drained by");
    for (size_t i = 0; i < report->gap_count; i++) {
        const struct st_report_gap *gap = &report->gaps[i];

        if (!st_row_is_within(gap->before, filter->stage) && !st_row_is_within(gap->after, filter->stage)) continue;
        shown.all++;
        within_ns += gap->duration_ns;
        if (!has_room(filter, &grid)) continue;
        add_request(&grid, gap->request);
        if (name_device) st_grid_add_value(&grid, true, gap->device);
        add_instant(&grid, report, filter, gap->start_ns);
        st_grid_add_value(&grid, true, gap->duration_ns);
        st_grid_add_text(&grid, gap->before);
        st_grid_add_text(&grid, gap->after);
        add_words(&grid, gap->cause, style);
        add_drained_by(&grid, gap);
    }
    shown.rows = (int64_t)grid.row_count;
    shown.shorter = report->gaps_total_count - (int64_t)report->gap_count;
    st_time_format(style->unit, report->gaps_total_ns, all_time);
    if (filter->one_stage) { /* where a gap that is not listed lies is not known here */
        snprintf(total, sizeof(total), "%s, together %s; of all stages %" PRId64 ", %s",
                 shown.shorter > 0 ? " (without those below --min)" : "", st_time_format(style->unit, within_ns, time),
                 report->gaps_total_count, all_time);
    } else {
        shown.all = report->gaps_total_count;
        snprintf(total, sizeof(total), "; all together %s", all_time);
    }
    if (!print_list(&grid, style)) return false;
    say_shown(report, filter, style, "gaps", &shown, total);
    return true;
}

bool st_view_kernels(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct st_grid grid;
    struct shown shown = {.has_stage = true};

    if (!report->kernels_known) return say_not_collected(style, "kernels");
    st_grid_init(&grid);
    st_grid_add_cuttable(&grid, 0, "kernel");
    st_grid_add_cuttable(&grid, 0, "stage");
    st_grid_add_column(&grid, ST_GRID_COUNT, 1, "count");
    st_grid_add_column(&grid, ST_GRID_TEXT, 1, "per step");
    st_grid_add_column(&grid, ST_GRID_TIME, 1, "total");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "min");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "median");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "max");
    for (size_t i = 0; i < report->kernel_count; i++) {
        const struct st_report_kernel *kernel = &report->kernels[i];
        struct st_scale thousandths = {1000, 3, ""};
        char number[ST_NUMBER_BYTES];

        bool is_within = st_row_is_within(kernel->stage, filter->stage);
        shown.all += counts(filter, is_within);
        if (!is_within || !has_room(filter, &grid)) continue;
        st_grid_add_text(&grid, kernel->name);
        st_grid_add_text(&grid, kernel->stage);
        st_grid_add_value(&grid, true, kernel->count);
        st_grid_add_text(&grid, kernel->per_step_milli.known
                                    ? st_scale_format(&thousandths, kernel->per_step_milli.value, number)
                                    : NULL);
        st_grid_add_value(&grid, true, kernel->total_ns);
        st_grid_add_value(&grid, true, kernel->min_ns);
        st_grid_add_value(&grid, true, kernel->median_ns);
        st_grid_add_value(&grid, true, kernel->max_ns);
    }
    shown.rows = (int64_t)grid.row_count;
    if (!print_list(&grid, style)) return false;
    say_shown(report, filter, style, "kernels", &shown, "");
    return true;
}

static void add_figure(struct st_grid *grid, struct st_figure figure)
{
    st_grid_add_value(grid, figure.known, figure.value);
}

bool st_view_transfers(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct st_grid grid;
    struct shown shown = {.has_stage = true};

    if (!report->transfers_known) return say_not_collected(style, "transfers");
    st_grid_init(&grid);
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "direction");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "memory");
    st_grid_add_cuttable(&grid, 0, "stage");
    st_grid_add_column(&grid, ST_GRID_COUNT, 1, "count");
    st_grid_add_column(&grid, ST_GRID_BYTES, 1, "size");
    st_grid_add_column(&grid, ST_GRID_TIME, 1, "busy");
    st_grid_add_column(&grid, ST_GRID_RATE, 1, "rate");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "not hidden");
    st_grid_add_column(&grid, ST_GRID_COUNT, 2, "repeats");
    st_grid_add_column(&grid, ST_GRID_COUNT, 2, "round trips");
    for (size_t i = 0; i < report->transfer_count; i++) {
        const struct st_report_transfer *transfer = &report->transfers[i];

        bool is_within = st_row_is_within(transfer->stage, filter->stage);
        shown.all += counts(filter, is_within);
        if (!is_within || !has_room(filter, &grid)) continue;
        st_grid_add_text(&grid, transfer->direction);
        st_grid_add_text(&grid, transfer->kind);
        st_grid_add_text(&grid, transfer->stage);
        st_grid_add_value(&grid, true, transfer->count);
        st_grid_add_value(&grid, true, transfer->bytes);
        st_grid_add_value(&grid, true, transfer->busy_ns);
        add_figure(&grid, transfer->rate_bytes_per_s);
        add_figure(&grid, transfer->exposed_ns);
        add_figure(&grid, transfer->repeats);
        add_figure(&grid, transfer->round_trips);
    }
    shown.rows = (int64_t)grid.row_count;
    if (!print_list(&grid, style)) return false;
    say_shown(report, filter, style, "transfers", &shown, "");
    return true;
}

/* The stages whose work was waited for, largest first: "sample 12.3 ms, decode 1.0 ms". */
static void add_awaited(struct st_grid *grid, const struct st_report_sync *sync, enum st_unit unit)
{
    char text[512] = "";

    for (size_t i = 0; sync->awaited_known && i < sync->awaited_count; i++) {
        char time[ST_NUMBER_BYTES];
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%.100s %s", i > 0 ? ", " : "", sync->awaited_stages[i].cause,
                 st_time_format(unit, sync->awaited_stages[i].duration_ns, time));
    }
    if (sync->awaited_known && sync->awaited_count == 0) strcpy(text, "none");
    st_grid_add_text(grid, sync->awaited_known ? text : NULL);
}

bool st_view_syncs(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct st_grid grid;
    struct shown shown = {.has_stage = true};

    if (!report->syncs_known) return say_not_collected(style, "syncs");
    st_grid_init(&grid);
    st_grid_add_cuttable(&grid, 0, "call");
    st_grid_add_cuttable(&grid, 0, "blocked stage");
    st_grid_add_column(&grid, ST_GRID_COUNT, 1, "count");
    st_grid_add_column(&grid, ST_GRID_TIME, 1, "waited");
    st_grid_add_cuttable(&grid, 2, "for work of");
    for (size_t i = 0; i < report->sync_count; i++) {
        const struct st_report_sync *sync = &report->syncs[i];

        bool is_within = st_row_is_within(sync->blocked_stage, filter->stage);
        shown.all += counts(filter, is_within);
        if (!is_within || !has_room(filter, &grid)) continue;
        st_grid_add_text(&grid, sync->call);
        st_grid_add_text(&grid, sync->blocked_stage);
        st_grid_add_value(&grid, true, sync->count);
        st_grid_add_value(&grid, true, sync->wait_ns);
        add_awaited(&grid, sync, style->unit);
    }
    shown.rows = (int64_t)grid.row_count;
    if (!print_list(&grid, style)) return false;
    say_shown(report, filter, style, "waiting calls", &shown, "");
    return true;
}

bool st_view_host_functions(const struct st_report *report, const struct st_filter *filter,
                            const struct st_style *style)
{
    struct st_grid grid;
    struct shown shown = {.has_stage = true};
    char total[128], what[64] = "host functions, run by threads of the driver,";

    if (style->format == ST_GRID_FORMAT_CSV || report->host_handed_count + report->host_run_count == 0) return true;
    st_grid_init(&grid);
    st_grid_add_cuttable(&grid, 0, "host function");
    st_grid_add_cuttable(&grid, 0, "handed over in");
    st_grid_add_column(&grid, ST_GRID_COUNT, 1, "ran");
    st_grid_add_column(&grid, ST_GRID_TIME, 1, "total");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "min");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "median");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "max");
    for (size_t i = 0; i < report->host_function_count; i++) {
        const struct st_report_host_function *function = &report->host_functions[i];

        bool is_within = st_row_is_within(function->stage, filter->stage);
        shown.all += counts(filter, is_within);
        if (!is_within || !has_room(filter, &grid)) continue;
        st_grid_add_text(&grid, function->function);
        st_grid_add_text(&grid, function->stage);
        st_grid_add_value(&grid, true, function->count);
        st_grid_add_value(&grid, true, function->total_ns);
        st_grid_add_value(&grid, true, function->min_ns);
        st_grid_add_value(&grid, true, function->median_ns);
        st_grid_add_value(&grid, true, function->max_ns);
    }
    shown.rows = (int64_t)grid.row_count;
    if (filter->one_stage && shown.all == 0) {
        st_grid_finish(&grid);
        return true;
    }
    if (!filter->one_stage) st_style_line(style, "%s", "");
    if (filter->one_stage) st_style_head(style, "%s", "host functions");
    if (!print_list(&grid, style)) return false;
    snprintf(total, sizeof(total), "%shanded over %" PRId64 ", captured %" PRId64 ", ran %" PRId64,
             filter->one_stage ? "; of all stages " : "; ", report->host_handed_count, report->host_captured_count,
             report->host_run_count);
    say_shown(report, filter, style, what, &shown, total);
    return true;
}

bool st_view_rounds(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    const char *afterwards = report->rounds.chosen_afterwards ? ", chosen afterwards" : "";
    struct st_grid grid;
    int64_t shown;

    st_grid_init(&grid);
    add_request_column(&grid, report);
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "phase");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "shape");
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "steps");
    st_grid_add_column(&grid, filter->utc ? ST_GRID_TEXT : ST_GRID_TIME, 1, filter->utc ? "begin UTC" : "begin");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "wall");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "host returned");
    st_grid_add_column(&grid, ST_GRID_TIME, 2, "device done");
    st_grid_add_column(&grid, ST_GRID_TIME, 3, "with tail");
    st_grid_add_cuttable(&grid, 3, "thread");
    for (size_t i = 0; i < report->request_count && has_room(filter, &grid); i++) {
        const struct st_report_request *request = &report->requests[i];

        add_request(&grid, request->id);
        st_grid_add_text(&grid, st_phase_name(request->phase));
        st_grid_add_text(&grid, request->shape);
        st_grid_add_value(&grid, true, request->steps);
        add_instant(&grid, report, filter, request->begin_ns);
        add_figure(&grid, request->wall_ns);
        add_figure(&grid, request->host_return_ns);
        add_figure(&grid, request->device_done_ns);
        add_figure(&grid, request->wall_with_tail_ns);
        st_grid_add_text(&grid, request->thread);
    }
    shown = (int64_t)grid.row_count;
    if (!print_list(&grid, style)) return false;
    if (style->format == ST_GRID_FORMAT_CSV) return true;
    if (shown < report->request_total) {
        st_style_line(style, "requests: %" PRId64 " of %" PRId64 " shown (%s); rule %s%s", shown,
                      report->request_total, filter->top > 0 && shown >= filter->top ? "--top" : "--request",
                      report->rounds.rule, afterwards);
    } else {
        st_style_line(style, "requests: %" PRId64 "; rule %s%s", shown, report->rounds.rule, afterwards);
    }
    return true;
}
