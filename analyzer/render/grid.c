/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables: filling, choice of units, CSV and Markdown; aligned text is in grid_text.c. One thread.
 */
#include "analyzer/render/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/render/grid_text.h"
#include "analyzer/util/text.h"

void st_grid_init(struct st_grid *grid)
{
    memset(grid, 0, sizeof(*grid));
}

void st_grid_finish(struct st_grid *grid)
{
    for (size_t i = 0; i < grid->cell_count; i++) free(grid->cells[i].text);
    free(grid->cells);
    st_grid_init(grid);
}

void st_grid_add_column(struct st_grid *grid, enum st_grid_kind kind, int group, const char *head)
{
    struct st_grid_column *column;

    if (grid->column_count == ST_GRID_MAX_COLUMNS) {
        grid->failed = true;
        return;
    }
    column = &grid->columns[grid->column_count++];
    snprintf(column->head, sizeof(column->head), "%s", head);
    column->kind = kind;
    column->group = group;
    column->scale = st_scale_count();
}

void st_grid_add_cuttable(struct st_grid *grid, int group, const char *head)
{
    st_grid_add_column(grid, ST_GRID_TEXT, group, head);
    if (!grid->failed) grid->columns[grid->column_count - 1].cuttable = true;
}

static void add_cell(struct st_grid *grid, struct st_grid_cell cell)
{
    if (grid->cell_count == grid->cell_capacity) {
        size_t capacity = grid->cell_capacity == 0 ? 256 : grid->cell_capacity * 2;
        struct st_grid_cell *cells = realloc(grid->cells, capacity * sizeof(*cells));

        if (cells == NULL) {
            free(cell.text);
            grid->failed = true;
            return;
        }
        grid->cells = cells;
        grid->cell_capacity = capacity;
    }
    grid->cells[grid->cell_count++] = cell;
    grid->row_count = grid->cell_count / (size_t)grid->column_count;
}

void st_grid_add_text(struct st_grid *grid, const char *text)
{
    struct st_grid_cell cell = {.known = text != NULL};

    if (text != NULL) {
        cell.text = st_text_printable(text, strlen(text), 0);
        if (cell.text == NULL) grid->failed = true;
    }
    add_cell(grid, cell);
}

void st_grid_add_value(struct st_grid *grid, bool known, int64_t value)
{
    add_cell(grid, (struct st_grid_cell){.known = known, .value = value});
}

static bool same_scale(const struct st_grid *grid, const struct st_grid_column *a, const struct st_grid_column *b)
{
    if (a->kind != b->kind) return false;
    return a->group == b->group || (a->kind == ST_GRID_TIME && grid->one_time_scale);
}

/* Largest magnitude, and smallest that is not 0, over the columns that share the scale of column `index`. */
static int64_t largest_of(const struct st_grid *grid, int index, int64_t *ret_smallest)
{
    int64_t largest = 0;

    *ret_smallest = 0;
    for (size_t cell = 0; cell < grid->row_count * (size_t)grid->column_count; cell++) {
        const struct st_grid_column *column = &grid->columns[cell % (size_t)grid->column_count];
        int64_t value = grid->cells[cell].value;

        if (!same_scale(grid, column, &grid->columns[index]) || !grid->cells[cell].known) continue;
        if (value < 0) value = -(value + 1);
        if (value > largest) largest = value;
        if (value != 0 && (*ret_smallest == 0 || value < *ret_smallest)) *ret_smallest = value;
    }
    return largest;
}

static void choose_scales(struct st_grid *grid, enum st_unit unit, bool raw)
{
    for (int i = 0; i < grid->column_count; i++) {
        struct st_grid_column *column = &grid->columns[i];
        int64_t smallest, largest = largest_of(grid, i, &smallest);

        if (column->kind == ST_GRID_TIME) {
            column->scale = st_scale_time(raw && unit == ST_UNIT_AUTO ? ST_UNIT_NS : unit, largest);
        } else if (column->kind == ST_GRID_BYTES || column->kind == ST_GRID_RATE) {
            column->scale = raw ? (struct st_scale){1, 0, "B"} : st_scale_bytes(largest, smallest);
        }
    }
}

/* The head with its unit: "wall share ms", "rate GB/s". */
void st_grid_head(const struct st_grid_column *column, char ret[96])
{
    bool has_unit = column->scale.name[0] != '\0';

    snprintf(ret, 96, "%s%s%s%s", column->head, has_unit ? " " : "", column->scale.name,
             column->kind == ST_GRID_RATE ? "/s" : "");
}

/* The cell as text; `number` is scratch room. NULL = not known. */
const char *st_grid_cell_text(const struct st_grid *grid, size_t row, int column, char number[ST_NUMBER_BYTES])
{
    const struct st_grid_cell *cell = &grid->cells[row * (size_t)grid->column_count + (size_t)column];

    if (!cell->known) return NULL;
    if (grid->columns[column].kind == ST_GRID_TEXT) return cell->text;
    return grid->exact ? st_scale_format(&grid->columns[column].scale, cell->value, number)
                       : st_scale_show(&grid->columns[column].scale, cell->value, number);
}

static void write_csv_field(FILE *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_csv(const struct st_grid *grid, FILE *out)
{
    char number[ST_NUMBER_BYTES], head[96];

    for (int column = 0; column < grid->column_count; column++) {
        st_grid_head(&grid->columns[column], head);
        if (column > 0) fputc(',', out);
        write_csv_field(out, head);
    }
    fputc('\n', out);
    for (size_t row = 0; row < grid->row_count; row++) {
        for (int column = 0; column < grid->column_count; column++) {
            const char *text = st_grid_cell_text(grid, row, column, number);
            if (column > 0) fputc(',', out);
            if (text != NULL) write_csv_field(out, text);
        }
        fputc('\n', out);
    }
}

static void write_md_field(FILE *out, const char *text)
{
    fputs(" ", out);
    for (; *text != '\0'; text++) {
        if (strchr("|\\`*_<[", *text) != NULL) fputc('\\', out);
        fputc(*text, out);
    }
    fputs(" |", out);
}

static void print_md(const struct st_grid *grid, FILE *out)
{
    char number[ST_NUMBER_BYTES], head[96];

    fputc('|', out);
    for (int column = 0; column < grid->column_count; column++) {
        st_grid_head(&grid->columns[column], head);
        write_md_field(out, head);
    }
    fputs("\n|", out);
    for (int column = 0; column < grid->column_count; column++) {
        fputs(grid->columns[column].kind == ST_GRID_TEXT ? " --- |" : " ---: |", out);
    }
    fputc('\n', out);
    for (size_t row = 0; row < grid->row_count; row++) {
        fputc('|', out);
        for (int column = 0; column < grid->column_count; column++) {
            const char *text = st_grid_cell_text(grid, row, column, number);
            write_md_field(out, text == NULL ? "\xe2\x80\x93" : text);
        }
        fputc('\n', out);
    }
}

bool st_grid_print(struct st_grid *grid, const struct st_style *style)
{
    if (grid->failed) return false;
    grid->exact = style->format == ST_GRID_FORMAT_CSV;
    choose_scales(grid, style->unit, grid->exact);
    if (style->format == ST_GRID_FORMAT_CSV) {
        print_csv(grid, style->out);
    } else if (style->format == ST_GRID_FORMAT_MD) {
        print_md(grid, style->out);
    } else {
        return st_grid_print_text(grid, style);
    }
    return true;
}
