/* SPDX-License-Identifier: Apache-2.0 */
/* The line that says which stage map was in force and why, and heads it `to be verified` where no one has checked it
 * against what was found. */
#include <stdio.h>
#include <string.h>

#include "views.h"

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_map(const struct st_report_trace *a, const struct st_report_trace *b)
{
    bool same = is_same(a->map, b->map) && is_same(a->map_why, b->map_why) && a->checked_count == b->checked_count;
    for (size_t i = 0; same && i < a->checked_count; i++) {
        const struct st_report_checked *left = &a->checked[i], *right = &b->checked[i];
        same = is_same(left->package, right->package) && is_same(left->found, right->found);
    }
    return same;
}

static void add_checked(char *line, size_t size, const struct st_report_checked *checked)
{
    size_t used = strlen(line);
    bool is_one = strcmp(checked->oldest, checked->newest) == 0;
    snprintf(line + used, size - used, " · %s%.60s %.60s, checked %.60s%s%.60s",
             strcmp(checked->state, "outside") == 0 ? "to be verified: " : "", checked->package,
             checked->found ? checked->found : "(version not recorded)", checked->oldest, is_one ? "" : "–",
             is_one ? "" : checked->newest);
}

static void say_map(const struct st_report *report, const struct st_report_trace *trace, const struct st_style *style)
{
    const char *why = trace->map_why ? trace->map_why : "";
    bool is_recognised = why[0] && strcmp(why, "as set") != 0;
    char line[1024] = "map";
    size_t used = strlen(line);
    if (report->trace_count > 1) {
        used += (size_t)snprintf(line + used, sizeof(line) - used, " (process %.32s)", trace->process);
    }
    snprintf(line + used, sizeof(line) - used, ": %.200s (%s%.300s)", trace->map, is_recognised ? "recognised: " : "",
             why[0] ? why : "no preset was recognised: NVTX ranges that are named like stages");
    for (size_t i = 0; i < trace->checked_count; i++) {
        add_checked(line, sizeof(line), &trace->checked[i]);
    }
    st_style_line(style, "%s", line);
}

void st_view_map(const struct st_report *report, const struct st_style *style)
{
    for (size_t i = 0; i < report->trace_count; i++) {
        bool is_new = report->traces[i].map && report->traces[i].map[0];
        for (size_t k = 0; is_new && k < i; k++) {
            is_new = !is_same_map(&report->traces[i], &report->traces[k]);
        }
        if (is_new) {
            say_map(report, &report->traces[i], style);
        }
    }
}
