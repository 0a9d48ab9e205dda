/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the report document: rows, requests and the lists. For report_json.c. One thread. */
#ifndef ST_RENDER_REPORT_JSON_ROWS_H
#define ST_RENDER_REPORT_JSON_ROWS_H

#include <stddef.h>

#include "analyzer/analysis/report.h"
#include "analyzer/render/json.h"

/* The value, or null where it was not collected. */
void st_json_figure(struct st_json *json, const char *key, struct st_figure figure);

/* A request: its number, or "PID:N" in a report of several processes. */
void st_json_id(struct st_json *json, const char *key, struct st_report_id id);

void st_json_rows(struct st_json *json, const char *key, const struct st_report_row *rows, size_t count);
void st_json_requests(struct st_json *json, const struct st_report *report);
void st_json_gaps(struct st_json *json, const struct st_report *report); /* and gaps_total */
void st_json_syncs(struct st_json *json, const struct st_report *report);
void st_json_host_functions(struct st_json *json, const struct st_report *report); /* and host_functions_total */
void st_json_kernels(struct st_json *json, const struct st_report *report);
void st_json_transfers(struct st_json *json, const struct st_report *report);

#endif
