/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the program that threads of the driver ran, by name and the row whose call handed them over. Their time
 * is of no row: the program's threads were elsewhere meanwhile, and the stream behind the function waited.
 *
 *   stream   [k 3]          [k 3]
 *   driver         [f 5    ]            ->  f  sample  count 1  total 5
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"

static int by_kind(const void *left, const void *right)
{
    const struct st_host_run *a = *(const struct st_host_run *const *)left;
    const struct st_host_run *b = *(const struct st_host_run *const *)right;
    int names = strcmp(a->name, b->name);
    int64_t a_ns = a->end_ns - a->begin_ns, b_ns = b->end_ns - b->begin_ns;
    return names ? names : a->row != b->row ? (a->row < b->row ? -1 : 1) : (a_ns > b_ns) - (a_ns < b_ns);
}

static int by_total(const void *left, const void *right)
{
    const struct st_report_host_function *a = left, *b = right;
    int names = strcmp(a->function, b->function);
    return a->total_ns != b->total_ns ? (a->total_ns > b->total_ns ? -1 : 1) : names;
}

/* runs[0 … count) are of one name and row, sorted by length. */
static struct st_report_host_function sum_up(const struct st_model *model, const struct st_host_run *const *runs,
                                             size_t count)
{
    const struct st_host_run *below = runs[(count - 1) / 2], *above = runs[count / 2], *longest = runs[count - 1];
    int64_t below_ns = below->end_ns - below->begin_ns, above_ns = above->end_ns - above->begin_ns;
    struct st_report_host_function sum = {.function = runs[0]->name,
                                          .stage = runs[0]->row == ST_NONE ? NULL : model->rows[runs[0]->row].name,
                                          .count = (int64_t)count,
                                          .min_ns = runs[0]->end_ns - runs[0]->begin_ns,
                                          .median_ns = below_ns + (above_ns - below_ns) / 2,
                                          .max_ns = longest->end_ns - longest->begin_ns};
    for (size_t i = 0; i < count; i++) {
        sum.total_ns += runs[i]->end_ns - runs[i]->begin_ns;
    }
    return sum;
}

static bool report_runs(struct st_answer *answer, const struct st_host_run **runs, size_t count)
{
    struct st_report *report = answer->report;
    st_vec_sort(runs, count, sizeof(*runs), by_kind);
    report->host_run_count = (int64_t)count;
    report->host_functions = st_arena_array(answer->arena, count, sizeof(*report->host_functions));
    for (size_t i = 0, end; report->host_functions && i < count; i = end) {
        end = i + 1;
        while (end < count && runs[end]->row == runs[i]->row && strcmp(runs[end]->name, runs[i]->name) == 0) {
            end++;
        }
        report->host_functions[report->host_function_count++] = sum_up(answer->model, runs + i, end - i);
    }
    if (report->host_functions) {
        st_vec_sort(report->host_functions, report->host_function_count, sizeof(*report->host_functions), by_total);
    }
    if (report->host_function_count > ST_REPORT_MAX_LIST) {
        report->host_function_count = ST_REPORT_MAX_LIST;
    }
    return report->host_functions != NULL;
}

/* Of driver and runtime the driver's call counts, the runtime's where none was seen inside. */
static void count_handed(struct st_report *report, const struct st_request_view *view)
{
    const struct st_model *model = view->model;
    for (size_t i = 0; i < view->call_count; i++) {
        const struct st_call *call = &model->calls[view->calls[i]];
        if (model->calldefs[call->call].class == ST_CLASS_HOST_FUNC && call->result == 0 &&
            !(call->flags & ST_CALL_HAS_INNER)) {
            *(call->flags & ST_CALL_CAPTURED ? &report->host_captured_count : &report->host_handed_count) += 1;
        }
    }
}

bool st_answer_host_functions(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    const struct st_host_run **runs = malloc((model->host_run_count + 1) * sizeof(*runs));
    bool *is_covered = calloc(model->group_count + 1, sizeof(*is_covered));
    bool good = runs && is_covered;
    struct st_request_view view;
    for (size_t at = 0; good && st_answer_next_view(answer, &at, &view);) {
        is_covered[view.group] = true;
        count_handed(answer->report, &view);
    }
    size_t count = 0;
    for (size_t i = 0; good && i < model->host_run_count; i++) {
        if (model->host_runs[i].group < model->group_count && is_covered[model->host_runs[i].group]) {
            runs[count++] = &model->host_runs[i];
        }
    }
    good = good && report_runs(answer, runs, count);
    free(runs);
    free(is_covered);
    return good;
}
