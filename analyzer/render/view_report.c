/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stagetap report`: the answer on one screen. Heading, rounds, the typical request, its stage table, the
 * identity of each device, idle time by cause, the largest gaps, and what was not collected. One thread.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/render/explain.h"
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

/* Which causes, in brackets: those that lost_events adds up come first in the list. */
static void add_lost_events(struct line *line, const struct st_report_trace *trace)
{
    int64_t told = 0;
    char words[ST_WORDS_BYTES];

    if (trace->lost_events == 0) return;
    add(line, ", %" PRId64 " event%s lost", trace->lost_events, trace->lost_events == 1 ? "" : "s");
    for (size_t i = 0; i < trace->lost.count && told < trace->lost_events; i++) {
        if (trace->lost.items[i].value == 0) continue;
        add(line, "%s%s", told == 0 ? " (" : ", ", st_words(trace->lost.items[i].key, words));
        told += trace->lost.items[i].value;
    }
    add(line, ")");
}

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
    add_lost_events(line, trace);
}

static bool has_losses(const struct st_report *report)
{
    for (size_t i = 0; i < report->trace_count; i++) {
        for (size_t k = 0; k < report->traces[i].lost.count; k++) {
            if (report->traces[i].lost.items[k].value != 0) return true;
        }
    }
    return false;
}

/* "generate (pid 4711)   trace: complete" */
static void add_process(struct line *line, const struct st_report *report, const struct st_filter *filter,
                        const struct st_style *style)
{
    const struct st_report_trace *trace = &report->traces[0];

    add(line, "%.200s (pid %" PRId64 ")", trace->program != NULL ? trace->program : "?", trace->pid);
    if (filter->name_file) add(line, " %.1000s", trace->file);
    add(line, "   trace: ");
    add_state(line, report, trace, style);
    if (trace->mode != NULL && strcmp(trace->mode, "trace") != 0) add(line, " · MODE %.40s", trace->mode);
}

/* "run of 3 processes, RUN/a.stap …   traces: 2 of 3 complete, 1 still running, 0 requests open" */
static void add_processes(struct line *line, const struct st_report *report, const struct st_filter *filter)
{
    size_t complete = 0, live = 0;

    for (size_t i = 0; i < report->trace_count; i++) {
        complete += report->traces[i].complete;
        live += report->traces[i].live;
    }
    add(line, "run of %zu processes", report->trace_count);
    if (filter->name_file) add(line, ", %.1000s …", report->traces[0].file);
    if (complete == report->trace_count) {
        add(line, "   traces: complete");
    } else {
        add(line, "   traces: %zu of %zu complete", complete, report->trace_count);
    }
    if (live > 0) {
        add(line, ", %zu still running, %" PRId64 " request%s open", live, report->open_requests,
            report->open_requests == 1 ? "" : "s");
    }
}

/* "  4711 generate: complete, from 12.3 ms on" for each, where there are several. */
static void say_processes(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    size_t most =
        filter->top == 0 || (size_t)filter->top > report->trace_count ? report->trace_count : (size_t)filter->top;

    for (size_t i = 0; i < most; i++) {
        const struct st_report_trace *trace = &report->traces[i];
        struct line line = {.used = 0};

        add(&line, "  process %s: %.200s, from ", trace->process, trace->program != NULL ? trace->program : "?");
        add_time(&line, style, known(trace->monotonic_start_ns - report->traces[0].monotonic_start_ns));
        add(&line, " to ");
        add_time(&line, style, known(trace->end_ns));
        add(&line, ", %s", trace->live ? "still running" : trace->complete ? "complete" : "NOT complete");
        add_lost_events(&line, trace);
        if (trace->mode != NULL && strcmp(trace->mode, "trace") != 0) add(&line, " · MODE %.40s", trace->mode);
        st_style_line(style, "%s", line.text);
    }
    if (most < report->trace_count) {
        st_style_line(style, "  and %zu processes more (--top 0 lists all)", report->trace_count - most);
    }
}

/* Where a process calls a device by another number than this report. */
static void say_ordinals(const struct st_report *report, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < report->device_count; i++) {
        const struct st_report_device *device = &report->devices[i];

        for (size_t k = 0; k < device->user_count; k++) {
            if (device->users[k].ordinal == device->device) continue;
            add(&line, "%sGPU%" PRId64 " is number %" PRId64 " in process %.32s", line.used > 0 ? " · " : "",
                device->device, device->users[k].ordinal, device->users[k].process);
        }
    }
    if (line.used > 0) st_style_line(style, "devices by uuid: %s", line.text);
}

/* `before`, the names, `after`; nothing where there is no name. */
static void add_names(struct line *line, const char *before, const struct st_name_list *list, const char *after)
{
    for (size_t i = 0; i < list->count; i++) add(line, "%s%.200s", i == 0 ? before : ", ", list->items[i]);
    if (list->count > 0) add(line, "%s", after);
}

void st_view_heading(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct line line = {.used = 0};
    char words[ST_WORDS_BYTES];

    if (style->format == ST_GRID_FORMAT_CSV) return;
    /* where events were lost, the work may have been among them */
    if (!report->cuda_work_seen && !has_losses(report)) {
        add(&line, "no CUDA work seen");
        add_names(&line, " (loaded, and not collected: ", &report->other_backends, ")");
        add(&line, " · ");
    }
    add_names(&line, "DISTORTED by ", &report->distortions, " · ");
    if (report->trace_count == 1) add_process(&line, report, filter, style);
    if (report->trace_count > 1) add_processes(&line, report, filter);
    if (report->device_time_why != NULL) {
        add(&line, " · device time: %s", report->device_time_why);
    } else {
        add(&line, " · device time: %s", st_words(report->device_time, words));
        if (report->device_time_source != NULL) add(&line, " (%.100s)", report->device_time_source);
    }
    if (report->simulated) add(&line, " · SIMULATED");
    st_style_head(style, "%s", line.text);
    if (report->window_note != NULL) st_style_alarm(style, "%s", report->window_note);
    if (report->trace_count > 1) say_processes(report, filter, style);
    say_ordinals(report, style);
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
        if (rounds->load_processes != NULL) add(&line, " in process %.32s", rounds->load_processes[i]);
    }
    if (rounds->load_count > 4) add(&line, " and %zu more", rounds->load_count - 4);
    if (rounds->load_count > 0) add(&line, ", not in any request");
    st_style_line(style, "%s", line.text);
    if (rounds->note != NULL) st_style_line(style, "%s", rounds->note);
    if (report->implicit_note != NULL) st_style_line(style, "%s", report->implicit_note);
    if (report->selection_note != NULL) st_style_line(style, "%s", report->selection_note);
}

/* The figures over the steady requests, and which of them the rows are from. */
static void say_steady(const struct st_report *report, const struct st_report_request *typical,
                       const struct st_style *style)
{
    const struct st_report_rounds *rounds = &report->rounds;
    struct st_scale scale = st_scale_time(style->unit, rounds->steady_max_ns.value);
    char least[ST_NUMBER_BYTES], most[ST_NUMBER_BYTES];
    char scope[ST_SCOPE_BYTES], name[ST_REQUEST_BYTES];
    struct line line = {.used = 0};

    add(&line, "steady request: ");
    add_time(&line, style, rounds->steady_median_ns);
    if (rounds->steady_n > 0) add(&line, " median of %" PRId64, rounds->steady_n);
    if (rounds->steady_n == 0) add(&line, " (the window has no steady request whole)");
    if (rounds->steady_min_ns.known && rounds->steady_max_ns.known && rounds->steady_n > 1) {
        add(&line, " (%s–%s %s)", st_scale_show(&scale, rounds->steady_min_ns.value, least),
            st_scale_show(&scale, rounds->steady_max_ns.value, most), scale.name);
    }
    add(&line, "; device done after ");
    add_time(&line, style, rounds->steady_device_done_median_ns);
    add(&line, ", host returned after ");
    add_time(&line, style, rounds->steady_host_return_median_ns);
    st_style_line(style, "%s", line.text);
    line.used = 0;
    add(&line, "rows: request %s alone, ", st_request_name(typical->id, name));
    add_time(&line, style, typical->wall_ns);
    add(&line, ", %" PRId64 " step%s; lists: %s", typical->steps, typical->steps == 1 ? "" : "s",
        st_view_scope(report, scope));
    st_style_line(style, "%s", line.text);
}

/* The figures of the one request whose rows follow. */
static void say_request(const struct st_report_request *request, const struct st_style *style)
{
    struct line line = {.used = 0};
    char name[ST_REQUEST_BYTES];

    add(&line, "request %s (%s%s): ", st_request_name(request->id, name), st_phase_name(request->phase),
        request->complete              ? ""
        : request->host_return_ns.known ? ": when its device work was done is not in the trace"
                                        : ", has no end");
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
                         const char *of, const struct st_style *style)
{
    struct st_scale scale = st_scale_time(style->unit, largest_term(request, device));
    char a[ST_NUMBER_BYTES], b[ST_NUMBER_BYTES], c[ST_NUMBER_BYTES], d[ST_NUMBER_BYTES], e[ST_NUMBER_BYTES],
        f[ST_NUMBER_BYTES];
    struct line line = {.used = 0};

    add(&line, "identity GPU%" PRId64 ": stages %s + shared %s + unattributed %s + other %s + idle %s = %s %s %s",
        device->device, st_scale_show(&scale, device->stages_self_ns, a), st_scale_show(&scale, device->shared_ns, b),
        st_scale_show(&scale, device->unattributed_ns, c), st_scale_show(&scale, device->other_ns, d),
        st_scale_show(&scale, device->idle_ns, e), of,
        request->wall_ns.known ? st_scale_show(&scale, request->wall_ns.value, f) : "–", scale.name);
    if (device->residual_ns == 0) {
        st_style_line(style, "%s  ✓ (residual 0 ns)", line.text);
    } else {
        st_style_alarm(style, "%s  ✗ residual %" PRId64 " ns: a defect of stagetap, please report it", line.text,
                       device->residual_ns);
    }
    line.used = 0;
    for (size_t i = 0; i < device->shared_count; i++) {
        add(&line, "%s%.200s %s", i > 0 ? " · " : "", device->shared_by_set[i].cause,
            st_scale_show(&scale, device->shared_by_set[i].duration_ns, a));
    }
    if (device->shared_count > 0) st_style_line(style, "  shared by: %s", line.text);
}

static void say_idle(const struct st_report_request *request, const struct st_report_request_device *device,
                     const struct st_style *style)
{
    struct st_scale scale = st_scale_time(style->unit, device->idle_ns);
    char number[ST_NUMBER_BYTES], words[ST_WORDS_BYTES], name[ST_REQUEST_BYTES];
    struct line line = {.used = 0};

    add(&line, "idle");
    if (request->device_count > 1) add(&line, " GPU%" PRId64, device->device);
    add(&line, " %s %s in request %s", st_scale_show(&scale, device->idle_ns, number), scale.name,
        st_request_name(request->id, name));
    for (size_t i = 0; i < device->cause_count; i++) {
        add(&line, "%s%.60s %s", i == 0 ? ": " : " · ", st_words(device->idle_by_cause[i].cause, words),
            st_scale_show(&scale, device->idle_by_cause[i].duration_ns, number));
    }
    st_style_line(style, "%s", line.text);
}

/* `of`: "request", "window". */
static void say_devices(const struct st_report *report, const struct st_report_request *request, const char *of,
                        const struct st_style *style)
{
    if (!request->complete) {
        st_style_line(style, "identity: – (the request is open)");
        return;
    }
    if (!request->devices_known) {
        /* which process has no device time a note says */
        if (strcmp(report->device_time, "not_collected") == 0) {
            st_style_line(style, "identity: – (no device time in this trace)");
        } else {
            st_style_line(style, "identity: – (no device work was launched in this %s)", of);
        }
        return;
    }
    for (size_t i = 0; i < request->device_count; i++) say_identity(request, &request->devices[i], of, style);
    for (size_t i = 0; i < request->device_count; i++) say_idle(request, &request->devices[i], style);
}

/* A window of the request: like a request, its rows, identity and idle time. */
static bool say_window(const struct st_report *report, const struct st_report_request *window,
                       const struct st_filter *filter, const struct st_style *style)
{
    struct line line = {.used = 0};

    add(&line, "in the window");
    if (window->first_step > 0) add(&line, ", steps %" PRId64 "–%" PRId64, window->first_step, window->last_step);
    add(&line, ": ");
    add_time(&line, style, window->wall_ns);
    add(&line, " from ");
    add_time(&line, style, known(window->begin_ns));
    add(&line, " on; device done after ");
    add_time(&line, style, window->device_done_ns);
    add(&line, ", closed after ");
    add_time(&line, style, window->host_return_ns);
    st_style_line(style, "%s", "");
    st_style_head(style, "%s", line.text);
    if (!st_view_rows(window, filter, style)) return false;
    say_devices(report, window, "window", style);
    return true;
}

/* ---- the rest ---- */

/* "after the request: output 20.1 ms ×1": rows that run between this request and the next. A row that no thread entered
 * (unattributed work) has nothing to tell here. */
static void say_rows(const char *where, const struct st_report_row *rows, size_t count, const struct st_style *style)
{
    struct line line = {.used = 0};
    size_t told = 0, more = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].calls == 0 && !rows[i].host_inclusive_ns.known) continue;
        if (told == 12) {
            more++;
            continue;
        }
        add(&line, "%s%.200s ", told++ > 0 ? " · " : "", rows[i].name);
        add_time(&line, style, rows[i].host_inclusive_ns);
        add(&line, " ×%" PRId64, rows[i].calls);
    }
    if (more > 0) add(&line, " and %zu rows more", more);
    if (told > 0) st_style_line(style, "%s: %s", where, line.text);
}

/* " in process 4711" where there are several. */
static const char *in_process(const struct st_report *report, size_t trace, char ret[ST_REQUEST_BYTES])
{
    ret[0] = '\0';
    if (report->trace_count > 1) snprintf(ret, ST_REQUEST_BYTES, " in process %.32s", report->traces[trace].process);
    return ret;
}

static void say_losses(const struct st_report *report, size_t trace, const struct st_style *style)
{
    const struct st_count_list *lost = &report->traces[trace].lost;
    struct line line = {.used = 0};
    char words[ST_WORDS_BYTES], where[ST_REQUEST_BYTES];

    for (size_t k = 0; k < lost->count; k++) {
        if (lost->items[k].value == 0) continue;
        add(&line, "%s%.60s %" PRId64, line.used > 0 ? " · " : "", st_words(lost->items[k].key, words),
            lost->items[k].value);
    }
    if (line.used > 0) st_style_alarm(style, "lost%s: %s", in_process(report, trace, where), line.text);
}

static void say_errors(const struct st_report *report, const struct st_style *style)
{
    struct line line = {.used = 0};

    for (size_t i = 0; i < report->api_error_count && i < 8; i++) {
        const struct st_report_api_error *error = &report->api_errors[i];

        add(&line, "%s%.100s returned %" PRId64 " ×%" PRId64 "%s%.100s", i > 0 ? " · " : "", error->call, error->code,
            error->count, error->stage != NULL ? " in " : "", error->stage != NULL ? error->stage : "");
        if (error->process != NULL) add(&line, " in process %.32s", error->process);
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

/* A preset is for many programs, and most of its rules are for others. */
static void say_unmatched(const struct st_name_list *rules, const struct st_style *style)
{
    enum { FEW = 4 };
    struct st_name_list few = {.items = rules->items, .count = rules->count > FEW ? FEW : rules->count};

    say_names("rules that matched nothing", &few, style);
    if (rules->count > FEW) {
        st_style_line(style, "and %zu more rules: `stagetap map check MAP FILE` tells of each", rules->count - FEW);
    }
}

/* One line where calls were not seen; nothing where all were. */
static void say_unseen(const struct st_report *report, size_t trace, const struct st_style *style)
{
    const struct st_report_completeness *seen = &report->traces[trace].completeness;
    struct line line = {.used = 0};
    char where[ST_REQUEST_BYTES];

    if (seen->runtime_without_driver > 0) {
        add(&line, "%" PRId64 " launch%s of the runtime with no driver call inside", seen->runtime_without_driver,
            seen->runtime_without_driver == 1 ? "" : "es");
    }
    if (seen->out_of_reach.count > 0) {
        add(&line, "%sobjects out of reach (see notes)", line.used > 0 ? ", " : "");
    }
    if (seen->untracked_captures.known && seen->untracked_captures.value > 0) {
        add(&line, "%s%" PRId64 " stream captures not followed", line.used > 0 ? ", " : "",
            seen->untracked_captures.value);
    }
    if (line.used > 0) st_style_line(style, "calls not seen%s: %s", in_process(report, trace, where), line.text);
}

static void say_missing(const struct st_report *report, const struct st_style *style)
{
    size_t missed = 0;

    for (size_t i = 0; i < report->left_out.count; i++) {
        st_style_alarm(style, "left out: %s", report->left_out.items[i]);
    }
    for (size_t i = 0; i < report->trace_count; i++) say_losses(report, i, style);
    say_errors(report, style);
    for (size_t i = 0; i < report->trace_count; i++) missed += report->traces[i].not_intercepted_count;
    if (missed > 0) {
        st_style_line(style, "not intercepted: %zu function%s (traces[].not_intercepted of --json names them)", missed,
                      missed == 1 ? "" : "s");
    }
    for (size_t i = 0; i < report->trace_count; i++) say_unseen(report, i, style);
    say_names("not collected", &report->not_collected, style);
    say_unmatched(&report->unmatched_rules, style);
    for (size_t i = 0; i < report->notes.count; i++) st_style_line(style, "note: %s", report->notes.items[i]);
}

static bool say_gaps(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    struct st_filter few = *filter;
    char scope[ST_SCOPE_BYTES];

    few.is_part = true;
    if (few.top == 0 || few.top > REPORT_GAPS) few.top = REPORT_GAPS;
    if (!report->gaps_known || report->gap_count == 0) return true;
    st_style_line(style, "%s", "");
    st_style_head(style, "largest gaps %s", st_view_scope(report, scope));
    return st_view_gaps(report, &few, style);
}

/* No rule named a request: how to find the function that makes one picture. */
static void say_how_to_name(const struct st_report *report, const struct st_filter *filter,
                            const struct st_style *style)
{
    st_style_line(style, "%s", "");
    st_style_line(style, "names that were seen and could be requests and stages, and functions of a library LIB of the "
                         "program:");
    st_style_line(style, "  stagetap map names%s%.1000s", filter->name_file && report->trace_count > 0 ? " " : "",
                  filter->name_file && report->trace_count > 0 ? report->traces[0].file : "");
    st_style_line(style, "  nm -D --defined-only LIB | grep ' T '");
    st_style_line(style, "then name them (stagetap run -m MAP, STAGETAP_MAP), for example:");
    st_style_line(style, "  export STAGETAP_MAP='symbol make_picture -> request; symbol one_step -> sample step'");
}

/* Nothing was matched as a request or stage, and nothing ran after loading. */
static bool say_no_request(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_style_line(style, "no request: no `-> request` rule of the map was met, or there was no map, and nothing ran "
                         "after loading; so there are no times of one picture");
    if (report->before_first_count + report->between_count + report->after_last_count > 0) {
        st_style_line(style, "%s", "");
        st_style_head(style, "outside of requests");
        if (!st_view_outside(report, filter, style)) return false;
    }
    return true;
}

const struct st_report_request *st_view_request(const struct st_report *report)
{
    const struct st_report_request *open = NULL;

    if (report->typical >= 0 && (size_t)report->typical < report->request_count) {
        return &report->requests[report->typical];
    }
    for (size_t i = 0; report->selected_requests == 0 || report->request_count == 1; i++) {
        if (i == report->request_count) break;
        if (open == NULL || report->requests[i].host_return_ns.known) open = &report->requests[i];
    }
    return open;
}

bool st_view_report(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    const struct st_report_request *typical = st_view_request(report);

    if (style->format == ST_GRID_FORMAT_CSV) {
        return typical != NULL ? st_view_rows(typical, filter, style) : st_view_outside(report, filter, style);
    }
    st_view_heading(report, filter, style);
    st_view_map(report, style);
    say_requests(report, style);
    if (typical != NULL) {
        if (!say_selection(report, typical, filter, style)) return false;
        st_style_line(style, "%s", "");
        if (!st_view_rows(typical, filter, style)) return false;
        if (!typical->partial) say_devices(report, typical, "request", style);
        for (size_t i = 0; i < typical->window_count; i++) {
            if (!say_window(report, &typical->windows[i], filter, style)) return false;
        }
        if (!typical->complete) {
            st_style_line(style, "open: host figures as far as the trace goes; it enters no figure and no list");
        }
        say_rows("after the request", typical->after, typical->after_count, style);
    }
    if (report->request_total == 0) {
        if (!say_no_request(report, filter, style)) return false;
    } else {
        say_rows("before the first request", report->before_first, report->before_first_count, style);
        say_rows("between requests", report->between, report->between_count, style);
        say_rows("after the last request", report->after_last, report->after_last_count, style);
    }
    if (!say_gaps(report, filter, style)) return false;
    say_findings(report, style);
    if (report->implicit_requests == report->request_total) say_how_to_name(report, filter, style);
    st_style_line(style, "%s", "");
    say_missing(report, style);
    return true;
}
