/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's thread for host functions: sleeps until the next one may run, applies what the device did before
 * it, calls it, and reports its end, by which the operations behind it become known.
 */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "effects.h"

static struct sim_op *queue; /* by ready time; guarded by the engine's lock */
static pthread_cond_t queue_changed;
static bool running;

static struct sim_op *take_next(void)
{
    struct sim_op *op;

    pthread_mutex_lock(&sim_engine_lock);
    for (;;) {
        op = queue;
        if (op == NULL) {
            pthread_cond_wait(&queue_changed, &sim_engine_lock);
        } else if (op->ready_ns > sim_now_ns()) {
            struct timespec until = sim_timespec(op->ready_ns);

            pthread_cond_timedwait(&queue_changed, &sim_engine_lock, &until);
        } else {
            queue = op->next;
            break;
        }
    }
    pthread_mutex_unlock(&sim_engine_lock);
    return op;
}

static void *host_thread(void *unused)
{
    pthread_setname_np(pthread_self(), "simgpu-host");
    for (;;) {
        struct sim_op *op = take_next();
        uint64_t start_ns;

        sim_effects_apply(op->ready_ns, false);
        start_ns = sim_now_ns();
        if (op->u.host.callback != NULL) {
            op->u.host.callback(op->u.host.stream, CUDA_SUCCESS, op->u.host.user_data);
        } else {
            op->u.host.fn(op->u.host.user_data);
        }
        sim_host_func_ran(op, start_ns);
    }
    return unused;
}

static void start_thread(void)
{
    pthread_condattr_t attributes;
    pthread_attr_t detached;
    pthread_t thread;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, host_thread, NULL) != 0) {
        fputs("simgpu: no thread for host functions\n", stderr);
        abort();
    }
    pthread_attr_destroy(&detached);
    running = true;
}

void sim_host_add_locked(struct sim_op *op, uint64_t ready_ns)
{
    struct sim_op **link = &queue;

    if (!running) {
        start_thread();
    }
    op->references++;
    op->ready_ns = ready_ns;
    while (*link != NULL && (*link)->ready_ns <= ready_ns) {
        link = &(*link)->next;
    }
    op->next = *link;
    *link = op;
    pthread_cond_signal(&queue_changed);
}
