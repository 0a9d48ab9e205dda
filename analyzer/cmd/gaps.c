/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap gaps`: when a device ran nothing inside a request, and why. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_view_heading(report, filter, style);
    return st_view_gaps(report, filter, style);
}

static int run(int argc, char **argv)
{
    return st_view_run(argc, argv, NULL,
                       "Every interval in which a device runs nothing inside a request: the rows before and after, the "
                       "cause, and what drained the queue.",
                       show);
}

const struct st_command st_command_gaps = {"gaps", "[OPTION…] [FILE…]",
                                           "when a device ran nothing inside a request, and why", run};
