/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is a gap.
 *
 *   wall      |--------------------------------------------------------|
 *   own            [a     ]    [c  ]                 [d      ]
 *   others             [x    ]                                           (also keep the device busy)
 *   gaps      #####         ###     #################        ##########
 *             before_first   a|c: between the latest end so far and the next start      after_last
 *
 * All operations on the device count, whoever launched them. This walks merged intervals and shares no
 * code with the sweep of selftime.c: the identity adds up only if both are right.
 */
#include "gaps.h"

#include <stdlib.h>

#include "analyzer/model/vec.h"

/* Where the request's own work on the device begins and ends. */
struct own_range {
    int64_t first_ns, last_ns;
    bool any;
};

static struct own_range own_range(const struct st_request_view *view, int64_t device)
{
    struct own_range range = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    for (size_t i = 0; i < view->op_count; i++) {
        const struct st_op *op = &view->model->ops[view->ops[i]];
        if (st_op_is_on(op, device)) {
            range.any = true;
            range.first_ns = op->start_ns < range.first_ns ? op->start_ns : range.first_ns;
            range.last_ns = op->end_ns > range.last_ns ? op->end_ns : range.last_ns;
        }
    }
    return range;
}

static bool add_gap(const struct st_request_view *view, const struct own_range *own, const struct st_gap *gap,
                    struct st_gap_list *list)
{
    if (!st_vec_reserve((void **)&list->gaps, &list->capacity, list->count, sizeof(*list->gaps))) {
        return false;
    }
    struct st_gap *added = &list->gaps[list->count++];
    *added = *gap;
    bool is_first = own->any && gap->end_ns <= own->first_ns;
    bool is_last = !own->any || gap->start_ns >= own->last_ns;
    return st_gap_explain(view, added, is_first, is_last, list->arena);
}

bool st_gaps_find(const struct st_request_view *view, int64_t device, struct st_gap_list *list)
{
    const struct st_model *model = view->model;
    struct own_range own = own_range(view, device);
    struct st_gap gap = {
        .device = device, .start_ns = view->begin_ns, .before = ST_NONE, .after = ST_NONE, .drained_call = ST_NONE};
    for (size_t i = view->near_first; i < view->near_end; i++) {
        const struct st_op *op = &model->ops[i];
        if (!st_op_is_on(op, device) || op->end_ns <= view->begin_ns || op->start_ns == op->end_ns) {
            continue;
        }
        if (op->start_ns > gap.start_ns) {
            gap.end_ns = op->start_ns;
            gap.after = (uint32_t)i;
            if (!add_gap(view, &own, &gap, list)) {
                return false;
            }
        }
        if (op->end_ns > gap.start_ns) {
            gap.start_ns = op->end_ns;
            gap.before = (uint32_t)i;
        }
    }
    if (gap.start_ns < view->end_ns) {
        gap.end_ns = view->end_ns;
        gap.after = ST_NONE;
        return add_gap(view, &own, &gap, list);
    }
    return true;
}

const char *st_gap_neighbour(const struct st_request_view *view, uint32_t op)
{
    if (op == ST_NONE) {
        return NULL;
    }
    const struct st_op *found = &view->model->ops[op];
    return found->group == view->group ? view->model->rows[found->row].name : "other";
}
