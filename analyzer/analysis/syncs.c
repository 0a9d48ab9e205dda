/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits: which call blocked, in which row the host was, and whose device work it waited for.
 *
 *   thread   output  (cudaMemcpy ···········)            blocked_stage output
 *   device   [decode's k            ][d2h   ]            awaited: decode 11 (what of k lies inside the
 *                     |←──────────────────→|                      wait), output 8 (its own copy)
 *
 * With --device: the waits during which that device ran such work, and only this work.
 * Of nested calls the outer one is listed. The wait is where time was spent waiting, not its cause.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"

struct wait {
    uint32_t call, row; /* calldefs[], rows[] */
    int64_t length_ns;
};
struct awaited {
    uint32_t call, row, work_row;
    int64_t length_ns;
};
struct collected {
    struct wait *waits;
    size_t wait_count, wait_capacity;
    struct awaited *awaited;
    size_t awaited_count, awaited_capacity;
};

static int by_wait(const void *left, const void *right)
{
    const struct wait *a = left, *b = right;
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static int by_awaited(const void *left, const void *right)
{
    const struct awaited *a = left, *b = right;
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    return (a->work_row > b->work_row) - (a->work_row < b->work_row);
}

static bool add_awaited(struct collected *found, const struct wait *wait, uint32_t work_row, int64_t length_ns)
{
    if (!st_vec_reserve((void **)&found->awaited, &found->awaited_capacity, found->awaited_count,
                        sizeof(*found->awaited))) {
        return false;
    }
    found->awaited[found->awaited_count++] = (struct awaited){wait->call, wait->row, work_row, length_ns};
    return true;
}

/* Work of the group and the process that was launched before the wait and ran inside it. */
static bool find_awaited(const struct st_answer *answer, const struct st_request_view *view,
                         const struct st_call *call, uint32_t trace, const struct wait *wait, struct collected *found)
{
    enum { LOOK_BACK = 4096 }; /* bounds the search in a trace with one very long operation */
    const struct st_model *model = view->model;
    size_t low = 0, high = view->op_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->ops[view->ops[middle]].start_ns < call->end_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i-- > 0 && low - i <= LOOK_BACK;) {
        const struct st_op *op = &model->ops[view->ops[i]];
        if (op->start_ns < call->begin_ns - model->longest_op_ns) {
            break;
        }
        int64_t from = op->start_ns > call->begin_ns ? op->start_ns : call->begin_ns;
        int64_t to = op->end_ns < call->end_ns ? op->end_ns : call->end_ns;
        bool launched_before = op->call == ST_NONE || model->calls[op->call].begin_ns <= call->end_ns;
        if (to > from && launched_before && op->trace == trace && st_answer_has_op(answer, op) &&
            !add_awaited(found, wait, op->row, to - from)) {
            return false;
        }
    }
    return true;
}

static bool collect(const struct st_answer *answer, const struct st_request_view *view, struct collected *found)
{
    const struct st_model *model = view->model;
    /* without device time nobody can tell the devices apart */
    bool only_awaited = answer->options->device >= 0 && st_model_has_device_time(model);
    for (size_t i = 0; i < view->call_count; i++) {
        const struct st_call *call = &model->calls[view->calls[i]];
        if (!st_model_call_waits(model, call) || (call->flags & ST_CALL_INNER)) {
            continue;
        }
        if (!st_vec_reserve((void **)&found->waits, &found->wait_capacity, found->wait_count,
                            sizeof(*found->waits))) {
            return false;
        }
        struct wait *wait = &found->waits[found->wait_count++];
        *wait = (struct wait){call->call, st_model_row_of_call(model, view->calls[i]), call->end_ns - call->begin_ns};
        uint32_t trace = model->threads[st_model_thread_of_call(model, view->calls[i])].trace;
        size_t before = found->awaited_count;
        if (!find_awaited(answer, view, call, trace, wait, found)) {
            return false;
        }
        found->wait_count -= only_awaited && found->awaited_count == before;
    }
    return true;
}

/* The awaited rows of one (call, row); *at moves over them. */
static bool take_awaited(struct st_answer *answer, const struct collected *found, size_t *at, const struct wait *wait,
                         struct st_report_sync *sync)
{
    size_t end = *at;
    while (end < found->awaited_count && found->awaited[end].call == wait->call &&
           found->awaited[end].row == wait->row) {
        end++;
    }
    sync->awaited_stages = st_arena_array(answer->arena, end - *at, sizeof(*sync->awaited_stages));
    sync->awaited_known = st_model_has_device_time(answer->model);
    if (!sync->awaited_stages) {
        return false;
    }
    for (size_t i = *at; i < end; i++) {
        const char *name = answer->model->rows[found->awaited[i].work_row].name;
        struct st_report_cause *last = sync->awaited_count ? &sync->awaited_stages[sync->awaited_count - 1] : NULL;
        if (last && last->cause == name) {
            last->duration_ns += found->awaited[i].length_ns;
        } else {
            sync->awaited_stages[sync->awaited_count++] = (struct st_report_cause){name, found->awaited[i].length_ns};
        }
    }
    *at = end;
    return true;
}

static int by_wait_time(const void *left, const void *right)
{
    const struct st_report_sync *a = left, *b = right;
    return (a->wait_ns < b->wait_ns) - (a->wait_ns > b->wait_ns);
}

static bool report_waits(struct st_answer *answer, struct collected *found)
{
    struct st_report *report = answer->report;
    size_t at = 0;
    st_vec_sort(found->waits, found->wait_count, sizeof(*found->waits), by_wait);
    st_vec_sort(found->awaited, found->awaited_count, sizeof(*found->awaited), by_awaited);
    report->syncs = st_arena_array(answer->arena, found->wait_count, sizeof(*report->syncs));
    for (size_t i = 0; report->syncs && i < found->wait_count; i++) {
        const struct wait *wait = &found->waits[i];
        if (i == 0 || by_wait(wait, wait - 1) != 0) {
            struct st_report_sync *sync = &report->syncs[report->sync_count++];
            *sync = (struct st_report_sync){.call = answer->model->calldefs[wait->call].name,
                                            .blocked_stage = answer->model->rows[wait->row].name};
            if (!take_awaited(answer, found, &at, wait, sync)) {
                return false;
            }
        }
        report->syncs[report->sync_count - 1].count++;
        report->syncs[report->sync_count - 1].wait_ns += wait->length_ns;
    }
    if (report->syncs) {
        st_vec_sort(report->syncs, report->sync_count, sizeof(*report->syncs), by_wait_time);
    }
    report->syncs_known = true;
    return report->syncs != NULL;
}

bool st_answer_syncs(struct st_answer *answer)
{
    struct collected found = {0};
    struct st_request_view view;
    bool good = true;
    for (size_t at = 0; good && st_answer_next_view(answer, &at, &view);) {
        good = collect(answer, &view, &found);
    }
    good = good && report_waits(answer, &found);
    free(found.waits);
    free(found.awaited);
    return good;
}
