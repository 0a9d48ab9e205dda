/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the answer together; see report.h. Each part is a file of its own, see answer.h. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

static bool append(struct st_answer *answer, struct st_name_list *notes, const char *text)
{
    enum { MOST_NOTES = 64 };
    if (!notes->items) {
        notes->items = st_arena_array(answer->arena, MOST_NOTES, sizeof(*notes->items));
    }
    if (!text || !notes->items) {
        return false;
    }
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->items[i], text) == 0) {
            return true;
        }
    }
    if (notes->count < MOST_NOTES) {
        notes->items[notes->count] = st_arena_text(answer->arena, text, strlen(text));
        notes->count += notes->items[notes->count] != NULL;
    }
    return true;
}

bool st_answer_note(struct st_answer *answer, const char *text)
{
    return append(answer, &answer->report->notes, text);
}

bool st_answer_remark(struct st_answer *answer, const char *text)
{
    return append(answer, &answer->report->remarks, text);
}

static bool host_functions_are_missing(const struct st_model_trace *trace)
{
    int64_t untimed = 0;
    return st_model_counter(trace, "host_functions.untimed", &untimed) && untimed > 0;
}

static bool has_rules(const struct st_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        count += model->traces[i].rule_count;
    }
    return count > 0;
}

/* What one trace lacks. Notes that several have are told once. */
static bool add_trace_notes(struct st_answer *answer, const struct st_model_trace *trace,
                            const struct st_report_trace *told)
{
    bool good = told->own_overhead_ns.known || st_answer_remark(answer, "own_overhead_ns: not recorded");
    if (good && trace->lacks_records) {
        bool is_alone = answer->model->trace_count == 1;
        good = st_answer_note(answer, st_arena_format(answer->arena, "device time%s%s: no device record in the trace%s",
                                                      is_alone ? "" : " of process ", is_alone ? "" : trace->process,
                                                      trace->summary.has_end
                                                          ? ", though work was launched"
                                                          : ": the process ended by _exit, exec, abort or a signal "
                                                            "before the first ones were written, or the file is "
                                                            "cut"));
    } else if (good && !trace->has_device_time) {
        const struct st_model_capability *kernel = st_model_capability(trace, "kernel");
        bool is_alone = answer->model->trace_count == 1;
        const char *text = st_arena_format(answer->arena, "device time%s%s: not collected%s%s",
                                           is_alone ? "" : " of process ", is_alone ? "" : trace->process,
                                           kernel && kernel->why[0] ? ": " : "", kernel ? kernel->why : "");
        /* beside processes that have it, the figures of the others miss this one's work */
        good = is_alone ? st_answer_remark(answer, text) : st_answer_note(answer, text);
    }
    if (good && trace->faults.unmatched_device > 0) {
        good = st_answer_note(answer, "unmatched_device: operations whose launching call is not known count as "
                                      "unattributed when exactly one request was open, else as other");
    }
    if (good && trace->faults.matched_by_time > 0) {
        good = st_answer_note(answer, "some launching calls were not recorded: their operations are placed by thread "
                                      "and time");
    }
    if (good && trace->has_device_time && trace->is_live && trace->op_count == 0) {
        good = st_answer_note(answer, "no device record has reached the trace yet: returned requests that launched "
                                      "work count as open");
    }
    if (good && trace->faults.launches_without_record > 0 && trace->summary.has_end) {
        good = st_answer_note(answer, "launches_without_record: device figures miss the work of these launches");
    }
    if (good && host_functions_are_missing(trace)) {
        good = st_answer_note(answer, "host_functions: the process handed over more functions than are timed (256): "
                                      "executions of the later ones are missing");
    }
    return good;
}

