/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says about the traces themselves: completeness, losses, clock, look-ups; and their devices. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"

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

static int64_t lost_count(const struct st_model_trace *trace, int cause)
{
    char name[64] = "lost.";
    int64_t count = 0;
    strncat(name, lost_names[cause], sizeof(name) - strlen(name) - 1);
    st_model_counter(trace, name, &count);
    if (trace->faults.lost_by_cause[cause] > count) { /* rows came after the last totals */
        count = trace->faults.lost_by_cause[cause];
    }
    if (cause == ST_LOST_RING_FULL && (int64_t)trace->summary.ring_lost > count) { /* read from the rings themselves */
        count = (int64_t)trace->summary.ring_lost;
    }
    return count;
}

static bool list_lost(struct st_answer *answer, const struct st_model_trace *source, struct st_report_trace *trace)
{
    const struct st_report_count own[] = {
        {"unmatched_device", source->faults.unmatched_device},
        {"launches_without_record", source->faults.launches_without_record},
        {"missing_chunks", (int64_t)source->summary.missing_chunks},
        {"damaged_chunks", (int64_t)source->summary.damaged_chunks},
        {"cut_bytes", (int64_t)(source->summary.trailing_bytes + source->summary.skipped_bytes)},
        {"invalid_times", source->faults.invalid_times},
        {"span_ends", source->faults.spans_without_end},
        {"span_begins", source->faults.spans_without_begin},
    };
    size_t own_count = sizeof(own) / sizeof(own[0]);
    trace->lost.items = st_arena_array(answer->arena, ST_LOST_CAUSES + own_count, sizeof(*trace->lost.items));
    for (int cause = 1; trace->lost.items && cause < ST_LOST_CAUSES; cause++) {
        int64_t count = lost_count(source, cause);
        trace->lost.items[trace->lost.count++] = (struct st_report_count){lost_names[cause], count};
        trace->lost_events += count;
    }
    for (size_t i = 0; trace->lost.items && i < own_count; i++) {
        trace->lost.items[trace->lost.count++] = own[i];
    }
    return trace->lost.items != NULL;
}

static struct st_figure counter(const struct st_model_trace *trace, const char *name)
{
    struct st_figure figure = {0, false};
    figure.known = st_model_counter(trace, name, &figure.value);
    return figure;
}

/* Which calls were not seen, as far as that can be told. */
static bool fill_completeness(struct st_answer *answer, const struct st_model_trace *trace,
                              struct st_report_completeness *completeness)
{
    const struct st_model *model = answer->model;
    struct st_name_list *unreached = &completeness->out_of_reach;
    for (size_t i = trace->call_first; i < trace->call_end; i++) {
        const struct st_call *call = &model->calls[i];
        const struct st_model_calldef *def = &model->calldefs[call->call];
        bool is_launch = def->class == ST_CLASS_LAUNCH || def->class == ST_CLASS_GRAPH_LAUNCH;
        if (is_launch && call->result == 0 && def->layer == ST_LAYER_RUNTIME) {
            completeness->runtime_without_driver += !(call->flags & ST_CALL_HAS_INNER);
        } else if (is_launch && call->result == 0) {
            completeness->driver_without_runtime += !(call->flags & ST_CALL_INNER);
        }
    }
    unreached->items = st_arena_array(answer->arena, trace->key_count, sizeof(*unreached->items));
    for (size_t i = 0; unreached->items && i < trace->key_count; i++) {
        const struct st_model_key *key = &trace->keys[i];
        bool is_new = key->group == ST_KEY_NOTE && strcmp(key->key, "out of reach") == 0;
        for (size_t k = 0; is_new && k < unreached->count; k++) {
            is_new = strcmp(unreached->items[k], key->value) != 0; /* told again with each state of the trace */
        }
        if (is_new) {
            unreached->items[unreached->count++] = key->value;
        }
    }
    completeness->untracked_captures = counter(trace, "capture.untracked");
    return unreached->items != NULL;
}

static bool has_launched(const struct st_model *model, const struct st_model_trace *trace)
{
    for (uint32_t i = trace->call_first; i < trace->call_end; i++) {
        const struct st_call *call = &model->calls[i];
        if (call->counts_as != ST_COUNTS_NOT && call->result == 0 && !(call->flags & ST_CALL_CAPTURED)) {
            return true;
        }
    }
    return false;
}

