/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to simgpu's libcuda: its parsed SIMGPU_FAULTS and its tracer. libcuda is opened by its soname as the
 * real libcupti does, on the first CUPTI call. Any thread.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "cupti.h"
#include "records.h"

typedef void (*tracer_set_fn)(const struct simgpu_tracer *);
typedef long (*fault_fn)(const char *);
typedef uint64_t (*graph_id_fn)(const void *);
typedef uint32_t (*context_id_fn)(const void *handle, uint32_t *device);

static pthread_once_t once = PTHREAD_ONCE_INIT, attach_once = PTHREAD_ONCE_INIT;
static struct sim_faults faults;
static void *libcuda;
static tracer_set_fn tracer_set;
static graph_id_fn graph_id;
static context_id_fn context_id;
static const struct simgpu_tracer *wanted;

static void load(void)
{
    faults.layout = sim_layout_of(-1);
    libcuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!libcuda) {
        return;
    }
    tracer_set = (tracer_set_fn)dlsym(libcuda, "simgpu_tracer_set");
    graph_id = (graph_id_fn)dlsym(libcuda, "simgpu_graph_id");
    context_id = (context_id_fn)dlsym(libcuda, "simgpu_context_id");
    fault_fn fault = (fault_fn)dlsym(libcuda, "simgpu_fault");
    if (!fault) {
        return;
    }
    faults.no_cupti = fault("no-cupti") >= 0;
    faults.no_privilege = fault("no-privilege") >= 0;
    faults.subscriber_taken = fault("subscriber-taken") >= 0;
    faults.unordered = fault("unordered") >= 0;
    faults.zero_timestamps = fault("zero-timestamps") >= 0;
    faults.clock_step = fault("clock-step") >= 0;
    faults.hang_at_exit = fault("hang-at-exit") >= 0;
    faults.layout = sim_layout_of(fault("cupti-layout"));
    long drop = fault("drop");
    faults.drop_percent = drop > 100 ? 100 : drop < 0 ? 0 : drop;
}

const struct sim_faults *sim_faults(void)
{
    pthread_once(&once, load);
    return &faults;
}

uint64_t sim_graph_id(const void *handle)
{
    sim_faults();
    return graph_id && handle ? graph_id(handle) : 0;
}

uint32_t sim_context_id(const void *handle, uint32_t *device)
{
    sim_faults();
    return context_id ? context_id(handle, device) : 0;
}

static void attach(void)
{
    sim_clock_start();
    sim_buffers_start();
    tracer_set(wanted);
}

int sim_attach(const struct simgpu_tracer *tracer)
{
    sim_faults();
    if (!tracer_set) {
        return libcuda ? SIM_CUPTI_NOT_INITIALIZED : SIM_CUPTI_UNKNOWN;
    }
    wanted = tracer;
    pthread_once(&attach_once, attach);
    return SIM_CUPTI_SUCCESS;
}
