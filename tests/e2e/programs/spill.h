/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of spill.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_SPILL_H
#define E2E_SPILL_H

#include "cuda_few.h"
#include "stage_log.h"

struct spill_work {
    CUfunction encode, sample;
    CUstream encode_stream, sample_stream;
    int number;
};

E2E_STAGE void spill_picture(struct spill_work *work); /* the request */
E2E_STAGE void spill_encode(struct spill_work *work);
E2E_STAGE void spill_sample(struct spill_work *work);

#endif
