/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, requests and lists of the report document; see report_json.c. One thread. */
#include "analyzer/render/report_json_rows.h"

#include "analyzer/render/views.h"

void st_json_figure(struct st_json *json, const char *key, struct st_figure figure)
{
    if (figure.known) {
        st_json_int(json, key, figure.value);
    } else {
        st_json_null(json, key);
    }
}

void st_json_id(struct st_json *json, const char *key, struct st_report_id id)
{
    char text[ST_REQUEST_BYTES];

    if (id.process == NULL) {
        st_json_int(json, key, id.number);
    } else {
        st_json_string(json, key, st_request_name(id, text));
    }
}

static void write_sum(struct st_json *json, const char *key, const struct st_report_transfer_sum *sum)
{
    st_json_object(json, key);
    st_json_figure(json, "count", sum->count);
    st_json_figure(json, "bytes", sum->bytes);
    st_json_figure(json, "busy_ns", sum->busy_ns);
    st_json_end(json);
}

static void write_row_devices(struct st_json *json, const struct st_report_row *row)
{
    if (!row->device_known) {
        st_json_null(json, "device");
        return;
    }
    st_json_array(json, "device");
    for (size_t i = 0; i < row->device_count; i++) {
        const struct st_report_row_device *device = &row->devices[i];

        st_json_object(json, NULL);
        st_json_int(json, "device", device->device);
        st_json_int(json, "busy_ns", device->busy_ns);
        st_json_int(json, "compute_ns", device->compute_ns);
        st_json_int(json, "copy_only_ns", device->copy_only_ns);
        st_json_int(json, "self_ns", device->self_ns);
        st_json_end(json);
    }
    st_json_end(json);
}

static void write_row(struct st_json *json, const struct st_report_row *row)
{
    static const char *const kinds[ST_COPY_KINDS] = {
        [ST_COPY_H2D] = "h2d", [ST_COPY_D2H] = "d2h", [ST_COPY_D2D] = "d2d", [ST_COPY_P2P] = "p2p"};

    st_json_object(json, NULL);
    st_json_string(json, "name", row->name);
    st_json_int(json, "calls", row->calls);
    st_json_figure(json, "wall_share_ns", row->wall_share_ns);
    st_json_figure(json, "host_inclusive_ns", row->host_inclusive_ns);
    st_json_figure(json, "host_self_ns", row->host_self_ns);
    st_json_figure(json, "own_cpu_ns", row->own_cpu_ns);
    st_json_figure(json, "off_cpu_ns", row->off_cpu_ns);
    st_json_figure(json, "in_cuda_ns", row->in_cuda_ns);
    st_json_figure(json, "waiting_ns", row->waiting_ns);
    write_row_devices(json, row);
    st_json_figure(json, "launches", row->launches);
    st_json_figure(json, "launches_self", row->launches_self);
    st_json_figure(json, "graph_launches", row->graph_launches);
    st_json_figure(json, "graph_nodes", row->graph_nodes);
    st_json_figure(json, "captured", row->captured);
    st_json_figure(json, "failed", row->failed);
    write_sum(json, "memsets", &row->memsets);
    st_json_object(json, "copies");
    for (int kind = 0; kind < ST_COPY_KINDS; kind++) write_sum(json, kinds[kind], &row->copies[kind]);
    st_json_end(json);
    st_json_string(json, "edges", row->edges);
    st_json_figure(json, "edges_doubt_ns", row->edges_doubt_ns);
    st_json_string(json, "device_time", row->device_time);
    st_json_end(json);
}

void st_json_rows(struct st_json *json, const char *key, const struct st_report_row *rows, size_t count)
{
    st_json_array(json, key);
    for (size_t i = 0; i < count; i++) write_row(json, &rows[i]);
    st_json_end(json);
}

/* Durations by name, as one object. */
static void write_causes(struct st_json *json, const char *key, const struct st_report_cause *causes, size_t count)
{
    st_json_object(json, key);
    for (size_t i = 0; i < count; i++) st_json_int(json, causes[i].cause, causes[i].duration_ns);
    st_json_end(json);
}

