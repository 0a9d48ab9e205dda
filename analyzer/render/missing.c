/* SPDX-License-Identifier: Apache-2.0 */
/* What --strict counts; see missing.h and the manual page. */
#include "analyzer/render/missing.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/analysis/report.h"
#include "analyzer/render/explain.h"

struct teller {
    st_missing_fn each;
    void *context;
    size_t count;
    const char *process; /* of which it is told; NULL = of all */
};

__attribute__((format(printf, 2, 3))) static void tell(struct teller *teller, const char *format, ...)
{
    char text[600] = "";
    size_t used = 0;
    va_list arguments;

    if (teller->process != NULL) used = (size_t)snprintf(text, sizeof(text), "process %.32s: ", teller->process);
    va_start(arguments, format);
    vsnprintf(text + used, sizeof(text) - used, format, arguments);
    va_end(arguments);
    if (teller->each != NULL) teller->each(teller->context, text);
    teller->count++;
}

static void tell_trace(struct teller *teller, const struct st_report_trace *trace)
{
    char words[ST_WORDS_BYTES];

    if (!trace->complete) {
        tell(teller,
             trace->live ? "trace not complete: still running" : "trace not complete: not closed, cut or damaged");
    }
    for (size_t i = 0; i < trace->lost.count; i++) {
        if (trace->lost.items[i].value == 0) continue;
        tell(teller, "lost: %s %" PRId64, st_words(trace->lost.items[i].key, words), trace->lost.items[i].value);
    }
    if (trace->not_intercepted_count > 0) {
        tell(teller, "not intercepted: %zu CUDA function%s", trace->not_intercepted_count,
             trace->not_intercepted_count == 1 ? "" : "s");
    }
    if (trace->completeness.runtime_without_driver > 0) {
        tell(teller, "runtime launches with no driver call inside: %" PRId64,
             trace->completeness.runtime_without_driver);
    }
    if (trace->completeness.out_of_reach.count > 0) {
        tell(teller, "out of reach: %.400s", trace->completeness.out_of_reach.items[0]);
    }
    if (trace->completeness.untracked_captures.known && trace->completeness.untracked_captures.value > 0) {
        tell(teller, "stream captures not followed: %" PRId64, trace->completeness.untracked_captures.value);
    }
}

size_t st_report_missing(const struct st_report *report, st_missing_fn each, void *context)
{
    struct teller teller = {each, context, 0, NULL};
    bool no_device_time = strcmp(report->device_time, "not_collected") == 0;

    for (size_t i = 0; i < report->left_out.count; i++) tell(&teller, "left out: %.400s", report->left_out.items[i]);
    for (size_t i = 0; i < report->trace_count; i++) {
        if (report->trace_count > 1) teller.process = report->traces[i].process;
        tell_trace(&teller, &report->traces[i]);
        if (!no_device_time && report->traces[i].misses_device_time) tell(&teller, "device time not collected");
    }
    teller.process = NULL;
    if (report->window_note != NULL) tell(&teller, "%.400s", report->window_note);
    if (no_device_time) tell(&teller, "device time not collected");
    for (size_t i = 0; i < report->capability_count; i++) {
        const struct st_report_capability *one = &report->capabilities[i];

        if (strcmp(one->state, "degraded") != 0) continue;
        teller.process = one->process;
        tell(&teller, "%.100s: stopped or incomplete%s%.300s", one->kind, one->why[0] != '\0' ? ": " : "", one->why);
    }
    return teller.count;
}
