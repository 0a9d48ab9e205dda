/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says about the trace itself: completeness, losses, clock, look-ups, devices, what was
 * collected and what was not, rules that matched nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "config/map.h"

/* Names of the counts under `lost`; the writer's counters carry them behind "lost." (format.h enum st_lost). */
static const char *const lost_names[ST_LOST_CAUSES] = {
    [ST_LOST_RING_FULL] = "ring_full",
    [ST_LOST_NO_THREAD] = "no_thread",
    [ST_LOST_DEVICE_DROPPED] = "cupti_dropped",
    [ST_LOST_DEVICE_INVALID] = "device_invalid",
    [ST_LOST_DISK] = "disk",
    [ST_LOST_LIMIT] = "limit",
    [ST_LOST_DEVICE_UNREAD] = "device_unread",
};

static int64_t lost_count(const struct st_model *model, int cause)
{
    char name[64] = "lost.";
    int64_t count = 0;
    strncat(name, lost_names[cause], sizeof(name) - strlen(name) - 1);
    st_model_counter(model, name, &count);
    if (model->faults.lost_by_cause[cause] > count) { /* rows came after the last totals */
        count = model->faults.lost_by_cause[cause];
    }
    if (cause == ST_LOST_RING_FULL && (int64_t)model->summary.ring_lost > count) { /* read from the rings themselves */
        count = (int64_t)model->summary.ring_lost;
    }
    return count;
}

static bool list_lost(struct st_answer *answer, struct st_report_trace *trace)
{
    const struct st_model *model = answer->model;
    const struct st_report_count own[] = {
        {"unmatched_device", model->faults.unmatched_device},
        {"launches_without_record", model->faults.launches_without_record},
        {"missing_chunks", (int64_t)model->summary.missing_chunks},
        {"damaged_chunks", (int64_t)model->summary.damaged_chunks},
        {"cut_bytes", (int64_t)(model->summary.trailing_bytes + model->summary.skipped_bytes)},
        {"invalid_times", model->faults.invalid_times},
        {"span_ends", model->faults.spans_without_end},
        {"span_begins", model->faults.spans_without_begin},
    };
    size_t own_count = sizeof(own) / sizeof(own[0]);
    trace->lost.items = st_arena_array(answer->arena, ST_LOST_CAUSES + own_count, sizeof(*trace->lost.items));
    for (int cause = 1; trace->lost.items && cause < ST_LOST_CAUSES; cause++) {
        int64_t count = lost_count(model, cause);
        trace->lost.items[trace->lost.count++] = (struct st_report_count){lost_names[cause], count};
        trace->lost_events += count;
    }
    for (size_t i = 0; trace->lost.items && i < own_count; i++) {
        trace->lost.items[trace->lost.count++] = own[i];
    }
    return trace->lost.items != NULL;
}

static struct st_figure counter(const struct st_model *model, const char *name)
{
    struct st_figure figure = {0, false};
    figure.known = st_model_counter(model, name, &figure.value);
    return figure;
}

/* Which calls were not seen, as far as that can be told. */
static bool fill_completeness(struct st_answer *answer, struct st_report_completeness *completeness)
{
    const struct st_model *model = answer->model;
    struct st_name_list *unreached = &completeness->out_of_reach;
    for (size_t i = 0; i < model->call_count; i++) {
        const struct st_call *call = &model->calls[i];
        const struct st_model_calldef *def = &model->calldefs[call->call];
        bool is_launch = def->class == ST_CLASS_LAUNCH || def->class == ST_CLASS_GRAPH_LAUNCH;
        if (is_launch && call->result == 0 && def->layer == ST_LAYER_RUNTIME) {
            completeness->runtime_without_driver += !(call->flags & ST_CALL_HAS_INNER);
        } else if (is_launch && call->result == 0) {
            completeness->driver_without_runtime += !(call->flags & ST_CALL_INNER);
        }
    }
    unreached->items = st_arena_array(answer->arena, model->key_count, sizeof(*unreached->items));
    for (size_t i = 0; unreached->items && i < model->key_count; i++) {
        const struct st_model_key *key = &model->keys[i];
        bool is_new = key->group == ST_KEY_NOTE && strcmp(key->key, "out of reach") == 0;
        for (size_t k = 0; is_new && k < unreached->count; k++) {
            is_new = strcmp(unreached->items[k], key->value) != 0; /* told again with each state of the trace */
        }
        if (is_new) {
            unreached->items[unreached->count++] = key->value;
        }
    }
    completeness->untracked_captures = counter(model, "capture.untracked");
    return unreached->items != NULL;
}

