/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap rounds`: every request with its raw times. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_view_heading(report, filter, style);
    return st_view_rounds(report, filter, style);
}

static int run(int argc, char **argv)
{
    return st_view_run(argc, argv, "all", "Every request, complete or not, with its phase and raw times.", show);
}

const struct st_command st_command_rounds = {"rounds", "[OPTION…] [FILE…]", "every request with its raw times", run};
