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
    return !answer->model->requests[request].is_implicit ||
           answer->report->implicit_requests == (int64_t)answer->model->request_count;
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
        if (is_there && model->requests[i].id == id) {
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

enum st_status st_answer_select(struct st_answer *answer, struct st_err *err)
{
    struct st_report *report = answer->report;
    const char *wanted = answer->options->request;
    size_t count;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        report->implicit_requests += answer->model->requests[i].is_implicit;
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
    }
    report->selected_requests = (int64_t)count;
    return ST_OK;
}