static bool fill_trace(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    struct st_report_trace *trace = st_arena_array(answer->arena, 1, sizeof(*trace));
    if (!trace) {
        return false;
    }
    report->traces = trace;
    report->trace_count = 1;
    *trace = (struct st_report_trace){
        .file = model->file,
        .pid = model->header.pid,
        .program = st_model_key(model, ST_KEY_FOUND, "program"),
        .mode = st_model_key(model, ST_KEY_SETTING, "mode"),
        .complete = st_reader_is_complete(&model->summary),
        .live = model->is_live,
        .end_ns = model->end_ns,
        .clock_source = model->header.flags & ST_HEADER_TSC ? "tsc" : "monotonic_raw",
        .clock_residual_ns = {model->clock_residual_ns, model->clock_residual_known},
        .monotonic_start_ns = (int64_t)model->header.start_monotonic_ns,
        .realtime_start_ns = (int64_t)model->header.start_realtime_ns,
        .own_overhead_ns = counter(model, "own_overhead_ns"),
        .lookups_asked = counter(model, "lookups.asked"),
        .lookups_found = counter(model, "lookups.found"),
        .lookups_wrapped = counter(model, "lookups.wrapped"),
        .lookups_passed = counter(model, "lookups.passed"),
        .lookups_not_found = counter(model, "lookups.not_found"),
    };
    trace->not_intercepted = st_arena_array(answer->arena, model->missed_count, sizeof(*trace->not_intercepted));
    for (size_t i = 0; trace->not_intercepted && i < model->missed_count; i++) {
        const struct st_model_missed *missed = &model->missed[i];
        trace->not_intercepted[trace->not_intercepted_count++] =
            (struct st_report_missed){missed->symbol, missed->version, missed->flags, missed->caller};
    }
    report->simulated = (model->header.flags & ST_HEADER_SIMULATED) != 0 ||
                        st_model_key(model, ST_KEY_FOUND, "simulated") != NULL; /* found after the header was written */
    report->live = model->is_live;
    report->device_known_until_ns = (struct st_figure){model->device_known_until_ns,
                                                       model->has_device_time && !model->summary.has_end &&
                                                           model->device_known_until_ns > INT64_MIN};
    report->requests_without_device_time = model->faults.requests_uncovered;
    return trace->not_intercepted && fill_completeness(answer, &trace->completeness) && list_lost(answer, trace);
}

static bool fill_devices(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    report->devices = st_arena_array(answer->arena, model->device_count, sizeof(*report->devices));
    for (size_t i = 0; report->devices && i < model->device_count; i++) {
        const struct st_model_device *device = &model->devices[i];
        int64_t *pid = st_arena_array(answer->arena, 1, sizeof(*pid));
        if (!pid) {
            return false;
        }
        *pid = model->header.pid;
        report->devices[report->device_count++] =
            (struct st_report_device){.device = device->device,
                                      .uuid = device->uuid[0] ? device->uuid : NULL,
                                      .name = device->name[0] ? device->name : NULL,
                                      .pids = pid,
                                      .pid_count = 1};
    }
    return report->devices != NULL;
}

static const char *state_name(unsigned state)
{
    static const char *const names[] = {
        [ST_CAP_NOT_COLLECTED] = "not_collected", [ST_CAP_REQUESTED] = "requested", [ST_CAP_ACCEPTED] = "accepted",
        [ST_CAP_SEEN] = "seen",                   [ST_CAP_DEGRADED] = "degraded"};
    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "not_collected";
}

