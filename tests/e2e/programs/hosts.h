/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of hosts.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_HOSTS_H
#define E2E_HOSTS_H

#include "cuda_few.h"
#include "stage_log.h"

struct hosts_work {
    CUcontext context;
    CUfunction kernel;
    CUstream stream;
};

E2E_STAGE void hosts_direct(struct hosts_work *work);
E2E_STAGE void hosts_callback(struct hosts_work *work);
E2E_STAGE void hosts_captured(struct hosts_work *work);
E2E_STAGE void hosts_built(struct hosts_work *work);
E2E_STAGE void hosts_marked(void *argument);
E2E_STAGE void hosts_odd(struct hosts_work *work);
E2E_STAGE void hosts_threads(struct hosts_work *work);
E2E_STAGE void hosts_many(struct hosts_work *work);
E2E_STAGE void hosts_nonsense(struct hosts_work *work);
E2E_STAGE void hosts_request(struct hosts_work *work);

/* hosts_number[n]() counts in hosts_counts[n]: more functions than stagetap has thunks for. */
enum { HOSTS_NUMBERS = 300 };
extern void (*const hosts_number[HOSTS_NUMBERS])(void *counts);

#endif
