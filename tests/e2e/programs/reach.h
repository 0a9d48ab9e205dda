/* SPDX-License-Identifier: Apache-2.0 */
/* A generator whose stages are reached in different ways; see reach_stages.cc. */
#ifndef E2E_REACH_H
#define E2E_REACH_H

#include <stdio.h>
#include <stdlib.h>

#define REACH_STEPS 3

#ifdef __cplusplus
extern "C" {
#endif
#include "cuda_few.h"

struct reach_work {
    CUfunction encoding, stepping, between, decoding; /* kernels */
    CUstream stream;
    int throws; /* decode throws at its end */
    int is_slow; /* so that stacks are sampled everywhere */
    unsigned sum;   /* something that is printed */
};

/* Makes one picture; exported by every build. */
__attribute__((visibility("default"))) void reach_picture(struct reach_work *work);
/* Never called: the program would, the library would not. */
__attribute__((visibility("default"))) void reach_spare(struct reach_work *work);
__attribute__((visibility("default"))) void reach_unused(struct reach_work *work);

#ifdef __cplusplus
}
#endif

#endif
