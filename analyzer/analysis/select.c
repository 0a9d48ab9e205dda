/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which requests the lists cover: --request ID|steady|first|all. Asked for nothing, the steady ones; are
 * there none, then what there is, and the report says so.
 */
#include <stdlib.h>
#include <string.h>

#include "answer.h"

static size_t select_phase(struct st_answer *answer, enum st_phase phase)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        answer->selected[i] = answer->phases[i] == phase;
        count += answer->selected[i];
    }
    return count;
}

static size_t select_complete(struct st_answer *answer)
{
    size_t count = 0;
    for (size_t i = 0; i < answer->model->request_count; i++) {
        answer->selected[i] = answer->model->requests[i].is_complete;
        count += answer->selected[i];
    }
    return count;
}

static enum st_status select_id(struct st_answer *answer, const char *text, struct st_err *err)
{
    char *end;
    long long id = strtoll(text, &end, 10);
    if (*text == 0 || *end != 0) {
        return st_fail(err, ST_USAGE, NULL, -1, "use an id, steady, first or all", "request \"%.80s\"", text);
    }
    for (size_t i = 0; i < answer->model->request_count; i++) {
        if (answer->model->requests[i].id == id) {
            answer->selected[i] = true;
            answer->report->selected_requests = 1;
            answer->report->selection = st_arena_format(answer->arena, "request %lld", id);
            return ST_OK;
        }
    }
    return st_fail(err, ST_USAGE, NULL, -1, "`stagetap rounds` lists them", "no request %lld; there are %zu", id,
                   answer->model->request_count);
}

enum st_status st_answer_select(struct st_answer *answer, struct st_err *err)
{
    struct st_report *report = answer->report;
    const char *wanted = answer->options->request;
    size_t count;
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
            report->selection_note = "no steady request: all complete ones are taken";
        }
    }
    report->selected_requests = (int64_t)count;
    return ST_OK;
}
