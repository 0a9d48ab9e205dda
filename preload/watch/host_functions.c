/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the program that a thread of the driver calls (cuLaunchHostFunc, cuStreamAddCallback, host nodes of
 * graphs). When one runs, and how long, only the function itself can tell: the driver gets a thunk of it instead.
 *
 *   program   cuLaunchHostFunc(stream, f, data)            ┐ the record names f
 *   driver    cuLaunchHostFunc(stream, thunk of f, data) … thread of the driver: thunk(data) → f(data)
 *
 * A function has one thunk for each way to be called, for ever and wherever it is used, so that a thunk in a graph is
 * never wrong; data is not touched. The program that asks a node for its function gets its own. Lock-free: any number
 * of threads may hand over functions at a time; those that meet in one place store the same values.
 *
 * On the path of a call: general registers only, no libc. One system call where a function is new, or is handed over
 * in a structure: what can not be read is the driver's to refuse.
 */
#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "watch_private.h"

enum { GRAPH_NODE_HOST = 3 /* CU_GRAPH_NODE_TYPE_HOST */, NODE_HEAD_WORDS = 2, HOST_PARAMS_WORDS = 2 };
enum { NODE_PARAMS_WORDS = 32 }; /* sizeof(CUgraphNodeParams) is fixed: 256 bytes */
_Static_assert(sizeof(((struct st_thread *)0)->passed) == 8 * NODE_PARAMS_WORDS, "room for the largest structure");
_Static_assert((ST_HOST_THUNKS & (ST_HOST_THUNKS - 1)) == 0, "the index wraps by a mask");

static _Atomic uint64_t keys[ST_HOST_THUNKS];     /* what target n of the host thunks calls, see key_of(); 0 = free */
static _Atomic uint16_t order[ST_HOST_THUNKS];    /* index + 1, as they came; 0 = being added */
static _Atomic uint32_t count;

/* A function may be used both ways, with its user data in different words: then it has two thunks. */
static uint64_t key_of(uint64_t function, uint8_t argument)
{
    return function << 1 | (argument != 0);
}

/* The target of a function, where `is_new_too` made if need be; NULL: there is none, or no more thunks. */
static struct st_watch_target *target_of(void *function, uint8_t argument, bool is_new_too)
{
    uint64_t key = key_of((uintptr_t)function, argument);
    uint32_t first = (uint32_t)(key * 0x9E3779B97F4A7C15ull >> 40);
    for (uint32_t i = 0; i < ST_HOST_THUNKS; i++) {
        uint32_t at = (first + i) & (ST_HOST_THUNKS - 1);
        uint64_t there = atomic_load_explicit(&keys[at], memory_order_acquire);
        if (!there && !is_new_too) {
            return NULL;
        }
        if (!there && atomic_compare_exchange_strong_explicit(&keys[at], &there, key, memory_order_acq_rel,
                                                              memory_order_acquire)) {
            uint32_t n = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
            atomic_store_explicit(&order[n], (uint16_t)(at + 1), memory_order_release);
            there = key;
        }
        if (there != key) {
            continue;
        }
        struct st_watch_target *target = &st_watch_targets[ST_CUDA_THUNKS + ST_STAGE_THUNKS + at];
        if (!atomic_load_explicit(&target->is_live, memory_order_acquire)) {
            target->real = function;
            target->argument = argument;
            target->kind = ST_TARGET_HOST;
            atomic_store_explicit(&target->is_live, true, memory_order_release);
        }
        return target;
    }
    return NULL;
}

/* A stage function's thunk, which is all that the program may have of it, is a function like any other. */
static bool is_host_thunk(const void *function)
{
    const struct st_watch_target *target = st_target_of_thunk(function);
    return target && target->kind == ST_TARGET_HOST;
}

/* What the driver shall call instead: the function's thunk, or what was given where that is no function. */
static uint64_t thunk_of(uint64_t given, uint8_t argument)
{
    void *function = (void *)given;
    if (!function || is_host_thunk(function)) {
        return given;
    }
    struct st_watch_target *target = target_of(function, argument, false);
    if (!target && st_sys_is_readable(given)) {
        target = target_of(function, argument, true);
        if (!target) {
            st_watch_count(&st_watch.host_untimed);
        }
    }
    return target ? (uintptr_t)st_target_thunk(target) : given;
}

/* Hand on a copy of the caller's structure, which may be constant. `at`: the word with the function. */
static void pass_structure(struct st_thread *thread, uint64_t *word, uint32_t words, uint32_t at)
{
    const uint64_t *given = (const uint64_t *)*word;
    uint64_t thunk = thunk_of(given[at], 0);
    if (thunk == given[at]) {
        return;
    }
    for (uint32_t i = 0; i < words; i++) {
        thread->passed[i] = given[i];
    }
    thread->passed[at] = thunk;
    *word = (uintptr_t)thread->passed;
}

static bool is_readable(uint64_t address, uint32_t words)
{
    return st_sys_is_readable(address) && st_sys_is_readable(address + 8 * (words - 1));
}

void st_host_pass(struct st_thread *thread, const struct st_call_row *row, uint64_t *words)
{
    uint64_t *word = &words[row->host & ST_HOST_INDEX];
    switch (row->host & ~ST_HOST_INDEX) {
    case ST_HOST_FUNCTION:
        *word = thunk_of(*word, 0);
        break;
    case ST_HOST_CALLBACK:
        *word = thunk_of(*word, 2);
        break;
    case ST_HOST_PARAMS:
        if (is_readable(*word, HOST_PARAMS_WORDS)) {
            pass_structure(thread, word, HOST_PARAMS_WORDS, 0);
        }
        break;
    case ST_HOST_NODE:
        if (is_readable(*word, NODE_PARAMS_WORDS) && *(const uint32_t *)*word == GRAPH_NODE_HOST) {
            pass_structure(thread, word, NODE_PARAMS_WORDS, NODE_HEAD_WORDS);
        }
        break;
    default:
        break;
    }
}

uint64_t st_host_unwrap(uint64_t given)
{
    return is_host_thunk((void *)given) ? (uintptr_t)st_target_of_thunk((void *)given)->real : given;
}

void st_host_answer(const struct st_call_row *row, const uint64_t *words)
{
    uint64_t *params = (uint64_t *)words[row->host & ST_HOST_INDEX];
    if ((row->host & ~ST_HOST_INDEX) == ST_HOST_ANSWER && params) {
        params[0] = st_host_unwrap(params[0]);
    }
}

const void *st_watch_host_function(uint32_t n)
{
    uint16_t at = n < ST_HOST_THUNKS ? atomic_load_explicit(&order[n], memory_order_acquire) : 0;
    return at ? (const void *)(atomic_load_explicit(&keys[at - 1], memory_order_relaxed) >> 1) : NULL;
}
