/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server: two worker threads take six requests from a queue, a prefetch thread works for whom it may, and a pool
 * thread launches the decoding of one request.
 *
 *   worker A   |request 0 -------| save |request ----| save |request …
 *   worker B                            |request ----| save |request …        whoever is free takes the next
 *   prefetch        |one is open|             |two are open|                 |none is open any more|
 *   pool                    (decode)
 *
 * Requests 0 and 1 call themselves again (a retry): each is one request. The first two that overlap stand still
 * while prefetch works.
 */
#include <stdint.h>

#include "server.h"

enum { REQUESTS = 6, WORKERS = 2 };

static const char image[] = PTX_HEAD PTX_ENTRY("embed_40us") PTX_ENTRY("unet_300us") PTX_ENTRY("vae_200us")
    PTX_ENTRY("stray_50us");

static struct server_kernels kernels;
static CUcontext context;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t one_is_open, two_are_open, first_is_done;
static int next_request;

/* ---- the pool: one thread for each job that is handed over ---- */

static void *pool_main(void *argument)
{
    struct server_job *job = argument;

    CHECK(cuCtxSetCurrent(job->context));
    server_decode_launches(job);
    return NULL;
}

static void decode_on_pool(struct server_job *job)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, pool_main, job) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

/* ---- workers ---- */

static int take_request(void)
{
    pthread_mutex_lock(&lock);
    int number = next_request < REQUESTS ? next_request++ : -1;
    pthread_mutex_unlock(&lock);
    return number;
}

static void handle(struct server_job *job, int number)
{
    job->number = number;
    job->retries = number < 2;
    job->decode_on = number == 0 ? decode_on_pool : NULL;
    job->meet = number == 0 ? &one_is_open : number <= 2 ? &two_are_open : NULL;
    server_handle(job);
    server_save(job);
}

static void *worker_main(void *argument)
{
    struct server_job *job = argument;
    int number;

    CHECK(cuCtxSetCurrent(job->context));
    while ((number = take_request()) >= 0) {
        if (number == 1) /* from here on they overlap */
            pthread_barrier_wait(&first_is_done);
        handle(job, number);
        if (number == 0)
            pthread_barrier_wait(&first_is_done);
    }
    return NULL;
}

static void prefetch_at(pthread_barrier_t *meet, struct server_job *job)
{
    pthread_barrier_wait(meet);
    server_prefetch(job);
    e2e_launch(kernels.stray, job->stream); /* in no stage */
    pthread_barrier_wait(meet);
}

static void *prefetch_main(void *argument)
{
    struct server_job *job = argument;

    CHECK(cuCtxSetCurrent(job->context));
    prefetch_at(&one_is_open, job);
    prefetch_at(&two_are_open, job);
    return NULL;
}

int main(void)
{
    struct server_job jobs[WORKERS + 1];
    pthread_t workers[WORKERS], prefetch;
    CUmodule module;

    context = e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    kernels.embed = e2e_function(module, "embed_40us");
    kernels.unet = e2e_function(module, "unet_300us");
    kernels.vae = e2e_function(module, "vae_200us");
    kernels.stray = e2e_function(module, "stray_50us");
    pthread_barrier_init(&one_is_open, NULL, 2);
    pthread_barrier_init(&two_are_open, NULL, 3);
    pthread_barrier_init(&first_is_done, NULL, 2);
    for (int i = 0; i <= WORKERS; i++)
        server_job_init(&jobs[i], context, &kernels);
    if (pthread_create(&prefetch, NULL, prefetch_main, &jobs[WORKERS]) != 0)
        return 1;
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&workers[i], NULL, worker_main, &jobs[i]) != 0)
            return 1;
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_join(prefetch, NULL);
    e2e_launch(kernels.stray, jobs[0].stream); /* after all requests, in no stage */
    CHECK(cuCtxSynchronize());
    return 0;
}
