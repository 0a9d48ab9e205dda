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
 * entered inside: what lies directly in a span is cut into parts, and these are added up for every row around
 * it. So the parts of a row sum to its inclusive time, and no part is smaller than in a row below. Counts of
 * launches and copies follow the path of the row instead: a stage nested in another without "/" is a row of
 * its own.
 */
#include <stdlib.h>

#include "analyzer/model/vec.h"
#include "selftime.h"

/* What lies directly in one span, in none inside it. The five parts sum to self_ns. */
struct span_sums {
    int64_t end_ns; /* the span's, at most that of the span around it */
    int64_t self_ns, own_cpu_ns, off_cpu_ns, unsplit_ns, in_cuda_ns, waiting_ns;
    int64_t wait_cpu_ns, children_ns, children_cpu_ns, children_no_cpu;
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
            sums->graphs_untold += call->value == ST_GRAPH_UNKNOWN;
            sums->graph_nodes_told += call->value == ST_GRAPH_UNKNOWN ? 0 : call->value;
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

/* A copy records no CPU time: the thread is taken to be off the CPU while it waits. */
static void add_wait(struct span_sums *sums, const struct st_model_calldef *def, const struct st_call *call,
                     int64_t length_ns)
{
    sums->waiting_ns += length_ns;
    if (def->class == ST_CLASS_SYNC && call->value > 0) {
        sums->wait_cpu_ns += call->value > length_ns ? length_ns : call->value;
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
        int64_t end_ns = call->end_ns < sums[place].end_ns ? call->end_ns : sums[place].end_ns;
        int64_t length_ns = end_ns > call->begin_ns ? end_ns - call->begin_ns : 0;
        uint32_t outer = (call->flags & ST_CALL_INNER) ? st_model_outer_call(model, view->calls[i]) : ST_NONE;
        if (outer == ST_NONE) {
            if (st_model_call_waits(model, call)) {
                add_wait(&sums[place], def, call, length_ns);
            } else {
                sums[place].in_cuda_ns += length_ns;
            }
        } else if (st_model_call_waits(model, call) && !st_model_call_waits(model, &model->calls[outer])) {
            sums[place].in_cuda_ns -= length_ns;
            add_wait(&sums[place], def, call, length_ns);
        }
    }
}

static bool has_cpu(const struct st_span *span)
{
    return span->begin_cpu_ns > 0 && span->end_cpu_ns >= span->begin_cpu_ns;
}

/* Lengths, and what of each span lies in spans inside it. Spans come in order of begin: parents first. */
static void sum_spans(const struct st_request_view *view, struct span_sums *sums)
{
    for (size_t i = 0; i < view->span_count; i++) {
        const struct st_span *span = &view->model->spans[view->spans[i]];
        uint32_t place = span->parent == ST_NONE ? ST_NONE : place_of(view, span->parent);
        sums[i].end_ns = span->end_ns;
        if (place != ST_NONE) {
            struct span_sums *parent = &sums[place];
            sums[i].end_ns = parent->end_ns < span->end_ns ? parent->end_ns : span->end_ns;
            sums[i].end_ns = sums[i].end_ns < span->begin_ns ? span->begin_ns : sums[i].end_ns;
            parent->children_ns += sums[i].end_ns - span->begin_ns;
            parent->children_cpu_ns += span->end_cpu_ns - span->begin_cpu_ns;
            parent->children_no_cpu += !has_cpu(span);
        }
    }
}

/*
 * What lies directly in the span, cut into parts that sum to it. CPU time inside calls that do not wait is taken to
 * be all of their time. Where the CPU clock says that this, or that a wait slept, is not so, own code stays unsplit.
 */
static void split(const struct st_span *span, struct span_sums *sums)
{
    enum { JITTER_NS = 20000 };
    int64_t self = sums->end_ns - span->begin_ns - sums->children_ns;
    sums->self_ns = self > 0 ? self : 0;
    sums->waiting_ns = sums->waiting_ns < sums->self_ns ? sums->waiting_ns : sums->self_ns;
    int64_t most = sums->self_ns - sums->waiting_ns;
    sums->in_cuda_ns = sums->in_cuda_ns < 0 ? 0 : sums->in_cuda_ns < most ? sums->in_cuda_ns : most;
    int64_t code = most - sums->in_cuda_ns;
    int64_t tolerated = sums->self_ns / 100 > JITTER_NS ? sums->self_ns / 100 : JITTER_NS;
    int64_t own = span->end_cpu_ns - span->begin_cpu_ns - sums->children_cpu_ns - sums->wait_cpu_ns - sums->in_cuda_ns;
    bool fits = own >= -tolerated && own <= code + tolerated;
    if (!has_cpu(span) || sums->children_no_cpu > 0 || (!fits && code > JITTER_NS)) {
        sums->unsplit_ns = code;
        return;
    }
    sums->own_cpu_ns = own < 0 ? 0 : own < code ? own : code;
    sums->off_cpu_ns = code - sums->own_cpu_ns;
}

static bool is_below(const struct st_model *model, uint32_t row, uint32_t above)
{
    while (row != ST_NONE && row > above) { /* parents have smaller numbers */
        row = model->rows[row].parent;
    }
    return row == above;
}

/* Is a span around `span`, of the same group, already inside the row `row`? */
static bool is_covered(const struct st_model *model, const struct st_span *span, uint32_t row)
{
    for (uint32_t up = span->parent; up != ST_NONE && model->spans[up].group == span->group;
         up = model->spans[up].parent) {
        if (model->spans[up].role != ST_ROLE_REQUEST && is_below(model, model->spans[up].row, row)) {
            return true;
        }
    }
    return false;
}

static void add_parts(struct st_row_sums *row, const struct span_sums *direct)
{
    row->host_inclusive_ns += direct->self_ns;
    row->own_cpu_ns += direct->own_cpu_ns;
    row->off_cpu_ns += direct->off_cpu_ns;
    row->unsplit_ns += direct->unsplit_ns;
    row->in_cuda_ns += direct->in_cuda_ns;
    row->waiting_ns += direct->waiting_ns;
}

/* What lies directly in a span counts in every row that a span around it is an entry of, once. */
static void spread(const struct st_request_view *view, struct st_rowset *set, uint32_t span_index,
                   const struct span_sums *direct)
{
    const struct st_model *model = view->model;
    for (uint32_t up = span_index; up != ST_NONE; up = model->spans[up].parent) {
        const struct st_span *span = &model->spans[up];
        bool is_bare = span->row == ST_ROW_UNATTRIBUTED; /* holds only what no stage covers */
        if (span->group != view->group || (is_bare && up != span_index)) {
            continue;
        }
        for (uint32_t r = set->local[span->row]; r != ST_NONE; r = set->sums[r].parent) {
            if (is_bare || !is_covered(model, span, set->sums[r].row)) { /* else a span further out adds it */
                add_parts(&set->sums[r], direct);
            }
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
    sum_spans(view, sums);
    sum_calls(view, sums);
    for (size_t i = 0; !set->failed && i < view->span_count; i++) {
        const struct st_span *span = &model->spans[view->spans[i]];
        uint32_t local = set->local[span->row];
        struct st_row_sums *own = &set->sums[local];
        own->calls += span->role != ST_ROLE_REQUEST && span->role != ST_ROLE_OFF && !span->is_nested &&
                      !span->is_following;
        split(span, &sums[i]);
        own->host_self_ns += sums[i].self_ns;
        for (uint32_t r = local; r != ST_NONE; r = set->sums[r].parent) {
            bool is_vague = span->is_late || (span->is_open && view->request && view->request->is_complete);
            set->sums[r].is_inferred |= span->is_inferred || is_vague;
            set->sums[r].is_unbounded |= is_vague;
            set->sums[r].doubt_ns = span->doubt_ns > set->sums[r].doubt_ns ? span->doubt_ns : set->sums[r].doubt_ns;
        }
        spread(view, set, view->spans[i], &sums[i]);
    }
    bool good = count_calls(view, set);
    for (size_t i = 0; i < model->thread_count; i++) {
        uint32_t row = model->threads[i].foreign_row;
        if (row != ST_NONE && set->local[row] != ST_NONE) {
            set->sums[set->local[row]].is_foreign = true;
        }
    }
    uint32_t bare = set->local[ST_ROW_UNATTRIBUTED];
    if (bare != ST_NONE && !view->request && set->sums[bare].host_inclusive_ns == 0) {
        set->sums[bare].is_foreign = true;
    }
    free(sums);
    return good && !set->failed;
}
