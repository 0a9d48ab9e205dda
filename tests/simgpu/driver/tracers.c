/* SPDX-License-Identifier: Apache-2.0 */
/* Telling several observers as if they were one: slots are filled once, in order, and then only read. */
#include "tracers.h"

#include <stdatomic.h>
#include <stdio.h>

enum { TRACERS_MAX = 4 };

static _Atomic(const struct simgpu_tracer *) tracers[TRACERS_MAX];
static _Atomic unsigned places;

/* Calls `function` of every observer that has one; `bit` is the observer's in what was settled for a graph. */
#define TELL(function, ...)                                                                                            \
    for (unsigned i = 0, bit = 1; i < TRACERS_MAX; i++, bit <<= 1) {                                                   \
        const struct simgpu_tracer *one = atomic_load_explicit(&tracers[i], memory_order_acquire);                     \
        if (one != NULL && one->function != NULL) {                                                                    \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    }

static void tell_api(const char *name, uint32_t correlation, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
                     int result)
{
    TELL(api, (void)bit; one->api(name, correlation, thread, start_ns, end_ns, result))
}

static void tell_op(const struct simgpu_op *op)
{
    struct simgpu_op copy = *op;

    TELL(op, copy.graph_as_whole = (op->graph_as_whole & bit) != 0; one->op(&copy))
}

static void tell_device(uint32_t device, const char *name, const uint8_t uuid[16])
{
    TELL(device, (void)bit; one->device(device, name, uuid))
}

static int ask_graph_as_whole(void)
{
    unsigned wanted = 0;

    TELL(graph_as_whole, wanted |= one->graph_as_whole() ? bit : 0)
    return (int)wanted;
}

static void tell_graph(const struct simgpu_graph *graph)
{
    TELL(graph, if (graph->as_whole & bit) one->graph(graph))
}

static int ask_calls_wanted(void)
{
    int wanted = 0;

    TELL(calls_wanted, (void)bit; wanted |= one->calls_wanted())
    return wanted;
}

static void tell_enter(const struct simgpu_call *call)
{
    TELL(enter, (void)bit; one->enter(call))
}

static void tell_leave(const struct simgpu_call *call)
{
    TELL(leave, (void)bit; one->leave(call))
}

const struct simgpu_tracer *sim_tracer(void)
{
    static const struct simgpu_tracer all = {tell_api,   tell_op,          tell_device, ask_graph_as_whole,
                                             tell_graph, ask_calls_wanted, tell_enter,  tell_leave};

    return atomic_load_explicit(&places, memory_order_relaxed) > 0 ? &all : NULL;
}

void sim_tracers_add(const struct simgpu_tracer *tracer)
{
    unsigned place = atomic_fetch_add(&places, 1);

    if (place < TRACERS_MAX) {
        atomic_store_explicit(&tracers[place], tracer, memory_order_release);
    } else {
        fprintf(stderr, "simgpu: more than %d observers: one is not told\n", TRACERS_MAX);
    }
}

void sim_tracers_fork_child(void)
{
    for (unsigned i = 0; i < TRACERS_MAX; i++) {
        atomic_store(&tracers[i], NULL);
    }
    atomic_store(&places, 0);
}
