/* SPDX-License-Identifier: Apache-2.0 */
/* Row names to row numbers; a path brings its parents ("output/d2h" also makes "output"). One thread. */
#ifndef ST_MODEL_ROWS_H
#define ST_MODEL_ROWS_H

#include <stddef.h>

#include "arena.h"
#include "model.h"

#define ST_MAX_ROWS 8192 /* further names count as "other" */

struct st_rows_table {
    struct st_model_row *rows;
    size_t count, capacity;
    uint32_t *slots; /* hash table of row numbers + 1 */
    size_t slot_count;
    struct st_arena *arena;
};

/* Makes row 0, "unattributed". False: out of memory. */
bool st_rows_table_init(struct st_rows_table *table, struct st_arena *arena);
/* The row of `path`, new if need be; ST_NONE: out of memory. */
uint32_t st_rows_table_intern(struct st_rows_table *table, const char *path);
/* The rows themselves stay with the caller (free()). */
void st_rows_table_finish(struct st_rows_table *table);

#endif
