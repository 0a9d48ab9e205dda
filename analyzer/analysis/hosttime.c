/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host figures and counts of rows.
 *
 *   thread   [sample                                    ]
 *              [sample/step   ]      [sample/step   ]
 *                (launch) (sync····)      (launch)
 *   sample        inclusive = all of it; self = what lies outside the steps
 *   sample/step   calls 2; inclusive = both; waiting = the sync; in CUDA = the launches
 *
 * Inclusive time is thread time between a row's outermost begin and end, so it also holds other stages
 * entered inside; calls count in it by the spans around them. Counts of launches and copies follow the
 * path of the row instead: a stage nested in another without "/" is a row of its own.
 */
#include <stdlib.h>

#include "analyzer/model/vec.h"
#include "selftime.h"

/* Sums of the calls directly in one span. */
struct span_sums {
    int64_t in_cuda_ns, waiting_ns, wait_cpu_ns, wait_unmeasured_ns, children_ns, children_cpu_ns, children_no_cpu;
};

/* ---- counts ---- */

static int copy_kind(unsigned direction)
{
    switch (direction) {
    case ST_DIR_H2D:
        return ST_COPY_H2D;
    case ST_DIR_D2H:
        return ST_COPY_D2H;
    case ST_DIR_D2D:
        return ST_COPY_D2D;
    case ST_DIR_P2P:
        return ST_COPY_P2P;
    default:
        return -1;
    }
}

static void count_transfer(struct st_row_transfers *sums, int64_t bytes)
{
    sums->count++;
    sums->bytes += bytes;
}

/* `op`: the device's record of the call, NULL = none; it knows direction and bytes best. */
static void count_call(struct st_rowset *set, uint32_t row, const struct st_call *call, const struct st_op *op)
{
    if (call->counts_as == ST_COUNTS_NOT) {
        return;
    }
    uint32_t local = st_rowset_add(set, row, call->begin_ns);
    bool ran = call->result == 0 && !(call->flags & ST_CALL_CAPTURED);
    int kind = copy_kind(op && op->kind == ST_OP_COPY && op->direction ? op->direction : call->direction);
    int64_t bytes = op && op->kind != ST_OP_KERNEL ? op->bytes : call->value;
    if (ran && call->counts_as == ST_COUNTS_LAUNCH) {
        set->sums[local].launches_self++;
    }
    for (uint32_t r = local; r != ST_NONE; r = set->sums[r].parent) {
        struct st_row_sums *sums = &set->sums[r];
        if (!ran) {
            sums->captured += call->result == 0;
            sums->failed += call->result != 0;
        } else if (call->counts_as == ST_COUNTS_LAUNCH) {
            sums->launches++;
        } else if (call->counts_as == ST_COUNTS_GRAPH_LAUNCH) {
            sums->graph_launches++;
        } else if (call->counts_as == ST_COUNTS_MEMSET) {
            count_transfer(&sums->memsets, bytes);
        } else if (kind >= 0) {
            count_transfer(&sums->copies[kind], bytes);
        }
    }
}

/* What a graph ran, one by one: it has no call of its own. */
static void count_graph_node(struct st_rowset *set, const struct st_op *op)
{
    int kind = copy_kind(op->direction);
    for (uint32_t r = st_rowset_add(set, op->row, op->start_ns); r != ST_NONE; r = set->sums[r].parent) {
        struct st_row_sums *sums = &set->sums[r];
        if (op->kind == ST_OP_KERNEL) {
            sums->graph_nodes++;
        } else if (op->kind == ST_OP_MEMSET) {
            count_transfer(&sums->memsets, op->bytes);
        } else if (kind >= 0) {
            count_transfer(&sums->copies[kind], op->bytes);
        }
    }
}

struct launched { /* which operation a call launched, by call */
    uint32_t call, op;
};

static int by_call(const void *left, const void *right)
{
    const struct launched *a = left, *b = right;
    return (a->call > b->call) - (a->call < b->call);
}

