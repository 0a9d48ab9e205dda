/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets and thunks. A target describes one watched function; thunk n of the pool belongs to target n and
 * is what callers get to see. A thunk is never given to another function: a caller may keep its address for
 * ever. The map from real addresses to targets is read without locks; all changes happen inside a
 * dl_iterate_phdr callback (objects.c).
 */
#ifndef ST_WATCH_TARGET_H
#define ST_WATCH_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "preload/calls/calls.h"

enum st_target_kind { ST_TARGET_CALL = 1, ST_TARGET_STAGE = 2, ST_TARGET_HOST = 3 };

#define ST_STAGE_STACK_WORDS 512   /* more than any list of numbers and pointers */
#define ST_STAGE_FRAME_WORDS 8192 /* of a caller, copied where nobody knows what of it are arguments */

struct st_watch_target {
    void *real;                    /* read by the thunk */
    uint32_t stack_words;          /* calls: argument words to copy */
    _Atomic uint32_t unbounded;    /* stages: calls that ran unwatched, as their arguments on the stack had no end */
    const struct st_call_row *row; /* calls */
    uint32_t owner;                /* id of the object that defines it */
    uint32_t symbol;               /* stages: what the matcher gave */
    uint16_t rule;                 /* stages */
    uint16_t call;                 /* calls: index of row */
    uint8_t kind;                  /* enum st_target_kind */
    bool has_small_arguments;      /* stages: no structure by value, its C++ symbol says */
    uint8_t argument;              /* host functions: index of their user data */
    bool is_around;                /* calls: there is something to do before the real function, too */
    bool comes_back;               /* calls: needed after return even where it is not recorded */
    bool is_special;               /* calls: means more than its record */
    _Atomic bool is_live;          /* its object is mapped */
    uint8_t reserved[21];
};
_Static_assert(sizeof(struct st_watch_target) == ST_TARGET_BYTES, "thunks count on it");
_Static_assert(offsetof(struct st_watch_target, real) == 0, "thunks count on it");

extern struct st_watch_target st_watch_targets[ST_THUNKS];
extern const char st_watch_thunks[]; /* code */

static inline void *st_target_thunk(const struct st_watch_target *target)
{
    return (void *)(uintptr_t)(st_watch_thunks + (size_t)ST_THUNK_BYTES * (size_t)(target - st_watch_targets));
}

/* The target whose thunk this is, or NULL. Any thread. */
static inline struct st_watch_target *st_target_of_thunk(const void *address)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)st_watch_thunks;
    bool is_thunk = offset < (uintptr_t)ST_THUNKS * ST_THUNK_BYTES;
    return is_thunk ? &st_watch_targets[offset / ST_THUNK_BYTES] : NULL;
}

/* The live target of a real address, or NULL. Any thread, lock-free. */
struct st_watch_target *st_target_find(const void *address);

/* ---- inside a dl_iterate_phdr callback only ---- */

/* A target for the call `call` at `real`: the one it had before, or a new one. NULL: none left (counted). */
struct st_watch_target *st_target_add_call(void *real, uint16_t call, uint32_t owner);
struct st_watch_target *st_target_add_stage(void *real, uint16_t rule, uint32_t symbol, uint32_t owner,
                                            bool has_small_arguments);

/* The object is gone: its addresses mean nothing any more. */
void st_target_forget(uint32_t owner);

/* Targets ever made, by kind. */
uint32_t st_target_count(enum st_target_kind kind);

#endif
