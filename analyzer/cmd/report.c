/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap report`: the answer on one screen. Main thread. */
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/view.h"

static int run(int argc, char **argv)
{
    return st_view_run(argc, argv, NULL,
                       "The answer on one screen: rounds, stages, the identity of each device, the largest gaps, and "
                       "what was not collected.",
                       st_view_report);
}

const struct st_command st_command_report = {"report", "[OPTION…] [FILE…]", "the answer on one screen", run};
