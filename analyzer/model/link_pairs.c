/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DRIVER_API records to CALL rows by order. Both are what one thread did, in the order in which it did it:
 *
 *   thread, one function   CALL  ┆1┆ ┆2┆  ┆3┆     ┆4┆
 *                          API   ┆1┆ ┆2┆  ┆3┆     ┆4┆     as many: the n-th is the n-th
 *
 * Where the numbers differ (records were dropped), or a pair is farther apart in time than the clocks can be, nothing
 * is paired here and link_ops.c looks by time – which may take the neighbour of a call shorter than the clocks' error.
 *
 * Where only windows were recorded there are more records than calls. Each run of calls in one window is laid beside
 * the records where the two lie closest:
 *
 *   CALL                     ┆1┆ ┆2┆  ┆3┆
 *   API       ┆·┆ ┆·┆  ┆·┆  ┆1┆ ┆2┆  ┆3┆   ┆·┆ ┆·┆        not one record later, where the sum of distances is larger
 */
#include <stdlib.h>

#include "link.h"
#include "vec.h"

static int by_place(const void *left, const void *right)
{
    const struct st_api *a = left, *b = right;
    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    return (a->start > b->start) - (a->start < b->start);
}

static int by_tid(const void *left, const void *right)
{
    const struct st_tid *a = left, *b = right;
    return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid) : (a->thread > b->thread) - (a->thread < b->thread);
}

bool st_link_list_tids(const struct st_model *model, struct st_tids *ret_tids)
{
    ret_tids->entries = malloc((model->thread_count + 1) * sizeof(*ret_tids->entries));
    ret_tids->count = model->thread_count;
    for (size_t i = 0; ret_tids->entries && i < model->thread_count; i++) {
        ret_tids->entries[i] = (struct st_tid){(uint32_t)model->threads[i].tid, (uint32_t)i};
    }
    if (ret_tids->entries) {
        st_vec_sort(ret_tids->entries, ret_tids->count, sizeof(*ret_tids->entries), by_tid);
    }
    return ret_tids->entries != NULL;
}

size_t st_link_first_of_tid(const struct st_tids *tids, uint32_t tid)
{
    size_t low = 0, high = tids->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tids->entries[middle].tid < tid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The only thread of this id, or ST_NONE: an id that was used again does not tell. */
static uint32_t only_thread(const struct st_tids *tids, uint32_t tid)
{
    size_t at = st_link_first_of_tid(tids, tid);
    bool is_there = at < tids->count && tids->entries[at].tid == tid;
    bool is_twice = is_there && at + 1 < tids->count && tids->entries[at + 1].tid == tid;
    return is_there && !is_twice ? tids->entries[at].thread : ST_NONE;
}

static bool is_near(const struct st_call *call, const struct st_api *api, int64_t tolerance_ns)
{
    return api->start >= call->begin_ns - tolerance_ns && api->end <= call->end_ns + tolerance_ns;
}

/* One function of one thread: apis[0, count), sorted by start. */
static void pair_run(struct st_model *model, const struct st_model_thread *thread, struct st_api *apis, size_t count,
                     int64_t tolerance_ns)
{
    size_t n = 0;
    for (uint32_t i = thread->driver_first; i < thread->runtime_first; i++) {
        if (model->calls[i].call == apis[0].call) {
            if (n == count || !is_near(&model->calls[i], &apis[n], tolerance_ns)) {
                n = 0;
                break;
            }
            apis[n++].call_index = i;
        }
    }
    for (size_t i = 0; n != count && i < count; i++) {
        apis[i].call_index = ST_NONE;
    }
}

static int64_t distance(const struct st_call *call, const struct st_api *api)
{
    int64_t middle = call->begin_ns + (call->end_ns - call->begin_ns) / 2;
    int64_t difference = api->start + (api->end - api->start) / 2 - middle;
    return difference < 0 ? -difference : difference;
}

/* apis[0, count) before `at_ns`, by start. */
static size_t first_from(const struct st_api *apis, size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (apis[middle].start < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A run of calls in one window: calls[run[0 … length)]. */
static void lay_beside(const struct st_model *model, const uint32_t *run, size_t length, struct st_api *apis,
                       size_t count, int64_t tolerance_ns)
{
    enum { REACH = 4 };
    size_t near = first_from(apis, count, model->calls[run[0]].begin_ns), best = count;
    double least = 0;
    for (size_t first = near > REACH ? near - REACH : 0; first < count && first <= near + REACH; first++) {
        double sum = 0;
        for (size_t i = 0; i < length; i++) { /* a record that is not there is as far as can be */
            sum += first + i < count ? (double)distance(&model->calls[run[i]], &apis[first + i]) : 1e12;
        }
        if (best == count || sum < least) {
            best = first;
            least = sum;
        }
    }
    for (size_t i = 0; i < length && best + i < count; i++) {
        if (is_near(&model->calls[run[i]], &apis[best + i], tolerance_ns)) {
            apis[best + i].call_index = run[i];
        }
    }
}

/* False: out of memory. */
static bool pair_windows(const struct st_model *model, const struct st_model_thread *thread, struct st_api *apis,
                         size_t count, int64_t tolerance_ns)
{
    uint32_t *run = malloc((thread->runtime_first - thread->driver_first + 1) * sizeof(*run));
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        apis[i].is_settled = true;
    }
    for (uint32_t i = thread->driver_first; run && i < thread->runtime_first; i++) {
        if (model->calls[i].call != apis[0].call) {
            continue;
        }
        if (length > 0 && model->calls[run[0]].group != model->calls[i].group) {
            lay_beside(model, run, length, apis, count, tolerance_ns);
            length = 0;
        }
        run[length++] = i;
    }
    if (length > 0) {
        lay_beside(model, run, length, apis, count, tolerance_ns);
    }
    bool good = run != NULL;
    free(run);
    return good;
}

bool st_link_pairs(struct st_builder *builder, const struct st_tids *tids, int64_t tolerance_ns)
{
    struct st_model *model = builder->model;
    st_vec_sort(builder->apis, builder->api_count, sizeof(*builder->apis), by_place);
    uint32_t thread = ST_NONE;
    for (size_t first = 0, end; first < builder->api_count; first = end) {
        struct st_api *apis = &builder->apis[first];
        for (end = first + 1; end < builder->api_count && builder->apis[end].tid == apis->tid &&
                              builder->apis[end].call == apis->call; end++) {
        }
        if (first == 0 || apis->tid != apis[-1].tid) {
            thread = only_thread(tids, apis->tid);
        }
        if (thread == ST_NONE || apis->call < 0) {
            continue;
        }
        if (!model->traces->window) {
            pair_run(model, &model->threads[thread], apis, end - first, tolerance_ns);
        } else if (!pair_windows(model, &model->threads[thread], apis, end - first, tolerance_ns)) {
            return false;
        }
    }
    return true;
}
