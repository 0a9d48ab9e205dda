/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and stage functions as they are now, told to others (watch.h): for functions that have no symbol that could
 * be edited, and to say why a rule met nothing.
 */
#include <string.h>

#include "objects.h"

#include "preload/record/thread.h"

uint64_t st_watch_hash(const void *bytes, size_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    }
    return hash;
}

/* ---- objects ---- */

struct object_walk {
    void (*each)(void *, const struct st_watch_object *);
    void *context;
};

static void tell_objects(void *arg)
{
    const struct object_walk *walk = arg;
    const struct object *object;
    for (uint32_t n = 0; (object = objects_get(n)) != NULL; n++) {
        walk->each(walk->context, &(struct st_watch_object){
            .path = object->name ? object->name : "",
            .base = object->base,
            .end = object_end(object),
            .headers_hash = st_watch_hash(object->headers, object->header_count * sizeof(object->headers[0])),
            .id = object->id,
            .is_ours = object_is_system(object) || object_provider_layer(object->soname) != 0,
        });
    }
}

bool st_watch_each_object(void (*each)(void *, const struct st_watch_object *), void *context)
{
    return st_watch_locked(tell_objects, &(struct object_walk){each, context});
}

/* ---- stage functions ---- */

struct stage_walk {
    void (*each)(void *, const struct st_watch_stage *);
    void *context;
    bool want_slots;
};

static bool has_slot[ST_STAGE_THUNKS]; /* inside the lock */

static void note_slot(const struct st_watch_target *target)
{
    if (target && target->kind == ST_TARGET_STAGE) {
        has_slot[target - &st_watch_targets[ST_CUDA_THUNKS]] = true;
    }
}

/* A slot that the loader has not bound yet goes by its name. */
static void note_named_slot(const char *name)
{
    uint16_t rule;
    uint32_t symbol;
    if (!st_watch.matcher(name, &rule, &symbol)) {
        return;
    }
    for (uint32_t i = 0; i < st_target_count(ST_TARGET_STAGE); i++) {
        const struct st_watch_target *target = &st_watch_targets[ST_CUDA_THUNKS + i];
        if (target->rule == rule && target->symbol == symbol) {
            note_slot(target);
        }
    }
}

struct noted_object {
    const struct object *object;
    struct st_elf elf;
    uintptr_t bytes;
};

static void note_relocation(void *arg, const ElfW(Rela) *relocation)
{
    const struct noted_object *in = arg;
    if (!st_elf_is_slot(relocation)) {
        return;
    }
    void *value = __atomic_load_n((void **)(in->elf.base + relocation->r_offset), __ATOMIC_ACQUIRE);
    struct st_watch_target *target = st_target_of_thunk(value);
    target = target ? target : st_target_find(value);
    if (target) {
        note_slot(target);
    } else if (ELF64_R_TYPE(relocation->r_info) == ST_RELOC_JUMP_SLOT &&
               (object_contains(in->object, (uintptr_t)value) || (in->elf.base && (uintptr_t)value < in->bytes))) {
        note_named_slot(st_elf_name(&in->elf, ELF64_R_SYM(relocation->r_info)));
    }
}

static void note_slots_of_all(void)
{
    const struct object *object;
    memset(has_slot, 0, sizeof(has_slot));
    for (uint32_t n = 0; (object = objects_get(n)) != NULL; n++) {
        struct noted_object in = {.object = object, .bytes = object_end(object) - object->base};
        if (!object_is_system(object) && st_elf_read(&in.elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
            st_elf_each_relocation(&in.elf, note_relocation, &in);
        }
    }
}

static const char *name_of_owner(uint32_t owner)
{
    const struct object *object;
    for (uint32_t n = 0; (object = objects_get(n)) != NULL; n++) {
        if (object->id == owner) {
            return object->name ? object->name : "";
        }
    }
    return "";
}

static void tell_stages(void *arg)
{
    const struct stage_walk *walk = arg;
    if (walk->want_slots && st_target_count(ST_TARGET_STAGE)) {
        note_slots_of_all();
    }
    for (uint32_t i = 0; i < st_target_count(ST_TARGET_STAGE); i++) {
        const struct st_watch_target *target = &st_watch_targets[ST_CUDA_THUNKS + i];
        if (atomic_load_explicit(&target->is_live, memory_order_relaxed)) {
            walk->each(walk->context, &(struct st_watch_stage){.object = name_of_owner(target->owner),
                                                               .symbol = target->symbol,
                                                               .rule = target->rule,
                                                               .unbounded = atomic_load(&target->unbounded),
                                                               .has_slot = has_slot[i]});
        }
    }
}

bool st_watch_each_stage(bool want_slots, void (*each)(void *, const struct st_watch_stage *), void *context)
{
    return st_watch_locked(tell_stages, &(struct stage_walk){each, context, want_slots});
}

uintptr_t st_watch_caller_stack(const uint64_t *words)
{
    return (uintptr_t)&words[ST_CALL_FRAME_STACK];
}

bool st_watch_is_inside(const struct st_thread *thread, uint16_t rule, uint32_t symbol)
{
    for (uint32_t i = thread->frame_count; i-- > 0;) {
        const struct st_watch_target *target = thread->frames[i].target;
        if (target->kind == ST_TARGET_STAGE && target->rule == rule && target->symbol == symbol) {
            return true;
        }
    }
    return false;
}
