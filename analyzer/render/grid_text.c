/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as aligned text. In a file or pipe the whole table is one block and nothing is cut. On a
 * terminal, groups of columns that do not fit beside each other come one below the other, each with the
 * columns of group 0 (the row's name) in front; texts of cuttable columns are shortened. One thread.
 */
#include "analyzer/render/grid_text.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/util/text.h"

#define SEPARATOR "  "
#define SEPARATOR_COLUMNS 2
#define NARROWEST_CUT 16 /* a shortened text keeps at least so many columns */

struct layout {
    size_t width[ST_GRID_MAX_COLUMNS];
    size_t limit[ST_GRID_MAX_COLUMNS]; /* cut texts to it, 0 = uncut */
    int group_count;
};

/* On screen the times of one group share their unit, and only the first head carries it. */
static void screen_head(const struct st_grid *grid, int index, char ret[96])
{
    const struct st_grid_column *column = &grid->columns[index];

    st_grid_head(column, ret);
    for (int i = 0; i < index; i++) {
        const struct st_grid_column *other = &grid->columns[i];
        if (column->kind == ST_GRID_TIME && other->kind == ST_GRID_TIME && other->group == column->group) {
            snprintf(ret, 96, "%s", column->head);
        }
    }
}

static const char *screen_cell(const struct st_grid *grid, size_t row, int column, char number[ST_NUMBER_BYTES])
{
    const char *text = st_grid_cell_text(grid, row, column, number);

    return text == NULL ? "\xe2\x80\x93" : text;
}

static void measure(const struct st_grid *grid, struct layout *layout)
{
    char number[ST_NUMBER_BYTES], head[96];

    memset(layout, 0, sizeof(*layout));
    for (int column = 0; column < grid->column_count; column++) {
        screen_head(grid, column, head);
        layout->width[column] = st_text_columns(head);
        for (size_t row = 0; row < grid->row_count; row++) {
            size_t width = st_text_columns(screen_cell(grid, row, column, number));
            if (width > layout->width[column]) layout->width[column] = width;
        }
        if (grid->columns[column].group >= layout->group_count) layout->group_count = grid->columns[column].group + 1;
    }
}

/* Width of the columns of one group with a separator behind each. */
static size_t group_width(const struct st_grid *grid, const struct layout *layout, int group)
{
    size_t width = 0;

    for (int column = 0; column < grid->column_count; column++) {
        if (grid->columns[column].group == group) width += layout->width[column] + SEPARATOR_COLUMNS;
    }
    return width;
}

/* Shorten the cuttable columns, the widest first, until the widest group fits beside group 0. */
static void cut_to_width(const struct st_grid *grid, struct layout *layout, size_t width)
{
    for (;;) {
        size_t needed = 0, over;
        int widest = -1;

        for (int group = 1; group < layout->group_count; group++) {
            size_t one = group_width(grid, layout, group) + SEPARATOR_COLUMNS + 1;
            if (one > needed) needed = one;
        }
        needed += group_width(grid, layout, 0) - SEPARATOR_COLUMNS;
        if (needed <= width) return;
        over = needed - width;
        for (int column = 0; column < grid->column_count; column++) {
            if (!grid->columns[column].cuttable || layout->width[column] <= NARROWEST_CUT) continue;
            if (widest < 0 || layout->width[column] > layout->width[widest]) widest = column;
        }
        if (widest < 0) return;
        layout->limit[widest] =
            layout->width[widest] > over + NARROWEST_CUT ? layout->width[widest] - over : NARROWEST_CUT;
        layout->width[widest] = layout->limit[widest];
    }
}

static struct libscols_column *new_column(struct libscols_table *table, const char *head, int flags, bool color)
{
    struct libscols_column *column = scols_table_new_column(table, head, 0, flags);

    if (column != NULL && color) scols_cell_set_color(scols_column_get_header(column), "bold");
    return column;
}

static bool fill_cell(const struct st_grid *grid, const struct layout *layout, struct libscols_line *line, size_t at,
                      size_t row, int column)
{
    char number[ST_NUMBER_BYTES];
    const char *text = screen_cell(grid, row, column, number);
    char *cut;
    bool ok;

    if (layout->limit[column] == 0) return scols_line_set_data(line, at, text) == 0;
    cut = st_text_printable(text, strlen(text), layout->limit[column]);
    ok = cut != NULL && scols_line_set_data(line, at, cut) == 0;
    free(cut);
    return ok;
}

/* The columns of group 0 and of the groups [first, end) as one block. */
static bool print_block(const struct st_grid *grid, const struct layout *layout, const struct st_style *style,
                        int first, int end)
{
    struct libscols_table *table = scols_new_table();
    int shown[2 * ST_GRID_MAX_COLUMNS]; /* column index, -1 = rule between groups */
    size_t count = 0;
    int group = 0;
    bool ok = table != NULL;

    if (!ok) return false;
    scols_table_set_stream(table, style->out);
    scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
    scols_table_set_column_separator(table, SEPARATOR);
    scols_table_enable_noencoding(table, 1);
    scols_table_enable_colors(table, style->color);
    for (int i = 0; i < grid->column_count && ok; i++) {
        const struct st_grid_column *column = &grid->columns[i];
        char head[96];

        if (column->group != 0 && (column->group < first || column->group >= end)) continue;
        if (column->group != group && group != 0) {
            ok = new_column(table, "\xe2\x94\x82", 0, false) != NULL;
            shown[count++] = -1;
        }
        group = column->group;
        screen_head(grid, i, head);
        ok = ok && new_column(table, head, column->kind == ST_GRID_TEXT ? 0 : SCOLS_FL_RIGHT, style->color) != NULL;
        shown[count++] = i;
    }
    for (size_t row = 0; row < grid->row_count && ok; row++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);

        ok = line != NULL;
        for (size_t at = 0; at < count && ok; at++) {
            ok = shown[at] < 0 ? scols_line_set_data(line, at, "\xe2\x94\x82") == 0
                               : fill_cell(grid, layout, line, at, row, shown[at]);
        }
    }
    ok = ok && scols_print_table(table) == 0;
    scols_unref_table(table);
    return ok;
}

bool st_grid_print_text(const struct st_grid *grid, const struct st_style *style)
{
    struct layout layout;
    int first = 1;

    measure(grid, &layout);
    if (!style->terminal || style->width <= 0) return print_block(grid, &layout, style, 1, layout.group_count);
    cut_to_width(grid, &layout, (size_t)style->width);
    do {
        size_t width = group_width(grid, &layout, 0);
        int end = first;

        while (end < layout.group_count) {
            width += group_width(grid, &layout, end) + (end > first ? SEPARATOR_COLUMNS + 1 : 0);
            if (end > first && width > (size_t)style->width + SEPARATOR_COLUMNS) break;
            end++;
        }
        if (first > 1) fputc('\n', style->out);
        if (!print_block(grid, &layout, style, first, end)) return false;
        first = end;
    } while (first < layout.group_count);
    return true;
}
