/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of targets and the map from addresses to them; see target.h. */
#include "target.h"

#include "watch_private.h"

enum { MAP_SIZE = 8192, MAP_LIMIT = MAP_SIZE * 3 / 4 };

struct st_watch_target st_watch_targets[ST_THUNKS];

static struct {
    _Atomic(const void *) address; /* NULL = free; never freed again */
    _Atomic(struct st_watch_target *) target;
} map[MAP_SIZE];
static uint32_t map_used;
static uint32_t call_count, stage_count;

static uint32_t map_place(const void *address)
{
    return (uint32_t)(((uintptr_t)address * 0x9E3779B97F4A7C15ull) >> 51) % MAP_SIZE;
}

struct st_watch_target *st_target_find(const void *address)
{
    for (uint32_t at = map_place(address);; at = (at + 1) % MAP_SIZE) {
        /* pairs with the release in map_put(): an address that is seen has its target */
        const void *there = atomic_load_explicit(&map[at].address, memory_order_acquire);
        if (there == NULL) {
            return NULL;
        }
        if (there == address) {
            struct st_watch_target *target = atomic_load_explicit(&map[at].target, memory_order_acquire);
            return atomic_load_explicit(&target->is_live, memory_order_acquire) ? target : NULL;
        }
    }
}

/* Whatever was last known at this address, live or not. */
static struct st_watch_target *map_peek(const void *address)
{
    for (uint32_t at = map_place(address);; at = (at + 1) % MAP_SIZE) {
        const void *there = atomic_load_explicit(&map[at].address, memory_order_relaxed);
        if (there == NULL || there == address) {
            return there ? atomic_load_explicit(&map[at].target, memory_order_relaxed) : NULL;
        }
    }
}

/* An address stays with its first target as long as that is live. False: the map is full. */
static bool map_put(const void *address, struct st_watch_target *target)
{
    uint32_t at = map_place(address);
    const void *there;
    while ((there = atomic_load_explicit(&map[at].address, memory_order_relaxed)) != NULL && there != address) {
        at = (at + 1) % MAP_SIZE;
    }
    if (there == NULL) {
        if (map_used >= MAP_LIMIT) {
            return false;
        }
        map_used++;
        atomic_store_explicit(&map[at].target, target, memory_order_relaxed);
        atomic_store_explicit(&map[at].address, address, memory_order_release);
    } else if (!atomic_load_explicit(&map[at].target, memory_order_relaxed)->is_live) {
        atomic_store_explicit(&map[at].target, target, memory_order_release);
    }
    return true;
}

static struct st_watch_target *finish(struct st_watch_target *target, void *real, uint32_t owner, uint32_t stack_words)
{
    target->real = real;
    target->owner = owner;
    target->stack_words = stack_words;
    bool is_mapped = map_put(real, target); /* before it is live, so that it may replace a dead one */
    atomic_store_explicit(&target->is_live, is_mapped, memory_order_release);
    if (!is_mapped) {
        atomic_fetch_add_explicit(&st_watch.out_of_reach, 1, memory_order_relaxed);
        return NULL;
    }
    return target;
}

struct st_watch_target *st_target_add_call(void *real, uint16_t call, uint32_t owner)
{
    const struct st_call_row *row = &st_calls[call];
    struct st_watch_target *target = map_peek(real); /* loaded again at the same place, or two names of one function? */
    if (target && (target->kind != ST_TARGET_CALL || target->call != call)) {
        target = NULL;
        for (uint32_t i = 0; i < call_count && !target; i++) {
            if (st_watch_targets[i].real == real && st_watch_targets[i].call == call) {
                target = &st_watch_targets[i];
            }
        }
    }
    if (!target) {
        if (call_count == ST_CUDA_THUNKS) {
            atomic_fetch_add_explicit(&st_watch.out_of_reach, 1, memory_order_relaxed);
            return NULL;
        }
        target = &st_watch_targets[call_count++];
        target->kind = ST_TARGET_CALL;
        target->call = call;
        target->row = row;
        target->is_around = row->class_id == ST_CLASS_SYNC || row->host;
        target->comes_back = row->pointer || row->names || row->init;
        target->is_special = target->comes_back || row->mark || row->does == ST_DOES_BEGIN_CAPTURE ||
                             (row->host & ~ST_HOST_INDEX) == ST_HOST_ANSWER;
    }
    uint32_t words = !row->words ? ST_CALL_STACK_WORDS
                     : row->words > ST_CALL_REGISTER_WORDS ? row->words - ST_CALL_REGISTER_WORDS : 0;
    return finish(target, real, owner, words);
}

struct st_watch_target *st_target_add_stage(void *real, uint16_t rule, uint32_t symbol, uint32_t owner,
                                            bool has_small_arguments)
{
    struct st_watch_target *target = map_peek(real);
    if (target && target->kind == ST_TARGET_STAGE && atomic_load_explicit(&target->is_live, memory_order_relaxed)) {
        return target; /* two names of one function: the first counts */
    }
    if (!target || target->kind != ST_TARGET_STAGE) {
        if (stage_count == ST_STAGE_THUNKS) {
            atomic_fetch_add_explicit(&st_watch.out_of_reach, 1, memory_order_relaxed);
            return NULL;
        }
        target = &st_watch_targets[ST_CUDA_THUNKS + stage_count++];
        target->kind = ST_TARGET_STAGE;
    }
    target->rule = rule;
    target->symbol = symbol;
    target->has_small_arguments = has_small_arguments;
    return finish(target, real, owner, 0);
}

void st_target_forget(uint32_t owner)
{
    for (uint32_t i = 0; i < ST_CUDA_THUNKS + ST_STAGE_THUNKS; i++) {
        struct st_watch_target *target = &st_watch_targets[i];
        if (target->kind && target->owner == owner) {
            atomic_store_explicit(&target->is_live, false, memory_order_release);
        }
    }
}

uint32_t st_target_count(enum st_target_kind kind)
{
    return kind == ST_TARGET_CALL ? call_count : stage_count;
}
