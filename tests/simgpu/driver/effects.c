/* SPDX-License-Identifier: Apache-2.0 */
/* A heap of resolved operations by end, and the effects themselves. */
#include "effects.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "memory.h"

enum { MANY = 4096 };

static pthread_mutex_t apply_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_op **heap; /* guarded by the engine's lock */
static size_t count, capacity;

static bool sooner(const struct sim_op *a, const struct sim_op *b)
{
    return a->record.end_ns != b->record.end_ns ? a->record.end_ns < b->record.end_ns : a->order < b->order;
}

void sim_effects_add_locked(struct sim_op *op)
{
    size_t at;

    if (count == capacity) {
        capacity = capacity == 0 ? 256 : 2 * capacity;
        heap = realloc(heap, capacity * sizeof(struct sim_op *));
        if (heap == NULL) {
            abort();
        }
    }
    for (at = count++; at > 0 && sooner(op, heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = op;
}

bool sim_effects_many_locked(void)
{
    return count > MANY;
}

static struct sim_op *pop_locked(void)
{
    struct sim_op *first = heap[0];
    struct sim_op *last = heap[--count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && sooner(heap[child + 1], heap[child])) {
            child++;
        }
        if (!sooner(heap[child], last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* The next effect that may be applied now, or NULL; *due_ns then says when there is one (SIM_NEVER: none). */
static struct sim_op *next_due(uint64_t until_ns, bool early, uint64_t *due_ns)
{
    struct sim_op *op = NULL;

    *due_ns = SIM_NEVER;
    pthread_mutex_lock(&sim_engine_lock);
    if (count > 0 && heap[0]->record.end_ns <= until_ns) {
        *due_ns = early && !heap[0]->host_sees_effect ? heap[0]->record.start_ns : heap[0]->record.end_ns;
        if (*due_ns <= sim_now_ns()) {
            op = pop_locked();
        }
    }
    pthread_mutex_unlock(&sim_engine_lock);
    return op;
}

uint64_t sim_effects_apply(uint64_t until_ns, bool early)
{
    struct sim_op *op;
    uint64_t due_ns;

    pthread_mutex_lock(&apply_lock);
    while ((op = next_due(until_ns, early, &due_ns)) != NULL) {
        op->effect(op);
        sim_op_release(op);
    }
    pthread_mutex_unlock(&apply_lock);
    return due_ns;
}

void sim_effects_fork(enum sim_fork side)
{
    if (side == SIM_FORK_BEFORE) {
        pthread_mutex_lock(&apply_lock);
    } else {
        pthread_mutex_unlock(&apply_lock);
    }
}

void sim_effect_copy(struct sim_op *op)
{
    const struct sim_copy *copy = &op->u.copy;

    for (size_t z = 0; z < copy->depth; z++) {
        if (copy->dst_pitch == copy->width && copy->src_pitch == copy->width) {
            memcpy(copy->dst + z * copy->dst_slice, copy->src + z * copy->src_slice, copy->width * copy->height);
            continue;
        }
        for (size_t y = 0; y < copy->height; y++) {
            memcpy(copy->dst + z * copy->dst_slice + y * copy->dst_pitch,
                   copy->src + z * copy->src_slice + y * copy->src_pitch, copy->width);
        }
    }
    free(copy->staged);
}

/* Instead of a copy: what no kernel has computed is at least the same every time. */
void sim_effect_zero(struct sim_op *op)
{
    const struct sim_copy *copy = &op->u.copy;

    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            memset(copy->dst + z * copy->dst_slice + y * copy->dst_pitch, 0, copy->width);
        }
    }
}

void sim_effect_fill(struct sim_op *op)
{
    const struct sim_fill *fill = &op->u.fill;

    for (size_t y = 0; y < fill->height; y++) {
        char *row = fill->dst + y * fill->pitch;

        if (fill->element_bytes == 1) {
            memset(row, (int)fill->value, fill->width);
            continue;
        }
        for (size_t x = 0; x < fill->width; x++) {
            memcpy(row + x * fill->element_bytes, &fill->value, fill->element_bytes);
        }
    }
}

void sim_effect_kernel(struct sim_op *op)
{
    op->u.kernel.fn(op->u.kernel.params, op->record.grid, op->record.block);
    free(op->u.kernel.params);
}

void sim_effect_release(struct sim_op *op)
{
    sim_memory_unmap(op->u.release);
}
