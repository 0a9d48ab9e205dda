/* SPDX-License-Identifier: Apache-2.0 */
/* What the traces of a run tell about how it was measured: the report is made, and read for what is wrong with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analysis/report.h"
#include "analyzer/model/model.h"
#include "config/map.h"
#include "config/settings.h"
#include "doctor.h"

static const int64_t LARGE_RESIDUAL_NS = 10000; /* half of the shortest gap that is listed */

struct patient {
    const struct st_model *model;
    const struct st_report *report;
};

/* ---- reading ---- */

/* All that can be read, in one model. Fails with the first failure when nothing can. */
static enum st_status load(struct st_diagnosis *diagnosis, const struct st_run_files *files, struct st_model **ret,
                           struct st_err *err)
{
    struct st_model **models = calloc(files->paths.count, sizeof(struct st_model *));
    enum st_status status = models == NULL ? ST_NO_MEMORY : ST_NOT_FOUND;
    size_t count = 0;

    for (size_t i = 0; models != NULL && i < files->paths.count; i++) {
        struct st_err one = {.offset = -1};
        enum st_status got = st_model_load(files->paths.items[i], &models[count], &one);

        if (got == ST_OK) {
            count++;
        } else {
            st_doctor_fact(diagnosis, "not read", "%s: %s", one.file, one.what);
            if (status == ST_NOT_FOUND) {
                status = got;
                *err = one;
            }
        }
    }
    if (count == 1) {
        *ret = models[0];
        status = ST_OK;
    } else if (count > 1) {
        status = st_model_merge(models, count, ret, err);
    }
    free(models);
    return status;
}

/* ---- facts ---- */

static const char *setting_of(const struct st_model_trace *trace, enum st_setting_id id)
{
    return st_model_key(trace, ST_KEY_SETTING, st_settings[id].option);
}

/* Rules that were met, of how many; a span that a rule opened proves it, where the counts were not written yet. */
static size_t count_met(const struct st_model *model, const struct st_model_trace *trace)
{
    size_t met = 0;

    for (size_t i = 0; i < trace->rule_count; i++) {
        bool is_met = trace->rules[i].matched > 0;

        for (size_t k = trace->span_first; !is_met && k < trace->span_end; k++) {
            is_met = model->spans[k].rule == trace->rules[i].rule;
        }
        met += is_met;
    }
    return met;
}

static void tell_facts(struct st_diagnosis *diagnosis, const struct patient *patient)
{
    const struct st_report *report = patient->report;

    for (size_t i = 0; i < report->trace_count; i++) {
        const struct st_model_trace *trace = &patient->model->traces[i];
        const char *map = st_model_key(trace, ST_KEY_SETTING, "map");

        st_doctor_fact(diagnosis, "trace", "%s: %s (pid %s), %s", trace->file,
                       report->traces[i].program != NULL ? report->traces[i].program : "?", trace->process,
                       trace->is_live                ? "still running"
                       : report->traces[i].complete ? "complete"
                                                    : "NOT complete");
        st_doctor_fact(diagnosis, "stage map", "%s; %zu of %zu rules met%s", map != NULL ? map : "not recorded",
                       count_met(patient->model, trace), trace->rule_count,
                       trace->summary.has_end ? "" : " so far (counts are written at the end)");
    }
    if (report->unmatched_rules.count > 0) {
        st_doctor_fact(diagnosis, "not met", "%s%s", report->unmatched_rules.items[0],
                       report->unmatched_rules.count > 1 ? " …" : "");
    }
    st_doctor_fact(diagnosis, "requests", "%" PRId64, report->request_total);
    st_doctor_fact(diagnosis, "device time", "%s%s%s", report->device_time,
                   report->device_time_source != NULL ? ", " : "",
                   report->device_time_source != NULL ? report->device_time_source : "");
    for (size_t i = 0; i < report->device_count && i < 8; i++) {
        st_doctor_fact(diagnosis, "device", "GPU%" PRId64 " %s", report->devices[i].device,
                       report->devices[i].name != NULL ? report->devices[i].name : "");
    }
}

/* ---- findings: what happened ---- */

