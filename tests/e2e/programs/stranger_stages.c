/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of stranger.c. Each job runs on one thread; jobs run side by side. */
#include <stdint.h>

#include "stranger.h"

void stranger_job_init(struct stranger_job *job, CUcontext context, const struct stranger_kernels *kernels, int number)
{
    *job = (struct stranger_job){.kernels = kernels, .context = context, .number = number};
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&job->stream, E2E_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&job->latents, 2 * STRANGER_BYTES));
    CHECK(cuMemAllocHost_v2(&job->pinned, STRANGER_BYTES));
    job->pageable = calloc(1, STRANGER_BYTES);
    if (!job->pageable)
        exit(1);
}

void wordpiece_run(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemsetD8Async(job->latents, 7, 5000, job->stream));
    CHECK(cuMemcpyAsync(job->latents, (CUdeviceptr)(uintptr_t)job->pinned, 40000, job->stream));
    CHECK(cuMemcpyHtoDAsync_v2(job->latents, job->pageable, 30000, job->stream));
    e2e_launch(job->kernels->embed, job->stream);
    e2e_launch(job->kernels->embed, job->stream);
    e2e_spin_us(300);
    e2e_log("prepare", job->number, -1, start_ns);
}

void diffusion_pass(struct stranger_job *job, int pass)
{
    uint64_t start_ns = e2e_now_ns();
    struct e2e_launch_config config = {1, 1, 1, 32, 1, 1, 0, job->stream, NULL, 0};

    if (job->meet && (pass == 1 || pass == 3)) {
        pthread_barrier_wait(job->meet); /* the helper works between the two */
        pthread_barrier_wait(job->meet);
    }
    CHECK(cuLaunchKernelEx(&config, job->kernels->unet, NULL, NULL));
    e2e_launch(job->kernels->scheduler, job->stream);
    CHECK(cuMemcpyAsync(job->latents + STRANGER_BYTES, job->latents, 12345, job->stream));
    e2e_spin_us(150);
    e2e_log("step", job->number, pass, start_ns);
}

void diffusion_sweep(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    for (int pass = 0; pass < STRANGER_PASSES; pass++)
        diffusion_pass(job, pass);
    e2e_launch(job->kernels->sharpen, job->stream); /* a kernel rule gives it to another stage */
    e2e_log("refine", job->number, -1, start_ns);
}

void pixels_fetch(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyDtoHAsync_v2(job->pinned, job->latents, 65536, job->stream));
    CHECK(cuStreamSynchronize(job->stream));
    e2e_log("paint/fetch", job->number, -1, start_ns);
}

void pixels_make(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    e2e_launch(job->kernels->upsample, job->stream);
    pixels_fetch(job);
    e2e_spin_us(400);
    e2e_log("paint", job->number, -1, start_ns);
}

void stranger_paint_picture(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuCtxSetCurrent(job->context));
    wordpiece_run(job);
    diffusion_sweep(job);
    e2e_launch(job->kernels->stray, job->stream); /* in the request, in no stage */
    pixels_make(job);
    e2e_log("request", job->number, -1, start_ns);
}

void album_save(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyDtoHAsync_v2(job->pageable, job->latents, 777, job->stream));
    CHECK(cuStreamSynchronize(job->stream));
    e2e_spin_us(500);
    e2e_log("album", job->number, -1, start_ns);
}

void uploader_push(struct stranger_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyHtoDAsync_v2(job->latents, job->pinned, 2048, job->stream));
    e2e_spin_us(300);
    e2e_log("upload", job->number, -1, start_ns);
}
