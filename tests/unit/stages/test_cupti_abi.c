/* SPDX-License-Identifier: Apache-2.0 */
/* Our own declarations of CUPTI against the real headers, at compile time. Without the headers: skipped (77). */
#include "preload/device/cupti_abi.h"

#include <stdio.h>

#ifdef HAVE_CUPTI_HEADERS
#include <cuda.h>
#include <cupti.h>

#define SAME(a, b) _Static_assert((long long)(a) == (long long)(b), #a " = " #b)
#define SAME_FIELD(ours, our_field, theirs, their_field)                                                               \
    SAME(offsetof(struct ours, our_field), offsetof(theirs, their_field));                                             \
    SAME(sizeof(((struct ours *)0)->our_field), sizeof(((theirs *)0)->their_field))

SAME(ST_CUPTI_SUCCESS, CUPTI_SUCCESS);
SAME(ST_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(ST_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(ST_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(ST_CUPTI_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(ST_CUPTI_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(ST_CUPTI_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(ST_CUPTI_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(ST_CUPTI_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME(ST_CUPTI_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(ST_CUPTI_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
_Static_assert((int)ST_CUPTI_KINDS >= (int)CUPTI_ACTIVITY_KIND_COUNT, "all kinds are measured");
SAME(ST_CUPTI_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(ST_CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME(ST_CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

SAME_FIELD(st_cupti_api, kind, CUpti_ActivityAPI, kind);
SAME_FIELD(st_cupti_api, cbid, CUpti_ActivityAPI, cbid);
SAME_FIELD(st_cupti_api, start, CUpti_ActivityAPI, start);
SAME_FIELD(st_cupti_api, end, CUpti_ActivityAPI, end);
SAME_FIELD(st_cupti_api, process, CUpti_ActivityAPI, processId);
SAME_FIELD(st_cupti_api, thread, CUpti_ActivityAPI, threadId);
SAME_FIELD(st_cupti_api, correlation, CUpti_ActivityAPI, correlationId);
SAME_FIELD(st_cupti_api, result, CUpti_ActivityAPI, returnValue);

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_t;
typedef CUpti_ActivityMemcpy6 memcpy_t;
#else
typedef CUpti_ActivityKernel8 kernel_t;
typedef CUpti_ActivityMemcpy5 memcpy_t;
#endif
typedef CUpti_ActivityMemcpyPtoP4 memcpy_peer_t;
typedef CUpti_ActivityMemset4 memset_t;

SAME_FIELD(st_cupti_kernel, start, kernel_t, start);
SAME_FIELD(st_cupti_kernel, end, kernel_t, end);
SAME_FIELD(st_cupti_kernel, completed, kernel_t, completed);
SAME_FIELD(st_cupti_kernel, device, kernel_t, deviceId);
SAME_FIELD(st_cupti_kernel, context, kernel_t, contextId);
SAME_FIELD(st_cupti_kernel, stream, kernel_t, streamId);
SAME(offsetof(struct st_cupti_kernel, grid), offsetof(kernel_t, gridX));
SAME(offsetof(struct st_cupti_kernel, block), offsetof(kernel_t, blockX));
SAME_FIELD(st_cupti_kernel, static_shared_bytes, kernel_t, staticSharedMemory);
SAME_FIELD(st_cupti_kernel, dynamic_shared_bytes, kernel_t, dynamicSharedMemory);
SAME_FIELD(st_cupti_kernel, local_per_thread_bytes, kernel_t, localMemoryPerThread);
SAME_FIELD(st_cupti_kernel, correlation, kernel_t, correlationId);
SAME_FIELD(st_cupti_kernel, grid_id, kernel_t, gridId);
SAME_FIELD(st_cupti_kernel, name, kernel_t, name);
SAME_FIELD(st_cupti_kernel, graph_node, kernel_t, graphNodeId);
SAME_FIELD(st_cupti_kernel, graph, kernel_t, graphId);

SAME_FIELD(st_cupti_memcpy, copy_kind, memcpy_t, copyKind);
SAME_FIELD(st_cupti_memcpy, source_kind, memcpy_t, srcKind);
SAME_FIELD(st_cupti_memcpy, target_kind, memcpy_t, dstKind);
SAME_FIELD(st_cupti_memcpy, bytes, memcpy_t, bytes);
SAME_FIELD(st_cupti_memcpy, start, memcpy_t, start);
SAME_FIELD(st_cupti_memcpy, end, memcpy_t, end);
SAME_FIELD(st_cupti_memcpy, device, memcpy_t, deviceId);
SAME_FIELD(st_cupti_memcpy, context, memcpy_t, contextId);
SAME_FIELD(st_cupti_memcpy, stream, memcpy_t, streamId);
SAME_FIELD(st_cupti_memcpy, correlation, memcpy_t, correlationId);
SAME_FIELD(st_cupti_memcpy, graph_node, memcpy_t, graphNodeId);
SAME_FIELD(st_cupti_memcpy, graph, memcpy_t, graphId);

SAME_FIELD(st_cupti_memcpy_peer, copy_kind, memcpy_peer_t, copyKind);
SAME_FIELD(st_cupti_memcpy_peer, bytes, memcpy_peer_t, bytes);
SAME_FIELD(st_cupti_memcpy_peer, start, memcpy_peer_t, start);
SAME_FIELD(st_cupti_memcpy_peer, stream, memcpy_peer_t, streamId);
SAME_FIELD(st_cupti_memcpy_peer, source_device, memcpy_peer_t, srcDeviceId);
SAME_FIELD(st_cupti_memcpy_peer, target_device, memcpy_peer_t, dstDeviceId);
SAME_FIELD(st_cupti_memcpy_peer, correlation, memcpy_peer_t, correlationId);
SAME_FIELD(st_cupti_memcpy_peer, graph_node, memcpy_peer_t, graphNodeId);
SAME_FIELD(st_cupti_memcpy_peer, graph, memcpy_peer_t, graphId);

SAME_FIELD(st_cupti_memset, value, memset_t, value);
SAME_FIELD(st_cupti_memset, bytes, memset_t, bytes);
SAME_FIELD(st_cupti_memset, start, memset_t, start);
SAME_FIELD(st_cupti_memset, stream, memset_t, streamId);
SAME_FIELD(st_cupti_memset, correlation, memset_t, correlationId);
SAME_FIELD(st_cupti_memset, memory_kind, memset_t, memoryKind);
SAME_FIELD(st_cupti_memset, graph_node, memset_t, graphNodeId);
SAME_FIELD(st_cupti_memset, graph, memset_t, graphId);

SAME_FIELD(st_cupti_device, device, CUpti_ActivityDevice5, id);
SAME_FIELD(st_cupti_device, uuid, CUpti_ActivityDevice5, uuid);
SAME_FIELD(st_cupti_device, name, CUpti_ActivityDevice5, name);

#if CUPTI_API_VERSION >= 130000
SAME_FIELD(st_cupti_subscriber_params, struct_bytes, CUpti_SubscriberParams, structSize);
SAME_FIELD(st_cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
SAME_FIELD(st_cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
SAME_FIELD(st_cupti_subscriber_params, old_name_bytes, CUpti_SubscriberParams, oldSubscriberSize);
#endif

int main(void)
{
    printf("CUPTI declarations agree with the headers of API version %d\n", CUPTI_API_VERSION);
    return 0;
}
#else
int main(void)
{
    printf("no CUPTI headers here\n");
    return 77;
}
#endif
