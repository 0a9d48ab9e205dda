/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of figures, independent of how it is shown: aligned text (libsmartcols), CSV or Markdown. A
 * column has one kind and one unit, which stands in its head. Columns of one group and kind share a scale,
 * and a group stays together when a terminal is too narrow for the whole. One thread.
 */
#ifndef ST_RENDER_GRID_H
#define ST_RENDER_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyzer/util/units.h"

enum st_grid_kind { ST_GRID_TEXT, ST_GRID_COUNT, ST_GRID_TIME, ST_GRID_BYTES, ST_GRID_RATE };
enum st_grid_format { ST_GRID_FORMAT_TEXT, ST_GRID_FORMAT_CSV, ST_GRID_FORMAT_MD };

#define ST_GRID_MAX_COLUMNS 64

struct st_grid_column {
    char head[48];
    enum st_grid_kind kind;
    int group;
    bool cuttable; /* text: may be shortened with "…" on a terminal */
    struct st_scale scale;
};

struct st_grid_cell {
    char *text; /* owned; only in text columns */
    int64_t value;
    bool known;
};

struct st_grid {
    struct st_grid_column columns[ST_GRID_MAX_COLUMNS];
    int column_count;
    struct st_grid_cell *cells; /* row after row */
    size_t row_count, cell_count, cell_capacity;
    bool one_time_scale; /* all time columns, of every group, in one unit */
    bool exact;          /* numbers for programs: 0 is what rounds to 0 */
    bool failed;         /* out of memory while it was filled */
};

/* How tables and lines come out; chosen once by the command. */
struct st_style {
    FILE *out;
    enum st_unit unit;
    enum st_grid_format format;
    bool color;
    bool terminal; /* cut and wrap to `width` */
    int width;
};

/* A text from outside, made printable, onto style->out. Ends with a newline. On a terminal it is broken between
 * words, and what follows is indented. */
void st_style_line(const struct st_style *style, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same in bold, or red, where colours are on. */
void st_style_head(const struct st_style *style, const char *format, ...) __attribute__((format(printf, 2, 3)));
void st_style_alarm(const struct st_style *style, const char *format, ...) __attribute__((format(printf, 2, 3)));

void st_grid_init(struct st_grid *grid);
void st_grid_finish(struct st_grid *grid);

/* Columns first, then cells row by row, each row filled completely. */
void st_grid_add_column(struct st_grid *grid, enum st_grid_kind kind, int group, const char *head);
void st_grid_add_cuttable(struct st_grid *grid, int group, const char *head);
void st_grid_add_text(struct st_grid *grid, const char *text); /* NULL = not known; made printable here */
void st_grid_add_value(struct st_grid *grid, bool known, int64_t value);

/* Print. False = out of memory (nothing or a part was printed). */
bool st_grid_print(struct st_grid *grid, const struct st_style *style);

#endif
