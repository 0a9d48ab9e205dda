/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions of host functions to the calls that handed them over. A call and its execution name the same function and
 * argument; of several alike the first call is the first execution:
 *
 *   program   [f, 1][f, 2][f, 1]
 *   driver               [f(1)][f(2)][f(1)]        an execution that is left over comes from a graph
 */
#include <stdlib.h>

#include "link.h"
#include "vec.h"

/* By function, argument, begin. */
static int by_what(const void *left, const void *right)
{
    const struct st_handed *a = left, *b = right;
    if (a->function != b->function) {
        return a->function < b->function ? -1 : 1;
    }
    if (a->argument != b->argument) {
        return a->argument < b->argument ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static bool is_before(const struct st_handed *a, const struct st_handed *b)
{
    return a->function != b->function ? a->function < b->function : a->argument < b->argument;
}

static int by_begin(const void *left, const void *right)
{
    const struct st_host_run *a = left, *b = right;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static const char *name_of(struct st_builder *builder, uint64_t function)
{
    for (size_t i = builder->host_name_count; i-- > 0;) {
        if (builder->host_names[i].function == function) {
            return builder->host_names[i].text;
        }
    }
    return st_arena_format(builder->model->arena, "0x%llx", (unsigned long long)function);
}

/* Index into calls[] of the call that began so, or ST_NONE. */
static uint32_t call_of(const struct st_builder *builder, const struct st_handed *handed, uint32_t thread)
{
    const struct st_model *model = builder->model;
    const struct st_model_thread *of = &model->threads[thread];
    uint32_t low = handed->is_runtime ? of->runtime_first : of->driver_first;
    uint32_t end = handed->is_runtime ? of->call_end : of->runtime_first, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model->calls[middle].begin_ns < handed->begin_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_it = low < end && model->calls[low].begin_ns == handed->begin_ns &&
                 model->calldefs[model->calls[low].call].class == ST_CLASS_HOST_FUNC;
    return is_it ? low : ST_NONE;
}

static void place(struct st_builder *builder, const struct st_handed *handed, struct st_host_run *run)
{
    uint32_t thread = handed ? st_link_thread(builder, handed->thread) : ST_NONE;
    run->call = thread == ST_NONE ? ST_NONE : call_of(builder, handed, thread);
    if (run->call == ST_NONE) {
        run->row = ST_NONE;
        run->group = builder->model->traces->window ? ST_NONE : st_link_group(builder, ST_NONE, run->begin_ns);
        return;
    }
    const struct st_call *call = &builder->model->calls[run->call];
    run->group = call->group;
    run->row = st_link_row(builder, thread, call->span, call->group);
}

bool st_link_host_runs(struct st_builder *builder)
{
    struct st_model *model = builder->model;
    model->host_runs = malloc((builder->host_run_count + 1) * sizeof(*model->host_runs));
    if (!model->host_runs) {
        return false;
    }
    st_vec_sort(builder->handed, builder->handed_count, sizeof(*builder->handed), by_what);
    st_vec_sort(builder->host_runs, builder->host_run_count, sizeof(*builder->host_runs), by_what);
    size_t next = 0;
    for (size_t i = 0; i < builder->host_run_count; i++) {
        const struct st_handed *ran = &builder->host_runs[i];
        while (next < builder->handed_count && is_before(&builder->handed[next], ran)) {
            next++;
        }
        const struct st_handed *handed = next < builder->handed_count ? &builder->handed[next] : NULL;
        bool is_its = handed && !is_before(ran, handed) && handed->begin_ns <= ran->begin_ns;
        struct st_host_run *run = &model->host_runs[model->host_run_count++];
        *run = (struct st_host_run){ran->begin_ns, ran->end_ns, name_of(builder, ran->function), ST_NONE, ST_NONE, 0};
        place(builder, is_its ? handed : NULL, run);
        next += is_its;
        if (!run->name) {
            return false;
        }
    }
    st_vec_sort(model->host_runs, model->host_run_count, sizeof(*model->host_runs), by_begin);
    return true;
}