static void write_request_device(struct st_json *json, const struct st_report_request_device *device)
{
    st_json_object(json, NULL);
    st_json_int(json, "device", device->device);
    st_json_int(json, "busy_ns", device->busy_ns);
    st_json_int(json, "stages_self_ns", device->stages_self_ns);
    st_json_int(json, "shared_ns", device->shared_ns);
    write_causes(json, "shared_by_set", device->shared_by_set, device->shared_count);
    st_json_int(json, "unattributed_ns", device->unattributed_ns);
    st_json_int(json, "other_ns", device->other_ns);
    st_json_int(json, "overlap_other_ns", device->overlap_other_ns);
    st_json_int(json, "idle_ns", device->idle_ns);
    write_causes(json, "idle_by_cause", device->idle_by_cause, device->cause_count);
    st_json_int(json, "residual_ns", device->residual_ns);
    st_json_end(json);
}

static const char *phase_name(enum st_phase phase)
{
    static const char *const names[] = {
        [ST_PHASE_NONE] = NULL, [ST_PHASE_FIRST] = "first", [ST_PHASE_WARMUP] = "warmup", [ST_PHASE_STEADY] = "steady"};

    return names[phase];
}

static void write_request(struct st_json *json, const struct st_report_request *request)
{
    st_json_object(json, NULL);
    st_json_id(json, "id", request->id);
    st_json_bool(json, "complete", request->complete);
    st_json_string(json, "thread", request->thread);
    st_json_string(json, "shape", request->shape);
    st_json_string(json, "phase", phase_name(request->phase));
    st_json_int(json, "begin_ns", request->begin_ns);
    st_json_figure(json, "wall_ns", request->wall_ns);
    st_json_figure(json, "host_return_ns", request->host_return_ns);
    st_json_figure(json, "device_done_ns", request->device_done_ns);
    st_json_figure(json, "wall_with_tail_ns", request->wall_with_tail_ns);
    st_json_int(json, "steps", request->steps);
    if (request->devices_known) {
        st_json_array(json, "devices");
        for (size_t i = 0; i < request->device_count; i++) write_request_device(json, &request->devices[i]);
        st_json_end(json);
    } else {
        st_json_null(json, "devices");
    }
    st_json_rows(json, "stages", request->stages, request->stage_count);
    st_json_rows(json, "after", request->after, request->after_count);
    st_json_end(json);
}

void st_json_requests(struct st_json *json, const struct st_report *report)
{
    st_json_array(json, "requests");
    for (size_t i = 0; i < report->request_count; i++) write_request(json, &report->requests[i]);
    st_json_end(json);
}

/* Begin the list `key`, or write null and return false where it was not collected. */
static bool begin_list(struct st_json *json, const char *key, bool known)
{
    if (known) {
        st_json_array(json, key);
    } else {
        st_json_null(json, key);
    }
    return known;
}

