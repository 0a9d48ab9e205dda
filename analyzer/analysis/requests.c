/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, what follows them, and what lies outside: the analyses of one group put together into rows.
 * The identity is checked here: the sweep gives self, shared, unattributed, other; gaps.c gives idle.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"
#include "gaps.h"
#include "selftime.h"
#include "stats.h"

enum { TOLERATED_UNSPLIT_NS = 20000 }; /* own code without a CPU reading up to this, or 1 %, does not matter */

/* What is reused from group to group. */
struct workplace {
    struct st_answer *answer;
    struct st_rowset set;
    struct st_gap_list gaps;  /* of the selected requests, all devices */
    uint32_t *gap_requests;   /* beside it: request index */
    size_t gap_request_capacity;
    bool has_device_time;  /* of the group at hand, or nothing is told: all of its processes have it … */
    bool has_all_records;  /* … and lost none */
    bool is_partial;       /* of the group at hand, there are only boundaries */
};

/* What the processes that have a part in the group tell of the devices. */
static void look_at_traces(struct workplace *work, const struct st_request_view *view)
{
    const struct st_model *model = view->model;
    size_t first = view->request ? view->request->trace : 0, end = view->request ? first + 1 : model->trace_count;
    work->has_device_time = work->has_all_records = true;
    work->is_partial = view->request && view->request->is_partial;
    for (size_t i = first; i < end; i++) {
        const struct st_model_trace *trace = &model->traces[i];
        work->has_device_time = work->has_device_time && trace->has_device_time;
        work->is_partial = work->is_partial || (!view->request && trace->window);
        work->has_all_records = work->has_all_records && trace->has_device_time && trace->summary.has_end &&
                                trace->faults.lost_by_cause[ST_LOST_DEVICE_DROPPED] == 0 &&
                                trace->faults.lost_by_cause[ST_LOST_DEVICE_UNREAD] == 0;
    }
}

/* ---- rows ---- */

/* Order of the rows on the page: parents before children, by first entry; "unattributed" last. */
static int by_page(const void *left, const void *right, void *context)
{
    const struct st_rowset *set = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct st_model_row *rows = set->model->rows;
    uint32_t low_a = a, low_b = b; /* lifted to the same parent */
    while (rows[set->sums[low_a].row].depth > rows[set->sums[low_b].row].depth) {
        low_a = set->sums[low_a].parent;
    }
    while (rows[set->sums[low_b].row].depth > rows[set->sums[low_a].row].depth) {
        low_b = set->sums[low_b].parent;
    }
    if (low_a == low_b) { /* one is above the other */
        return (rows[set->sums[a].row].depth > rows[set->sums[b].row].depth) -
               (rows[set->sums[a].row].depth < rows[set->sums[b].row].depth);
    }
    while (set->sums[low_a].parent != set->sums[low_b].parent) {
        low_a = set->sums[low_a].parent;
        low_b = set->sums[low_b].parent;
    }
    const struct st_row_sums *x = &set->sums[low_a], *y = &set->sums[low_b];
    bool bare_x = x->row == ST_ROW_UNATTRIBUTED, bare_y = y->row == ST_ROW_UNATTRIBUTED;
    if (bare_x != bare_y) {
        return bare_x ? 1 : -1;
    }
    return x->first_ns != y->first_ns ? (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns)
                                      : (x->row > y->row) - (x->row < y->row);
}

static struct st_report_transfer_sum transfer_sum(const struct st_row_transfers *sums, bool has_device_time)
{
    return (struct st_report_transfer_sum){
        st_known(sums->count), st_known(sums->bytes), {sums->busy_ns, has_device_time}};
}

