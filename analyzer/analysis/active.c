/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows run right now; see active.h. */
#include "active.h"

#include <stdlib.h>

bool st_active_init(struct st_active *active, struct st_rowset *set)
{
    *active = (struct st_active){.set = set};
    active->rows = calloc(set->count + 1, sizeof(*active->rows));
    active->running = calloc(set->count + 1, sizeof(*active->running));
    if (!active->rows || !active->running) {
        st_active_finish(active);
        return false;
    }
    return true;
}

void st_active_finish(struct st_active *active)
{
    free(active->rows);
    free(active->running);
    *active = (struct st_active){0};
}

static int kind_of(const struct st_op *op)
{
    if (op->kind == ST_OP_KERNEL) {
        return ST_BUSY_KERNEL;
    }
    if (op->kind == ST_OP_MEMSET) {
        return ST_BUSY_MEMSET;
    }
    switch (op->direction) {
    case ST_DIR_H2D:
        return ST_BUSY_COPY + ST_COPY_H2D;
    case ST_DIR_D2H:
        return ST_BUSY_COPY + ST_COPY_D2H;
    case ST_DIR_P2P:
        return ST_BUSY_COPY + ST_COPY_P2P;
    case ST_DIR_D2D:
        return ST_BUSY_COPY + ST_COPY_D2D;
    default:
        return ST_BUSY_ANY; /* a copy of no known direction is busy, but in no column */
    }
}

static void change(struct st_active_row *row, int kind, bool starts, int64_t at_ns)
{
    if (starts) {
        if (row->running[kind]++ == 0) {
            row->since_ns[kind] = at_ns;
        }
    } else if (--row->running[kind] == 0) {
        row->busy_ns[kind] += at_ns - row->since_ns[kind];
    }
}

static void change_all(struct st_active *active, const struct st_op *op, bool starts, int64_t at_ns)
{
    int kind = kind_of(op);
    for (uint32_t r = active->set->local[op->row]; r != ST_NONE; r = active->set->sums[r].parent) {
        change(&active->rows[r], ST_BUSY_ANY, starts, at_ns);
        if (kind != ST_BUSY_ANY) {
            change(&active->rows[r], kind, starts, at_ns);
        }
    }
}

void st_active_start(struct st_active *active, const struct st_op *op, int64_t at_ns)
{
    uint32_t local = active->set->local[op->row];
    struct st_active_row *row = &active->rows[local];
    const struct st_model *model = active->set->model;
    int64_t launch_ns = op->call != ST_NONE ? model->calls[op->call].begin_ns : op->start_ns;
    change_all(active, op, true, at_ns);
    if (row->direct++ == 0) {
        active->running[active->running_count++] = local;
        row->latest_launch_ns = launch_ns;
    } else if (launch_ns > row->latest_launch_ns) {
        row->latest_launch_ns = launch_ns;
    }
}

void st_active_end(struct st_active *active, const struct st_op *op, int64_t at_ns)
{
    uint32_t local = active->set->local[op->row];
    change_all(active, op, false, at_ns);
    if (--active->rows[local].direct > 0) {
        return;
    }
    for (size_t i = 0; i < active->running_count; i++) {
        if (active->running[i] == local) {
            active->running[i] = active->running[--active->running_count];
            return;
        }
    }
}

enum st_owner st_active_owner(const struct st_active *active, uint32_t *ret_row)
{
    const struct st_model *model = active->set->model;
    uint32_t best = ST_NONE, top = ST_NONE;
    for (size_t i = 0; i < active->running_count; i++) {
        uint32_t local = active->running[i];
        const struct st_model_row *row = &model->rows[active->set->sums[local].row];
        if (top != ST_NONE && row->top != top) {
            return ST_OWNER_SHARED;
        }
        top = row->top;
        const struct st_model_row *other = best == ST_NONE ? NULL : &model->rows[active->set->sums[best].row];
        if (!other || row->depth > other->depth ||
            (row->depth == other->depth &&
             active->rows[local].latest_launch_ns > active->rows[best].latest_launch_ns)) {
            best = local;
        }
    }
    *ret_row = best;
    return best == ST_NONE ? ST_OWNER_NONE : top == ST_ROW_UNATTRIBUTED ? ST_OWNER_UNATTRIBUTED : ST_OWNER_ROW;
}
