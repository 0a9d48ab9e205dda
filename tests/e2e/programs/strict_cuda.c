/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in libcuda.so.1 that is stricter than any driver: between begin and end of a capture every call but work for
 * the capture fails and voids it – also those that a real driver allows, such as asking whether a stream captures. It
 * keeps a list of all calls in order. One thread.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { UNSUPPORTED = 900, INVALIDATED = 901, MAX_LOG = 4096 };

static char called[MAX_LOG];
static int is_capturing, is_void;

static void note(const char *name)
{
    size_t used = strlen(called);

    snprintf(called + used, sizeof(called) - used, "%s%s", is_capturing ? "*" : "", name);
    strncat(called, "\n", sizeof(called) - strlen(called) - 1);
}

/* A call that a capture records. */
static int work(const char *name)
{
    note(name);
    return is_capturing && is_void ? INVALIDATED : 0;
}

/* A call that it does not bear. */
static int other(const char *name)
{
    note(name);
    is_void |= is_capturing;
    return is_capturing ? UNSUPPORTED : 0;
}

#define WORK(name) EXPORT int name(void *a, void *b, void *c, void *d); \
    int name(void *a, void *b, void *c, void *d) { return work(#name); }
#define OTHER(name) EXPORT int name(void *a, void *b, void *c, void *d); \
    int name(void *a, void *b, void *c, void *d) { return other(#name); }

WORK(cuLaunchKernel)
WORK(cuMemcpyAsync)
WORK(cuMemsetD8Async)
WORK(cuEventRecord)
WORK(cuStreamWaitEvent)
OTHER(cuInit)
OTHER(cuDriverGetVersion)
OTHER(cuDeviceGet)
OTHER(cuDeviceGetCount)
OTHER(cuDeviceGetAttribute)
OTHER(cuDeviceGetUuid)
OTHER(cuCtxGetCurrent)
OTHER(cuCtxGetDevice)
OTHER(cuCtxGetStreamPriorityRange)
OTHER(cuCtxSynchronize)
OTHER(cuStreamSynchronize)
OTHER(cuStreamQuery)
OTHER(cuStreamIsCapturing)
OTHER(cuStreamGetCaptureInfo)
OTHER(cuStreamGetCaptureInfo_v2)
OTHER(cuEventCreate)
OTHER(cuEventQuery)
OTHER(cuEventSynchronize)
OTHER(cuEventElapsedTime)
OTHER(cuMemAlloc_v2)
OTHER(cuMemFree_v2)
OTHER(cuFuncGetName)
OTHER(cuFuncGetAttribute)
OTHER(cuGraphGetNodes)
OTHER(cuGraphNodeGetType)
OTHER(cuGraphLaunch)
OTHER(cuGetExportTable)

EXPORT int cuStreamBeginCapture_v2(void *stream, int mode);
EXPORT int cuStreamEndCapture(void *stream, void **graph);
EXPORT int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags);
EXPORT const char *strict_calls(void);

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    note(__func__);
    is_capturing = 1;
    is_void = 0;
    return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
    note(__func__);
    is_capturing = 0;
    *graph = is_void ? NULL : (void *)0x6000;
    return is_void ? INVALIDATED : 0;
}

int cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long flags)
{
    *made = (void *)0x7000;
    return other(__func__);
}

/* Names of all calls, in order; those made during a capture with a star in front. */
const char *strict_calls(void)
{
    return called;
}