/* The four parts of host time. A little that is not split does not matter: it counts as on a CPU. */
static void host_figures(const struct st_row_sums *sums, struct st_report_row *row)
{
    int64_t share = sums->host_inclusive_ns / 100;
    int64_t tolerated = share > TOLERATED_UNSPLIT_NS ? share : TOLERATED_UNSPLIT_NS;
    if (sums->is_foreign) {
        return;
    }
    row->host_inclusive_ns = st_known(sums->host_inclusive_ns);
    row->host_self_ns = st_known(sums->host_self_ns);
    row->in_cuda_ns = st_known(sums->in_cuda_ns);
    row->waiting_ns = st_known(sums->waiting_ns);
    if (sums->unsplit_ns == 0 ||
        (sums->unsplit_ns <= tolerated && sums->own_cpu_ns + sums->off_cpu_ns > 0)) {
        row->own_cpu_ns = st_known(sums->own_cpu_ns + sums->unsplit_ns);
        row->off_cpu_ns = st_known(sums->off_cpu_ns);
    }
}

/* The device's records tell best; where they are not all there, what is known of the graphs does. */
static struct st_figure graph_nodes(const struct workplace *work, const struct st_row_sums *sums)
{
    if (!work->has_all_records && sums->graphs_untold == 0) {
        return st_known(sums->graph_nodes_told);
    }
    return (struct st_figure){sums->graph_nodes, work->has_device_time};
}

static bool has_edges(const struct st_row_sums *sums)
{
    return sums->row != ST_ROW_UNATTRIBUTED && !sums->is_foreign;
}

/* Calls and device work of the row were recorded in windows, if at all. */
static struct st_report_row boundaries_only(const struct st_report_row *row)
{
    return (struct st_report_row){.name = row->name,
                                  .calls = row->calls,
                                  .host_inclusive_ns = row->host_inclusive_ns,
                                  .host_self_ns = row->host_self_ns,
                                  .edges = row->edges,
                                  .device_time = "not_collected",
                                  .depth = row->depth};
}

static void fill_row(const struct workplace *work, const struct st_row_sums *sums, size_t device_count,
                     struct st_report_row *row)
{
    const struct st_model *model = work->answer->model;
    bool has_device_time = work->has_device_time && device_count > 0;
    *row = (struct st_report_row){.name = model->rows[sums->row].name,
                                  .calls = sums->calls,
                                  .device_known = has_device_time,
                                  .devices = sums->devices,
                                  .device_count = has_device_time ? device_count : 0,
                                  .launches = st_known(sums->launches),
                                  .launches_self = st_known(sums->launches_self),
                                  .graph_launches = st_known(sums->graph_launches),
                                  .graph_nodes = graph_nodes(work, sums),
                                  .captured = st_known(sums->captured),
                                  .failed = st_known(sums->failed),
                                  .memsets = transfer_sum(&sums->memsets, has_device_time),
                                  .edges = !has_edges(sums) ? NULL : sums->is_inferred ? "inferred" : "exact",
                                  .edges_doubt_ns = {sums->doubt_ns, has_edges(sums) && !sums->is_unbounded},
                                  .device_time = has_device_time ? "measured" : "not_collected",
                                  .depth = model->rows[sums->row].depth};
    for (int kind = 0; kind < ST_COPY_KINDS; kind++) {
        row->copies[kind] = transfer_sum(&sums->copies[kind], has_device_time);
    }
    host_figures(sums, row);
    if (work->is_partial) {
        *row = boundaries_only(row);
    }
}

/* The rows of the set in page order; shared_ns >= 0: wall shares are known, and more than 0 is a row. */
static bool make_rows(struct workplace *work, size_t device_count, int64_t shared_ns, struct st_report_row **ret_rows,
                      size_t *ret_count)
{
    const struct st_rowset *set = &work->set;
    uint32_t *order = malloc((set->count + 1) * sizeof(*order));
    struct st_report_row *rows = st_arena_array(work->answer->arena, set->count + 1, sizeof(*rows));
    size_t count = 0;
    for (size_t i = 0; order && i < set->count; i++) {
        order[i] = (uint32_t)i;
    }
    if (!order || !rows) {
        free(order);
        return false;
    }
    st_vec_sort_with(order, set->count, sizeof(*order), by_page, (void *)set);
    for (size_t i = 0; i < set->count; i++) {
        const struct st_row_sums *sums = &set->sums[order[i]];
        if (sums->row == ST_ROW_UNATTRIBUTED && shared_ns > 0) {
            rows[count++] = (struct st_report_row){
                .name = "shared", .wall_share_ns = st_known(shared_ns), .device_time = "measured"};
        }
        fill_row(work, sums, device_count, &rows[count]);
        rows[count].wall_share_ns = (struct st_figure){sums->wall_share_ns, shared_ns >= 0 && !work->is_partial};
        count++;
    }
    free(order);
    *ret_rows = rows;
    *ret_count = count;
    return st_rows_fit(rows, count) ||
           st_answer_note(work->answer, "rows do not add up: a defect of stagetap, please report it with the trace");
}

