/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once: texts and result arrays of a model or a report. One thread an
 * arena. An allocation that fails is remembered, so that a builder may check once at its end.
 */
#ifndef ST_MODEL_ARENA_H
#define ST_MODEL_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct st_arena;

struct st_arena *st_arena_create(void); /* NULL: out of memory */
/* One more owner: the memory goes with the last st_arena_destroy(). Returns `arena`. */
struct st_arena *st_arena_share(struct st_arena *arena);
void st_arena_destroy(struct st_arena *arena); /* NULL is fine */
/* `other` is now a part of `arena` and goes with it. False: out of memory, then `other` stays the caller's. */
bool st_arena_join(struct st_arena *arena, struct st_arena *other);

/* Zeroed, aligned for any type. NULL: out of memory (and st_arena_failed() from then on). */
void *st_arena_alloc(struct st_arena *arena, size_t bytes);
/* `count` items of `item_bytes`, never NULL for 0. */
void *st_arena_array(struct st_arena *arena, size_t count, size_t item_bytes);
/* NUL-terminated copies. */
const char *st_arena_text(struct st_arena *arena, const char *text, size_t length);
const char *st_arena_format(struct st_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool st_arena_failed(const struct st_arena *arena);

#endif
