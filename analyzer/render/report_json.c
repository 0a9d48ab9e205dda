/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct st_report to JSON, key by key in the order of the specification. Every key is always there; what
 * was not collected is null. The rows and requests are in report_json_rows.c. One thread.
 */
#include "analyzer/render/report_json.h"

#include <time.h>

#include "analyzer/analysis/report.h"
#include "analyzer/render/json.h"
#include "analyzer/render/missing.h"
#include "analyzer/render/report_json_rows.h"

static void write_counts(struct st_json *json, const char *key, const struct st_count_list *list)
{
    st_json_object(json, key);
    for (size_t i = 0; i < list->count; i++) st_json_int(json, list->items[i].key, list->items[i].value);
    st_json_end(json);
}

static void write_facts(struct st_json *json, const char *key, const struct st_text_list *list)
{
    st_json_object(json, key);
    for (size_t i = 0; i < list->count; i++) st_json_string(json, list->items[i].key, list->items[i].value);
    st_json_end(json);
}

static void write_names(struct st_json *json, const char *key, const struct st_name_list *list)
{
    st_json_array(json, key);
    for (size_t i = 0; i < list->count; i++) st_json_string(json, NULL, list->items[i]);
    st_json_end(json);
}

static void write_ints(struct st_json *json, const char *key, const int64_t *values, size_t count)
{
    st_json_array(json, key);
    for (size_t i = 0; i < count; i++) st_json_int(json, NULL, values[i]);
    st_json_end(json);
}

static void write_ids(struct st_json *json, const char *key, const struct st_report_id *ids, size_t count)
{
    st_json_array(json, key);
    for (size_t i = 0; i < count; i++) st_json_id(json, NULL, ids[i]);
    st_json_end(json);
}

static void write_utc(struct st_json *json, const char *key, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    char text[64], date[40];
    struct tm utc;

    if (realtime_ns <= 0 || gmtime_r(&seconds, &utc) == NULL ||
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        st_json_null(json, key);
        return;
    }
    snprintf(text, sizeof(text), "%s.%09dZ", date, (int)(realtime_ns % 1000000000));
    st_json_string(json, key, text);
}

