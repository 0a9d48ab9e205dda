/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap syncs`: calls that waited for a device. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_view_heading(report, filter, style);
    return st_view_syncs(report, filter, style) && st_view_host_functions(report, filter, style);
}

static int run(int argc, char **argv)
{
    return st_view_run(argc, argv, NULL,
                       "Calls that waited: how long, in which stage, and for the work of which stages. The place of a "
                       "wait is not a bottleneck by itself. A second table has the host functions: what threads of the "
                       "driver ran for the program in the order of a stream (cuLaunchHostFunc …), how long, and in "
                       "which stage it was handed over.",
                       show);
}

const struct st_command st_command_syncs = {"syncs", "[OPTION…] [FILE…]", "calls that waited for a device", run};
