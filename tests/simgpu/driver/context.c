/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: primary ones (one per device, as old as the process), created ones, and each thread's stack. */
#include "context.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "capture.h"
#include "device.h"
#include "driver_gen.h"
#include "engine.h"
#include "memory.h"
#include "model.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_context *primaries[SIM_DEVICES_MAX];
static uint32_t last_id;

static struct sim_context *create(uint32_t device, unsigned flags)
{
    static const size_t limits[CU_LIMIT_MAX] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0, 0, 0, 0};
    struct sim_context *context = sim_object_create(SIM_CONTEXT);

    if (context == NULL) {
        return NULL;
    }
    context->id = ++last_id;
    context->device = device;
    context->flags = flags;
    context->version = 3020;
    context->next_stream_id = 13; /* the first that programs see on real devices too */
    memcpy(context->limits, limits, sizeof(limits));
    context->legacy = sim_stream_create(context, 0, 0, 0);
    if (context->legacy == NULL) {
        sim_object_destroy(context);
        return NULL;
    }
    return context;
}

void sim_contexts_start(void)
{
    for (uint32_t device = 0; device < sim_model.devices; device++) {
        primaries[device] = create(device, 0);
        if (primaries[device] == NULL) {
            abort();
        }
        primaries[device]->primary = true;
    }
}

struct sim_context *sim_context_of_device(uint32_t device)
{
    return primaries[device];
}

CUresult sim_context_error(const struct sim_context *context)
{
    return (CUresult)atomic_load_explicit(&context->error, memory_order_relaxed);
}

struct sim_context *sim_context_check(CUcontext handle)
{
    return sim_object_check(handle, SIM_CONTEXT);
}

struct sim_context *sim_context_current(void)
{
    struct sim_thread *self = sim_self();

    return self->stack_size == 0 ? NULL : sim_object_check(self->stack[self->stack_size - 1], SIM_CONTEXT);
}

static CUresult push(struct sim_context *context)
{
    struct sim_thread *self = sim_self();

    if (self->stack_size == SIM_CONTEXT_DEPTH) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    self->stack[self->stack_size++] = context;
    return CUDA_SUCCESS;
}

/* Everything that a context owns goes: its work ends, streams and memory are gone, errors are forgotten. */
static void clear(struct sim_context *context)
{
    sim_sync_context(context);
    pthread_mutex_lock(&sim_engine_lock);
    for (struct sim_stream *stream = context->streams; stream != NULL; stream = stream->next) {
        stream->destroyed = true;
    }
    pthread_mutex_unlock(&sim_engine_lock);
    sim_sync_context(context);
    sim_memory_unmap_context(context);
    atomic_store(&context->error, CUDA_SUCCESS);
}

