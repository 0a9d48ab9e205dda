/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace in which no request rule was met: the process after loading is taken as one request.
 *
 *   thread 1   [load      ]      [encode]   launch   [output  ]
 *   thread 2         [load  ]          launch launch             sync
 *   request                 |---------------------------------------|
 *
 * It begins where the last load before the first stage ended, else with that stage; without any stage the first launch
 * counts in its place (where nothing is launched, the first copy or memset). It ends with the last stage and the last
 * call that gave the device work or waited for it. Its thread is the first stage's, or that of the first launch.
 * It is open as long as the process runs, where the process was killed, and while a stage is.
 */
#include "link.h"

#define NO_RULE UINT32_MAX

struct extent {
    int64_t start_ns; /* the first stage, or launch */
    int64_t begin_ns, end_ns;
    uint32_t thread; /* THREAD.thread */
    bool any, is_open;
};

static bool is_in_load(const struct st_model *model, uint32_t span)
{
    while (span != ST_NONE && model->spans[span].role != ST_ROLE_LOAD) {
        span = model->spans[span].parent;
    }
    return span != ST_NONE;
}

static void look_at_stages(const struct st_model *model, struct extent *extent)
{
    for (size_t i = 0; i < model->span_count; i++) { /* by begin */
        const struct st_span *span = &model->spans[i];
        if ((span->role != ST_ROLE_STAGE && span->role != ST_ROLE_STEP) || span->thread == ST_NONE ||
            is_in_load(model, (uint32_t)i)) {
            continue;
        }
        if (!extent->any) {
            extent->any = true;
            extent->start_ns = span->begin_ns;
            extent->thread = model->threads[span->thread].index;
        }
        extent->end_ns = span->end_ns > extent->end_ns ? span->end_ns : extent->end_ns;
        extent->is_open = extent->is_open || (span->is_open && span->parent == ST_NONE);
    }
}

static bool is_work(uint8_t class)
{
    return class == ST_CLASS_LAUNCH || class == ST_CLASS_GRAPH_LAUNCH || class == ST_CLASS_COPY ||
           class == ST_CLASS_MEMSET;
}

/* Calls are not sorted yet: their span is an id, their group THREAD.thread. */
static void look_at_calls(const struct st_builder *builder, struct extent *extent)
{
    const struct st_model *model = builder->model;
    const struct st_call *first = NULL;
    bool has_launch = false;
    for (size_t i = 0; i < builder->call_count; i++) {
        const struct st_call *call = &builder->calls[i];
        const struct st_model_calldef *def = &model->calldefs[call->call];
        bool is_launch = def->class == ST_CLASS_LAUNCH || def->class == ST_CLASS_GRAPH_LAUNCH;
        bool is_wait = def->class == ST_CLASS_SYNC || def->blocks;
        if ((!is_work(def->class) && !is_wait) || call->result != 0 || (call->flags & ST_CALL_CAPTURED) ||
            is_in_load(model, st_link_span(builder, call->span))) {
            continue;
        }
        extent->end_ns = call->end_ns > extent->end_ns ? call->end_ns : extent->end_ns;
        if (is_work(def->class) &&
            (!first || is_launch > has_launch || (is_launch == has_launch && call->begin_ns < first->begin_ns))) {
            first = call;
            has_launch = is_launch;
        }
    }
    if (!extent->any && first) {
        extent->any = true;
        extent->start_ns = first->begin_ns;
        extent->thread = first->group;
    }
}

static struct extent find_extent(const struct st_builder *builder)
{
    const struct st_model *model = builder->model;
    struct extent extent = {.end_ns = INT64_MIN, .begin_ns = INT64_MIN};
    for (size_t i = 0; i < model->span_count; i++) {
        if (model->spans[i].role == ST_ROLE_REQUEST) {
            return extent;
        }
    }
    look_at_stages(model, &extent);
    look_at_calls(builder, &extent);
    for (size_t i = 0; i < model->span_count; i++) {
        const struct st_span *span = &model->spans[i];
        if (span->role == ST_ROLE_LOAD && !span->is_open && span->end_ns <= extent.start_ns &&
            span->end_ns > extent.begin_ns) {
            extent.begin_ns = span->end_ns;
        }
    }
    extent.begin_ns = extent.begin_ns == INT64_MIN ? extent.start_ns : extent.begin_ns;
    extent.is_open = extent.is_open || !model->traces->summary.has_end;
    return extent;
}

bool st_link_add_implicit(struct st_builder *builder, bool *ret_any)
{
    const struct st_model *model = builder->model;
    struct extent extent = find_extent(builder);
    uint32_t id = st_link_next_span(builder);
    *ret_any = extent.any && id != 0;
    if (!*ret_any) {
        return true;
    }
    for (size_t i = 0; i < model->span_count; i++) { /* begins[i] made spans[i] */
        const struct st_span *span = &model->spans[i];
        if (span->parent == ST_NONE && builder->begins[i].thread == extent.thread &&
            span->begin_ns >= extent.begin_ns && span->begin_ns <= extent.end_ns) {
            builder->begins[i].parent = id;
        }
    }
    builder->implicit_span = id;
    const struct st_raw_begin begin = {.thread = extent.thread,
                                       .role = ST_ROLE_REQUEST,
                                       .at_ticks = extent.begin_ns,
                                       .span = id,
                                       .request = 1,
                                       .rule = NO_RULE};
    const struct st_raw_end end = {.how = ST_END_MARKED, .at_ticks = extent.end_ns, .span = id};
    return st_builder_span_begin(builder, &begin) && (extent.is_open || st_builder_span_end(builder, &end));
}

uint32_t st_link_implicit_at(const struct st_builder *builder, uint32_t thread, int64_t at_ns)
{
    const struct st_model *model = builder->model;
    uint32_t span = st_link_span(builder, builder->implicit_span);
    return span != ST_NONE && model->spans[span].thread == thread && at_ns >= model->spans[span].begin_ns &&
                   at_ns < model->spans[span].end_ns
               ? span
               : ST_NONE;
}
