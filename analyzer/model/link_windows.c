/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace recorded in windows (STAGETAP_WINDOW): requests, stages and steps were recorded everywhere, calls and device
 * work only in the windows.
 *
 *   request    [ 1                                        ]     is_partial: boundaries only
 *   sample        [                                ]
 *   step            [1 ][2 ] [3 ][4 ] [5 ][6 ]                  steps:3-4
 *   window                   |~~~~~~~~|                         one more entry of requests[], window_of = request 1,
 *   its spans                [sample  ]                         with copies of what lies in it, cut at its edges
 *                            [3 ][4 ]
 *
 * What lies in a window is analysed as if it were a request of its own: rows, identity, gaps. A request that lies in
 * its window whole needs none. Several windows in a request are several entries.
 */
#include <stdlib.h>
#include <string.h>

#include "config/map.h"
#include "config/settings.h"
#include "link.h"
#include "vec.h"

/* ---- which times ---- */

/* Marks of requests by request and time; those of the process first (a = 0), by time. */
static int by_request(const void *left, const void *right)
{
    const struct st_raw_mark *a = left, *b = right;
    if (a->a != b->a) {
        return a->a < b->a ? -1 : 1;
    }
    return (a->at_ticks > b->at_ticks) - (a->at_ticks < b->at_ticks);
}

struct walk { /* over the marks that matter to one request */
    const struct st_window_rule *rule;
    bool is_request, is_time, is_profiled;
};

static bool holds(const struct walk *walk)
{
    return ((!walk->rule->step_count && !walk->rule->request_count) || walk->is_request) &&
           (!walk->rule->time_count || walk->is_time) && (!walk->rule->uses_profiler || walk->is_profiled);
}

static void pass(struct walk *walk, const struct st_raw_mark *mark)
{
    if (mark->kind == ST_MARK_PROFILER_START || mark->kind == ST_MARK_PROFILER_STOP) {
        walk->is_profiled = mark->kind == ST_MARK_PROFILER_START;
    } else if (mark->b == ST_WINDOW_OF_TIME) {
        walk->is_time = mark->kind == ST_MARK_WINDOW_OPEN;
    } else {
        walk->is_request = mark->kind == ST_MARK_WINDOW_OPEN;
    }
}