/* Counts of all calls of the view. A kernel rule moves a launch to the rule's row. */
static bool count_calls(const struct st_request_view *view, struct st_rowset *set)
{
    const struct st_model *model = view->model;
    struct launched *launched = malloc((view->op_count + 1) * sizeof(*launched));
    size_t count = 0, at = 0;
    if (!launched) {
        return false;
    }
    for (size_t i = 0; i < view->op_count; i++) {
        const struct st_op *op = &model->ops[view->ops[i]];
        if (op->in_graph) {
            count_graph_node(set, op);
        } else if (op->call != ST_NONE) {
            launched[count++] = (struct launched){op->call, view->ops[i]};
        }
    }
    st_vec_sort(launched, count, sizeof(*launched), by_call);
    for (size_t i = 0; i < view->call_count; i++) { /* view->calls ascends, too */
        while (at < count && launched[at].call < view->calls[i]) {
            at++;
        }
        const struct st_op *op =
            at < count && launched[at].call == view->calls[i] ? &model->ops[launched[at].op] : NULL;
        const struct st_call *call = &model->calls[view->calls[i]];
        bool by_rule = op && op->kind == ST_OP_KERNEL && call->counts_as == ST_COUNTS_LAUNCH;
        count_call(set, by_rule ? op->row : st_model_row_of_call(model, view->calls[i]), call, op);
    }
    free(launched);
    return true;
}

/* ---- host time ---- */

/* Position of a span in view->spans, which ascends; ST_NONE: of another group. */
static uint32_t place_of(const struct st_request_view *view, uint32_t span)
{
    size_t low = 0, high = view->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (view->spans[middle] < span) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < view->span_count && view->spans[low] == span ? (uint32_t)low : ST_NONE;
}

static void add_wait(struct span_sums *sums, const struct st_model_calldef *def, const struct st_call *call)
{
    int64_t length = call->end_ns - call->begin_ns;
    sums->waiting_ns += length;
    if (def->class == ST_CLASS_SYNC) {
        sums->wait_cpu_ns += call->value < 0 ? 0 : call->value > length ? length : call->value;
    } else {
        sums->wait_unmeasured_ns += length;
    }
}

/* Each instant inside a call once: of nested calls the outer one, unless only the inner one waits. */
static void sum_calls(const struct st_request_view *view, struct span_sums *sums)
{
    const struct st_model *model = view->model;
    for (size_t i = 0; i < view->call_count; i++) {
        const struct st_call *call = &model->calls[view->calls[i]];
        const struct st_model_calldef *def = &model->calldefs[call->call];
        uint32_t place = call->span == ST_NONE ? ST_NONE : place_of(view, call->span);
        if (place == ST_NONE) {
            continue;
        }
        uint32_t outer = (call->flags & ST_CALL_INNER) ? st_model_outer_call(model, view->calls[i]) : ST_NONE;
        if (outer == ST_NONE) {
            if (st_model_call_waits(model, call)) {
                add_wait(&sums[place], def, call);
            } else {
                sums[place].in_cuda_ns += call->end_ns - call->begin_ns;
            }
        } else if (st_model_call_waits(model, call) && !st_model_call_waits(model, &model->calls[outer])) {
            sums[place].in_cuda_ns -= call->end_ns - call->begin_ns;
            add_wait(&sums[place], def, call);
        }
    }
}

/* What a span means for one row that it is an entry of. */
static void add_inclusive(struct st_row_sums *row, const struct st_span *span, const struct span_sums *direct)
{
    int64_t length = span->end_ns - span->begin_ns;
    bool has_cpu = span->begin_cpu_ns > 0 && span->end_cpu_ns >= span->begin_cpu_ns;
    if (row->row == ST_ROW_UNATTRIBUTED) { /* only what no stage covers */
        length -= direct->children_ns;
        has_cpu = has_cpu && direct->children_no_cpu == 0;
    }
    row->host_inclusive_ns += length;
    if (has_cpu) {
        row->cpu_ns += span->end_cpu_ns - span->begin_cpu_ns -
                       (row->row == ST_ROW_UNATTRIBUTED ? direct->children_cpu_ns : 0);
    } else {
        row->no_cpu_ns += length;
    }
}

static bool is_below(const struct st_model *model, uint32_t row, uint32_t above)
{
    while (row != ST_NONE && row > above) { /* parents have smaller numbers */
        row = model->rows[row].parent;
    }
    return row == above;
}

