/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What we need of the public CUPTI interface, declared by ourselves: no NVIDIA header is needed to build,
 * and one binary works with every libcupti from 11.0 on. Record layouts have only ever been appended to,
 * so each structure here is the common head of all versions; which of its fields a library really fills is
 * told by the record size measured at run time (st_cupti_measure). tests/unit/stages/test_cupti_abi.c
 * compares everything with the real headers where they are installed.
 */
#ifndef ST_DEVICE_CUPTI_ABI_H
#define ST_DEVICE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum st_cupti_result {
    ST_CUPTI_SUCCESS = 0,
    ST_CUPTI_NOT_INITIALIZED = 15,
    ST_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    ST_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
};

enum st_cupti_kind {
    ST_CUPTI_MEMCPY = 1,
    ST_CUPTI_MEMSET = 2,
    ST_CUPTI_DRIVER = 4,
    ST_CUPTI_RUNTIME = 5,
    ST_CUPTI_DEVICE = 8,
    ST_CUPTI_CONCURRENT_KERNEL = 10,
    ST_CUPTI_MEMCPY2 = 22,
    ST_CUPTI_KINDS = 64, /* one past the largest that we ask a size for */
};

enum {
    ST_CUPTI_DOMAIN_DRIVER_API = 1,
    ST_CUPTI_THREAD_ID_SYSTEM = 1,
    ST_CUPTI_FLUSH_FORCED = 1,
};

/* From this version on a function exists or a rule holds (cuptiGetVersion). */
enum { ST_CUPTI_VERSION_CUDA13 = 130000 };

struct st_cupti_kernel {
    uint32_t kind;
    uint8_t unused_4[12];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    uint32_t grid[3], block[3];
    uint32_t static_shared_bytes, dynamic_shared_bytes, local_per_thread_bytes, local_total_bytes;
    uint32_t correlation;
    uint64_t grid_id;
    const char *name;
    uint8_t unused_112[32];
    uint64_t graph_node; /* this and graph: records of at least ST_CUPTI_KERNEL_GRAPH_BYTES */
    uint8_t unused_152[4];
    uint32_t graph;
};
#define ST_CUPTI_KERNEL_BYTES offsetof(struct st_cupti_kernel, graph_node)
#define ST_CUPTI_KERNEL_GRAPH_BYTES sizeof(struct st_cupti_kernel)

struct st_cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation;
    uint8_t unused_52[12];
    uint64_t graph_node;
    uint32_t graph;
    uint32_t unused_76;
};
#define ST_CUPTI_MEMCPY_BYTES offsetof(struct st_cupti_memcpy, graph_node)
#define ST_CUPTI_MEMCPY_GRAPH_BYTES sizeof(struct st_cupti_memcpy)

/* MEMCPY2: copies between devices; not laid out as MEMCPY behind `stream`. */
struct st_cupti_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, source_kind, target_kind, flags;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context;
    uint32_t correlation;
    uint64_t unused_64;
    uint64_t graph_node;
    uint32_t graph;
    uint32_t unused_84;
};
#define ST_CUPTI_MEMCPY_PEER_BYTES offsetof(struct st_cupti_memcpy_peer, graph_node)
#define ST_CUPTI_MEMCPY_PEER_GRAPH_BYTES sizeof(struct st_cupti_memcpy_peer)

struct st_cupti_memset {
    uint32_t kind, value;
    uint64_t bytes;
    uint64_t start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory_kind;
    uint8_t unused_52[12];
    uint64_t graph_node;
    uint32_t graph;
    uint32_t unused_76;
};
#define ST_CUPTI_MEMSET_BYTES offsetof(struct st_cupti_memset, graph_node)
#define ST_CUPTI_MEMSET_GRAPH_BYTES sizeof(struct st_cupti_memset)

struct st_cupti_api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct st_cupti_device {
    uint32_t kind;
    uint8_t unused_4[108];
    uint32_t device;
    uint32_t ecc;
    uint8_t uuid[16];
    const char *name;
};