static void look_at_work(struct st_diagnosis *diagnosis, const struct patient *patient)
{
    const struct st_report *report = patient->report;
    int64_t lost = 0;

    for (size_t i = 0; i < report->trace_count; i++) lost += report->traces[i].lost_events;
    if (!report->cuda_work_seen && lost == 0) {
        st_doctor_find(diagnosis, ST_FAULT_NO_LAUNCH, "%zu calls of CUDA, none of them started work%s",
                       patient->model->call_count, report->live ? " so far" : "");
        if (report->api_error_count > 0) {
            const struct st_report_api_error *error = &report->api_errors[0];

            st_doctor_find(diagnosis, ST_FAULT_CUDA_FAILED, "%s returned %" PRId64 " (%" PRId64 " times)",
                           error->call, error->code, error->count);
        }
    }
    for (size_t i = 0; i < report->other_backends.count; i++) {
        st_doctor_find(diagnosis, ST_FAULT_OTHER_BACKEND, "%s%s", report->other_backends.items[i],
                       report->other_backends.count > 1 ? " and others" : "");
    }
}

static void look_at_map(struct st_diagnosis *diagnosis, const struct patient *patient)
{
    const struct st_model *model = patient->model;
    size_t rules = 0, met = 0;
    bool all_ended = true;

    if (!patient->report->cuda_work_seen) return;
    for (size_t i = 0; i < model->trace_count; i++) {
        rules += model->traces[i].rule_count;
        met += count_met(model, &model->traces[i]);
        all_ended = all_ended && model->traces[i].summary.has_end;
    }
    if (rules > 0 && met == 0 && (all_ended || model->span_count == 0)) {
        st_doctor_find(diagnosis, ST_FAULT_MAP_UNMATCHED, "none of %zu rules of the map %s%s", rules,
                       st_model_key(&model->traces[0], ST_KEY_SETTING, "map"), all_ended ? "" : " so far");
    }
    if (!patient->report->has_named_requests) {
        st_doctor_find(diagnosis, ST_FAULT_NO_REQUEST, "0 requests%s%s", patient->report->live ? " so far" : "",
                       patient->report->request_total > 0 ? "; all that ran after loading is taken as one" : "");
    }
    for (size_t i = 0; i < model->span_count; i++) {
        const struct st_span *span = &model->spans[i];
        const struct st_model_trace *trace = &model->traces[model->threads[span->thread].trace];

        if (!span->is_open || !trace->summary.has_end) continue;
        st_doctor_find(diagnosis, ST_FAULT_STAGE_OPEN, "%s %s of thread %s has no end",
                       span->role == ST_ROLE_REQUEST ? "a request" : "stage",
                       span->role == ST_ROLE_REQUEST ? "" : model->rows[span->row].name,
                       model->threads[span->thread].name);
    }
}

/* ---- findings: what was measured ---- */

static const struct st_report_capability *find_capability(const struct st_report *report, const char *kind)
{
    for (size_t i = 0; i < report->capability_count; i++) {
        if (strcmp(report->capabilities[i].kind, kind) == 0) return &report->capabilities[i];
    }
    return NULL;
}

static void look_at_device_time(struct st_diagnosis *diagnosis, const struct patient *patient)
{
    const struct st_report_capability *kernels = find_capability(patient->report, "kernel");
    const char *why = kernels != NULL && kernels->why != NULL ? kernels->why : "";
    int64_t without = 0;

    /* so the library words it: device/cupti.c, device/cupti_load.c */
    if (strstr(why, "another client") != NULL || strstr(why, "another tool holds") != NULL) {
        st_doctor_find(diagnosis, ST_FAULT_OTHER_PROFILER, "%s", why);
    }
    if (patient->report->cuda_work_seen && strcmp(patient->report->device_time, "not_collected") == 0) {
        why = patient->report->device_time_why != NULL ? patient->report->device_time_why : why;
        st_doctor_find(diagnosis, ST_FAULT_HOST_ONLY, "%s", why[0] != '\0' ? why : "the trace tells no reason");
    }
    for (size_t i = 0; i < patient->model->trace_count; i++) {
        const struct st_model_trace *trace = &patient->model->traces[i];

        without += trace->faults.launches_without_record;
        if (trace->lacks_records) {
            st_doctor_find(diagnosis, ST_FAULT_NO_RECORDS, "process %s: work was launched, and there is not one record",
                           trace->process);
        }
    }
    if (without > 0) st_doctor_find(diagnosis, ST_FAULT_NO_RECORDS, "%" PRId64 " operations", without);
}

