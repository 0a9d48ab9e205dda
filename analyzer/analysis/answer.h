/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of st_report_build(): the report being filled, and the parts that fill it. One thread. */
#ifndef ST_ANALYSIS_ANSWER_H
#define ST_ANALYSIS_ANSWER_H

#include "analyzer/model/arena.h"
#include "analyzer/model/view.h"
#include "report.h"

struct st_answer {
    const struct st_model *model;
    const struct st_report_options *options;
    struct st_report *report;
    struct st_arena *arena; /* the report's */
    enum st_phase *phases;  /* by request index */
    const char **shapes;    /* by request index */
    bool *selected;         /* by request index: the lists cover it */
};

static inline struct st_figure st_known(int64_t value)
{
    return (struct st_figure){value, true};
}

/* Do the lists cover what this operation did (--device)? */
static inline bool st_answer_has_op(const struct st_answer *answer, const struct st_op *op)
{
    return answer->options->device < 0 || st_op_is_on(op, answer->options->device);
}

/* How the report calls requests[request]. */
static inline struct st_report_id st_answer_id(const struct st_answer *answer, uint32_t request)
{
    const struct st_model *model = answer->model;
    const struct st_model_request *asked = &model->requests[request];
    return (struct st_report_id){asked->id, model->trace_count > 1 ? model->traces[asked->trace].process : NULL};
}

/* Append one line to the report's notes (once, if it is already there). The text is copied. */
bool st_answer_note(struct st_answer *answer, const char *text);
/* The same for a remark about keys of the JSON document, which the screen does not show. */
bool st_answer_remark(struct st_answer *answer, const char *text);

/* Do the finished rows of one table, in page order, hold together? See rowcheck.c. */
bool st_rows_fit(const struct st_report_row *rows, size_t count);

/* The groups that the lists cover, one after another: the selected requests, or everything in a trace without any.
 * *at begins at 0; false: no more. */
bool st_answer_next_view(const struct st_answer *answer, size_t *at, struct st_request_view *ret_view);

/* The map of one trace: trace->map and what belongs to it. false: out of memory. */
bool st_answer_map(struct st_answer *answer, const struct st_model_trace *source, struct st_report_trace *trace);

/* Each fills its part of the report; false: out of memory. */
bool st_answer_facts(struct st_answer *answer);     /* traces, devices */
bool st_answer_collected(struct st_answer *answer); /* capabilities, manifest, unmatched rules */
bool st_answer_requests(struct st_answer *answer);  /* requests, outside, gaps */
bool st_answer_syncs(struct st_answer *answer);
bool st_answer_kernels(struct st_answer *answer);
bool st_answer_host_functions(struct st_answer *answer);
bool st_answer_transfers(struct st_answer *answer);
bool st_answer_errors(struct st_answer *answer);

/* Shapes and phases of all requests, and report->rounds. */
enum st_status st_answer_rounds(struct st_answer *answer, struct st_err *err);

/* What options->request means: answer->selected. ST_USAGE: no such request. */
enum st_status st_answer_select(struct st_answer *answer, struct st_err *err);

#endif
