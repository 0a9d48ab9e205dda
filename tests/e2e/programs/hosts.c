/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions handed over in every way, each in a stage of its own. Prints what the program can see of it – results
 * of calls, functions that nodes give back, how often each ran – and so must print the same beside stagetap.
 */
#include "hosts.h"

static const char image[] = PTX_HEAD PTX_ENTRY("part_200us");

int main(void)
{
    struct hosts_work work = {.context = e2e_context()};
    CUmodule module;

    CHECK(cuModuleLoadData(&module, image));
    work.kernel = e2e_function(module, "part_200us");
    CHECK(cuStreamCreate(&work.stream, E2E_NON_BLOCKING));
    hosts_request(&work);
    return 0;
}
