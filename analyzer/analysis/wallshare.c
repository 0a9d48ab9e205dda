/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall share: in which row does a request's wall go?
 *
 *   wall      |------------------------------------------------|
 *   host      [encode][sample        ][output                  ]
 *   device 0        [encode's k][sample's k    ]   [output's d2h]
 *   share     encode  encode     sample         output  output
 *
 * Each instant goes to one row: that whose work runs on any device, the deepest one; several top-level
 * stages at once are shared; when nothing of the request runs, the row its thread is in; none is
 * unattributed. The shares and the shared time sum to the wall.
 */
#include <stdlib.h>

#include "active.h"
#include "analyzer/model/vec.h"
#include "selftime.h"
#include "sweep.h"

struct moment { /* from at_ns on the thread is in `row` (local) */
    int64_t at_ns;
    uint32_t row;
};
struct timeline {
    struct moment *moments;
    size_t count, capacity;
};

static bool add_moment(struct timeline *line, int64_t at_ns, uint32_t row)
{
    if (line->count > 0 && line->moments[line->count - 1].at_ns == at_ns) {
        line->count--;
    }
    if (!st_vec_reserve((void **)&line->moments, &line->capacity, line->count, sizeof(*line->moments))) {
        return false;
    }
    line->moments[line->count++] = (struct moment){at_ns, row};
    return true;
}

/* The rows of the request's own thread over time, from its spans in order of begin. */
static bool make_timeline(const struct st_request_view *view, struct st_rowset *set, struct timeline *line)
{
    const struct st_model *model = view->model;
    uint32_t open = ST_NONE; /* innermost span so far */
    uint32_t bare = st_rowset_add(set, ST_ROW_UNATTRIBUTED, view->begin_ns);
    bool good = add_moment(line, view->begin_ns, bare);
    for (size_t i = 0; good && i <= view->span_count; i++) {
        const struct st_span *span = i < view->span_count ? &model->spans[view->spans[i]] : NULL;
        if (span && span->thread != view->request->thread) {
            continue;
        }
        while (good && open != ST_NONE && (!span || model->spans[open].end_ns <= span->begin_ns)) {
            int64_t end_ns = model->spans[open].end_ns;
            open = model->spans[open].parent;
            bool around = open != ST_NONE && model->spans[open].group == view->group;
            good = add_moment(line, end_ns, around ? set->local[model->spans[open].row] : bare);
            open = around ? open : ST_NONE;
        }
        if (good && span) {
            open = view->spans[i];
            good = add_moment(line, span->begin_ns, st_rowset_add(set, span->row, span->begin_ns));
        }
    }
    return good && !set->failed;
}

/* Give [from, to) to the row of the thread at each instant of it. *at: the moment in force at `from`. */
static void give_to_host(const struct timeline *line, struct st_rowset *set, size_t *at, int64_t from, int64_t to)
{
    while (from < to) {
        while (*at + 1 < line->count && line->moments[*at + 1].at_ns <= from) {
            ++*at;
        }
        int64_t end = *at + 1 < line->count && line->moments[*at + 1].at_ns < to ? line->moments[*at + 1].at_ns : to;
        set->sums[line->moments[*at].row].wall_share_ns += end - from;
        from = end;
    }
}

bool st_wallshare(const struct st_request_view *view, struct st_rowset *set, int64_t *ret_shared_ns)
{
    struct timeline line = {0};
    struct st_sweep sweep = {0};
    struct st_active active = {0};
    struct st_sweep_event event;
    int64_t now = view->begin_ns, shared = 0;
    size_t moment = 0;
    for (size_t i = 0; i < view->op_count; i++) {
        const struct st_op *op = &view->model->ops[view->ops[i]];
        st_rowset_add(set, op->row, op->start_ns);
    }
    bool good = make_timeline(view, set, &line) && st_active_init(&active, set) &&
                st_sweep_init(&sweep, view, ST_SWEEP_ALL_DEVICES, true);
    while (good) {
        bool more = st_sweep_next(&sweep, &event);
        int64_t next = more ? event.at_ns : view->end_ns;
        uint32_t row = ST_NONE;
        if (next > now) {
            switch (st_active_owner(&active, &row)) {
            case ST_OWNER_ROW:
            case ST_OWNER_UNATTRIBUTED:
                set->sums[row].wall_share_ns += next - now;
                break;
            case ST_OWNER_SHARED:
                shared += next - now;
                break;
            case ST_OWNER_NONE:
                give_to_host(&line, set, &moment, now, next);
            }
            now = next;
        }
        if (!more) {
            break;
        }
        if (event.is_start) {
            st_active_start(&active, event.op, event.at_ns);
        } else {
            st_active_end(&active, event.op, event.at_ns);
        }
    }
    free(line.moments);
    st_active_finish(&active);
    st_sweep_finish(&sweep);
    *ret_shared_ns = shared;
    return good;
}
