/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `NAME step-end`: a mark closes an iteration of the stage NAME around it.
 *
 *   thread     [sample                                   ]
 *                 unet(...) scheduler() unet() scheduler()      symbol scheduler -> sample step-end
 *   marks                              |                 |
 *   made       [sample/step            ][sample/step     ]
 *
 * An iteration runs from the previous close, or from the begin of the stage's span, to the mark; what follows the
 * last mark is the stage's own. It becomes a span inside the stage's: spans of the stage that lie in it are put inside
 * it, one that lies across its edge stays beside it. No CPU clock is read at a mark.
 */
#include <stdlib.h>

#include "link.h"
#include "vec.h"

#define NO_RULE UINT32_MAX

static int by_time(const void *left, const void *right)
{
    const struct st_raw_mark *a = left, *b = right;
    return (a->at_ticks > b->at_ticks) - (a->at_ticks < b->at_ticks);
}

static int by_parent(const void *left, const void *right)
{
    const struct st_iteration *a = left, *b = right;
    if (a->parent != b->parent) {
        return a->parent < b->parent ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* The last iteration of spans[parent] that begins at or before `at_ns`, or NULL. */
static const struct st_iteration *iteration_from(const struct st_builder *builder, uint32_t parent, int64_t at_ns)
{
    size_t low = 0, high = builder->iteration_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct st_iteration *iteration = &builder->iterations[middle];
        if (iteration->parent < parent || (iteration->parent == parent && iteration->begin_ns <= at_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && builder->iterations[low - 1].parent == parent ? &builder->iterations[low - 1] : NULL;
}

/* The span around a mark that is an entry of the stage the mark names, or ST_NONE. */
static uint32_t stage_of_mark(const struct st_builder *builder, const struct st_raw_mark *mark)
{
    const struct st_model *model = builder->model;
    uint32_t span = st_link_span(builder, (uint32_t)mark->span);
    while (span != ST_NONE && (builder->begins[span].name != mark->a || model->spans[span].role != ST_ROLE_STAGE ||
                               model->spans[span].is_nested)) {
        span = model->spans[span].parent;
    }
    return span;
}

/* builder->iterations from the marks, ids counting on from `next_id`. closed: one item for each span, zeroed. */
static void find_iterations(struct st_builder *builder, int64_t *closed, uint32_t next_id)
{
    const struct st_model *model = builder->model;
    for (size_t i = 0; i < builder->mark_count && next_id != 0; i++) {
        uint32_t stage = stage_of_mark(builder, &builder->marks[i]);
        if (stage == ST_NONE) {
            continue;
        }
        const struct st_span *span = &model->spans[stage];
        int64_t begin = closed[stage] > span->begin_ns ? closed[stage] : span->begin_ns;
        int64_t end = builder->marks[i].at_ticks < span->end_ns ? builder->marks[i].at_ticks : span->end_ns;
        if (end >= begin) {
            builder->iterations[builder->iteration_count++] = (struct st_iteration){
                .begin_ns = begin, .end_ns = end, .parent = stage, .parent_id = span->id, .span_id = next_id++,
                .late_ns = builder->marks[i].b > 0 ? builder->marks[i].b - 1 : 0,
                .is_inferred = builder->marks[i].b > 0};
            closed[stage] = end;
        }
    }
}

static void put_spans_inside(struct st_builder *builder)
{
    const struct st_model *model = builder->model;
    for (size_t i = 0; i < model->span_count; i++) { /* begins[i] made spans[i] */
        const struct st_span *span = &model->spans[i];
        const struct st_iteration *iteration =
            span->parent == ST_NONE ? NULL : iteration_from(builder, span->parent, span->begin_ns - 1);
        if (iteration && span->end_ns <= iteration->end_ns) {
            builder->begins[i].parent = iteration->span_id;
        }
    }
}

static bool add_spans(struct st_builder *builder)
{
    for (size_t i = 0; i < builder->iteration_count; i++) {
        const struct st_iteration *iteration = &builder->iterations[i];
        const struct st_raw_begin *stage = &builder->begins[iteration->parent];
        const struct st_iteration *before =
            i > 0 && iteration[-1].parent == iteration->parent ? &iteration[-1] : NULL;
        const struct st_raw_begin begin = {.thread = stage->thread,
                                           .role = ST_ROLE_STEP,
                                           .at_ticks = iteration->begin_ns,
                                           .span = iteration->span_id,
                                           .parent = iteration->parent_id,
                                           .name = -stage->name,
                                           .request = stage->request,
                                           .rule = NO_RULE,
                                           .late_ticks = before ? before->late_ns : stage->late_ticks,
                                           .inferred = before ? before->is_inferred : stage->inferred};
        const struct st_raw_end end = {
            .how = ST_END_MARKED, .at_ticks = iteration->end_ns, .span = iteration->span_id,
            .late_ticks = iteration->late_ns, .inferred = iteration->is_inferred};
        if (!st_builder_span_begin(builder, &begin) || !st_builder_span_end(builder, &end)) {
            return false;
        }
    }
    return true;
}

bool st_link_add_iterations(struct st_builder *builder, bool *ret_any)
{
    const struct st_model *model = builder->model;
    if (builder->mark_count == 0 || model->span_count == 0) {
        return true;
    }
    uint32_t largest = model->spans[builder->spans_by_id[model->span_count - 1]].id;
    int64_t *closed = calloc(model->span_count, sizeof(*closed));
    builder->iterations = malloc(builder->mark_count * sizeof(*builder->iterations));
    if (!closed || !builder->iterations) {
        free(closed);
        return false;
    }
    st_vec_sort(builder->marks, builder->mark_count, sizeof(*builder->marks), by_time);
    find_iterations(builder, closed, largest + 1);
    free(closed);
    st_vec_sort(builder->iterations, builder->iteration_count, sizeof(*builder->iterations), by_parent);
    put_spans_inside(builder);
    *ret_any = builder->iteration_count > 0;
    return add_spans(builder);
}

void st_link_place_iterations(struct st_builder *builder)
{
    for (size_t i = 0; i < builder->iteration_count; i++) {
        builder->iterations[i].parent = st_link_span(builder, builder->iterations[i].parent_id);
        builder->iterations[i].span = st_link_span(builder, builder->iterations[i].span_id);
    }
    st_vec_sort(builder->iterations, builder->iteration_count, sizeof(*builder->iterations), by_parent);
}

uint32_t st_link_iteration_at(const struct st_builder *builder, uint32_t span, int64_t at_ns)
{
    const struct st_iteration *iteration =
        span == ST_NONE || builder->iteration_count == 0 ? NULL : iteration_from(builder, span, at_ns);
    return iteration && iteration->span != ST_NONE && at_ns < iteration->end_ns ? iteration->span : span;
}
