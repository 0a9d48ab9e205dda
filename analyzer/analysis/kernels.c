/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the selected requests by name and row: how often, how long.
 *
 *   sample/step  [k 3][k 3][k 5]     ->  k  sample/step  count 3  total 11  min 3  median 3  max 5
 *   decode                 [k 4]     ->  k  decode       count 1  total 4   …
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"
#include "stats.h"

struct run {
    uint32_t name, row;
    int64_t length_ns;
};

static int by_run(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->length_ns > b->length_ns) - (a->length_ns < b->length_ns);
}

static int by_total(const void *left, const void *right)
{
    const struct st_report_kernel *a = left, *b = right;
    if (a->total_ns != b->total_ns) {
        return a->total_ns > b->total_ns ? -1 : 1;
    }
    int names = strcmp(a->name, b->name);
    return names ? names : strcmp(a->stage, b->stage);
}

/* Steps that the row's stage had: a kernel's count a step is only told where there are steps. */
static bool is_stepped(const struct st_model *model, uint32_t row)
{
    for (uint32_t up = row; up != ST_NONE; up = model->rows[up].parent) {
        if (model->rows[up].is_step) {
            return true;
        }
    }
    return false;
}

/* runs[0 … count) are of one name and row, sorted by length; the median of the sorted lengths is exact. */
static void fill_kernel(const struct st_answer *answer, const struct run *runs, size_t count, int64_t steps,
                        struct st_report_kernel *ret)
{
    const struct st_model *model = answer->model;
    int64_t below = runs[(count - 1) / 2].length_ns, above = runs[count / 2].length_ns;
    *ret = (struct st_report_kernel){
        .name = runs->name < model->name_count ? model->names[runs->name] : "unnamed",
        .stage = model->rows[runs->row].name,
        .count = (int64_t)count,
        .min_ns = runs[0].length_ns,
        .median_ns = below + (above - below) / 2,
        .max_ns = runs[count - 1].length_ns};
    for (size_t i = 0; i < count; i++) {
        ret->total_ns += runs[i].length_ns;
    }
    if (steps > 0 && is_stepped(model, runs->row)) {
        ret->per_step_milli = st_known((int64_t)count * 1000 / steps);
    }
}

static bool report_runs(struct st_answer *answer, struct run *runs, size_t count, int64_t steps)
{
    struct st_report *report = answer->report;
    size_t kinds = 0;
    st_vec_sort(runs, count, sizeof(*runs), by_run);
    for (size_t i = 0; i < count; i++) {
        kinds += i == 0 || runs[i].name != runs[i - 1].name || runs[i].row != runs[i - 1].row;
    }
    report->kernels = st_arena_array(answer->arena, kinds, sizeof(*report->kernels));
    for (size_t i = 0, end; report->kernels && i < count; i = end) {
        for (end = i + 1; end < count && runs[end].name == runs[i].name && runs[end].row == runs[i].row;) {
            end++;
        }
        fill_kernel(answer, runs + i, end - i, steps, &report->kernels[report->kernel_count++]);
    }
    if (report->kernels) {
        st_vec_sort(report->kernels, report->kernel_count, sizeof(*report->kernels), by_total);
    }
    if (report->kernel_count > ST_REPORT_MAX_LIST) {
        report->kernel_count = ST_REPORT_MAX_LIST;
    }
    report->kernels_known = st_model_has_device_time(answer->model);
    return report->kernels != NULL;
}

bool st_answer_kernels(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct run *runs = NULL;
    size_t count = 0, capacity = 0;
    int64_t steps = 0;
    bool good = true;
    struct st_request_view view;
    for (size_t at = 0; good && st_answer_next_view(answer, &at, &view);) {
        steps += view.request && !view.request->is_partial ? view.request->steps : 0;
        for (size_t k = 0; good && k < view.op_count; k++) {
            const struct st_op *op = &model->ops[view.ops[k]];
            if (op->kind == ST_OP_KERNEL && st_answer_has_op(answer, op)) {
                good = st_vec_reserve((void **)&runs, &capacity, count, sizeof(*runs));
                if (good) {
                    runs[count++] = (struct run){op->name, op->row, op->end_ns - op->start_ns};
                }
            }
        }
    }
    good = good && report_runs(answer, runs, count, steps);
    free(runs);
    return good;
}
