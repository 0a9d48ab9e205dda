/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands that show a report have in common: the shared options, finding and reading the trace,
 * the exit code. Main thread.
 */
#ifndef ST_CMD_VIEW_H
#define ST_CMD_VIEW_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/analysis/report.h"
#include "analyzer/render/views.h"

struct st_view {
    const char **words; /* arguments that are no options */
    int word_count;
    bool json;
    bool strict;
    const char *color;   /* auto, always, never */
    const char *explain; /* a figure's name: say what it means and nothing else */
    struct st_report_options options;
    struct st_filter filter;
    struct st_style style;
};

/* Shows an opened report; returns false when memory ran out. */
typedef bool (*st_view_fn)(const struct st_report *report, const struct st_filter *filter,
                           const struct st_style *style);

/* Parse the shared options. *view is set to defaults first; `arguments` says which plain arguments there are. Exits
 * with 2 on a mistake and with 0 after --help or --explain. The caller finishes *view. */
void st_view_parse(struct st_view *view, int argc, char **argv, const char *arguments, const char *doc);
void st_view_finish(struct st_view *view);

/* Read the traces that words[first_word …] mean (none = the newest run here) and build their report. Returns an exit
 * code; on ST_EXIT_OK the caller finishes *ret. Errors were said. */
int st_view_open(struct st_view *view, int first_word, struct st_report *ret);

/* Does the report have the row `stage` (NULL: fine) or one below it? If not, said with the rows that it has. */
bool st_view_has_stage(const struct st_report *report, const char *stage);

/* Show `report`: JSON, or heading and `show`. Returns the exit code, --strict included. */
int st_view_show(const struct st_view *view, const struct st_report *report, st_view_fn show);

/* The whole of a simple command: parse, open, show. */
int st_view_run(int argc, char **argv, const char *request, const char *doc, st_view_fn show);

#endif