/* In a trace that just ends: the launches behind the last device record. */
static bool note_known_until(struct st_answer *answer)
{
    const struct st_report *report = answer->report;
    long long open = (long long)report->requests_without_device_time;
    double until = (double)report->device_known_until_ns.value / 1e9;
    int64_t without_record = 0;
    for (size_t i = 0; i < answer->model->trace_count; i++) {
        const struct st_model_trace *trace = &answer->model->traces[i];
        without_record += trace->summary.has_end ? 0 : trace->faults.launches_without_record;
    }
    if (!report->device_known_until_ns.known || (open == 0 && without_record == 0)) {
        return true;
    }
    return st_answer_note(
        answer,
        open > 0 ? st_arena_format(answer->arena,
                                   "device time is known for work launched until %.3f s; %lld returned request%s "
                                   "launched some later and count%s as open: when it was done is not in the trace%s",
                                   until, open, open == 1 ? "" : "s", open == 1 ? "s" : "", report->live ? " yet" : "")
                 : st_arena_format(answer->arena,
                                   "device time is known for work launched until %.3f s; that of %lld later launch%s "
                                   "is not in the trace",
                                   until, (long long)without_record, without_record == 1 ? "" : "es"));
}

/* Does a range open this row, or does only a kernel rule put work there? */
static bool is_opened(const struct st_model *model, uint32_t row)
{
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].row == row) {
            return true;
        }
    }
    return false;
}

/* Rows that kernel rules alone make: their host figures are 0 because they are elsewhere. */
static bool note_kernel_rows(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    bool *has_work = calloc(model->row_count + 1, sizeof(*has_work)), good = has_work != NULL;
    for (size_t i = 0; good && i < model->op_count; i++) {
        if (model->ops[i].kind == ST_OP_KERNEL && model->ops[i].row < model->row_count) {
            has_work[model->ops[i].row] = true;
        }
    }
    for (uint32_t row = 0; good && row < model->row_count; row++) {
        if (has_work[row] && model->rows[row].top != ST_ROW_UNATTRIBUTED && !is_opened(model, row)) {
            good = st_answer_note(answer, st_arena_format(answer->arena,
                                                          "%s is labelled by a kernel rule alone: device work and its "
                                                          "launches; the host figures of these launches stay with the "
                                                          "ranges that made them",
                                                          model->rows[row].name));
        }
    }
    free(has_work);
    return good;
}

/* "steps 10-14 of 20", "whole", "12.3 ms": what windows there are of requests[request]. */
static const char *tell_windows(struct st_answer *answer, size_t request)
{
    const struct st_model *model = answer->model;
    const struct st_model_request *of = &model->requests[request];
    const char *text = of->is_partial ? "" : "all";
    for (size_t i = 0; text && i < model->request_count; i++) {
        const struct st_model_request *window = &model->requests[i];
        if (window->window_of != request) {
            continue;
        }
        const char *between = text[0] ? " and " : "";
        double ms = (double)(window->host_end_ns - window->begin_ns) / 1e6;
        if (window->first_step > 0 && window->first_step == window->last_step) {
            text = st_arena_format(answer->arena, "%s%sstep %lld of %lld", text, between,
                                   (long long)window->first_step, (long long)of->steps);
        } else if (window->first_step > 0) {
            text = st_arena_format(answer->arena, "%s%ssteps %lld-%lld of %lld", text, between,
                                   (long long)window->first_step, (long long)window->last_step, (long long)of->steps);
        } else {
            text = st_arena_format(answer->arena, "%s%s%.3f ms", text, between, ms);
        }
    }
    return text;
}

static const char *request_name(const struct st_answer *answer, size_t request)
{
    const struct st_model *model = answer->model;
    const struct st_model_request *of = &model->requests[request];
    return model->trace_count > 1
               ? st_arena_format(answer->arena, "%s:%lld", model->traces[of->trace].process, (long long)of->id)
               : st_arena_format(answer->arena, "%lld", (long long)of->id);
}

/* Around a window more is recorded than is asked for. */
static bool note_left_out(struct st_answer *answer)
{
    int64_t count = 0;
    for (size_t i = 0; i < answer->model->trace_count; i++) {
        count += answer->model->traces[i].faults.outside_window;
    }
    const char *text = st_arena_format(answer->arena, "window: %" PRId64 " operations that were recorded close to it, "
                                                      "and launched outside, are left out", count);
    return count == 0 || (text && st_answer_remark(answer, text));
}

