/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of windowed.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_WINDOWED_H
#define E2E_WINDOWED_H

#include "cuda_few.h"
#include "stage_log.h"

CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);

struct windowed_work {
    CUstream stream;
    CUfunction unet, vae;
    CUdeviceptr buffer;
    int requests, steps, number, by_marks;
};

E2E_STAGE void windowed_picture(struct windowed_work *work); /* the request */
E2E_STAGE void windowed_sample(struct windowed_work *work);
E2E_STAGE void windowed_step(struct windowed_work *work, int step);
E2E_STAGE void windowed_scheduler(struct windowed_work *work, int step);
E2E_STAGE void windowed_decode(struct windowed_work *work);

#endif
