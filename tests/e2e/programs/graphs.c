/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs in every way that they come about, each in a stage of its own. Says for each stage what must be counted in
 * it: STAGE LAUNCHES CAPTURED GRAPH_LAUNCHES GRAPH_NODES, the last `?` where the calls that made the graph do not
 * tell it, so that only the device's records do. Exit 1 if a call fails that must not.
 */
#include "graphs.h"

static const char image[] = PTX_HEAD PTX_ENTRY("part_20us") PTX_ENTRY("other_30us");

static const char *const expected[] = {
    "replay 0 5 10 50", /* 5 kernels captured, replayed 10 times */
    "join 0 7 4 20",    /* 3 + 2 kernels, a memset and a copy captured on two streams; 4 times */
    "build 0 0 3 24",   /* made by hand: 6, 6 and 12 */
    "update 0 5 2 10",  /* a graph of the same form put into the executable one */
    "nest 0 2 2 12",    /* a kernel and an executable graph captured */
    "beside 4 3 1 3",   /* another thread captures its default stream, this one launches meanwhile */
    "broken 3 2 0 0",   /* a capture that is made void: nothing of it runs, the stream launches again */
    "append 0 2 2 6",   /* 2 kernels captured into a graph that has one */
    "switch 0 0 2 ?",   /* one of 5 kernel nodes switched off for the second launch */
};

int main(void)
{
    struct graphs_work work = {.context = e2e_context()};
    CUmodule module;

    CHECK(cuModuleLoadData(&module, image));
    work.kernel = e2e_function(module, "part_20us");
    work.other = e2e_function(module, "other_30us");
    CHECK(cuStreamCreate(&work.first, E2E_NON_BLOCKING));
    CHECK(cuStreamCreate(&work.second, E2E_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&work.buffer, 4096));
    graphs_request(&work);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        printf("%s\n", expected[i]);
    return 0;
}
