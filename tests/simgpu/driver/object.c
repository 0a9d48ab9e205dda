/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of one reserved range; freed slots are used again last, so that stale handles stay detectable for long. */
#include "object.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOT_COUNT = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(char *) slots;
static _Atomic size_t slots_used;
static struct sim_object *free_first, *free_last;

static struct sim_object *take_slot_locked(void)
{
    struct sim_object *object = NULL;
    char *base = atomic_load(&slots);
    size_t used = atomic_load(&slots_used);

    if (base == NULL) {
        void *range = mmap(NULL, (size_t)SLOT_COUNT * SIM_SLOT_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (range == MAP_FAILED) {
            return NULL;
        }
        base = range;
        atomic_store(&slots, base);
    }
    if (used < SLOT_COUNT) {
        object = (struct sim_object *)(void *)(base + used * SIM_SLOT_BYTES);
        atomic_store(&slots_used, used + 1);
    } else if (free_first != NULL) {
        object = free_first;
        free_first = object->next_free;
        memset((char *)object + sizeof(*object), 0, SIM_SLOT_BYTES - sizeof(*object));
    }
    return object;
}

void *sim_object_create(enum sim_object_type type)
{
    struct sim_object *object;

    pthread_mutex_lock(&lock);
    object = take_slot_locked();
    if (object != NULL) {
        object->next_free = NULL;
        atomic_store_explicit(&object->type, type, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return object;
}

void sim_object_destroy(void *pointer)
{
    struct sim_object *object = pointer;

    pthread_mutex_lock(&lock);
    atomic_store_explicit(&object->type, SIM_FREE_SLOT, memory_order_release);
    object->next_free = NULL;
    if (free_first == NULL) {
        free_first = object;
    } else {
        free_last->next_free = object;
    }
    free_last = object;
    pthread_mutex_unlock(&lock);
}

void *sim_object_check(const void *handle, enum sim_object_type type)
{
    uintptr_t base = (uintptr_t)atomic_load_explicit(&slots, memory_order_acquire);
    uintptr_t offset = (uintptr_t)handle - base;
    struct sim_object *object = (struct sim_object *)(uintptr_t)handle;

    if (base == 0 || (uintptr_t)handle < base || offset % SIM_SLOT_BYTES != 0 ||
        offset / SIM_SLOT_BYTES >= atomic_load_explicit(&slots_used, memory_order_acquire)) {
        return NULL;
    }
    return atomic_load_explicit(&object->type, memory_order_acquire) == (unsigned)type ? object : NULL;
}
