/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of pair.c, see there. One thread. */
#include "pair.h"

void pair_prepare(struct pair_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuCtxSetCurrent(work->contexts[0]));
    for (int i = 0; i < 3; i++)
        e2e_launch(work->prepare, work->streams[0]);
    e2e_log("encode", work->number, -1, start_ns);
}

void pair_refine(struct pair_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuCtxSetCurrent(work->contexts[1]));
    for (int i = 0; i < 2; i++)
        e2e_launch(work->refine, work->streams[1]);
    e2e_spin_us(2000);
    e2e_log("sample", work->number, -1, start_ns);
}

void pair_render(struct pair_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    pair_prepare(work);
    pair_refine(work);
    e2e_log("request", work->number, -1, start_ns);
}
