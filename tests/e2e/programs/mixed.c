/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads at once that launch in every way: mixed ROUNDS. Each thread is one request.
 * Says FUNCTION KERNEL LAUNCHES KERNELS for each way.
 */
#include <pthread.h>
#include <unistd.h>

#include "mixed.h"

enum { THREADS = 8, BETWEEN_US = 500 /* the requests overlap, and nobody doubts which was first */ };

static void *thread_main(void *argument)
{
    struct mixed_job *job = argument;

    CHECK(cuCtxSetCurrent(job->context));
    usleep((useconds_t)job->number * BETWEEN_US);
    mixed_request(job);
    return NULL;
}

int main(int argc, char **argv)
{
    struct mixed_job jobs[THREADS];
    pthread_t threads[THREADS];
    CUcontext context = e2e_context();
    int rounds = argc == 2 ? atoi(argv[1]) : 0;

    if (rounds < 1) {
        fprintf(stderr, "usage: %s ROUNDS\n", argv[0]);
        return 2;
    }
    mixed_prepare();
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct mixed_job){.context = context, .number = i, .rounds = rounds};
        CHECK(cuStreamCreate(&jobs[i].stream, E2E_NON_BLOCKING));
        if (pthread_create(&threads[i], NULL, thread_main, &jobs[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(cuCtxSynchronize());
    for (int way = 0; way < MIXED_WAYS; way++) {
        int launches = THREADS * rounds * (way + 1);

        printf("%s %s %d %d\n", mixed_ways[way].function, mixed_ways[way].kernel, launches, launches);
    }
    for (int way = 0; way < MIXED_GRAPH_WAYS; way++) {
        int launches = THREADS * rounds * (way + 1);

        printf("%s %s %d %d\n", mixed_graph_way(way)->function, mixed_graph_way(way)->kernel, launches,
               launches * MIXED_GRAPH_NODES);
    }
    return 0;
}