_Static_assert(offsetof(struct st_cupti_kernel, start) == 16, "kernel layout");
_Static_assert(offsetof(struct st_cupti_kernel, correlation) == 92, "kernel layout");
_Static_assert(offsetof(struct st_cupti_kernel, name) == 104, "kernel layout");
_Static_assert(offsetof(struct st_cupti_kernel, graph_node) == 144, "kernel layout");
_Static_assert(offsetof(struct st_cupti_kernel, graph) == 156, "kernel layout");
_Static_assert(offsetof(struct st_cupti_memcpy, start) == 16, "memcpy layout");
_Static_assert(offsetof(struct st_cupti_memcpy, correlation) == 44, "memcpy layout");
_Static_assert(offsetof(struct st_cupti_memcpy, graph_node) == 64, "memcpy layout");
_Static_assert(offsetof(struct st_cupti_memcpy, graph) == 72, "memcpy layout");
_Static_assert(offsetof(struct st_cupti_memcpy_peer, source_device) == 44, "peer copy layout");
_Static_assert(offsetof(struct st_cupti_memcpy_peer, correlation) == 60, "peer copy layout");
_Static_assert(offsetof(struct st_cupti_memcpy_peer, graph_node) == 72, "peer copy layout");
_Static_assert(offsetof(struct st_cupti_memcpy_peer, graph) == 80, "peer copy layout");
_Static_assert(offsetof(struct st_cupti_memset, correlation) == 44, "memset layout");
_Static_assert(offsetof(struct st_cupti_memset, memory_kind) == 50, "memset layout");
_Static_assert(offsetof(struct st_cupti_memset, graph_node) == 64, "memset layout");
_Static_assert(sizeof(struct st_cupti_api) == 40, "api layout");
_Static_assert(offsetof(struct st_cupti_device, device) == 112, "device layout");
_Static_assert(offsetof(struct st_cupti_device, uuid) == 120, "device layout");
_Static_assert(offsetof(struct st_cupti_device, name) == 136, "device layout");

/* cuptiSubscribe_v2: tells who holds the only subscription. */
struct st_cupti_subscriber_params {
    size_t struct_bytes;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
};

typedef void (*st_cupti_request_fn)(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records);
typedef void (*st_cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);
typedef void (*st_cupti_callback_fn)(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef int (*st_cupti_next_record_fn)(uint8_t *buffer, size_t valid_bytes, void **record);

/* The functions we call: name without `cupti`, parameters, whether an older library may lack it. */
#define ST_CUPTI_FUNCTIONS(F)                                                                                          \
    F(GetVersion, (uint32_t * version), 0)                                                                             \
    F(GetResultString, (int result, const char **text), 1)                                                             \
    F(Subscribe, (void **subscriber, st_cupti_callback_fn callback, void *user), 0)                                    \
    F(Subscribe_v2,                                                                                                    \
      (void **subscriber, st_cupti_callback_fn callback, void *user, struct st_cupti_subscriber_params *params), 1)    \
    F(Unsubscribe, (void *subscriber), 0)                                                                              \
    F(GetCallbackName, (uint32_t domain, uint32_t cbid, const char **name), 0)                                         \
    F(GetTimestamp, (uint64_t * timestamp), 0)                                                                         \
    F(SetThreadIdType, (uint32_t type), 1)                                                                             \
    F(ActivityRegisterCallbacks, (st_cupti_request_fn request, st_cupti_complete_fn complete), 0)                      \
    F(ActivityEnable, (uint32_t kind), 0)                                                                              \
    F(ActivityEnableAndDump, (uint32_t kind), 1)                                                                       \
    F(ActivityEnableDriverApi, (uint32_t cbid, uint8_t enable), 1)                                                     \
    F(ActivityGetNextRecord, (uint8_t * buffer, size_t valid_bytes, void **record), 0)                                 \
    F(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped), 0)                              \
    F(ActivityFlushAll, (uint32_t flags), 0)

struct st_cupti_functions {
#define MEMBER(name, parameters, optional) int(*name) parameters;
    ST_CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
};

#endif
