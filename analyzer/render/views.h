/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views on a report, as text or tables. They read struct st_report and nothing else; filters cut lists
 * on the screen, never sums, and a total stands beside each cut list. One thread. All return false when
 * memory ran out; write errors stay in style->out.
 */
#ifndef ST_RENDER_VIEWS_H
#define ST_RENDER_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/analysis/report.h"
#include "analyzer/render/grid.h"

struct st_filter {
    const char *stage; /* only this row and those below it; NULL = all */
    int64_t top;       /* at most so many lines, 0 = all */
    bool utc;          /* instants as UTC time of day instead of time since the trace began */
    bool name_file;    /* the file was chosen for the user: say which on the first line */
    bool one_stage;    /* `stage` is what the view is about: totals are of it */
    bool is_part;      /* of the report: another view has the whole list */
};

#define ST_SCOPE_BYTES 96
#define ST_REQUEST_BYTES 64

/* "3", or "4711:3" in a report of several processes. Returns `ret`. */
char *st_request_name(struct st_report_id id, char ret[ST_REQUEST_BYTES]);

/* Is `row` the row `stage` or below it? A NULL stage takes every row. */
bool st_row_is_within(const char *row, const char *stage);

/* Which stage map was in force and why: a line for each one that differs. */
void st_view_map(const struct st_report *report, const struct st_style *style);

/* The heading of every view. In CSV nothing. */
void st_view_heading(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);

/* What the lists cover: "over 2 steady requests", "in request 3". Returns `ret`. */
char *st_view_scope(const struct st_report *report, char ret[ST_SCOPE_BYTES]);

/* The request of the table: the typical one; where there is no complete one, the last that returned. NULL: none. */
const struct st_report_request *st_view_request(const struct st_report *report);

bool st_view_report(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
/* The rows of one request. */
bool st_view_rows(const struct st_report_request *request, const struct st_filter *filter,
                  const struct st_style *style);
/* The rows outside of requests, with their device figures. */
bool st_view_outside(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
bool st_view_gaps(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
bool st_view_kernels(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
bool st_view_transfers(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
bool st_view_syncs(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);
/* Nothing where there are none, and in CSV, which holds one table. */
bool st_view_host_functions(const struct st_report *report, const struct st_filter *filter,
                            const struct st_style *style);
bool st_view_rounds(const struct st_report *report, const struct st_filter *filter, const struct st_style *style);

/* How a request's phase is called; "open" for one without. */
const char *st_phase_name(enum st_phase phase);

#endif
