/* SPDX-License-Identifier: Apache-2.0 */
/* The stage functions of server.c: they live in a shared library, so that they are dynamic symbols. */
#ifndef E2E_SERVER_H
#define E2E_SERVER_H

#include <pthread.h>

#include "cuda_few.h"
#include "stage_log.h"

enum { SERVER_STEPS = 4, SERVER_BYTES = 1 << 16 };

struct server_kernels {
    CUfunction embed, unet, vae, stray;
};

struct server_job {
    const struct server_kernels *kernels;
    CUcontext context;
    CUstream stream;
    CUdeviceptr latents;
    void *pinned;
    int number;
    int retries;             /* the request's function calls itself so often */
    pthread_barrier_t *meet; /* two stops in the middle of sampling; NULL: none */
    void (*decode_on)(struct server_job *job); /* hands the decoding to another thread and waits; NULL: here */
};

void server_job_init(struct server_job *job, CUcontext context, const struct server_kernels *kernels);

E2E_STAGE void server_handle(struct server_job *job); /* the request */
E2E_STAGE void server_encode(struct server_job *job);
E2E_STAGE void server_sample(struct server_job *job);
E2E_STAGE void server_step(struct server_job *job, int step);
E2E_STAGE void server_decode(struct server_job *job);
E2E_STAGE void server_save(struct server_job *job);
E2E_STAGE void server_prefetch(struct server_job *job);
/* What decoding launches; no stage of its own. */
void server_decode_launches(struct server_job *job);

#endif