/* ---- devices ---- */

static int by_duration(const void *left, const void *right)
{
    const struct st_report_cause *a = left, *b = right;
    if (a->duration_ns != b->duration_ns) {
        return a->duration_ns > b->duration_ns ? -1 : 1;
    }
    return strcmp(a->cause, b->cause);
}

/* Idle of one device by cause, from the gaps [first, …) that were just found. */
static bool fill_idle(struct workplace *work, size_t first, struct st_report_request_device *device)
{
    int64_t by_cause[ST_CAUSES] = {0};
    for (size_t i = first; i < work->gaps.count; i++) {
        for (int cause = 0; cause < ST_CAUSES; cause++) {
            by_cause[cause] += work->gaps.gaps[i].by_cause[cause];
        }
    }
    device->idle_by_cause = st_arena_array(work->answer->arena, ST_CAUSES, sizeof(*device->idle_by_cause));
    for (int cause = 0; device->idle_by_cause && cause < ST_CAUSES; cause++) {
        if (by_cause[cause] > 0) {
            device->idle_by_cause[device->cause_count++] =
                (struct st_report_cause){st_cause_name((enum st_cause)cause), by_cause[cause]};
            device->idle_ns += by_cause[cause];
        }
    }
    if (device->idle_by_cause) {
        st_vec_sort(device->idle_by_cause, device->cause_count, sizeof(*device->idle_by_cause), by_duration);
    }
    return device->idle_by_cause != NULL;
}

/* Gaps are kept only for the selected requests and the asked device; the sums need those of all. request: ST_NONE for
 * those of a trace without requests. */
static bool keep_gaps(struct workplace *work, uint32_t request, int64_t device, size_t first)
{
    const struct st_report_options *options = work->answer->options;
    bool is_selected = request == ST_NONE || work->answer->selected[request];
    if (!is_selected || (options->device >= 0 && options->device != device)) {
        work->gaps.count = first;
        return true;
    }
    if (work->gaps.capacity > work->gap_request_capacity) {
        uint32_t *grown = realloc(work->gap_requests, work->gaps.capacity * sizeof(*grown));
        if (!grown) {
            return false;
        }
        work->gap_requests = grown;
        work->gap_request_capacity = work->gaps.capacity;
    }
    for (size_t i = first; i < work->gaps.count; i++) {
        work->gap_requests[i] = request;
    }
    return true;
}

static bool fill_devices(struct workplace *work, const struct st_request_view *view, uint32_t request,
                         const struct st_device_sums *sums, size_t count, struct st_report_request *ret)
{
    ret->devices = st_arena_array(work->answer->arena, count, sizeof(*ret->devices));
    ret->device_count = count;
    ret->devices_known = work->has_device_time && count > 0;
    for (size_t i = 0; ret->devices && i < count; i++) {
        struct st_report_request_device *device = &ret->devices[i];
        size_t first = work->gaps.count;
        *device = (struct st_report_request_device){.device = sums[i].device,
                                                    .busy_ns = sums[i].busy_ns,
                                                    .stages_self_ns = sums[i].self_ns,
                                                    .shared_ns = sums[i].shared_ns,
                                                    .unattributed_ns = sums[i].unattributed_ns,
                                                    .other_ns = sums[i].other_ns,
                                                    .overlap_other_ns = sums[i].overlap_other_ns,
                                                    .shared_by_set = sums[i].shared_by_set,
                                                    .shared_count = sums[i].shared_count};
        if (!st_gaps_find(view, sums[i].device, &work->gaps) || !fill_idle(work, first, device) ||
            !keep_gaps(work, request, sums[i].device, first)) {
            return false;
        }
        device->residual_ns = view->end_ns - view->begin_ns -
                              (device->stages_self_ns + device->shared_ns + device->unattributed_ns +
                               device->other_ns + device->idle_ns);
    }
    return ret->devices != NULL;
}

