/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap report`: the answer on one screen. Heading, rounds, the typical request, its stage table, the
 * identity of each device, idle time by cause, the largest gaps, and what was not collected. One thread.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/render/views.h"

#define REPORT_GAPS 5

/* A line that grows piece by piece; cut at its end, never overrun. */
struct line {
    char text[4096];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    int more;

    va_start(arguments, format);
    more = vsnprintf(line->text + line->used, sizeof(line->text) - line->used, format, arguments);
    va_end(arguments);
    if (more > 0) line->used += (size_t)more;
    if (line->used >= sizeof(line->text)) line->used = sizeof(line->text) - 1;
}

static void add_time(struct line *line, const struct st_style *style, struct st_figure figure)
{
    char text[ST_NUMBER_BYTES];

    add(line, "%s", figure.known ? st_time_format(style->unit, figure.value, text) : "\xe2\x80\x93");
}

static struct st_figure known(int64_t value)
{
    return (struct st_figure){value, true};
}

/* ---- heading ---- */

static void add_state(struct line *line, const struct st_report *report, const struct st_report_trace *trace,
                      const struct st_style *style)
{
    if (trace->live) {
        add(line, "still running, to ");
        add_time(line, style, known(trace->end_ns));
        add(line, ", %" PRId64 " request%s open", report->open_requests, report->open_requests == 1 ? "" : "s");
    } else {
        add(line, "%s", trace->complete ? "complete" : "NOT complete");
    }
}

void st_view_heading(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct line line = {.used = 0};

    if (style->format == ST_GRID_FORMAT_CSV) return;
    if (!report->cuda_work_seen) add(&line, "no CUDA work seen · ");
    for (size_t i = 0; i < report->trace_count; i++) {
        const struct st_report_trace *trace = &report->traces[i];

        add(&line, "%s%.200s (pid %" PRId64 ")", i > 0 ? " + " : "", trace->program != NULL ? trace->program : "?",
            trace->pid);
        if (filter->name_file) add(&line, " %.1000s", trace->file);
    }
    if (report->trace_count > 0) {
        const struct st_report_trace *trace = &report->traces[0];

        add(&line, "   trace: ");
        add_state(&line, report, trace, style);
        if (trace->mode != NULL && strcmp(trace->mode, "trace") != 0) add(&line, " · MODE %.40s", trace->mode);
    }
    add(&line, " · device time: %s", report->device_time);
    if (report->device_time_source != NULL) add(&line, " (%.100s)", report->device_time_source);
    if (report->simulated) add(&line, " · SIMULATED");
    st_style_head(style, "%s", line.text);
}

/* ---- rounds ---- */

static void add_part(struct line *line, const char **between, size_t count, const char *what)
{
    if (count == 0) return;
    add(line, "%s%zu %s", *between, count, what);
    *between = " + ";
}

static void say_requests(const struct st_report *report, const struct st_style *style)
{
    const struct st_report_rounds *rounds = &report->rounds;
    const char *between = " = ";
    struct line line = {.used = 0};

    add(&line, "requests %" PRId64, report->request_total);
    add_part(&line, &between, rounds->first_count, "first");
    add_part(&line, &between, rounds->warmup_count, "warm-up");
    add_part(&line, &between, rounds->steady_count, "steady");
    add_part(&line, &between, (size_t)report->open_requests, "open");
    add(&line, " (rule %s%s", rounds->rule, rounds->chosen_afterwards ? ", chosen afterwards" : "");
    if (rounds->steady_count > 0) add(&line, ", %s", rounds->several_shapes ? "several shapes" : "one shape");
    add(&line, ")");
    for (size_t i = 0; i < rounds->load_count && i < 4; i++) {
        add(&line, "%s", i == 0 ? " · load " : ", ");
        add_time(&line, style, known(rounds->load_ns[i]));
    }
    if (rounds->load_count > 4) add(&line, " and %zu more", rounds->load_count - 4);
    if (rounds->load_count > 0) add(&line, ", not in any request");
    st_style_line(style, "%s", line.text);
    if (report->selection_note != NULL) st_style_line(style, "%s", report->selection_note);
}

/* The figures over the steady requests, and which of them the rows are from. */
static void say_steady(const struct st_report *report, const struct st_report_request *typical,
                       const struct st_style *style)
{
    const struct st_report_rounds *rounds = &report->rounds;
    struct st_scale scale = st_scale_time(style->unit, rounds->steady_max_ns.value);
    char least[ST_NUMBER_BYTES], most[ST_NUMBER_BYTES];
    struct line line = {.used = 0};

    add(&line, "steady request: ");
    add_time(&line, style, rounds->steady_median_ns);
    add(&line, " median of %" PRId64, rounds->steady_n);
    if (rounds->steady_min_ns.known && rounds->steady_max_ns.known && rounds->steady_n > 1) {
        add(&line, " (%s–%s %s)", st_scale_format(&scale, rounds->steady_min_ns.value, least),
            st_scale_format(&scale, rounds->steady_max_ns.value, most), scale.name);
    }
    add(&line, "; device done after ");
    add_time(&line, style, rounds->steady_device_done_median_ns);
    add(&line, ", host returned after ");
    add_time(&line, style, rounds->steady_host_return_median_ns);
    st_style_line(style, "%s", line.text);
    line.used = 0;
    add(&line, "rows: request %" PRId64 ", ", typical->id);
    add_time(&line, style, typical->wall_ns);
    add(&line, ", %" PRId64 " step%s", typical->steps, typical->steps == 1 ? "" : "s");
    st_style_line(style, "%s", line.text);
}

/* The figures of the one request whose rows follow. */
static void say_request(const struct st_report_request *request, const struct st_style *style)
{
    struct line line = {.used = 0};

    add(&line, "request %" PRId64 " (%s%s): ", request->id, st_phase_name(request->phase),
        request->complete ? "" : ", has no end");
    add_time(&line, style, request->wall_ns);
    add(&line, "; device done after ");
    add_time(&line, style, request->device_done_ns);
    add(&line, ", host returned after ");
    add_time(&line, style, request->host_return_ns);
    add(&line, " · %" PRId64 " step%s", request->steps, request->steps == 1 ? "" : "s");
    st_style_line(style, "%s", line.text);
}

/* What stands above the rows: over all steady requests, or each request's times and the one that is shown. */
static bool say_selection(const struct st_report *report, const struct st_report_request *typical,
                          const struct st_filter *filter, const struct st_style *style)
{
    bool is_steady = report->selection != NULL && strcmp(report->selection, "steady") == 0;

    if (is_steady) {
        say_steady(report, typical, style);
    } else {
        if (report->request_count > 1 && !st_view_rounds(report, filter, style)) return false;
        say_request(typical, style);
    }
    return true;
}

/* ---- identity and idle time ---- */

static int64_t largest_term(const struct st_report_request *request, const struct st_report_request_device *device)
{
    int64_t largest = device->idle_ns > device->stages_self_ns ? device->idle_ns : device->stages_self_ns;

    return request->wall_ns.known && request->wall_ns.value > largest ? request->wall_ns.value : largest;
}

static void say_identity(const struct st_report_request *request, const struct st_report_request_device *device,
                         const struct st_style *style)
{
    struct st_scale scale = st_scale_time(style->unit, largest_term(request, device));
    char a[ST_NUMBER_BYTES], b[ST_NUMBER_BYTES], c[ST_NUMBER_BYTES], d[ST_NUMBER_BYTES], e[ST_NUMBER_BYTES],
        f[ST_NUMBER_BYTES];
    struct line line = {.used = 0};

    add(&line, "identity GPU%" PRId64 ": stages %s + shared %s + unattributed %s + other %s + idle %s = request %s %s",
        device->device, st_scale_format(&scale, device->stages_self_ns, a),
        st_scale_format(&scale, device->shared_ns, b), st_scale_format(&scale, device->unattributed_ns, c),
        st_scale_format(&scale, device->other_ns, d), st_scale_format(&scale, device->idle_ns, e),
        request->wall_ns.known ? st_scale_format(&scale, request->wall_ns.value, f) : "–", scale.name);
    if (device->residual_ns == 0) {
        st_style_line(style, "%s  ✓ (residual 0 ns)", line.text);
    } else {
        st_style_alarm(style, "%s  ✗ residual %" PRId64 " ns: a defect of stagetap, please report it", line.text,
                       device->residual_ns);
    }
    line.used = 0;
    for (size_t i = 0; i < device->shared_count; i++) {
        add(&line, "%s%.200s %s", i > 0 ? " · " : "", device->shared_by_set[i].cause,
            st_scale_format(&scale, device->shared_by_set[i].duration_ns, a));
    }
    if (device->shared_count > 0) st_style_line(style, "  shared by: %s", line.text);
}

/* The closed list of causes in words; an unknown one stands for itself. */
static const char *cause_in_words(const char *cause)
{
    static const struct {
        const char *cause, *words;
    } causes[] = {
        {"excluded.window_edge", "window edge (excluded)"},
        {"excluded.missing_data", "missing data (excluded)"},
        {"excluded.own_overhead", "own overhead (excluded)"},
        {"before_first", "before first work"},
        {"after_last", "after last work"},
        {"host_late.after_sync", "host late: after a wait"},
        {"host_late.after_copy", "host late: after a copy"},
        {"host_late.own_code", "host late: own code"},
        {"host_late.off_cpu", "host late: off-CPU"},
        {"host_late.alloc_free", "host late: alloc/free"},
        {"host_late.module_load", "host late: module load"},
        {"host_late.graph_instantiate", "host late: graph instantiate"},
        {"host_late.other_call", "host late: other call"},
        {"dependency.event_wait", "dependency: event wait"},
        {"dependency.other_stream", "dependency: other stream"},
        {"dependency.host_function", "dependency: host function"},
        {"dependency.pageable_staging", "dependency: pageable staging"},
        {"launch_floor", "launch floor"},
        {"unseen_work", "unseen work"},
    };

    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (strcmp(causes[i].cause, cause) == 0) return causes[i].words;
    }
    return cause;
}

static void say_idle(const struct st_report_request_device *device, const struct st_style *style, bool name_device)
{
    struct st_scale scale = st_scale_time(style->unit, device->idle_ns);
    char number[ST_NUMBER_BYTES];
    struct line line = {.used = 0};

    add(&line, "idle");
    if (name_device) add(&line, " GPU%" PRId64, device->device);
    add(&line, " %s %s", st_scale_format(&scale, device->idle_ns, number), scale.name);
    for (size_t i = 0; i < device->cause_count; i++) {
        add(&line, "%s%.60s %s", i == 0 ? ": " : " · ", cause_in_words(device->idle_by_cause[i].cause),
            st_scale_format(&scale, device->idle_by_cause[i].duration_ns, number));
    }
    st_style_line(style, "%s", line.text);
}

static void say_devices(const struct st_report_request *request, const struct st_style *style)
{
    if (!request->devices_known) {
        st_style_line(style, "identity: – (no device time in this trace)");
        return;
    }
    for (size_t i = 0; i < request->device_count; i++) say_identity(request, &request->devices[i], style);
    for (size_t i = 0; i < request->device_count; i++) {
        say_idle(&request->devices[i], style, request->device_count > 1);
    }
}

/* ---- the rest ---- */

/* "after the request: output 20.1 ms ×1": rows that run between this request and the next. */
static void say_rows(const char *where, const struct st_report_row *rows, size_t count, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < count && i < 12; i++) {
        add(&line, "%s%.200s ", i > 0 ? " · " : "", rows[i].name);
        add_time(&line, style, rows[i].host_inclusive_ns);
        add(&line, " ×%" PRId64, rows[i].calls);
    }
    if (count > 12) add(&line, " and %zu rows more", count - 12);
    if (count > 0) st_style_line(style, "%s: %s", where, line.text);
}

static void say_losses(const struct st_report *report, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < report->trace_count; i++) {
        const struct st_count_list *lost = &report->traces[i].lost;

        for (size_t k = 0; k < lost->count; k++) {
            if (lost->items[k].value == 0) continue;
            add(&line, "%s%.60s %" PRId64, line.used > 0 ? " · " : "", lost->items[k].key, lost->items[k].value);
        }
    }
    if (line.used > 0) st_style_alarm(style, "lost: %s", line.text);
}

static void say_errors(const struct st_report *report, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < report->api_error_count && i < 8; i++) {
        const struct st_report_api_error *error = &report->api_errors[i];

        add(&line, "%s%.100s returned %" PRId64 " ×%" PRId64 "%s%.100s", i > 0 ? " · " : "", error->call, error->code,
            error->count, error->stage != NULL ? " in " : "", error->stage != NULL ? error->stage : "");
    }
    if (report->api_error_count > 8) add(&line, " · and %zu more", report->api_error_count - 8);
    if (line.used > 0) st_style_line(style, "failed CUDA calls: %s", line.text);
}

static void say_findings(const struct st_report *report, const struct st_style *style)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct st_report_finding *finding = &report->findings[i];

        st_style_line(style, "%s %s%s%s: %s; next: %s", finding->state, finding->id,
                      finding->stage != NULL ? " in " : "", finding->stage != NULL ? finding->stage : "", finding->text,
                      finding->next_check);
    }
}

static void say_names(const char *what, const struct st_name_list *list, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < list->count; i++) add(&line, "%s%.300s", i > 0 ? ", " : "", list->items[i]);
    if (list->count > 0) st_style_line(style, "%s: %s", what, line.text);
}

static void say_missing(const struct st_report *report, const struct st_style *style)
{
    size_t missed = 0;

    say_losses(report, style);
    say_errors(report, style);
    for (size_t i = 0; i < report->trace_count; i++) missed += report->traces[i].not_intercepted_count;
    if (missed > 0) {
        st_style_line(style, "not intercepted: %zu pointers (traces[].not_intercepted of --json names them)", missed);
    }
    say_names("not collected", &report->not_collected, style);
    say_names("rules that matched nothing", &report->unmatched_rules, style);
    for (size_t i = 0; i < report->notes.count; i++) st_style_line(style, "note: %s", report->notes.items[i]);
}

static bool say_gaps(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct st_filter few = *filter;

    if (few.top == 0 || few.top > REPORT_GAPS) few.top = REPORT_GAPS;
    if (!report->gaps_known || report->gap_count == 0) return true;
    st_style_line(style, "%s", "");
    st_style_head(style, "largest gaps");
    return st_view_gaps(report, &few, style);
}

bool st_view_report(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    const struct st_report_request *typical = NULL;

    if (report->typical >= 0 && (size_t)report->typical < report->request_count) {
        typical = &report->requests[report->typical];
    }
    if (style->format == ST_GRID_FORMAT_CSV) return typical == NULL || st_view_rows(typical, filter, style);
    st_view_heading(report, filter, style);
    say_requests(report, style);
    if (typical != NULL) {
        if (!say_selection(report, typical, filter, style)) return false;
        st_style_line(style, "%s", "");
        if (!st_view_rows(typical, filter, style)) return false;
        say_devices(typical, style);
        say_rows("after the request", typical->after, typical->after_count, style);
    }
    say_rows("before the first request", report->before_first, report->before_first_count, style);
    say_rows("between requests", report->between, report->between_count, style);
    say_rows("after the last request", report->after_last, report->after_last_count, style);
    if (!say_gaps(report, filter, style)) return false;
    say_findings(report, style);
    st_style_line(style, "%s", "");
    say_missing(report, style);
    return true;
}
