/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of windowed.c, see there. One thread. Step s makes 2 + s launches and one memset. */
#include "windowed.h"

void windowed_scheduler(struct windowed_work *work, int step)
{
    CHECK(cuMemsetD8Async(work->buffer, 0, 64, work->stream));
    e2e_spin_us(20);
}

/* What both kinds of steps do. */
static void launch_all(struct windowed_work *work, int step)
{
    for (int i = 0; i < 2 + step; i++)
        e2e_launch(work->unet, work->stream);
    CHECK(cuStreamSynchronize(work->stream)); /* so that steps follow each other on the device, too */
    windowed_scheduler(work, step);
}

void windowed_step(struct windowed_work *work, int step)
{
    uint64_t start_ns = e2e_now_ns();

    if (work->number == 2 && step == 2)
        CHECK(cuProfilerStart());
    launch_all(work, step);
    if (work->number == 2 && step == 3)
        CHECK(cuProfilerStop());
    e2e_log("step", work->number, step, start_ns);
}

void windowed_sample(struct windowed_work *work)
{
    uint64_t start_ns = e2e_now_ns(), step_ns = start_ns;

    for (int step = 1; step <= work->steps; step++) {
        if (!work->by_marks) {
            windowed_step(work, step);
            e2e_launch(work->vae, work->stream); /* between two steps */
            continue;
        }
        launch_all(work, step);
        e2e_log("step", work->number, step, step_ns);
        step_ns = e2e_now_ns();
    }
    e2e_log("sample", work->number, -1, start_ns);
}

void windowed_decode(struct windowed_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    e2e_launch(work->vae, work->stream);
    CHECK(cuStreamSynchronize(work->stream));
    e2e_log("decode", work->number, -1, start_ns);
}

void windowed_picture(struct windowed_work *work)
{
    uint64_t start_ns = e2e_now_ns();

    windowed_sample(work);
    windowed_decode(work);
    e2e_log("request", work->number, -1, start_ns);
}