/* ---- groups ---- */

/* All figures of one group into work->set, then into rows. sums: ST_MAX_DEVICES of them. */
static bool analyse_group(struct workplace *work, const struct st_request_view *view, struct st_device_sums *sums,
                          size_t *ret_device_count, struct st_report_row **ret_rows, size_t *ret_count)
{
    int64_t devices[ST_MAX_DEVICES], shared_ns = -1;
    look_at_traces(work, view);
    int64_t asked = work->answer->options->device;
    size_t count = work->has_device_time ? st_view_devices(view, devices, ST_MAX_DEVICES) : 0;
    if (work->has_device_time && asked >= 0) { /* one that did nothing has zeros: that was measured */
        devices[0] = asked;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        sums[i] = (struct st_device_sums){.device = devices[i]};
    }
    st_rowset_reset(&work->set);
    if (view->request) { /* the row that the request's own time lands in stands in every table */
        st_rowset_add(&work->set, ST_ROW_UNATTRIBUTED, view->begin_ns);
    }
    *ret_device_count = count;
    return st_hosttime(view, &work->set) &&
           (!view->request || !view->request->is_complete || !work->has_device_time || work->is_partial ||
            st_wallshare(view, &work->set, &shared_ns)) &&
           st_selftime(view, &work->set, work->answer->arena, sums, count) &&
           make_rows(work, count, shared_ns, ret_rows, ret_count);
}

static bool group_rows(struct workplace *work, uint32_t group, struct st_report_row **ret_rows, size_t *ret_count,
                       int64_t *ret_end_ns)
{
    struct st_request_view view;
    struct st_device_sums sums[ST_MAX_DEVICES];
    size_t device_count;
    st_view_of_group(work->answer->model, group, &view);
    if (ret_end_ns) {
        *ret_end_ns = view.end_ns;
    }
    return analyse_group(work, &view, sums, &device_count, ret_rows, ret_count);
}

static bool fill_request(struct workplace *work, uint32_t index, struct st_report_request *ret);

static bool fill_windows(struct workplace *work, uint32_t request, struct st_report_request *ret)
{
    const struct st_model *model = work->answer->model;
    size_t count = 0;
    for (size_t i = 0; i < model->request_count; i++) {
        count += model->requests[i].window_of == request;
    }
    ret->windows = st_arena_array(work->answer->arena, count, sizeof(*ret->windows));
    for (size_t i = 0; ret->windows && i < model->request_count; i++) {
        if (model->requests[i].window_of == request &&
            !fill_request(work, (uint32_t)i, &ret->windows[ret->window_count++])) {
            return false;
        }
    }
    return ret->windows != NULL;
}

