/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests the lists cover: --request ID|steady|first|all. Asked for nothing, the steady ones; are
 * there none, then what there is, and the report says so. In a trace without requests they cover everything.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"

/* Does a request count by itself? One that no rule named (implicit) does not, beside others. */
static bool is_counted(const struct st_answer *answer, size_t request)
{
    const struct st_model_request *asked = &answer->model->requests[request];
    return asked->window_of == ST_NONE && (!asked->is_implicit || !answer->report->has_named_requests);
}

static size_t select_phase(struct st_answer *answer, enum st_phase phase)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        answer->selected[i] = answer->phases[i] == phase && is_counted(answer, i);
        count += answer->selected[i];
    }
    return count;
}

static size_t select_complete(struct st_answer *answer)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        answer->selected[i] = answer->model->requests[i].is_complete && is_counted(answer, i);
        count += answer->selected[i];
    }
    return count;
}

/* "3", or "4711:3", which is fine for one process, too. */
static enum st_status select_id(struct st_answer *answer, const char *text, struct st_err *err)
{
    const struct st_model *model = answer->model;
    const char *colon = strchr(text, ':'), *number = colon ? colon + 1 : text;
    char *end;
    long long id = strtoll(number, &end, 10);
    if (*number == 0 || *end != 0) {
        return st_fail(err, ST_USAGE, NULL, -1, "use an id, steady, first or all", "request \"%.80s\"", text);
    }
    if (!colon && model->trace_count > 1) {
        return st_fail(err, ST_USAGE, NULL, -1, "`stagetap rounds` lists them",
                       "request %lld of which process? give PID:%lld, such as %s:%lld", id, id,
                       model->traces[0].process, id);
    }
    for (size_t i = 0; i < model->request_count; i++) {
        const char *process = model->traces[model->requests[i].trace].process;
        size_t length = strlen(process);
        bool is_there = !colon || (length == (size_t)(colon - text) && memcmp(process, text, length) == 0);
        if (is_there && model->requests[i].id == id && model->requests[i].window_of == ST_NONE) {
            answer->selected[i] = true;
            answer->report->selected_requests = 1;
            answer->report->selection =
                st_arena_format(answer->arena, "request %s", model->trace_count > 1 ? text : number);
            return ST_OK;
        }
    }
    return st_fail(err, ST_USAGE, NULL, -1, "`stagetap rounds` lists them", "no request %.80s; there are %zu", text,
                   model->request_count);
}

bool st_answer_next_view(const struct st_answer *answer, size_t *at, struct st_request_view *ret_view)
{
    const struct st_model *model = answer->model;
    if (model->request_count == 0) {
        if (*at >= ST_GROUP_FIRST_REQUEST) {
            return false;
        }
        st_view_of_group(model, (uint32_t)(*at)++, ret_view);
        return true;
    }
    while (*at < model->request_count) {
        size_t request = (*at)++;
        if (answer->selected[request]) {
            st_view_of_group(model, st_group_of_request((uint32_t)request), ret_view);
            return true;
        }
    }
    return false;
}

/* Where a window was recorded and no selected request has a part in it: those that have. */
static size_t prefer_recorded(struct st_answer *answer, size_t count)
{
    const struct st_model *model = answer->model;
    bool *recorded = calloc(model->request_count + 1, sizeof(*recorded));
    bool any = false, any_selected = false;
    for (size_t i = 0; recorded && i < model->request_count; i++) {
        const struct st_model_request *request = &model->requests[i];
        size_t of = request->window_of != ST_NONE ? request->window_of : i;
        recorded[of] = recorded[of] || request->window_of != ST_NONE || !request->is_partial;
    }
    for (size_t i = 0; recorded && i < model->request_count; i++) {
        recorded[i] = recorded[i] && model->requests[i].is_complete && is_counted(answer, i);
        any = any || recorded[i];
        any_selected = any_selected || (recorded[i] && answer->selected[i]);
    }
    if (any && !any_selected) {
        count = 0;
        for (size_t i = 0; i < model->request_count; i++) {
            answer->selected[i] = recorded[i];
            count += recorded[i];
        }
        answer->report->selection = "all";
        answer->report->selection_note = "the window has no part of a steady request: those that it has are taken";
    }
    free(recorded);
    return count;
}

/* A window is selected with its request. */
static void select_windows(struct st_answer *answer)
{
    for (size_t i = 0; i < answer->model->request_count; i++) {
        uint32_t of = answer->model->requests[i].window_of;
        answer->selected[i] = of != ST_NONE ? answer->selected[of] : answer->selected[i];
    }
}

static enum st_status select_requests(struct st_answer *answer, struct st_err *err)
{
    struct st_report *report = answer->report;
    const char *wanted = answer->options->request;
    size_t count;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        bool is_request = answer->model->requests[i].window_of == ST_NONE;
        report->implicit_requests += is_request && answer->model->requests[i].is_implicit;
        report->has_named_requests = report->has_named_requests || !answer->model->requests[i].is_implicit;
    }
    report->lists_cover = answer->model->request_count > 0 ? "requests" : "process";
    if (wanted && strcmp(wanted, "steady") != 0 && strcmp(wanted, "first") != 0 && strcmp(wanted, "all") != 0) {
        return select_id(answer, wanted, err);
    }
    if (wanted && strcmp(wanted, "all") == 0) {
        count = select_complete(answer);
        report->selection = "all";
    } else if (wanted && strcmp(wanted, "first") == 0) {
        count = select_phase(answer, ST_PHASE_FIRST);
        report->selection = "first";
    } else {
        count = select_phase(answer, ST_PHASE_STEADY);
        report->selection = "steady";
        if (count == 0 && answer->model->request_count > 0) {
            count = select_complete(answer);
            report->selection = "all";
            report->selection_note = count > 0 ? "no steady request: all complete ones are taken"
                                               : "no complete request: the lists are empty; `stagetap rounds` shows "
                                                 "all, --request N what is known of one";
        }
        count = wanted ? count : prefer_recorded(answer, count);
    }
    report->selected_requests = (int64_t)count;
    return ST_OK;
}

enum st_status st_answer_select(struct st_answer *answer, struct st_err *err)
{
    enum st_status status = select_requests(answer, err);
    select_windows(answer);
    return status;
}
