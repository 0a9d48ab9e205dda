/* SPDX-License-Identifier: Apache-2.0 */
/* The document `stagetap.report/1` (render/report.schema.json). Writes what the report holds; computes nothing. */
#ifndef ST_RENDER_REPORT_JSON_H
#define ST_RENDER_REPORT_JSON_H

#include <stdio.h>

struct st_report;

/* Write the whole document to `out`. Write errors stay in the stream. One thread. */
void st_report_write_json(const struct st_report *report, FILE *out);

#endif