/* ---- primary contexts ----------------------------------------------------------------------------------------- */

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    if (out == NULL || !sim_device_valid(device)) {
        return out == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    }
    pthread_mutex_lock(&lock);
    primaries[device]->retained++;
    pthread_mutex_unlock(&lock);
    *out = (CUcontext)primaries[device];
    return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    bool last;
    CUresult result = !sim_device_valid(device) ? CUDA_ERROR_INVALID_DEVICE
                                                : sim_capture_check_context(primaries[device]);

    if (result != CUDA_SUCCESS) {
        return result;
    }
    pthread_mutex_lock(&lock);
    if (primaries[device]->retained == 0) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    last = --primaries[device]->retained == 0;
    pthread_mutex_unlock(&lock);
    if (last) {
        clear(primaries[device]);
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult result = !sim_device_valid(device) ? CUDA_ERROR_INVALID_DEVICE
                                                : sim_capture_check_context(primaries[device]);

    if (result == CUDA_SUCCESS) {
        clear(primaries[device]);
    }
    return result;
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    if (!sim_device_valid(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (flags == NULL || active == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    *flags = primaries[device]->flags;
    *active = primaries[device]->retained > 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    if (!sim_device_valid(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    primaries[device]->flags = flags;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* ---- created contexts ----------------------------------------------------------------------------------------- */

CUresult sim_cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
    struct sim_context *context;

    if (out == NULL || flags & ~(unsigned)CU_CTX_FLAGS_MASK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!sim_device_valid(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    pthread_mutex_lock(&lock);
    context = create((uint32_t)device, flags);
    pthread_mutex_unlock(&lock);
    if (context == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = (CUcontext)context;
    return push(context);
}

CUresult sim_cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice device)
{
    return affinity != NULL || count != 0 ? CUDA_ERROR_NOT_SUPPORTED : sim_cuCtxCreate_v2(out, flags, device);
}

CUresult sim_cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
    if (params != NULL && params->cigParams != NULL) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return params == NULL ? sim_cuCtxCreate_v2(out, flags, device)
                          : sim_cuCtxCreate_v3(out, params->execAffinityParams, params->numExecAffinityParams, flags,
                                               device);
}

CUresult sim_cuCtxDestroy_v2(CUcontext handle)
{
    struct sim_context *context = sim_context_check(handle);
    struct sim_thread *self = sim_self();
    CUresult result;

    if (context == NULL || context->primary) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    result = sim_capture_check_context(context);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    clear(context);
    if (self->stack_size > 0 && self->stack[self->stack_size - 1] == context) {
        self->stack_size--;
    }
    free(context->legacy->ring);
    sim_object_destroy(context->legacy);
    sim_object_destroy(context);
    return CUDA_SUCCESS;
}

uint32_t simgpu_context_id(const void *handle, uint32_t *device)
{
    const struct sim_context *context =
        handle == NULL ? sim_context_current() : sim_object_check(handle, SIM_CONTEXT);

    if (context == NULL) {
        return 0;
    }
    *device = context->device;
    return context->id;
}

CUresult sim_cuCtxAttach(CUcontext *handle, unsigned flags)
{
    struct sim_context *context = sim_context_current();

    if (handle == NULL || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    context->attached++;
    *handle = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxDetach(CUcontext handle)
{
    struct sim_context *context = sim_context_check(handle);

    if (context == NULL || context != sim_context_current()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (context->attached > 0) {
        context->attached--;
        return CUDA_SUCCESS;
    }
    return sim_cuCtxDestroy_v2(handle);
}

/* ---- the current context -------------------------------------------------------------------------------------- */

CUresult sim_cuCtxPushCurrent_v2(CUcontext handle)
{
    struct sim_context *context = sim_context_check(handle);

    return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : push(context);
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *out)
{
    struct sim_thread *self = sim_self();

    if (self->stack_size == 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    self->stack_size--;
    if (out != NULL) {
        *out = (CUcontext)self->stack[self->stack_size];
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCurrent(CUcontext handle)
{
    struct sim_context *context = sim_context_check(handle);
    struct sim_thread *self = sim_self();

    if (handle != NULL && context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (self->stack_size > 0) {
        self->stack_size--;
    }
    return handle == NULL ? CUDA_SUCCESS : push(context);
}

CUresult sim_cuCtxGetCurrent(CUcontext *out)
{
    if (out == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = (CUcontext)sim_context_current();
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice(CUdevice *device)
{
    if (device == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *device = (CUdevice)sim_context_current()->device;
    return CUDA_SUCCESS;
}

/* A context argument for which NULL means the current one. */
static struct sim_context *given_or_current(CUcontext handle)
{
    return handle == NULL ? sim_context_current() : sim_context_check(handle);
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    struct sim_context *context = given_or_current(handle);

    if (context == NULL || device == NULL) {
        return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *device = (CUdevice)context->device;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetFlags(unsigned *flags)
{
    if (flags == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = sim_context_current()->flags;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetFlags(unsigned flags)
{
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_context_current()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    struct sim_context *context = given_or_current(handle);

    if (context == NULL || id == NULL) {
        return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    struct sim_context *context = given_or_current(handle);

    if (context == NULL || version == NULL) {
        return context == NULL ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *version = context->version;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSynchronize(void)
{
    CUresult result = sim_capture_check_context(sim_context_current());

    if (result == CUDA_SUCCESS) {
        sim_sync_context(sim_context_current());
    }
    return result;
}

CUresult sim_cuCtxSynchronize_v2(CUcontext handle)
{
    struct sim_context *context = given_or_current(handle);
    CUresult result;

    if (context == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    result = sim_context_error(context);
    if (result == CUDA_SUCCESS) {
        result = sim_capture_allows_unsafe(sim_self());
    }
    if (result == CUDA_SUCCESS) {
        result = sim_capture_check_context(context);
    }
    if (result == CUDA_SUCCESS) {
        sim_sync_context(context);
    }
    return result;
}

/* ---- settings that are kept or accepted, and change nothing --------------------------------------------------- */

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    if (value == NULL || limit >= CU_LIMIT_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = sim_context_current()->limits[limit];
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
    if (limit >= CU_LIMIT_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    if (config == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *config = 0;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    if (config == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *config = 1; /* four-byte banks */
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least != NULL) {
        *least = 0;
    }
    if (greatest != NULL) {
        *greatest = -5;
    }
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxResetPersistingL2Cache(void)
{
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
    struct sim_context *current = sim_context_current();
    struct sim_context *peer = sim_context_check(handle);

    if (peer == NULL || peer == current || peer->device == current->device) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (current->peers & 1u << peer->device) {
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }
    current->peers |= 1u << peer->device;
    return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext handle)
{
    struct sim_context *current = sim_context_current();
    struct sim_context *peer = sim_context_check(handle);

    if (peer == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (!(current->peers & 1u << peer->device)) {
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    }
    current->peers &= ~(1u << peer->device);
    return CUDA_SUCCESS;
}
