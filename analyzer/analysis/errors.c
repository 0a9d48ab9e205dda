/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watched calls that failed, by call, code and row, in the whole trace. Of nested calls the outer one
 * counts: it is what the program saw. A query that answers "not ready" is no failure.
 */
#include <stdlib.h>

#include "analyzer/model/vec.h"
#include "answer.h"

enum { NOT_READY = 600 };

struct failure {
    uint32_t call, row;
    int32_t code;
    uint32_t trace;
};

static int by_failure(const void *left, const void *right)
{
    const struct failure *a = left, *b = right;
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    if (a->code != b->code) {
        return a->code < b->code ? -1 : 1;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->trace > b->trace) - (a->trace < b->trace);
}

static bool is_failure(const struct st_model *model, const struct st_call *call)
{
    return call->result != 0 && !(call->flags & ST_CALL_INNER) &&
           !(call->result == NOT_READY && model->calldefs[call->call].class == ST_CLASS_QUERY);
}

bool st_answer_errors(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct st_report *report = answer->report;
    struct failure *failures = NULL;
    size_t count = 0, capacity = 0, kinds = 0;
    for (size_t i = 0; i < model->call_count; i++) {
        if (!is_failure(model, &model->calls[i])) {
            continue;
        }
        if (!st_vec_reserve((void **)&failures, &capacity, count, sizeof(*failures))) {
            free(failures);
            return false;
        }
        uint32_t thread = st_model_thread_of_call(model, (uint32_t)i);
        failures[count++] = (struct failure){model->calls[i].call, st_model_row_of_call(model, (uint32_t)i),
                                             model->calls[i].result,
                                             thread == ST_NONE ? 0 : model->threads[thread].trace};
    }
    if (count > 0) {
        st_vec_sort(failures, count, sizeof(*failures), by_failure);
    }
    for (size_t i = 0; i < count; i++) {
        kinds += i == 0 || by_failure(&failures[i], &failures[i - 1]) != 0;
    }
    report->api_errors = st_arena_array(answer->arena, kinds, sizeof(*report->api_errors));
    for (size_t i = 0; report->api_errors && i < count; i++) {
        if (i == 0 || by_failure(&failures[i], &failures[i - 1]) != 0) {
            report->api_errors[report->api_error_count++] =
                (struct st_report_api_error){.call = model->calldefs[failures[i].call].name,
                                             .code = failures[i].code,
                                             .stage = model->rows[failures[i].row].name,
                                             .process = model->trace_count > 1
                                                            ? model->traces[failures[i].trace].process
                                                            : NULL};
        }
        report->api_errors[report->api_error_count - 1].count++;
    }
    free(failures);
    return report->api_errors != NULL;
}
