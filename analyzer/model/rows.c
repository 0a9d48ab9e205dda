/* SPDX-License-Identifier: Apache-2.0 */
/* Interning of row names; see rows.h. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "vec.h"

enum { FIRST_SLOTS = 256 };

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037ull; /* FNV-1a */
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 1099511628211ull;
    }
    return hash;
}

static bool grow_slots(struct st_rows_table *table, size_t wanted)
{
    uint32_t *slots = calloc(wanted, sizeof(*slots));
    if (!slots) {
        return false;
    }
    for (size_t row = 0; row < table->count; row++) {
        size_t at = hash_of(table->rows[row].name, strlen(table->rows[row].name)) & (wanted - 1);
        while (slots[at]) {
            at = (at + 1) & (wanted - 1);
        }
        slots[at] = (uint32_t)row + 1;
    }
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    return true;
}

static uint32_t intern(struct st_rows_table *table, const char *path, size_t length);

static uint32_t add_row(struct st_rows_table *table, const char *path, size_t length)
{
    const char *last_slash = length > 0 ? memrchr(path, '/', length) : NULL;
    uint32_t parent = ST_NONE;
    if (last_slash && last_slash > path) { /* parents first: their number is smaller */
        parent = intern(table, path, (size_t)(last_slash - path));
        if (parent == ST_NONE) {
            return ST_NONE;
        }
    }
    const char *name = st_arena_text(table->arena, path, length);
    if (!name || !st_vec_reserve((void **)&table->rows, &table->capacity, table->count, sizeof(*table->rows)) ||
        (table->slot_count < 2 * (table->count + 1) && !grow_slots(table, table->slot_count * 2))) {
        return ST_NONE;
    }
    uint32_t row = (uint32_t)table->count;
    const char *leaf = last_slash ? last_slash + 1 : path;
    table->rows[row] = (struct st_model_row){
        .name = name,
        .parent = parent,
        .top = parent == ST_NONE ? row : table->rows[parent].top,
        .depth = parent == ST_NONE ? 0 : (uint16_t)(table->rows[parent].depth + 1),
        .is_step = (size_t)(path + length - leaf) == 4 && memcmp(leaf, "step", 4) == 0,
    };
    table->count++;
    size_t at = hash_of(name, length) & (table->slot_count - 1);
    while (table->slots[at]) {
        at = (at + 1) & (table->slot_count - 1);
    }
    table->slots[at] = row + 1;
    return row;
}

static uint32_t intern(struct st_rows_table *table, const char *path, size_t length)
{
    for (size_t at = hash_of(path, length) & (table->slot_count - 1); table->slots[at];
         at = (at + 1) & (table->slot_count - 1)) {
        const struct st_model_row *row = &table->rows[table->slots[at] - 1];
        if (strncmp(row->name, path, length) == 0 && row->name[length] == 0) {
            return table->slots[at] - 1;
        }
    }
    return add_row(table, path, length);
}

bool st_rows_table_init(struct st_rows_table *table, struct st_arena *arena)
{
    *table = (struct st_rows_table){.arena = arena};
    return grow_slots(table, FIRST_SLOTS) && st_rows_table_intern(table, "unattributed") == ST_ROW_UNATTRIBUTED;
}

uint32_t st_rows_table_intern(struct st_rows_table *table, const char *path)
{
    enum { MAX_PATH_BYTES = 256 }; /* bounds the depth of parents, too */
    size_t length = strnlen(path, MAX_PATH_BYTES);
    if (table->count + MAX_PATH_BYTES > ST_MAX_ROWS || length == 0) {
        path = "other";
        length = strlen(path);
    }
    return intern(table, path, length);
}

void st_rows_table_finish(struct st_rows_table *table)
{
    free(table->slots);
    table->slots = NULL;
}
