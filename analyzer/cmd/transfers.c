/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap transfers`: copies by direction, memory and stage. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_view_heading(report, filter, style);
    return st_view_transfers(report, filter, style);
}

static int run(int argc, char **argv)
{
    return st_view_run(
        argc, argv, NULL,
        "Copies by direction, kind of host memory and stage: count, size, time, rate and what no kernel hid.", show);
}

const struct st_command st_command_transfers = {"transfers", "[OPTION…] [FILE…]",
                                                "copies by direction, memory and stage", run};
