/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of pair.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_PAIR_H
#define E2E_PAIR_H

#include "cuda_few.h"
#include "stage_log.h"

struct pair_work {
    CUcontext contexts[2]; /* of devices 0 and 1 */
    CUstream streams[2];
    CUfunction prepare, refine; /* on device 0, on device 1 */
    int number;
};

E2E_STAGE void pair_render(struct pair_work *work); /* the request */
E2E_STAGE void pair_prepare(struct pair_work *work);
E2E_STAGE void pair_refine(struct pair_work *work);

#endif
