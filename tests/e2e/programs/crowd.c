/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short-lived threads that launch as fast as they can: crowd WAVES THREADS LAUNCHES. Each wave starts
 * THREADS threads, each of which is one request with LAUNCHES launches, and waits for them.
 */
#include <pthread.h>

#include "crowd.h"

enum { MAX_THREADS = 64 };

static const char image[] = PTX_HEAD PTX_ENTRY("dot_200ns");

static void *thread_main(void *argument)
{
    crowd_request(argument);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct crowd_job jobs[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    struct crowd_job job = {.context = e2e_context()};
    CUmodule module;
    int waves = argc > 3 ? atoi(argv[1]) : 0, count = argc > 3 ? atoi(argv[2]) : 0;

    if (waves < 1 || count < 1 || count > MAX_THREADS) {
        fprintf(stderr, "usage: %s WAVES THREADS(1-%d) LAUNCHES\n", argv[0], MAX_THREADS);
        return 2;
    }
    job.launches = atoi(argv[3]);
    CHECK(cuModuleLoadData(&module, image));
    job.kernel = e2e_function(module, "dot_200ns");
    CHECK(cuMemAlloc_v2(&job.buffer, 64));
    for (int wave = 0; wave < waves; wave++) {
        for (int i = 0; i < count; i++) {
            jobs[i] = job;
            jobs[i].number = wave * count + i;
            if (pthread_create(&threads[i], NULL, thread_main, &jobs[i]) != 0)
                return 1;
        }
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    }
    CHECK(cuCtxSynchronize());
    return 0;
}
