/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of stranger.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_STRANGER_H
#define E2E_STRANGER_H

#include <pthread.h>

#include "cuda_few.h"
#include "stage_log.h"

enum { STRANGER_PASSES = 5, STRANGER_BYTES = 96 * 1024 };

struct stranger_kernels {
    CUfunction embed, unet, scheduler, sharpen, upsample, stray;
};

/* One picture in the making; each job has its own thread's buffers and stream. */
struct stranger_job {
    const struct stranger_kernels *kernels;
    CUcontext context;
    CUstream stream;
    CUdeviceptr latents;
    void *pinned;   /* STRANGER_BYTES */
    char *pageable; /* STRANGER_BYTES */
    int number;
    pthread_barrier_t *meet; /* others to meet in the first and third pass, or NULL */
};

void stranger_job_init(struct stranger_job *job, CUcontext context, const struct stranger_kernels *kernels, int number);
E2E_STAGE void stranger_paint_picture(struct stranger_job *job); /* the request */
E2E_STAGE void wordpiece_run(struct stranger_job *job);
E2E_STAGE void diffusion_sweep(struct stranger_job *job);
E2E_STAGE void diffusion_pass(struct stranger_job *job, int pass);
E2E_STAGE void pixels_make(struct stranger_job *job);
E2E_STAGE void pixels_fetch(struct stranger_job *job);
E2E_STAGE void album_save(struct stranger_job *job);    /* after the request */
E2E_STAGE void uploader_push(struct stranger_job *job); /* on the helper's thread */

#endif
