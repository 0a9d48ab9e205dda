/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which stage map a trace was made with, why that one, and whether the versions that were found are among those that
 * its presets were checked against (KEY map, map.why, map.checked: `PACKAGE OLDEST NEWEST`, joined with "; ").
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"

/* Compares the numbers of two versions, as many as `bound` has: 1.10.3 is a 1.10. */
static int compare_versions(const char *version, const char *bound)
{
    for (;;) {
        while (*bound && !isdigit((unsigned char)*bound)) {
            bound++;
        }
        while (*version && !isdigit((unsigned char)*version)) {
            version++;
        }
        if (!*bound) {
            return 0;
        }
        char *bound_end, *version_end;
        unsigned long right = strtoul(bound, &bound_end, 10), left = strtoul(version, &version_end, 10);
        if (left != right) {
            return left < right ? -1 : 1;
        }
        bound = bound_end;
        version = version_end;
    }
}

/* A version that is no number, such as a commit, is only equal to itself. */
static bool is_number(const char *version)
{
    return isdigit((unsigned char)version[*version == 'v']) && strchr(version, '.');
}

static bool is_covered(const struct st_report_checked *checked)
{
    if (!is_number(checked->oldest) || !is_number(checked->newest)) {
        return strcmp(checked->found, checked->oldest) == 0 || strcmp(checked->found, checked->newest) == 0;
    }
    return compare_versions(checked->found, checked->oldest) >= 0 &&
           compare_versions(checked->found, checked->newest) <= 0;
}

/* One of the parts, cut up in place; false: it is none. */
static bool read_part(char *part, struct st_report_checked *checked)
{
    char *rest = part;
    checked->package = strsep(&rest, " ");
    checked->oldest = strsep(&rest, " ");
    checked->newest = strsep(&rest, " ");
    return checked->newest && !rest && checked->package[0];
}

bool st_answer_map(struct st_answer *answer, const struct st_model_trace *source, struct st_report_trace *trace)
{
    const char *text = st_model_key(source, ST_KEY_SETTING, "map.checked");
    size_t most = 1;
    trace->map = st_model_key(source, ST_KEY_SETTING, "map");
    trace->map_why = st_model_key(source, ST_KEY_SETTING, "map.why");
    for (const char *at = text; at && (at = strchr(at, ';')); at++) {
        most++;
    }
    trace->checked = st_arena_array(answer->arena, most, sizeof(*trace->checked));
    char *rest = st_arena_array(answer->arena, text ? strlen(text) + 1 : 1, 1), *part;
    if (!trace->checked || !rest) {
        return false;
    }
    strcpy(rest, text ? text : "");
    while ((part = strsep(&rest, ";")) != NULL) {
        struct st_report_checked checked = {0};
        if (!read_part(part + strspn(part, " "), &checked)) {
            continue;
        }
        checked.found = st_model_key(source, ST_KEY_FOUND, checked.package);
        checked.state = !checked.found ? "not recorded" : is_covered(&checked) ? "covered" : "outside";
        trace->checked[trace->checked_count++] = checked;
    }
    return true;
}