/* Which stage map, why, and whether its presets were checked against what was found. */
static void write_map(struct st_json *json, const struct st_report_trace *trace)
{
    st_json_object(json, "map");
    st_json_string(json, "name", trace->map);
    st_json_string(json, "why", trace->map_why);
    st_json_array(json, "checked");
    for (size_t i = 0; i < trace->checked_count; i++) {
        const struct st_report_checked *checked = &trace->checked[i];

        st_json_object(json, NULL);
        st_json_string(json, "package", checked->package);
        st_json_string(json, "oldest", checked->oldest);
        st_json_string(json, "newest", checked->newest);
        st_json_string(json, "found", checked->found);
        st_json_string(json, "state", checked->state);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_end(json);
}

static void write_trace(struct st_json *json, const struct st_report_trace *trace)
{
    st_json_object(json, NULL);
    st_json_string(json, "file", trace->file);
    st_json_int(json, "pid", trace->pid);
    st_json_string(json, "process", trace->process);
    st_json_string(json, "program", trace->program);
    st_json_string(json, "mode", trace->mode);
    write_map(json, trace);
    st_json_bool(json, "complete", trace->complete);
    st_json_bool(json, "live", trace->live);
    st_json_string(json, "window", trace->window);
    st_json_int(json, "end_ns", trace->end_ns);
    write_counts(json, "lost", &trace->lost);
    st_json_int(json, "lost_events", trace->lost_events);
    st_json_object(json, "clock");
    st_json_string(json, "source", trace->clock_source);
    st_json_figure(json, "residual_ns", trace->clock_residual_ns);
    st_json_end(json);
    st_json_int(json, "monotonic_start_ns", trace->monotonic_start_ns);
    write_utc(json, "utc_start", trace->realtime_start_ns);
    st_json_figure(json, "own_overhead_ns", trace->own_overhead_ns);
    st_json_object(json, "lookups");
    st_json_figure(json, "asked", trace->lookups_asked);
    st_json_figure(json, "found", trace->lookups_found);
    st_json_figure(json, "wrapped", trace->lookups_wrapped);
    st_json_figure(json, "passed", trace->lookups_passed);
    st_json_figure(json, "not_found", trace->lookups_not_found);
    st_json_end(json);
    st_json_array(json, "not_intercepted");
    for (size_t i = 0; i < trace->not_intercepted_count; i++) {
        const struct st_report_missed *missed = &trace->not_intercepted[i];

        st_json_object(json, NULL);
        st_json_string(json, "symbol", missed->symbol);
        st_json_int(json, "version", missed->version);
        st_json_int(json, "flags", missed->flags);
        st_json_string(json, "caller", missed->caller);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_object(json, "completeness");
    st_json_int(json, "runtime_without_driver", trace->completeness.runtime_without_driver);
    st_json_int(json, "driver_without_runtime", trace->completeness.driver_without_runtime);
    write_names(json, "out_of_reach", &trace->completeness.out_of_reach);
    st_json_int(json, "unknown_variants", (int64_t)trace->not_intercepted_count);
    st_json_figure(json, "untracked_captures", trace->completeness.untracked_captures);
    st_json_end(json);
    st_json_end(json);
}

static void write_surroundings(struct st_json *json, const struct st_report *report)
{
    st_json_array(json, "devices");
    for (size_t i = 0; i < report->device_count; i++) {
        const struct st_report_device *device = &report->devices[i];

        st_json_object(json, NULL);
        st_json_int(json, "device", device->device);
        st_json_string(json, "uuid", device->uuid);
        st_json_string(json, "name", device->name);
        write_ints(json, "pids", device->pids, device->pid_count);
        st_json_array(json, "processes");
        for (size_t k = 0; k < device->user_count; k++) {
            st_json_object(json, NULL);
            st_json_string(json, "process", device->users[k].process);
            st_json_int(json, "ordinal", device->users[k].ordinal);
            st_json_end(json);
        }
        st_json_end(json);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_array(json, "capabilities");
    for (size_t i = 0; i < report->capability_count; i++) {
        const struct st_report_capability *capability = &report->capabilities[i];

        st_json_object(json, NULL);
        st_json_string(json, "kind", capability->kind);
        st_json_string(json, "state", capability->state);
        st_json_string(json, "source", capability->source);
        st_json_string(json, "why", capability->why);
        st_json_string(json, "process", capability->process);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_object(json, "manifest");
    write_facts(json, "declared", &report->declared);
    write_facts(json, "found", &report->found);
    write_names(json, "not_recorded", &report->not_recorded);
    st_json_end(json);
}

static void write_rounds(struct st_json *json, const struct st_report_rounds *rounds)
{
    st_json_object(json, "rounds");
    st_json_string(json, "rule", rounds->rule);
    st_json_bool(json, "chosen_afterwards", rounds->chosen_afterwards);
    st_json_bool(json, "several_shapes", rounds->several_shapes);
    if (rounds->stability_known) {
        st_json_bool(json, "stable", !rounds->has_trend);
    } else {
        st_json_null(json, "stable");
    }
    st_json_string(json, "note", rounds->note);
    write_ints(json, "load_ns", rounds->load_ns, rounds->load_count);
    write_ids(json, "first", rounds->first, rounds->first_count);
    write_ids(json, "warmup", rounds->warmup, rounds->warmup_count);
    write_ids(json, "steady", rounds->steady, rounds->steady_count);
    st_json_object(json, "steady_wall_ns");
    st_json_int(json, "n", rounds->steady_n);
    st_json_figure(json, "median", rounds->steady_median_ns);
    st_json_figure(json, "min", rounds->steady_min_ns);
    st_json_figure(json, "max", rounds->steady_max_ns);
    if (rounds->steady_spread_ppm.known) {
        st_json_decimal(json, "spread", rounds->steady_spread_ppm.value, 6);
    } else {
        st_json_null(json, "spread");
    }
    st_json_end(json);
    st_json_figure(json, "steady_host_return_median_ns", rounds->steady_host_return_median_ns);
    st_json_figure(json, "steady_device_done_median_ns", rounds->steady_device_done_median_ns);
    st_json_end(json);
}

static void write_outside(struct st_json *json, const struct st_report *report)
{
    st_json_object(json, "outside");
    st_json_rows(json, "before_first", report->before_first, report->before_first_count);
    st_json_rows(json, "between", report->between, report->between_count);
    st_json_rows(json, "after_last", report->after_last, report->after_last_count);
    st_json_end(json);
}

static void write_findings(struct st_json *json, const struct st_report *report)
{
    if (!report->findings_known) {
        st_json_null(json, "findings");
        return;
    }
    st_json_array(json, "findings");
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct st_report_finding *finding = &report->findings[i];

        st_json_object(json, NULL);
        st_json_string(json, "id", finding->id);
        st_json_string(json, "state", finding->state);
        st_json_string(json, "stage", finding->stage);
        write_counts(json, "figures", &finding->figures);
        st_json_string(json, "text", finding->text);
        st_json_string(json, "next_check", finding->next_check);
        st_json_end(json);
    }
    st_json_end(json);
}

static void write_errors(struct st_json *json, const struct st_report *report)
{
    st_json_array(json, "api_errors");
    for (size_t i = 0; i < report->api_error_count; i++) {
        const struct st_report_api_error *error = &report->api_errors[i];

        st_json_object(json, NULL);
        st_json_string(json, "call", error->call);
        st_json_int(json, "code", error->code);
        st_json_int(json, "count", error->count);
        st_json_string(json, "stage", error->stage);
        st_json_string(json, "process", error->process);
        st_json_end(json);
    }
    st_json_end(json);
}

static void write_missing(void *context, const char *what)
{
    st_json_string(context, NULL, what);
}

/* Notes and remarks are one list here. */
static void write_notes(struct st_json *json, const struct st_report *report)
{
    const struct st_name_list *lists[] = {&report->notes, &report->remarks};

    st_json_array(json, "notes");
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < lists[i]->count; k++) st_json_string(json, NULL, lists[i]->items[k]);
    }
    st_json_end(json);
}

void st_report_write_json(const struct st_report *report, FILE *out)
{
    struct st_json json;

    st_json_init(&json, out, 4);
    st_json_object(&json, NULL);
    st_json_string(&json, "schema", "stagetap.report/1");
    st_json_bool(&json, "simulated", report->simulated);
    st_json_bool(&json, "live", report->live);
    st_json_int(&json, "open_requests", report->open_requests);
    st_json_bool(&json, "cuda_work_seen", report->cuda_work_seen);
    st_json_string(&json, "device_time", report->device_time);
    st_json_string(&json, "device_time_source", report->device_time_source);
    st_json_string(&json, "selection", report->selection);
    st_json_string(&json, "selection_note", report->selection_note);
    st_json_int(&json, "request_total", report->request_total);
    st_json_int(&json, "implicit_requests", report->implicit_requests);
    st_json_string(&json, "window_note", report->window_note);
    st_json_string(&json, "lists_cover", report->lists_cover);
    st_json_figure(&json, "device_known_until_ns", report->device_known_until_ns);
    st_json_int(&json, "requests_without_device_time", report->requests_without_device_time);
    st_json_array(&json, "traces");
    for (size_t i = 0; i < report->trace_count; i++) write_trace(&json, &report->traces[i]);
    st_json_end(&json);
    write_surroundings(&json, report);
    write_rounds(&json, &report->rounds);
    st_json_requests(&json, report);
    write_outside(&json, report);
    st_json_gaps(&json, report);
    st_json_syncs(&json, report);
    st_json_host_functions(&json, report);
    st_json_kernels(&json, report);
    st_json_transfers(&json, report);
    write_findings(&json, report);
    write_errors(&json, report);
    write_names(&json, "left_out", &report->left_out);
    write_names(&json, "unmatched_rules", &report->unmatched_rules);
    write_names(&json, "not_collected", &report->not_collected);
    write_names(&json, "other_backends", &report->other_backends);
    write_names(&json, "distortions", &report->distortions);
    st_json_array(&json, "missing");
    st_report_missing(report, write_missing, &json);
    st_json_end(&json);
    write_notes(&json, report);
    st_json_end(&json);
}