static bool fill_trace(struct st_answer *answer, const struct st_model_trace *source, struct st_report_trace *trace)
{
    *trace = (struct st_report_trace){
        .file = source->file,
        .pid = source->header.pid,
        .process = source->process,
        .program = st_model_key(source, ST_KEY_FOUND, "program"),
        .mode = st_model_key(source, ST_KEY_SETTING, "mode"),
        .complete = st_reader_is_complete(&source->summary),
        .live = source->is_live,
        .window = source->window,
        .misses_device_time = !source->has_device_time && has_launched(answer->model, source),
        .end_ns = source->end_ns,
        .clock_source = source->header.flags & ST_HEADER_TSC ? "tsc" : "monotonic_raw",
        .clock_residual_ns = {source->clock_residual_ns, source->clock_residual_known},
        .monotonic_start_ns = (int64_t)source->header.start_monotonic_ns,
        .realtime_start_ns = (int64_t)source->header.start_realtime_ns,
        .own_overhead_ns = counter(source, "own_overhead_ns"),
        .lookups_asked = counter(source, "lookups.asked"),
        .lookups_found = counter(source, "lookups.found"),
        .lookups_wrapped = counter(source, "lookups.wrapped"),
        .lookups_passed = counter(source, "lookups.passed"),
        .lookups_not_found = counter(source, "lookups.not_found"),
    };
    trace->not_intercepted = st_arena_array(answer->arena, source->missed_count, sizeof(*trace->not_intercepted));
    for (size_t i = 0; trace->not_intercepted && i < source->missed_count; i++) {
        const struct st_model_missed *missed = &source->missed[i];
        trace->not_intercepted[trace->not_intercepted_count++] =
            (struct st_report_missed){missed->symbol, missed->version, missed->flags, missed->caller};
    }
    return trace->not_intercepted && st_answer_map(answer, source, trace) &&
           fill_completeness(answer, source, &trace->completeness) && list_lost(answer, source, trace);
}

/* What is said of the run as a whole. */
static void sum_up(struct st_report *report, const struct st_model_trace *trace)
{
    struct st_figure *until = &report->device_known_until_ns; /* the earliest of those that just end */
    report->simulated = report->simulated || (trace->header.flags & ST_HEADER_SIMULATED) != 0 ||
                        st_model_key(trace, ST_KEY_FOUND, "simulated") != NULL; /* found after the header was written */
    report->live = report->live || trace->is_live;
    report->requests_without_device_time += trace->faults.requests_uncovered;
    if (trace->has_device_time && !trace->summary.has_end && trace->device_known_until_ns > INT64_MIN &&
        (!until->known || trace->device_known_until_ns < until->value)) {
        *until = st_known(trace->device_known_until_ns);
    }
}

static bool fill_traces(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    report->traces = st_arena_array(answer->arena, model->trace_count, sizeof(*report->traces));
    for (size_t i = 0; report->traces && i < model->trace_count; i++) {
        sum_up(report, &model->traces[i]);
        if (!fill_trace(answer, &model->traces[i], &report->traces[report->trace_count++])) {
            return false;
        }
    }
    return report->traces != NULL;
}

static int by_number(const void *left, const void *right)
{
    const struct st_report_device *a = left, *b = right;
    return (a->device > b->device) - (a->device < b->device);
}

static struct st_report_device *find_device(struct st_report *report, int64_t device)
{
    for (size_t i = 0; i < report->device_count; i++) {
        if (report->devices[i].device == device) {
            return &report->devices[i];
        }
    }
    return NULL;
}

/* One more process that sees the device. There is room for one of each trace. */
static bool add_user(struct st_answer *answer, const struct st_model_trace *trace, const struct st_model_device *seen,
                     struct st_report_device *device)
{
    size_t most = answer->model->trace_count;
    if (!device->users) {
        device->users = st_arena_array(answer->arena, most, sizeof(*device->users));
        device->pids = st_arena_array(answer->arena, most, sizeof(*device->pids));
    }
    if (!device->users || !device->pids || device->user_count == most) {
        return device->users && device->pids;
    }
    size_t pid = 0;
    while (pid < device->pid_count && device->pids[pid] != trace->header.pid) {
        pid++;
    }
    device->pids[pid] = trace->header.pid;
    device->pid_count += pid == device->pid_count;
    device->users[device->user_count++] = (struct st_report_user){trace->process, seen->ordinal};
    return true;
}

static bool fill_devices(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    size_t total = 0;
    for (size_t i = 0; i < model->trace_count; i++) {
        total += model->traces[i].device_count;
    }
    report->devices = st_arena_array(answer->arena, total, sizeof(*report->devices));
    for (size_t i = 0; report->devices && i < model->trace_count; i++) {
        const struct st_model_trace *trace = &model->traces[i];
        for (size_t k = 0; k < trace->device_count; k++) {
            const struct st_model_device *seen = &trace->devices[k];
            struct st_report_device *device = find_device(report, seen->device);
            if (!device) {
                device = &report->devices[report->device_count++];
                *device = (struct st_report_device){.device = seen->device,
                                                    .uuid = seen->uuid[0] ? seen->uuid : NULL,
                                                    .name = seen->name[0] ? seen->name : NULL};
            }
            if (!add_user(answer, trace, seen, device)) {
                return false;
            }
        }
    }
    if (report->devices) {
        st_vec_sort(report->devices, report->device_count, sizeof(*report->devices), by_number);
    }
    return report->devices != NULL;
}

bool st_answer_facts(struct st_answer *answer)
{
    answer->report->cuda_work_seen = answer->model->op_count > 0;
    for (size_t i = 0; i < answer->model->trace_count; i++) { /* what was not looked at is not known to be none */
        answer->report->cuda_work_seen = answer->report->cuda_work_seen || answer->model->traces[i].window;
    }
    for (size_t i = 0; !answer->report->cuda_work_seen && i < answer->model->call_count; i++) {
        answer->report->cuda_work_seen = answer->model->calls[i].counts_as != ST_COUNTS_NOT;
    }
    return fill_traces(answer) && fill_devices(answer);
}
