/* SPDX-License-Identifier: Apache-2.0 */
/* Stage functions of server.c. Each job runs on one thread at a time; jobs run side by side. */
#include <stdint.h>

#include "server.h"

void server_job_init(struct server_job *job, CUcontext context, const struct server_kernels *kernels)
{
    *job = (struct server_job){.kernels = kernels, .context = context};
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&job->stream, E2E_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&job->latents, SERVER_BYTES));
    CHECK(cuMemAllocHost_v2(&job->pinned, SERVER_BYTES));
}

void server_encode(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyHtoDAsync_v2(job->latents, job->pinned, 1024, job->stream));
    e2e_launch(job->kernels->embed, job->stream);
    e2e_spin_us(200);
    e2e_log("encode", job->number, -1, start_ns);
}

void server_step(struct server_job *job, int step)
{
    uint64_t start_ns = e2e_now_ns();

    if (job->meet && step == 1) { /* others work between the two stops */
        pthread_barrier_wait(job->meet);
        pthread_barrier_wait(job->meet);
    }
    e2e_launch(job->kernels->unet, job->stream);
    e2e_spin_us(150);
    e2e_log("step", job->number, step, start_ns);
}

void server_sample(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    for (int step = 0; step < SERVER_STEPS; step++)
        server_step(job, step);
    e2e_log("sample", job->number, -1, start_ns);
}

void server_decode_launches(struct server_job *job)
{
    e2e_launch(job->kernels->vae, job->stream);
    CHECK(cuMemcpyDtoHAsync_v2(job->pinned, job->latents, 4096, job->stream));
    CHECK(cuStreamSynchronize(job->stream));
}

void server_decode(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    if (job->decode_on)
        job->decode_on(job);
    else
        server_decode_launches(job);
    e2e_log("decode", job->number, -1, start_ns);
}

void server_handle(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    if (job->retries > 0) {
        job->retries--;
        server_encode(job); /* in vain */
        server_handle(job);
    } else {
        server_encode(job);
        server_sample(job);
        server_decode(job);
    }
    e2e_log("request", job->number, -1, start_ns);
}

void server_save(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyDtoHAsync_v2(job->pinned, job->latents, 777, job->stream));
    CHECK(cuStreamSynchronize(job->stream));
    e2e_spin_us(200);
    e2e_log("save", job->number, -1, start_ns);
}

void server_prefetch(struct server_job *job)
{
    uint64_t start_ns = e2e_now_ns();

    CHECK(cuMemcpyHtoDAsync_v2(job->latents, job->pinned, 2048, job->stream));
    e2e_spin_us(100);
    e2e_log("prefetch", job->number, -1, start_ns);
}
