/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User objects (see user_object.h). The thread takes references back in the order in which they were given up, each
 * when the work that might still use the object is over. Own lock, which is taken last.
 */
#include "user_object.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver_gen.h"
#include "engine.h"
#include "graph.h"

struct sim_user_object {
    struct sim_object object;
    CUhostFn destroy;
    void *pointer;
    size_t references;
};

/* What the thread is to take back. */
struct given_up {
    struct given_up *next;
    struct sim_user_object *object;
    size_t count;
    struct sim_op *after; /* or NULL */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct given_up *first, **last = &first;
static bool running;

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static struct given_up *take_next(void)
{
    struct given_up *item;

    pthread_mutex_lock(&lock);
    while (first == NULL) {
        pthread_cond_wait(&more, &lock);
    }
    item = first;
    first = item->next;
    if (first == NULL) {
        last = &first;
    }
    pthread_mutex_unlock(&lock);
    return item;
}

static void *take_back(void *unused)
{
    pthread_setname_np(pthread_self(), "simgpu-objects");
    for (;;) {
        struct given_up *item = take_next();
        bool ended;

        if (item->after != NULL) {
            sim_wait_op(item->after);
            sim_op_release(item->after);
        }
        pthread_mutex_lock(&lock);
        item->object->references -= item->count;
        ended = item->object->references == 0;
        pthread_mutex_unlock(&lock);
        if (ended) {
            item->object->destroy(item->object->pointer);
            sim_object_destroy(item->object);
        }
        free(item);
    }
    return unused;
}

static void start_thread_locked(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, take_back, NULL) != 0) {
        fputs("simgpu: no thread for user objects\n", stderr);
        abort();
    }
    pthread_detach(thread);
    running = true;
}

/* Without memory the object just stays. */
static void give_up(struct sim_user_object *object, size_t count, struct sim_op *after)
{
    struct given_up *item = malloc(sizeof(*item));

    if (item == NULL) {
        return;
    }
    if (after != NULL) {
        pthread_mutex_lock(&sim_engine_lock);
        after->references++;
        pthread_mutex_unlock(&sim_engine_lock);
    }
    *item = (struct given_up){.object = object, .count = count, .after = after};
    pthread_mutex_lock(&lock);
    if (!running) {
        start_thread_locked();
    }
    *last = item;
    last = &item->next;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&lock);
}

static void retain(struct sim_user_object *object, size_t count)
{
    pthread_mutex_lock(&lock);
    object->references += count;
    pthread_mutex_unlock(&lock);
}

/* ---- what graphs own --------------------------------------------------------------------------------------------- */

bool sim_user_references_copy(struct sim_user_references *to, const struct sim_user_references *from)
{
    if (from->count == 0) {
        return true;
    }
    to->list = calloc(from->count, sizeof(*to->list));
    if (to->list == NULL) {
        return false;
    }
    for (size_t i = 0; i < from->count; i++) {
        to->list[i] = from->list[i];
        retain(to->list[i].object, to->list[i].count);
    }
    to->count = from->count;
    return true;
}

void sim_user_references_drop(struct sim_user_references *references, struct sim_op *last_op)
{
    for (size_t i = 0; i < references->count; i++) {
        give_up(references->list[i].object, references->list[i].count, last_op);
    }
    free(references->list);
    *references = (struct sim_user_references){0};
}

static struct sim_user_reference *find(struct sim_user_references *references, const struct sim_user_object *object)
{
    for (size_t i = 0; i < references->count; i++) {
        if (references->list[i].object == object) {
            return &references->list[i];
        }
    }
    return NULL;
}

static struct sim_user_reference *find_or_add(struct sim_user_references *references, struct sim_user_object *object)
{
    struct sim_user_reference *found = find(references, object), *list;

    if (found != NULL) {
        return found;
    }
    list = realloc(references->list, (references->count + 1) * sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    references->list = list;
    list[references->count] = (struct sim_user_reference){.object = object};
    return &list[references->count++];
}

/* ---- the API ----------------------------------------------------------------------------------------------------- */

static struct sim_user_object *check(CUuserObject handle, unsigned count)
{
    return count > 0 && count <= INT_MAX ? sim_object_check(handle, SIM_USER_OBJECT) : NULL;
}

CUresult sim_cuUserObjectCreate(CUuserObject *out, void *pointer, CUhostFn destroy, unsigned count, unsigned flags)
{
    struct sim_user_object *object;

    if (out == NULL || destroy == NULL || count == 0 || count > INT_MAX ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    object = sim_object_create(SIM_USER_OBJECT);
    if (object == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object->pointer = pointer;
    object->destroy = destroy;
    object->references = count;
    *out = (CUuserObject)object;
    return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    struct sim_user_object *object = check(handle, count);

    if (object == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    retain(object, count);
    return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    struct sim_user_object *object = check(handle, count);

    if (object == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    give_up(object, count, NULL);
    return CUDA_SUCCESS;
}

CUresult sim_cuGraphRetainUserObject(CUgraph handle, CUuserObject object_handle, unsigned count, unsigned flags)
{
    struct sim_graph *graph = sim_graph_check(handle);
    struct sim_user_object *object = check(object_handle, count);
    struct sim_user_reference *reference;

    if (graph == NULL || object == NULL || (flags & ~CU_GRAPH_USER_OBJECT_MOVE) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&sim_graph_lock);
    reference = find_or_add(&graph->user_references, object);
    if (reference != NULL) {
        reference->count += count;
        if (flags == 0) {
            retain(object, count);
        }
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return reference == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult sim_cuGraphReleaseUserObject(CUgraph handle, CUuserObject object_handle, unsigned count)
{
    struct sim_graph *graph = sim_graph_check(handle);
    struct sim_user_object *object = check(object_handle, count);
    struct sim_user_references *references;
    struct sim_user_reference *reference;
    bool owned;

    if (graph == NULL || object == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    references = &graph->user_references;
    pthread_mutex_lock(&sim_graph_lock);
    reference = find(references, object);
    owned = reference != NULL && reference->count >= count;
    if (owned) {
        reference->count -= count;
        if (reference->count == 0) {
            *reference = references->list[--references->count];
        }
        give_up(object, count, NULL);
    }
    pthread_mutex_unlock(&sim_graph_lock);
    return owned ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