static void look_at_trace(struct st_diagnosis *diagnosis, const struct st_report_trace *trace)
{
    if (!trace->complete && !trace->live) st_doctor_find(diagnosis, ST_FAULT_INCOMPLETE, "%s", trace->file);
    for (size_t i = 0; trace->lost_events > 0 && i < trace->lost.count; i++) {
        if (trace->lost.items[i].value == 0) continue;
        st_doctor_find(diagnosis, ST_FAULT_LOST, "%" PRId64 " events, %s first", trace->lost_events,
                       trace->lost.items[i].key);
        break;
    }
    if (trace->completeness.out_of_reach.count > 0) {
        st_doctor_find(diagnosis, ST_FAULT_OUT_OF_REACH, "%s", trace->completeness.out_of_reach.items[0]);
    } else if (trace->not_intercepted_count > 0) {
        st_doctor_find(diagnosis, ST_FAULT_OUT_OF_REACH, "%zu functions, %s first", trace->not_intercepted_count,
                       trace->not_intercepted[0].symbol);
    } else if (trace->completeness.runtime_without_driver > 0) {
        st_doctor_find(diagnosis, ST_FAULT_OUT_OF_REACH, "%" PRId64 " launches of the runtime with no driver call",
                       trace->completeness.runtime_without_driver);
    }
    if (trace->clock_residual_ns.known && trace->clock_residual_ns.value > LARGE_RESIDUAL_NS) {
        st_doctor_find(diagnosis, ST_FAULT_CLOCK_RESIDUAL, "%" PRId64 " ns", trace->clock_residual_ns.value);
    }
}

static void look_at_settings(struct st_diagnosis *diagnosis, const struct st_model_trace *trace)
{
    const char *window = setting_of(trace, ST_SET_WINDOW), *mode = setting_of(trace, ST_SET_MODE);
    const char *on_full = setting_of(trace, ST_SET_ON_FULL);

    if (window != NULL && strcmp(window, st_settings[ST_SET_WINDOW].default_text) != 0) {
        st_doctor_find(diagnosis, ST_FAULT_WINDOW_CUT, "window %s", window);
    }
    if (mode != NULL && strcmp(mode, "diagnose-sync") == 0) {
        st_doctor_find(diagnosis, ST_FAULT_DISTORTED, "mode diagnose-sync (waits between stages)");
    }
    if (on_full != NULL && strcmp(on_full, "wait") == 0) {
        st_doctor_find(diagnosis, ST_FAULT_DISTORTED, "on-full wait (a full ring holds the program up)");
    }
    for (size_t i = 0; i < trace->key_count; i++) {
        const struct st_model_key *key = &trace->keys[i];

        if (key->group != ST_KEY_NOTE || strcmp(key->key, "setting") != 0) continue;
        st_doctor_find(diagnosis, ST_FAULT_BAD_SETTING, "%s", key->value);
    }
}

static void look(struct st_diagnosis *diagnosis, const struct patient *patient)
{
    const struct st_report *report = patient->report;

    diagnosis->simulated = diagnosis->simulated || report->simulated;
    tell_facts(diagnosis, patient);
    look_at_work(diagnosis, patient);
    look_at_map(diagnosis, patient);
    look_at_device_time(diagnosis, patient);
    for (size_t i = 0; i < report->trace_count; i++) look_at_trace(diagnosis, &report->traces[i]);
    for (size_t i = 0; i < report->distortions.count; i++) {
        st_doctor_find(diagnosis, ST_FAULT_DISTORTED, "%s", report->distortions.items[i]);
    }
    for (size_t i = 0; i < patient->model->trace_count; i++) look_at_settings(diagnosis, &patient->model->traces[i]);
}

enum st_status st_doctor_traces(struct st_diagnosis *diagnosis, const struct st_run_files *files, struct st_err *err)
{
    struct st_model *model = NULL;
    struct st_report report;
    enum st_status status = load(diagnosis, files, &model, err);

    if (status != ST_OK) return status;
    status = st_report_build(model, NULL, &report, err);
    if (status == ST_OK) {
        look(diagnosis, &(struct patient){model, &report});
        st_report_finish(&report);
    }
    st_model_destroy(model);
    return status;
}
