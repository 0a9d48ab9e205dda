/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned text of a table, on libsmartcols. For grid.c and grid_text.c only. One thread. */
#ifndef ST_RENDER_GRID_TEXT_H
#define ST_RENDER_GRID_TEXT_H

#include <stdbool.h>

#include "analyzer/render/grid.h"

/* The head of a column with its unit: "wall share ms", "rate GB/s". */
void st_grid_head(const struct st_grid_column *column, char ret[96]);

/* A cell as text, written into `number` where it is one. NULL = not known. */
const char *st_grid_cell_text(const struct st_grid *grid, size_t row, int column, char number[ST_NUMBER_BYTES]);

/* Print with the scales chosen by st_grid_print(). False = out of memory. */
bool st_grid_print_text(const struct st_grid *grid, const struct st_style *style);

#endif
