/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap stage NAME`: one stage taken apart – its rows, kernels, copies, waits and gaps. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    const struct st_report_request *request = st_view_request(report);
    bool is_csv = style->format == ST_GRID_FORMAT_CSV;
    char scope[ST_SCOPE_BYTES], name[ST_REQUEST_BYTES];

    if (!is_csv) st_view_heading(report, filter, style);
    if (request == NULL) {
        if (!is_csv) st_style_head(style, "%s", "outside of requests");
        return st_view_outside(report, filter, style);
    }
    if (!is_csv) {
        st_style_line(style, "rows: request %s (%s) alone; lists: %s", st_request_name(request->id, name),
                      st_phase_name(request->phase), st_view_scope(report, scope));
    }
    if (!st_view_rows(request, filter, style)) return false;
    if (is_csv) return true; /* one table is what a CSV reader can take */
    st_style_head(style, "%s", "kernels");
    if (!st_view_kernels(report, filter, style)) return false;
    st_style_head(style, "%s", "copies");
    if (!st_view_transfers(report, filter, style)) return false;
    st_style_head(style, "%s", "waiting calls");
    if (!st_view_syncs(report, filter, style) || !st_view_host_functions(report, filter, style)) return false;
    st_style_head(style, "%s", "gaps at its edges and inside");
    return st_view_gaps(report, filter, style);
}

static int run(int argc, char **argv)
{
    struct st_view view;
    struct st_report report;
    int code;

    st_view_parse(&view, argc, argv, "NAME [FILE…]",
                  "One stage taken apart: its rows, kernels, copies, waiting calls, host functions and gaps.");
    if (view.word_count == 0) {
        st_say_error("stage: name a stage; stagetap stage NAME [FILE…]");
        st_view_finish(&view);
        return ST_EXIT_USAGE;
    }
    view.filter.stage = view.words[0];
    view.filter.one_stage = true;
    code = st_view_open(&view, 1, &report);
    if (code == ST_EXIT_OK) {
        code = st_view_has_stage(&report, view.filter.stage) ? st_view_show(&view, &report, show) : ST_EXIT_USAGE;
        st_report_finish(&report);
    }
    st_view_finish(&view);
    return code;
}

const struct st_command st_command_stage = {"stage", "[OPTION…] NAME [FILE…]", "one stage taken apart", run};