static size_t first_mark_of(const struct st_builder *builder, int64_t request)
{
    size_t low = 0, high = builder->window_mark_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (builder->window_marks[middle].a < request) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool add_piece(struct st_builder *builder, uint32_t request, int64_t from, int64_t to)
{
    const struct st_model_request *of = &builder->model->requests[request];
    int64_t end = of->is_complete ? of->host_end_ns : INT64_MAX;
    if (from >= end || to <= of->begin_ns) {
        return true;
    }
    if (!st_vec_reserve((void **)&builder->pieces, &builder->piece_capacity, builder->piece_count,
                        sizeof(*builder->pieces))) {
        return false;
    }
    builder->pieces[builder->piece_count++] = (struct st_piece){
        .from_ns = from > of->begin_ns ? from : of->begin_ns, .to_ns = to < end ? to : end, .request = request};
    return true;
}

/* Is there a rule that could have named a request? Then the recorder waited for one (window.h). */
static bool could_name_requests(const struct st_model_trace *trace)
{
    for (size_t i = 0; i < trace->rule_count; i++) {
        if (trace->rules[i].role == ST_MAP_REQUEST || trace->rules[i].role == ST_MAP_BEGIN_REQUEST) {
            return true;
        }
    }
    return false;
}

/* The times in which the window was open for a request, as pieces. number: what the marks call it. */
static bool find_pieces_of(struct st_builder *builder, const struct st_window_rule *rule, uint32_t request,
                           int64_t number)
{
    const struct st_model *model = builder->model;
    size_t process = 0, process_end = first_mark_of(builder, 1);
    size_t own = number ? first_mark_of(builder, number) : process_end;
    size_t own_end = number ? first_mark_of(builder, number + 1) : own;
    bool is_first = st_window_has(rule->requests, rule->request_count, 1);
    struct walk walk = {
        .rule = rule,
        .is_request = model->requests[request].is_implicit && !rule->step_count &&
                      (rule->request_count == 0 || (is_first && !could_name_requests(model->traces)))};
    int64_t from = INT64_MIN;
    bool was_open = holds(&walk);
    while (process < process_end || own < own_end) {
        bool is_process = own == own_end || (process < process_end && builder->window_marks[process].at_ticks <=
                                                                          builder->window_marks[own].at_ticks);
        const struct st_raw_mark *mark = &builder->window_marks[is_process ? process++ : own++];
        if (mark->at_ticks > model->requests[request].host_end_ns) {
            break;
        }
        pass(&walk, mark);
        bool is_open = holds(&walk);
        if (was_open && !is_open && !add_piece(builder, request, from, mark->at_ticks)) {
            return false;
        }
        from = is_open && !was_open ? mark->at_ticks : from;
        was_open = is_open;
    }
    return !was_open || add_piece(builder, request, from, INT64_MAX);
}

static bool find_pieces(struct st_builder *builder, const struct st_window_rule *rule)
{
    struct st_model *model = builder->model;
    for (size_t number = 1; number < builder->request_number_count; number++) {
        uint32_t request = builder->request_by_number[number];
        size_t first = builder->piece_count;
        if (request == ST_NONE) {
            continue;
        }
        struct st_model_request *of = &model->requests[request];
        if (!find_pieces_of(builder, rule, request, of->is_implicit ? 0 : (int64_t)number)) {
            return false;
        }
        const struct st_piece *piece = builder->pieces + first;
        bool is_whole = builder->piece_count == first + 1 && piece->from_ns <= of->begin_ns &&
                        piece->to_ns >= (of->is_complete ? of->host_end_ns : INT64_MAX);
        of->is_partial = !is_whole;
        builder->piece_count = is_whole ? first : builder->piece_count;
    }
    return true;
}

static int by_place(const void *left, const void *right)
{
    const struct st_piece *a = left, *b = right;
    if (a->request != b->request) {
        return a->request < b->request ? -1 : 1;
    }
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* ---- their entries ---- */

static bool add_entries(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    struct st_model_request *grown =
        realloc(model->requests, (model->request_count + builder->piece_count + 1) * sizeof(*grown));
    if (!grown) {
        return false;
    }
    model->requests = grown;
    for (size_t i = 0; i < builder->piece_count; i++) {
        struct st_piece *piece = &builder->pieces[i];
        struct st_model_request *entry = &grown[model->request_count];
        const struct st_model_request *of = &grown[piece->request];
        bool is_open = piece->to_ns == INT64_MAX;
        *entry = *of;
        entry->window_of = piece->request;
        entry->is_partial = false;
        entry->is_complete = !is_open;
        entry->is_cut_before = piece->from_ns > of->begin_ns;
        entry->is_cut_after = !is_open && piece->to_ns < of->host_end_ns;
        entry->begin_ns = entry->device_end_ns = piece->from_ns;
        entry->host_end_ns = is_open ? of->host_end_ns : piece->to_ns;
        piece->window = (uint32_t)model->request_count++;
    }
    return true;
}

/* ---- copies of spans ---- */

uint32_t st_link_window_at(const struct st_builder *builder, uint32_t request, int64_t at_ns)
{
    size_t low = 0, high = builder->piece_count; /* the last piece that begins at or before at_ns is low - 1 */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct st_piece *piece = &builder->pieces[middle];
        if (piece->request < request || (piece->request == request && piece->from_ns <= at_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && builder->pieces[low - 1].request == request && at_ns < builder->pieces[low - 1].to_ns
               ? builder->pieces[low - 1].window
               : ST_NONE;
}

static int by_original(const void *left, const void *right)
{
    const struct st_span_copy *a = left, *b = right;
    if (a->window != b->window) {
        return a->window < b->window ? -1 : 1;
    }
    return (a->span > b->span) - (a->span < b->span);
}

/* copies[0 … count) are sorted. */
static uint32_t find_copy(const struct st_span_copy *copies, size_t count, uint32_t window, uint32_t span)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (copies[middle].window < window || (copies[middle].window == window && copies[middle].span < span)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && copies[low].window == window && copies[low].span == span ? copies[low].copy : ST_NONE;
}

uint32_t st_link_copy_of(const struct st_builder *builder, uint32_t window, uint32_t span)
{
    return find_copy(builder->copies, builder->copy_count, window, span);
}

/* spans[span] as far as it lies in the window. One that was entered before is no entry of its own. */
static bool copy_span(struct st_builder *builder, const struct st_piece *piece, uint32_t span, int64_t step)
{
    struct st_model *model = builder->model;
    struct st_model_request *window = &model->requests[piece->window];
    if (!st_vec_reserve((void **)&model->spans, &builder->span_capacity, model->span_count, sizeof(*model->spans)) ||
        !st_vec_reserve((void **)&builder->copies, &builder->copy_capacity, builder->copy_count,
                        sizeof(*builder->copies))) {
        return false;
    }
    struct st_span *copy = &model->spans[model->span_count];
    *copy = model->spans[span];
    bool is_cut_before = copy->begin_ns < window->begin_ns, is_cut_after = copy->end_ns > window->host_end_ns;
    copy->begin_ns = is_cut_before ? window->begin_ns : copy->begin_ns;
    copy->end_ns = is_cut_after ? window->host_end_ns : copy->end_ns;
    copy->begin_cpu_ns = is_cut_before || is_cut_after ? 0 : copy->begin_cpu_ns;
    copy->is_nested = copy->is_nested || (is_cut_before && copy->role != ST_ROLE_REQUEST);
    copy->is_open = copy->is_open && !is_cut_after;
    copy->group = st_group_of_request(piece->window);
    if (copy->role == ST_ROLE_STEP && !copy->is_nested && !is_cut_after) {
        window->first_step = window->first_step ? window->first_step : step;
        window->last_step = step;
    }
    builder->copies[builder->copy_count++] = (struct st_span_copy){piece->window, span, (uint32_t)model->span_count++};
    return true;
}

static bool copy_spans(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    size_t count = builder->span_capacity = model->span_count;
    int64_t *steps = calloc(model->request_count + 1, sizeof(*steps)); /* begun so far, by request */
    for (size_t i = 0; steps && i < count; i++) {
        uint32_t request = st_request_of_group(model->spans[i].group);
        if (request == ST_NONE || !model->requests[request].is_partial) {
            continue;
        }
        int64_t begin_ns = model->spans[i].begin_ns, end_ns = model->spans[i].end_ns;
        steps[request] += model->spans[i].role == ST_ROLE_STEP && !model->spans[i].is_nested;
        const struct st_piece key = {.request = request, .from_ns = INT64_MIN};
        size_t low = 0, high = builder->piece_count;
        while (low < high) { /* the request's first piece */
            size_t middle = low + (high - low) / 2;
            if (by_place(&builder->pieces[middle], &key) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for (; low < builder->piece_count && builder->pieces[low].request == request; low++) {
            const struct st_piece *piece = &builder->pieces[low];
            if (begin_ns < piece->to_ns && end_ns > piece->from_ns &&
                !copy_span(builder, piece, (uint32_t)i, steps[request])) {
                free(steps);
                return false;
            }
        }
    }
    bool good = steps != NULL;
    free(steps);
    st_vec_sort(builder->copies, builder->copy_count, sizeof(*builder->copies), by_original);
    for (size_t i = 0; i < builder->copy_count; i++) { /* parents are copied before what is in them */
        struct st_span *copy = &model->spans[builder->copies[i].copy];
        copy->parent = copy->parent == ST_NONE ? ST_NONE
                                               : st_link_copy_of(builder, builder->copies[i].window, copy->parent);
    }
    for (size_t i = 0; i < builder->piece_count; i++) {
        struct st_model_request *window = &model->requests[builder->pieces[i].window];
        window->span = st_link_copy_of(builder, builder->pieces[i].window, window->span);
    }
    return good;
}

bool st_link_windows(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    const char *setting = st_model_key(model->traces, ST_KEY_SETTING, "window");
    struct st_window_rule rule;
    if (!setting || !st_parse_window(setting, &rule)) {
        return true;
    }
    model->traces->window = setting;
    st_vec_sort(builder->window_marks, builder->window_mark_count, sizeof(*builder->window_marks), by_request);
    if (!find_pieces(builder, &rule)) {
        return false;
    }
    st_vec_sort(builder->pieces, builder->piece_count, sizeof(*builder->pieces), by_place);
    return builder->piece_count == 0 || (add_entries(builder) && copy_spans(builder));
}