/* "window steps 10-14 of 20 in request 1": requests with the same windows together. */
static bool note_windows(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    const char *text = "", *last = "", *setting = NULL;
    size_t count = 0, first = 0, groups = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        setting = setting ? setting : model->traces[i].window;
    }
    for (size_t i = 0; setting && text && last && i <= model->request_count; i++) {
        bool is_asked = i < model->request_count && model->requests[i].window_of == ST_NONE &&
                        model->traces[model->requests[i].trace].window;
        const char *told = is_asked ? tell_windows(answer, i) : "";
        if (i < model->request_count && (!told || !told[0])) {
            continue;
        }
        if (count > 0 && i < model->request_count && strcmp(told, last) == 0) {
            count++;
            continue;
        }
        if (count > 0 && ++groups <= 4) {
            const char *comma = groups > 1 ? ", " : "", *where = strcmp(last, "all") == 0 ? "of" : "in";
            const char *name = request_name(answer, first);
            text = count == 1 ? st_arena_format(answer->arena, "%s%s%s %s request %s", text, comma, last, where, name)
                              : st_arena_format(answer->arena, "%s%s%s %s each of %zu requests from %s on", text, comma,
                                                last, where, count, name);
        }
        last = told;
        first = i;
        count = 1;
    }
    if (!setting) {
        return true;
    }
    if (text && !text[0]) {
        report->window_note = st_arena_format(answer->arena, "window %s was never reached: nothing but boundaries was "
                                                             "recorded", setting);
    } else if (text) {
        report->window_note =
            st_arena_format(answer->arena, "window %s%s (%s)", text, groups > 4 ? ", …" : "", setting);
    }
    return report->window_note && note_left_out(answer) &&
           st_answer_remark(answer, "window: what lies outside of it was not collected and is null; it is not inferred "
                                    "from what lies inside (requests[].windows)");
}

/* Whose requests no rule named. */
static bool note_implicit(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    const char *who = "";
    for (size_t i = 0; who && i < model->request_count; i++) {
        if (model->requests[i].is_implicit && model->requests[i].window_of == ST_NONE && model->trace_count > 1) {
            who = st_arena_format(answer->arena, "%s%s %s", who, who[0] ? "," : " in process",
                                  model->traces[model->requests[i].trace].process);
        }
    }
    if (!who || report->implicit_requests == 0) {
        return who != NULL;
    }
    report->implicit_note =
        st_arena_format(answer->arena,
                        "no request rule matched%s: the process after loading is taken as one request", who);
    return report->implicit_note &&
           st_answer_remark(answer, st_arena_format(answer->arena, "%s (%s)", report->implicit_note,
                                                    has_rules(model) ? "the map's rules were not met"
                                                                     : "no map was in force"));
}

/* Which keys are null and why, and what a reader of the figures must know. */
static bool add_notes(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    const struct st_report *report = answer->report;
    bool good = st_answer_remark(answer, "findings: not derived by this version") &&
                st_answer_remark(answer, "transfers: repeats and round_trips are not told by this version") &&
                st_answer_remark(answer, "gaps: time of the host off the CPU is counted as own code; "
                                         "excluded.missing_data, excluded.own_overhead and "
                                         "dependency.other_stream are not told by this version");
    for (size_t i = 0; good && i < model->trace_count; i++) {
        good = add_trace_notes(answer, &model->traces[i], &report->traces[i]);
    }
    good = good && note_known_until(answer) && note_kernel_rows(answer);
    if (good && report->rounds.several_shapes) {
        good = st_answer_note(answer, "steady requests have several shapes: the summary covers the most frequent one");
    }
    good = good && note_implicit(answer) && note_windows(answer);
    if (good && model->request_count == 0) {
        good = st_answer_remark(answer, "no request: no `request` rule of the map was met, or no map was in force "
                                        "(STAGETAP_MAP, or stagetap run -m MAP), and nothing ran after loading; the "
                                        "lists cover the whole process, rows are under outside");
    }
    for (size_t i = 0; good && i < report->gap_count; i++) {
        if (strcmp(report->gaps[i].cause, "unseen_work") == 0) {
            return st_answer_note(answer, "unseen_work: a wait went on though no recorded work ran: the device did "
                                          "something else, or the wait returned late");
        }
    }
    return good;
}

