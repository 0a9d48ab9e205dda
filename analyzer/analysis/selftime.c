/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device figures of rows and the identity of one device (surface §4).
 *
 *   wall      |------------------------------------------------------------|
 *   encode        [k1        ]
 *   sample              [k2        ]       [k3 ]
 *   other req.                         [x    ]
 *              ^^^ ^^^^^^ === ^^^^^ ^^^ ### ^^^ ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 *              idle self  sh. self  idle oth self            idle
 *                   encode    sample         sample (overlap_other: where x runs beside k3)
 *
 * The wall is cut at every start and end; each piece is exactly one of self of a row, shared, unattributed,
 * other, idle. Idle is left to gaps.c, which finds it in another way, so that the sum is a real check.
 */
#include <stdlib.h>
#include <string.h>

#include "active.h"
#include "analyzer/model/arena.h"
#include "analyzer/model/vec.h"
#include "selftime.h"
#include "sweep.h"

enum { MAX_SETS = 64, MAX_SET_NAME_BYTES = 512 };

/* Time by set of top-level rows that shared the device. */
struct shared_sets {
    char (*names)[MAX_SET_NAME_BYTES];
    struct st_report_cause *sets;
    size_t count;
};

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* "decode+sample": the top-level rows that run now, in the order in which the trace met them. */
static void name_of_set(const struct st_active *active, char *ret_name, size_t size)
{
    enum { MAX_TOPS = 16 };
    const struct st_model *model = active->set->model;
    uint32_t tops[MAX_TOPS];
    size_t count = 0, length = 0;
    for (size_t i = 0; i < active->running_count && count < MAX_TOPS; i++) {
        uint32_t top = model->rows[active->set->sums[active->running[i]].row].top;
        bool known = false;
        for (size_t k = 0; k < count; k++) {
            known = known || tops[k] == top;
        }
        if (!known) {
            tops[count++] = top;
        }
    }
    st_vec_sort(tops, count, sizeof(tops[0]), by_number);
    ret_name[0] = 0;
    for (size_t i = 0; i < count && length < size; i++) {
        const char *name = model->rows[tops[i]].name;
        size_t bytes = strlen(name);
        if (length + bytes + 2 > size) {
            break;
        }
        if (i > 0) {
            ret_name[length++] = '+';
        }
        memcpy(ret_name + length, name, bytes + 1);
        length += bytes;
    }
}

static void add_shared(struct shared_sets *sets, const struct st_active *active, int64_t length_ns)
{
    char name[MAX_SET_NAME_BYTES];
    name_of_set(active, name, sizeof(name));
    for (size_t i = 0; i < sets->count; i++) {
        if (strcmp(sets->names[i], name) == 0) {
            sets->sets[i].duration_ns += length_ns;
            return;
        }
    }
    if (sets->count == MAX_SETS) { /* the last one takes what is left */
        sets->sets[MAX_SETS - 1].duration_ns += length_ns;
        return;
    }
    strcpy(sets->names[sets->count], sets->count == MAX_SETS - 1 ? "more sets" : name);
    sets->sets[sets->count++].duration_ns = length_ns;
}

/* One piece of the wall, in which nothing starts or ends. */
static void add_piece(struct st_device_sums *sums, struct st_active *active, struct shared_sets *sets,
                      size_t device_index, uint32_t others, int64_t length_ns)
{
    uint32_t row = ST_NONE;
    enum st_owner owner = st_active_owner(active, &row);
    if (owner != ST_OWNER_NONE) {
        sums->busy_ns += length_ns;
        sums->overlap_other_ns += others > 0 ? length_ns : 0;
    }
    switch (owner) {
    case ST_OWNER_ROW:
        sums->self_ns += length_ns;
        active->set->sums[row].devices[device_index].self_ns += length_ns;
        break;
    case ST_OWNER_UNATTRIBUTED:
        sums->unattributed_ns += length_ns;
        active->set->sums[row].devices[device_index].self_ns += length_ns;
        break;
    case ST_OWNER_SHARED:
        sums->shared_ns += length_ns;
        add_shared(sets, active, length_ns);
        break;
    case ST_OWNER_NONE:
        sums->other_ns += others > 0 ? length_ns : 0;
    }
}

static void take_busy(struct st_rowset *set, const struct st_active *active, size_t device_index)
{
    for (size_t r = 0; r < set->count; r++) {
        const struct st_active_row *row = &active->rows[r];
        struct st_report_row_device *device = &set->sums[r].devices[device_index];
        device->busy_ns = row->busy_ns[ST_BUSY_ANY];
        device->compute_ns = row->busy_ns[ST_BUSY_KERNEL];
        device->copy_only_ns = device->busy_ns - device->compute_ns;
        set->sums[r].memsets.busy_ns += row->busy_ns[ST_BUSY_MEMSET];
        for (int kind = 0; kind < ST_COPY_KINDS; kind++) {
            set->sums[r].copies[kind].busy_ns += row->busy_ns[ST_BUSY_COPY + kind];
        }
    }
}

static bool sweep_device(const struct st_request_view *view, struct st_rowset *set, struct st_device_sums *sums,
                         struct shared_sets *sets, size_t device_index)
{
    struct st_sweep sweep;
    struct st_active active;
    struct st_sweep_event event;
    int64_t now = view->begin_ns;
    uint32_t others = 0;
    if (!st_sweep_init(&sweep, view, sums->device, false)) {
        return false;
    }
    if (!st_active_init(&active, set)) {
        st_sweep_finish(&sweep);
        return false;
    }
    while (st_sweep_next(&sweep, &event)) {
        if (event.at_ns > now) {
            add_piece(sums, &active, sets, device_index, others, event.at_ns - now);
            now = event.at_ns;
        }
        if (!event.is_own) {
            others += event.is_start ? 1 : -1u;
        } else if (event.is_start) {
            st_active_start(&active, event.op, event.at_ns);
        } else {
            st_active_end(&active, event.op, event.at_ns);
        }
    }
    take_busy(set, &active, device_index);
    st_active_finish(&active);
    st_sweep_finish(&sweep);
    return true;
}

bool st_selftime(const struct st_request_view *view, struct st_rowset *set, struct st_arena *arena,
                 struct st_device_sums *devices, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < view->op_count; i++) {
        const struct st_op *op = &view->model->ops[view->ops[i]];
        st_rowset_add(set, op->row, op->start_ns);
    }
    for (size_t r = 0; good && r < set->count; r++) {
        set->sums[r].devices = st_arena_array(arena, count, sizeof(*set->sums[r].devices));
        good = set->sums[r].devices != NULL;
        for (size_t d = 0; good && d < count; d++) {
            set->sums[r].devices[d].device = devices[d].device;
        }
    }
    for (size_t d = 0; good && !set->failed && d < count; d++) {
        struct shared_sets sets = {.names = calloc(MAX_SETS, sizeof(*sets.names)),
                                   .sets = calloc(MAX_SETS, sizeof(*sets.sets))};
        good = sets.names && sets.sets && sweep_device(view, set, &devices[d], &sets, d);
        struct st_report_cause *list = good ? st_arena_array(arena, sets.count, sizeof(*list)) : NULL;
        for (size_t i = 0; list && i < sets.count; i++) {
            list[i] = sets.sets[i];
            list[i].cause = st_arena_text(arena, sets.names[i], strlen(sets.names[i]));
        }
        good = list != NULL;
        devices[d].shared_by_set = list;
        devices[d].shared_count = good ? sets.count : 0;
        free(sets.names);
        free(sets.sets);
    }
    return good && !set->failed;
}