/* Is a span around `span` already inside the row `row`? */
static bool is_covered(const struct st_model *model, const struct st_span *span, uint32_t row)
{
    for (uint32_t up = span->parent; up != ST_NONE; up = model->spans[up].parent) {
        if (model->spans[up].role != ST_ROLE_REQUEST && is_below(model, model->spans[up].row, row)) {
            return true;
        }
    }
    return false;
}

/* The direct calls of a span count in every row that a span around them is in, once. */
static void spread_calls(const struct st_request_view *view, struct st_rowset *set, uint32_t span_index,
                         const struct span_sums *direct)
{
    const struct st_model *model = view->model;
    for (uint32_t up = span_index; up != ST_NONE; up = model->spans[up].parent) {
        const struct st_span *span = &model->spans[up];
        bool is_bare = span->row == ST_ROW_UNATTRIBUTED;
        if (span->group != view->group || (is_bare && up != span_index)) {
            continue;
        }
        for (uint32_t r = set->local[span->row]; r != ST_NONE; r = set->sums[r].parent) {
            if (!is_bare && is_covered(model, span, set->sums[r].row)) {
                continue; /* a span further out adds it */
            }
            set->sums[r].in_cuda_ns += direct->in_cuda_ns;
            set->sums[r].waiting_ns += direct->waiting_ns;
            set->sums[r].wait_cpu_ns += direct->wait_cpu_ns;
            set->sums[r].wait_unmeasured_ns += direct->wait_unmeasured_ns;
        }
    }
}

static void sum_children(const struct st_request_view *view, struct span_sums *sums)
{
    for (size_t i = 0; i < view->span_count; i++) {
        const struct st_span *span = &view->model->spans[view->spans[i]];
        uint32_t place = span->parent == ST_NONE ? ST_NONE : place_of(view, span->parent);
        if (place != ST_NONE) {
            const struct st_span *parent = &view->model->spans[span->parent];
            int64_t end = span->end_ns < parent->end_ns ? span->end_ns : parent->end_ns;
            sums[place].children_ns += end > span->begin_ns ? end - span->begin_ns : 0;
            sums[place].children_cpu_ns += span->end_cpu_ns - span->begin_cpu_ns;
            sums[place].children_no_cpu += span->begin_cpu_ns == 0 || span->end_cpu_ns < span->begin_cpu_ns;
        }
    }
}

bool st_hosttime(const struct st_request_view *view, struct st_rowset *set)
{
    const struct st_model *model = view->model;
    struct span_sums *sums = calloc(view->span_count + 1, sizeof(*sums));
    if (!sums) {
        return false;
    }
    for (size_t i = 0; i < view->span_count; i++) {
        const struct st_span *span = &model->spans[view->spans[i]];
        st_rowset_add(set, span->row, span->begin_ns);
    }
    sum_calls(view, sums);
    sum_children(view, sums);
    for (size_t i = 0; !set->failed && i < view->span_count; i++) {
        const struct st_span *span = &model->spans[view->spans[i]];
        uint32_t local = set->local[span->row];
        struct st_row_sums *own = &set->sums[local];
        own->calls += span->role != ST_ROLE_REQUEST && span->role != ST_ROLE_OFF && !span->is_nested;
        own->host_self_ns += span->end_ns - span->begin_ns - sums[i].children_ns;
        for (uint32_t r = local; r != ST_NONE; r = set->sums[r].parent) {
            set->sums[r].is_inferred |= span->is_late || (span->is_open && view->request && view->request->is_complete);
            if (span->row == ST_ROW_UNATTRIBUTED || !is_covered(model, span, set->sums[r].row)) {
                add_inclusive(&set->sums[r], span, &sums[i]);
            }
        }
        spread_calls(view, set, view->spans[i], &sums[i]);
    }
    bool good = count_calls(view, set);
    for (size_t i = 0; i < model->thread_count; i++) {
        uint32_t row = model->threads[i].foreign_row;
        if (row != ST_NONE && set->local[row] != ST_NONE) {
            set->sums[set->local[row]].is_foreign = true;
        }
    }
    free(sums);
    return good && !set->failed;
}