static bool fill_capabilities(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    report->capabilities = st_arena_array(answer->arena, model->capability_count, sizeof(*report->capabilities));
    report->not_collected.items =
        st_arena_array(answer->arena, model->capability_count, sizeof(*report->not_collected.items));
    if (!report->capabilities || !report->not_collected.items) {
        return false;
    }
    for (size_t i = 0; i < model->capability_count; i++) {
        const struct st_model_capability *capability = &model->capabilities[i];
        report->capabilities[report->capability_count++] = (struct st_report_capability){
            capability->kind, state_name(capability->state), capability->source, capability->why};
        if (capability->state == ST_CAP_NOT_COLLECTED || capability->state == ST_CAP_DEGRADED) {
            report->not_collected.items[report->not_collected.count++] =
                capability->why[0] ? st_arena_format(answer->arena, "%s (%s)", capability->kind, capability->why)
                                   : capability->kind;
        }
    }
    report->device_time = model->has_device_time ? "measured" : "not_collected";
    const char *version = st_model_key(model, ST_KEY_FOUND, "cupti.version");
    if (model->has_device_time && version) {
        report->device_time_source = st_arena_format(answer->arena, "CUPTI %s", version);
    }
    return true;
}

static bool fill_manifest(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    report->declared.items = st_arena_array(answer->arena, model->key_count, sizeof(*report->declared.items));
    report->found.items = st_arena_array(answer->arena, model->key_count, sizeof(*report->found.items));
    if (!report->declared.items || !report->found.items) {
        return false;
    }
    for (size_t i = 0; i < model->key_count; i++) {
        const struct st_model_key *key = &model->keys[i];
        struct st_text_list *list = key->group == ST_KEY_DECLARED ? &report->declared
                                    : key->group == ST_KEY_FOUND  ? &report->found
                                                                  : NULL;
        if (list) {
            size_t at = 0;
            while (at < list->count && strcmp(list->items[at].key, key->key) != 0) {
                at++; /* the same key again: the later value */
            }
            list->items[at] = (struct st_report_text){key->key, key->value};
            list->count += at == list->count;
        }
        if (key->group == ST_KEY_NOTE &&
            !st_answer_note(answer, st_arena_format(answer->arena, "%s: %s", key->key, key->value))) {
            return false;
        }
    }
    return true;
}

/* A span that a rule opened proves that it matched, whatever its count says. */
static bool has_span(const struct st_model *model, uint32_t rule)
{
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].rule == rule) {
            return true;
        }
    }
    return false;
}

/* The counts of the rules are written when the trace is closed: of one that just ends, no rule is accused. */
static bool fill_unmatched_rules(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_name_list *list = &answer->report->unmatched_rules;
    bool is_open = !model->summary.has_end, is_silent = false;
    list->items = st_arena_array(answer->arena, model->rule_count, sizeof(*list->items));
    for (size_t i = 0; list->items && i < model->rule_count; i++) {
        const struct st_model_rule *rule = &model->rules[i];
        bool is_kernel = rule->source == ST_MAP_KERNEL;
        if (rule->matched > 0 || (is_kernel ? !model->has_device_time : has_span(model, rule->rule))) {
            continue;
        }
        if (is_open) {
            is_silent = true;
        } else {
            list->items[list->count++] = rule->line;
        }
    }
    return list->items != NULL &&
           (!is_silent || st_answer_note(answer, "unmatched_rules: not told, as the trace was not closed"));
}

bool st_answer_facts(struct st_answer *answer)
{
    answer->report->cuda_work_seen = answer->model->op_count > 0;
    for (size_t i = 0; !answer->report->cuda_work_seen && i < answer->model->call_count; i++) {
        answer->report->cuda_work_seen = answer->model->calls[i].counts_as != ST_COUNTS_NOT;
    }
    return fill_trace(answer) && fill_devices(answer) && fill_capabilities(answer) && fill_manifest(answer) &&
           fill_unmatched_rules(answer);
}