static bool lacks_cpu(const struct st_report_request *request)
{
    for (size_t r = 0; r < request->stage_count; r++) {
        if (request->stages[r].host_inclusive_ns.known && !request->stages[r].own_cpu_ns.known) {
            return true;
        }
    }
    return false;
}

/* own_cpu_ns and off_cpu_ns are null where a clock reading is missing; on the screen where the table shows it. */
static bool note_missing_cpu(struct st_answer *answer)
{
    static const char text[] = "own CPU, off-CPU (own_cpu_ns, off_cpu_ns): not told where the thread's CPU clock was "
                               "not read, or says that a call lost the CPU or that a copy's wait kept it";
    const struct st_report *report = answer->report;
    bool is_shown = report->typical < 0 && report->request_count > 0 && lacks_cpu(&report->requests[0]);
    if (is_shown || (report->typical >= 0 && lacks_cpu(&report->requests[report->typical]))) {
        return st_answer_note(answer, text);
    }
    for (size_t i = 0; i < report->request_count; i++) {
        if (lacks_cpu(&report->requests[i])) {
            return st_answer_remark(answer, text);
        }
    }
    return true;
}

static bool list_left_out(struct st_answer *answer)
{
    struct st_name_list *list = &answer->report->left_out;
    const struct st_report_options *options = answer->options;
    list->items = st_arena_array(answer->arena, options->left_out_count, sizeof(*list->items));
    for (size_t i = 0; list->items && i < options->left_out_count; i++) {
        list->items[list->count++] =
            st_arena_text(answer->arena, options->left_out[i], strlen(options->left_out[i]));
    }
    return list->items != NULL;
}

enum st_status st_report_build(const struct st_model *model, const struct st_report_options *options,
                               struct st_report *ret, struct st_err *err)
{
    static const struct st_report_options defaults = {.device = -1};
    struct st_report report = {.arena = st_arena_create()};
    struct st_answer answer = {.model = model,
                               .options = options ? options : &defaults,
                               .report = &report,
                               .arena = report.arena,
                               .phases = calloc(model->request_count + 1, sizeof(*answer.phases)),
                               .shapes = calloc(model->request_count + 1, sizeof(*answer.shapes)),
                               .selected = calloc(model->request_count + 1, sizeof(*answer.selected))};
    enum st_status status = ST_NO_MEMORY;
    if (answer.arena && answer.phases && answer.shapes && answer.selected) {
        status = st_answer_rounds(&answer, err);
        status = status == ST_OK ? st_answer_select(&answer, err) : status;
        if (status == ST_OK) {
            bool good = st_answer_facts(&answer) && st_answer_collected(&answer) && list_left_out(&answer) &&
                        st_answer_requests(&answer) && st_answer_syncs(&answer) && st_answer_kernels(&answer) &&
                        st_answer_host_functions(&answer) && st_answer_transfers(&answer) &&
                        st_answer_errors(&answer) && add_notes(&answer) && note_missing_cpu(&answer) &&
                        !st_arena_failed(answer.arena);
            status = good ? ST_OK : ST_NO_MEMORY;
        }
    }
    free(answer.phases);
    free(answer.shapes);
    free(answer.selected);
    if (status != ST_OK) {
        if (status == ST_NO_MEMORY) {
            st_fail(err, status, NULL, -1, NULL, "out of memory");
        }
        st_report_finish(&report);
        return status;
    }
    report.model_texts = st_arena_share(model->arena);
    *ret = report;
    return ST_OK;
}

void st_report_finish(struct st_report *report)
{
    st_arena_destroy(report->arena);
    st_arena_destroy(report->model_texts);
    *report = (struct st_report){0};
}
