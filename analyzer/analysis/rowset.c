/* SPDX-License-Identifier: Apache-2.0 */
/* Dense row numbers of one group; see rowset.h. */
#include "rowset.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"

bool st_rowset_init(struct st_rowset *set, const struct st_model *model)
{
    *set = (struct st_rowset){.model = model};
    set->local = malloc((model->row_count + 1) * sizeof(*set->local));
    if (!set->local) {
        return false;
    }
    memset(set->local, 0xff, (model->row_count + 1) * sizeof(*set->local));
    /* one item from the start: there is always a valid number to hand out */
    return st_vec_reserve((void **)&set->sums, &set->capacity, 0, sizeof(*set->sums));
}

void st_rowset_finish(struct st_rowset *set)
{
    free(set->local);
    free(set->sums);
    *set = (struct st_rowset){0};
}

void st_rowset_reset(struct st_rowset *set)
{
    for (size_t i = 0; i < set->count; i++) {
        set->local[set->sums[i].row] = ST_NONE;
    }
    set->count = 0;
}

uint32_t st_rowset_add(struct st_rowset *set, uint32_t row, int64_t at_ns)
{
    uint32_t local = set->local[row];
    if (local == ST_NONE) {
        uint32_t up = set->model->rows[row].parent;
        uint32_t parent = up == ST_NONE ? ST_NONE : st_rowset_add(set, up, at_ns);
        if (!st_vec_reserve((void **)&set->sums, &set->capacity, set->count, sizeof(*set->sums))) {
            set->failed = true;
            return 0;
        }
        local = (uint32_t)set->count++;
        set->local[row] = local;
        set->sums[local] = (struct st_row_sums){.row = row, .parent = parent, .first_ns = at_ns};
    }
    for (uint32_t r = local; r != ST_NONE && at_ns < set->sums[r].first_ns; r = set->sums[r].parent) {
        set->sums[r].first_ns = at_ns;
    }
    return local;
}
