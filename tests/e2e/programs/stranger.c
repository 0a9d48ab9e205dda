/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generator whose names stagetap has never seen: several threads, a helper thread without a request,
 * two requests at once, kernels whose length is in their name, copies whose direction is not in the call's.
 *
 *   main     |load| |picture 0 ----------------| |album|    |  picture 1 -----------|
 *   thread B                                                |  picture 2 -----------|
 *   helper               |upload| stray                        stray (two are open)
 */
#include <stdint.h>

#include "stranger.h"

static const char image[] = PTX_HEAD PTX_ENTRY("embed_40us") PTX_ENTRY("unet_300us") PTX_ENTRY("scheduler_20us")
    PTX_ENTRY("sharpen_90us") PTX_ENTRY("upsample_120us") PTX_ENTRY("stray_50us");

struct helper {
    struct stranger_job *job;
    pthread_barrier_t *meet;
    int with_stage;
};

/* Works while the pictures stand at the barrier, twice for each. */
static void *helper_main(void *argument)
{
    struct helper *helper = argument;

    CHECK(cuCtxSetCurrent(helper->job->context));
    for (int round = 0; round < 2; round++) {
        pthread_barrier_wait(helper->meet);
        if (helper->with_stage)
            uploader_push(helper->job);
        e2e_launch(helper->job->kernels->stray, helper->job->stream);
        pthread_barrier_wait(helper->meet);
    }
    return NULL;
}

static void *picture_main(void *argument)
{
    stranger_paint_picture(argument);
    return NULL;
}

static void thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument) != 0)
        exit(1);
}

static void one_picture(struct stranger_job *job, struct stranger_job *helper_job)
{
    pthread_barrier_t meet;
    pthread_t thread;
    struct helper helper = {helper_job, &meet, 1};

    pthread_barrier_init(&meet, NULL, 2);
    job->meet = &meet;
    thread_start(&thread, helper_main, &helper);
    stranger_paint_picture(job);
    pthread_join(thread, NULL);
    album_save(job);
}

static void two_pictures(struct stranger_job *first, struct stranger_job *second, struct stranger_job *helper_job)
{
    pthread_barrier_t meet;
    pthread_t helper_thread, picture_thread;
    struct helper helper = {helper_job, &meet, 0};

    pthread_barrier_init(&meet, NULL, 3);
    first->meet = second->meet = &meet;
    thread_start(&helper_thread, helper_main, &helper);
    thread_start(&picture_thread, picture_main, second);
    stranger_paint_picture(first);
    pthread_join(picture_thread, NULL);
    pthread_join(helper_thread, NULL);
}

static void kernels_get(struct stranger_kernels *kernels)
{
    CUmodule module;

    CHECK(cuModuleLoadData(&module, image));
    kernels->embed = e2e_function(module, "embed_40us");
    kernels->unet = e2e_function(module, "unet_300us");
    kernels->scheduler = e2e_function(module, "scheduler_20us");
    kernels->sharpen = e2e_function(module, "sharpen_90us");
    kernels->upsample = e2e_function(module, "upsample_120us");
    kernels->stray = e2e_function(module, "stray_50us");
}

int main(void)
{
    struct stranger_kernels kernels;
    struct stranger_job jobs[3], helper_job;
    CUcontext context = e2e_context();

    kernels_get(&kernels);
    for (int number = 0; number < 3; number++)
        stranger_job_init(&jobs[number], context, &kernels, number);
    stranger_job_init(&helper_job, context, &kernels, 9);
    one_picture(&jobs[0], &helper_job);
    two_pictures(&jobs[1], &jobs[2], &helper_job);
    CHECK(cuCtxSynchronize());
    puts("3 pictures");
    return 0;
}
