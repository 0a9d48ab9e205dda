/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of spill.c, see there. One thread. */
#include <time.h>

#include "spill.h"

void spill_encode(struct spill_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    for (int i = 0; i < 4; i++)
        e2e_launch(work->encode, work->encode_stream);
    e2e_log("encode", work->number, -1, start_ns);
}

void spill_sample(struct spill_work *work)
{
    struct timespec pause = {.tv_nsec = 8000000};
    uint64_t start_ns = e2e_now_ns();

    for (int i = 0; i < 10; i++)
        e2e_launch(work->sample, work->sample_stream);
    nanosleep(&pause, NULL);
    e2e_log("sample", work->number, -1, start_ns);
}

void spill_picture(struct spill_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    spill_encode(work);
    spill_sample(work);
    CHECK(cuCtxSynchronize());
    e2e_log("request", work->number, -1, start_ns);
}