static bool fill_request(struct workplace *work, uint32_t index, struct st_report_request *ret)
{
    struct st_answer *answer = work->answer;
    const struct st_model_request *request = &answer->model->requests[index];
    struct st_request_view view;
    struct st_device_sums sums[ST_MAX_DEVICES];
    size_t device_count = 0;
    int64_t tail_end_ns = 0;
    st_view_of_group(answer->model, st_group_of_request(index), &view);
    *ret = (struct st_report_request){.id = st_answer_id(answer, index),
                                      .complete = request->is_complete,
                                      .thread = request->thread == ST_NONE
                                                    ? ""
                                                    : answer->model->threads[request->thread].name,
                                      .shape = answer->shapes[index],
                                      .phase = answer->phases[index],
                                      .implicit = request->is_implicit,
                                      .selected = answer->selected[index],
                                      .begin_ns = request->begin_ns,
                                      .steps = request->steps,
                                      .partial = request->is_partial,
                                      .first_step = request->first_step,
                                      .last_step = request->last_step};
    bool good = analyse_group(work, &view, sums, &device_count, &ret->stages, &ret->stage_count);
    if (good && request->is_complete && !request->is_partial) {
        good = fill_devices(work, &view, index, sums, device_count, ret);
    }
    if (!answer->model->spans[request->span].is_open || request->is_cut_after) {
        ret->host_return_ns = st_known(request->host_end_ns - request->begin_ns);
    }
    if (request->is_partial) {
        return good && fill_windows(work, index, ret) &&
               group_rows(work, st_group_after_request(index), &ret->after, &ret->after_count, &tail_end_ns);
    }
    good = good && group_rows(work, st_group_after_request(index), &ret->after, &ret->after_count, &tail_end_ns);
    if (good && request->is_complete) {
        int64_t tail = ret->after_count > 0 && tail_end_ns > request->end_ns ? tail_end_ns : request->end_ns;
        ret->wall_ns = st_known(request->end_ns - request->begin_ns);
        ret->device_done_ns = (struct st_figure){request->device_end_ns - request->begin_ns,
                                                 ret->devices_known};
        ret->wall_with_tail_ns = st_known(tail - request->begin_ns);
    }
    return good;
}

/* ---- gaps ---- */

struct gap_place {
    const struct st_gap *gap;
    uint32_t request;
};

static int by_length(const void *left, const void *right)
{
    const struct gap_place *a = left, *b = right;
    int64_t x = a->gap->end_ns - a->gap->start_ns, y = b->gap->end_ns - b->gap->start_ns;
    if (x != y) {
        return x > y ? -1 : 1;
    }
    return (a->gap->start_ns > b->gap->start_ns) - (a->gap->start_ns < b->gap->start_ns);
}

/* `process`: the view of a trace without requests. It is made once: its time grows with the trace. */
static void fill_gap(const struct st_answer *answer, const struct st_request_view *process,
                     const struct gap_place *place, struct st_report_gap *ret)
{
    const struct st_gap *gap = place->gap;
    const struct st_model *model = answer->model;
    struct st_request_view view = *process;
    bool has_request = place->request != ST_NONE;
    if (has_request) {
        st_view_of_group(model, st_group_of_request(place->request), &view);
    }
    *ret = (struct st_report_gap){.request = has_request ? st_answer_id(answer, place->request)
                                                         : (struct st_report_id){0},
                                  .device = gap->device,
                                  .start_ns = gap->start_ns,
                                  .duration_ns = gap->end_ns - gap->start_ns,
                                  .before = st_gap_neighbour(&view, gap->before),
                                  .after = st_gap_neighbour(&view, gap->after),
                                  .cause = st_cause_name(gap->cause),
                                  .parts = gap->parts,
                                  .part_count = gap->part_count,
                                  .drained_why = gap->drained_why};
    if (gap->drained_call != ST_NONE) {
        ret->drained_call = model->calldefs[model->calls[gap->drained_call].call].name;
        ret->drained_stage = model->rows[st_model_row_of_call(model, gap->drained_call)].name;
    }
}

/* A trace without requests is one long "before the first request". */
static bool find_process_gaps(struct workplace *work)
{
    struct st_request_view view;
    int64_t devices[ST_MAX_DEVICES];
    st_view_of_group(work->answer->model, ST_GROUP_BEFORE_FIRST, &view);
    size_t count = st_view_devices(&view, devices, ST_MAX_DEVICES);
    for (size_t i = 0; i < count; i++) {
        size_t first = work->gaps.count;
        if (!st_gaps_find(&view, devices[i], &work->gaps) || !keep_gaps(work, ST_NONE, devices[i], first)) {
            return false;
        }
    }
    return true;
}

