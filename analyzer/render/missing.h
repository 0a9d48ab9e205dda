/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a run is not in its report although it should be: what --strict exits 1 for and the JSON document lists
 * under `missing`. Not among it: what was switched off or not asked for, what the program never used, and rules that
 * matched nothing. One thread.
 */
#ifndef ST_RENDER_MISSING_H
#define ST_RENDER_MISSING_H

#include <stddef.h>

struct st_report;

typedef void (*st_missing_fn)(void *context, const char *what);

/* Tell each in words, one line each, valid during the call; `each` may be NULL. Returns how many there are. */
size_t st_report_missing(const struct st_report *report, st_missing_fn each, void *context);

#endif
