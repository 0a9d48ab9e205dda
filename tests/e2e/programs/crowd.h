/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of crowd.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_CROWD_H
#define E2E_CROWD_H

#include "cuda_few.h"
#include "stage_log.h"

struct crowd_job {
    CUcontext context;
    CUfunction kernel;
    CUdeviceptr buffer;
    int number, launches;
};

E2E_STAGE void crowd_request(struct crowd_job *job);
E2E_STAGE void crowd_sample(struct crowd_job *job);

#endif
