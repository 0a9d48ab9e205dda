/* SPDX-License-Identifier: Apache-2.0 */
/* Memory given back all at once; see arena.h. */
#include "arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) uint8_t bytes[];
};
struct joined {
    struct joined *next;
    struct st_arena *arena;
};
struct st_arena {
    struct block *newest;
    struct joined *joined;
    size_t more_owners;
    bool failed;
};

struct st_arena *st_arena_create(void)
{
    return calloc(1, sizeof(struct st_arena));
}

struct st_arena *st_arena_share(struct st_arena *arena)
{
    arena->more_owners++;
    return arena;
}

void st_arena_destroy(struct st_arena *arena)
{
    if (arena && arena->more_owners > 0) {
        arena->more_owners--;
        return;
    }
    for (const struct joined *part = arena ? arena->joined : NULL; part; part = part->next) {
        st_arena_destroy(part->arena);
    }
    for (struct block *block = arena ? arena->newest : NULL; block;) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

void *st_arena_alloc(struct st_arena *arena, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct block *block = arena->newest;
    if (!block || block->size - block->used < bytes) {
        size_t size = bytes > BLOCK_BYTES / 4 ? bytes : BLOCK_BYTES;
        struct block *fresh = size < SIZE_MAX / 2 ? calloc(1, sizeof(*fresh) + size) : NULL;
        if (!fresh) {
            arena->failed = true;
            return NULL;
        }
        fresh->size = size;
        fresh->next = block;
        if (block && size != BLOCK_BYTES) { /* a large one goes behind the block that still has room */
            fresh->next = block->next;
            block->next = fresh;
        } else {
            arena->newest = fresh;
        }
        block = fresh;
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    return at;
}

bool st_arena_join(struct st_arena *arena, struct st_arena *other)
{
    struct joined *part = st_arena_alloc(arena, sizeof(*part));
    if (part) {
        *part = (struct joined){arena->joined, other};
        arena->joined = part;
    }
    return part != NULL;
}

void *st_arena_array(struct st_arena *arena, size_t count, size_t item_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(count ? count : 1, item_bytes, &bytes)) {
        arena->failed = true;
        return NULL;
    }
    return st_arena_alloc(arena, bytes);
}

const char *st_arena_text(struct st_arena *arena, const char *text, size_t length)
{
    char *copy = st_arena_alloc(arena, length + 1);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

const char *st_arena_format(struct st_arena *arena, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0) {
        arena->failed = true;
        return NULL;
    }
    return st_arena_text(arena, text, (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

bool st_arena_failed(const struct st_arena *arena)
{
    return arena->failed;
}
