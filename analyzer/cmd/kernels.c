/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap kernels`: single and accumulated cost of each kernel. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static bool show(const struct st_report *report, const struct st_filter *filter, const struct st_style *style)
{
    st_view_heading(report, filter, style);
    return st_view_kernels(report, filter, style);
}

static int run(int argc, char **argv)
{
    return st_view_run(argc, argv, NULL,
                       "Kernels by stage: count, total, shortest, median and longest time on the device.", show);
}

const struct st_command st_command_kernels = {"kernels", "[OPTION…] [FILE…]",
                                              "single and accumulated cost of each kernel", run};