static bool list_gaps(struct workplace *work)
{
    struct st_report *report = work->answer->report;
    int64_t least = work->answer->options->min_gap_ns;
    struct gap_place *places = malloc((work->gaps.count + 1) * sizeof(*places));
    size_t count = 0;
    for (size_t i = 0; places && i < work->gaps.count; i++) {
        const struct st_gap *gap = &work->gaps.gaps[i];
        report->gaps_total_count++;
        report->gaps_total_ns += gap->end_ns - gap->start_ns;
        if (gap->end_ns - gap->start_ns >= least) {
            places[count++] = (struct gap_place){gap, work->gap_requests[i]};
        }
    }
    if (!places) {
        return false;
    }
    st_vec_sort(places, count, sizeof(*places), by_length);
    count = count < ST_REPORT_MAX_LIST ? count : ST_REPORT_MAX_LIST;
    report->gaps = st_arena_array(work->answer->arena, count, sizeof(*report->gaps));
    struct st_request_view process;
    st_view_of_group(work->answer->model, ST_GROUP_BEFORE_FIRST, &process);
    for (size_t i = 0; report->gaps && i < count; i++) {
        fill_gap(work->answer, &process, &places[i], &report->gaps[i]);
    }
    report->gap_count = count;
    report->gaps_known = st_model_has_device_time(work->answer->model);
    free(places);
    return report->gaps != NULL;
}

/* ---- all ---- */

/* Where the wall is not known, the host's part of it. */
static int64_t wall_of(const struct st_report_request *request)
{
    return request->wall_ns.known ? request->wall_ns.value : request->host_return_ns.value;
}

static bool may_be_typical(const struct st_report_request *request, bool is_partial)
{
    return request->selected && request->complete && request->partial == is_partial;
}

/* Of the selected requests the one with the median wall: of those that were recorded whole, if there are any. */
static bool find_typical(struct st_report *report)
{
    int64_t *walls = malloc((report->request_count + 1) * sizeof(*walls));
    bool is_partial = true;
    size_t count = 0;
    report->typical = -1;
    for (size_t i = 0; i < report->request_count; i++) {
        is_partial = is_partial && !may_be_typical(&report->requests[i], false);
    }
    for (size_t i = 0; walls && i < report->request_count; i++) {
        if (may_be_typical(&report->requests[i], is_partial)) {
            walls[count++] = wall_of(&report->requests[i]);
        }
    }
    if (walls && count > 0) {
        st_sort(walls, count);
        for (size_t i = 0; report->typical < 0 && i < report->request_count; i++) {
            const struct st_report_request *request = &report->requests[i];
            if (may_be_typical(request, is_partial) && wall_of(request) == walls[(count - 1) / 2]) {
                report->typical = (int64_t)i;
            }
        }
    }
    bool good = walls != NULL;
    free(walls);
    return good;
}

bool st_answer_requests(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    const char *wanted = answer->options->request;
    struct workplace work = {.answer = answer, .gaps = {.arena = answer->arena}};
    bool good = st_rowset_init(&work.set, model);
    report->requests = st_arena_array(answer->arena, model->request_count, sizeof(*report->requests));
    good = good && report->requests;
    for (size_t i = 0; good && i < model->request_count; i++) {
        if (model->requests[i].window_of != ST_NONE) {
            continue;
        }
        report->request_total++;
        report->open_requests += !model->requests[i].is_complete;
        /* "all" lists the open ones too; like always they enter no figure */
        if (!wanted || strcmp(wanted, "all") == 0 || answer->selected[i]) {
            good = fill_request(&work, (uint32_t)i, &report->requests[report->request_count]);
            report->request_count++;
        }
    }
    good = good && (model->request_count > 0 || find_process_gaps(&work)) &&
           group_rows(&work, ST_GROUP_BEFORE_FIRST, &report->before_first, &report->before_first_count, NULL) &&
           group_rows(&work, ST_GROUP_BETWEEN, &report->between, &report->between_count, NULL) &&
           group_rows(&work, ST_GROUP_AFTER_LAST, &report->after_last, &report->after_last_count, NULL) &&
           list_gaps(&work) && find_typical(report);
    st_rowset_finish(&work.set);
    free(work.gaps.gaps);
    free(work.gap_requests);
    return good;
}