static void write_gap(struct st_json *json, const struct st_report_gap *gap)
{
    st_json_object(json, NULL);
    if (gap->request.number > 0) {
        st_json_id(json, "request", gap->request);
    } else {
        st_json_null(json, "request"); /* outside of requests */
    }
    st_json_int(json, "device", gap->device);
    st_json_int(json, "start_ns", gap->start_ns);
    st_json_int(json, "duration_ns", gap->duration_ns);
    st_json_string(json, "before", gap->before);
    st_json_string(json, "after", gap->after);
    st_json_string(json, "cause", gap->cause);
    st_json_array(json, "parts");
    for (size_t i = 0; i < gap->part_count; i++) {
        st_json_object(json, NULL);
        st_json_string(json, "cause", gap->parts[i].cause);
        st_json_int(json, "duration_ns", gap->parts[i].duration_ns);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_object(json, "drained_by");
    st_json_string(json, "why", gap->drained_why);
    st_json_string(json, "call", gap->drained_call);
    st_json_string(json, "stage", gap->drained_stage);
    st_json_end(json);
    st_json_end(json);
}

void st_json_gaps(struct st_json *json, const struct st_report *report)
{
    if (begin_list(json, "gaps", report->gaps_known)) {
        for (size_t i = 0; i < report->gap_count; i++) write_gap(json, &report->gaps[i]);
        st_json_end(json);
    }
    if (!report->gaps_known) {
        st_json_null(json, "gaps_total");
        return;
    }
    st_json_object(json, "gaps_total");
    st_json_int(json, "count", report->gaps_total_count);
    st_json_int(json, "duration_ns", report->gaps_total_ns);
    st_json_end(json);
}

void st_json_syncs(struct st_json *json, const struct st_report *report)
{
    if (!begin_list(json, "syncs", report->syncs_known)) return;
    for (size_t i = 0; i < report->sync_count; i++) {
        const struct st_report_sync *sync = &report->syncs[i];

        st_json_object(json, NULL);
        st_json_string(json, "call", sync->call);
        st_json_int(json, "count", sync->count);
        st_json_int(json, "wait_ns", sync->wait_ns);
        st_json_string(json, "blocked_stage", sync->blocked_stage);
        if (sync->awaited_known) {
            write_causes(json, "awaited_stages", sync->awaited_stages, sync->awaited_count);
        } else {
            st_json_null(json, "awaited_stages");
        }
        st_json_end(json);
    }
    st_json_end(json);
}

void st_json_host_functions(struct st_json *json, const struct st_report *report)
{
    st_json_array(json, "host_functions");
    for (size_t i = 0; i < report->host_function_count; i++) {
        const struct st_report_host_function *function = &report->host_functions[i];

        st_json_object(json, NULL);
        st_json_string(json, "function", function->function);
        st_json_string(json, "stage", function->stage);
        st_json_int(json, "count", function->count);
        st_json_int(json, "total_ns", function->total_ns);
        st_json_int(json, "min_ns", function->min_ns);
        st_json_int(json, "median_ns", function->median_ns);
        st_json_int(json, "max_ns", function->max_ns);
        st_json_end(json);
    }
    st_json_end(json);
    st_json_object(json, "host_functions_total");
    st_json_int(json, "handed_over", report->host_handed_count);
    st_json_int(json, "captured", report->host_captured_count);
    st_json_int(json, "ran", report->host_run_count);
    st_json_end(json);
}

void st_json_kernels(struct st_json *json, const struct st_report *report)
{
    if (!begin_list(json, "kernels", report->kernels_known)) return;
    for (size_t i = 0; i < report->kernel_count; i++) {
        const struct st_report_kernel *kernel = &report->kernels[i];

        st_json_object(json, NULL);
        st_json_string(json, "name", kernel->name);
        st_json_string(json, "stage", kernel->stage);
        st_json_int(json, "count", kernel->count);
        st_json_int(json, "total_ns", kernel->total_ns);
        st_json_int(json, "min_ns", kernel->min_ns);
        st_json_int(json, "median_ns", kernel->median_ns);
        st_json_int(json, "max_ns", kernel->max_ns);
        if (kernel->per_step_milli.known) {
            st_json_decimal(json, "per_step", kernel->per_step_milli.value, 3);
        } else {
            st_json_null(json, "per_step");
        }
        st_json_end(json);
    }
    st_json_end(json);
}

void st_json_transfers(struct st_json *json, const struct st_report *report)
{
    if (!begin_list(json, "transfers", report->transfers_known)) return;
    for (size_t i = 0; i < report->transfer_count; i++) {
        const struct st_report_transfer *transfer = &report->transfers[i];

        st_json_object(json, NULL);
        st_json_string(json, "direction", transfer->direction);
        st_json_string(json, "kind", transfer->kind);
        st_json_string(json, "stage", transfer->stage);
        st_json_int(json, "count", transfer->count);
        st_json_int(json, "bytes", transfer->bytes);
        st_json_int(json, "busy_ns", transfer->busy_ns);
        st_json_figure(json, "rate_bytes_per_s", transfer->rate_bytes_per_s);
        st_json_figure(json, "exposed_ns", transfer->exposed_ns);
        st_json_figure(json, "repeats", transfer->repeats);
        st_json_figure(json, "round_trips", transfer->round_trips);
        st_json_end(json);
    }
    st_json_end(json);
}
