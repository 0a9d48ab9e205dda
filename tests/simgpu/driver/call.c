/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Around every driver call, and the life of the process: cuInit, fork, exit. A child of a process that had
 * called cuInit gets NOT_INITIALIZED from everything, as with the real driver; a child forked before that is a
 * process of its own. Any thread; no lock is held while the implementation runs.
 */
#include "call.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "device.h"
#include "driver_gen.h"
#include "engine.h"
#include "faults.h"
#include "kernels_plugin.h"
#include "memory.h"
#include "model.h"
#include "module.h"
#include "tracers.h"
#include "truth.h"

enum process_state { FRESH, READY, REFUSED, FORKED };

static _Atomic enum process_state state = FRESH;
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t last_correlation;
static _Thread_local struct sim_thread self_thread;

struct sim_thread *sim_self(void)
{
    struct sim_thread *self = &self_thread;

    if (self->tid == 0) {
        self->tid = (uint32_t)syscall(SYS_gettid);
    }
    return self;
}

static CUresult check_need(struct sim_thread *self, enum sim_need need)
{
    if (need == SIM_NEED_ANY) {
        return CUDA_SUCCESS;
    }
    if (atomic_load_explicit(&state, memory_order_acquire) != READY) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (need == SIM_NEED_CTX || need == SIM_NEED_CALM) {
        struct sim_context *context = sim_context_current();
        CUresult result = context == NULL ? CUDA_ERROR_INVALID_CONTEXT : sim_context_error(context);

        return result == CUDA_SUCCESS && need == SIM_NEED_CALM ? sim_capture_allows_unsafe(self) : result;
    }
    return CUDA_SUCCESS;
}

/* What a launch launches: cuLaunchKernelEx has the function behind its configuration. */
static const char *kernel_of(const struct sim_call *call)
{
    const struct sim_function *function = NULL;

    if (strncmp(call->name, "cuLaunchKernelEx", strlen("cuLaunchKernelEx")) == 0) {
        function = sim_function_check(((void *const *)call->params)[1]);
    } else if (strncmp(call->name, "cuLaunchKernel", strlen("cuLaunchKernel")) == 0 ||
               strncmp(call->name, "cuLaunchCooperativeKernel", strlen("cuLaunchCooperativeKernel")) == 0) {
        function = sim_function_check(((void *const *)call->params)[0]);
    }
    return function != NULL ? function->name : NULL;
}

static struct simgpu_call told(const struct sim_call *call, CUresult *result)
{
    struct sim_context *context = sim_context_current();

    return (struct simgpu_call){.name = call->name, .kernel = kernel_of(call), .correlation = call->self->correlation,
                                .context_id = context != NULL ? context->id : 0, .context = context,
                                .params = call->params, .result = (int *)result};
}

static void tell_enter(const struct sim_call *call)
{
    const struct simgpu_tracer *observer = sim_tracer();
    CUresult result = CUDA_SUCCESS;

    if (observer != NULL && observer->calls_wanted()) {
        struct simgpu_call entered = told(call, &result);

        observer->enter(&entered);
    }
}

static void tell_leave(const struct simgpu_tracer *observer, const struct sim_call *call, CUresult *result)
{
    if (observer->calls_wanted()) {
        struct simgpu_call left = told(call, result);

        observer->leave(&left);
    }
}

CUresult sim_call_begin(struct sim_call *call, const char *name, enum sim_need need, const void *params)
{
    struct sim_thread *self = sim_self();

    call->self = self;
    call->name = name;
    call->params = params;
    if (self->depth++ == 0) {
        self->correlation = atomic_fetch_add_explicit(&last_correlation, 1, memory_order_relaxed) + 1;
        tell_enter(call);
        self->call_start_ns = sim_now_ns();
    }
    return check_need(self, need);
}

CUresult sim_call_end(struct sim_call *call, CUresult result)
{
    struct sim_thread *self = call->self;

    if (self->depth == 1) {
        uint64_t end_ns = sim_now_ns();
        const struct simgpu_tracer *observer = sim_tracer();

        sim_truth_call(call->name, self->tid, self->call_start_ns, end_ns, (int)result);
        if (observer != NULL) {
            observer->api(call->name, self->correlation, self->tid, self->call_start_ns, end_ns, (int)result);
            tell_leave(observer, call, &result);
        }
    }
    self->depth--;
    return result;
}

CUresult sim_not_supported(const char *name, int *said)
{
    if (!__atomic_exchange_n(said, 1, __ATOMIC_RELAXED)) {
        fprintf(stderr, "simgpu: %s is not implemented (returns CUDA_ERROR_NOT_SUPPORTED)\n", name);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

void simgpu_tracer_set(const struct simgpu_tracer *observer)
{
    sim_tracers_add(observer);
    if (atomic_load(&state) == READY) {
        sim_tracer_devices(observer);
    }
}

static void before_fork(void)
{
    pthread_mutex_lock(&init_lock);
    sim_memory_fork(SIM_FORK_BEFORE);
    sim_engine_fork(SIM_FORK_BEFORE);
    sim_truth_fork(SIM_FORK_BEFORE);
}

static void after_fork(enum sim_fork side)
{
    sim_truth_fork(side);
    sim_engine_fork(side);
    sim_memory_fork(side);
    pthread_mutex_unlock(&init_lock);
}

static void after_fork_parent(void)
{
    after_fork(SIM_FORK_PARENT);
}

static void after_fork_child(void)
{
    after_fork(SIM_FORK_CHILD);
    self_thread.tid = 0;
    if (atomic_load(&state) != FRESH) {
        atomic_store(&state, FORKED);
    }
    sim_tracers_fork_child();
}

__attribute__((constructor)) static void loaded(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

__attribute__((destructor)) static void unloading(void)
{
    sim_engine_finish();
    sim_truth_finish();
}

CUresult sim_cuInit(unsigned flags)
{
    CUresult result = CUDA_SUCCESS;

    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&init_lock);
    if (atomic_load(&state) == FRESH) {
        bool ready = sim_model_load() && sim_faults_valid();

        if (ready) {
            sim_devices_start();
            sim_kernels_plugin_load();
        }
        atomic_store_explicit(&state, ready ? READY : REFUSED, memory_order_release);
        if (ready && sim_tracer() != NULL) {
            sim_tracer_devices(sim_tracer());
        }
    }
    if (atomic_load(&state) != READY) {
        result = atomic_load(&state) == REFUSED ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;
    } else if (sim_model.devices == 0) {
        result = CUDA_ERROR_NO_DEVICE;
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}
