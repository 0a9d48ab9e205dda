/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds are on, and how a driver call or a device operation becomes a record. The tracer functions run on
 * the application's threads (or whichever thread of libcuda learns an operation's times); what they read is
 * atomic, and they write through sim_buffers_append.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cuda_major.h"
#include "cupti.h"
#include "records.h"

#define DEVICES_MAX 16
#define CBID_MAX 1024
#define NAME_SLOTS 4096
#define ZERO_EVERY 10

struct device {
    bool known;
    struct sim_device_record record;
};

static atomic_bool enabled[SIM_KIND_LIMIT];
static atomic_bool driver_wanted[CBID_MAX]; /* by callback id; the kind as a whole sets all of them */
static _Atomic uint32_t thread_id_type;
static uint32_t process_id; /* of the process that attached: a forked child has no tracer */
static _Atomic int64_t grid_id;
static _Atomic uint64_t device_records;
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[DEVICES_MAX];
static uint16_t cbid_slots[NAME_SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

int cuptiActivityEnable(uint32_t kind);
int cuptiActivityEnableAndDump(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
int cuptiSetThreadIdType(uint32_t type);
int cuptiGetThreadIdType(uint32_t *type);

static size_t name_slot(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) {
        h = (h ^ (unsigned char)*name) * 16777619u;
    }
    return h % NAME_SLOTS;
}

static void prepare(void)
{
    process_id = (uint32_t)getpid();
    for (unsigned id = 1; id < sim_driver_cbid_count && id < CBID_MAX; id++) {
        size_t i = name_slot(sim_driver_cbid_names[id]);
        while (cbid_slots[i]) {
            i = (i + 1) % NAME_SLOTS;
        }
        cbid_slots[i] = (uint16_t)id;
    }
}

uint32_t sim_driver_cbid(const char *name)
{
    size_t i = name_slot(name);
    while (cbid_slots[i] && strcmp(sim_driver_cbid_names[cbid_slots[i]], name) != 0) {
        i = (i + 1) % NAME_SLOTS;
    }
    return cbid_slots[i];
}

static void on_api(const char *name, uint32_t correlation, uint32_t thread, uint64_t start_ns, uint64_t end_ns,
                   int result)
{
    if (sim_in_callback()) {
        sim_trap(name, "called from inside a buffer callback");
    }
    if (atomic_load_explicit(&enabled[SIM_KIND_EXTERNAL_CORRELATION], memory_order_relaxed)) {
        sim_external_append(correlation);
    }
    uint32_t cbid = sim_driver_cbid(name);
    if (!atomic_load_explicit(&driver_wanted[cbid], memory_order_relaxed)) {
        return;
    }
    const struct sim_api_record r = {
        .kind = SIM_KIND_DRIVER,
        .cbid = cbid,
        .start = sim_record_time(start_ns),
        .end = sim_record_time(end_ns),
        .processId = process_id,
        .threadId = atomic_load(&thread_id_type) ? thread : (uint32_t)pthread_self(),
        .correlationId = correlation,
        .returnValue = (uint32_t)result,
    };
    sim_buffers_append(&r, sim_record_size(r.kind), 0);
}

static void add_kernel(const struct simgpu_op *op, uint64_t start, uint64_t end)
{
    struct sim_kernel_record r = {
        .kind = SIM_KIND_CONCURRENT_KERNEL,
        .start = start,
        .end = end,
        .completed = end,
        .deviceId = op->device,
        .contextId = op->context,
        .streamId = op->stream,
        .gridX = (int32_t)op->grid[0],
        .gridY = (int32_t)op->grid[1],
        .gridZ = (int32_t)op->grid[2],
        .blockX = (int32_t)op->block[0],
        .blockY = (int32_t)op->block[1],
        .blockZ = (int32_t)op->block[2],
        .dynamicSharedMemory = (int32_t)op->shared_bytes,
        .sharedMemoryExecuted = op->shared_bytes,
        .correlationId = op->correlation,
        .gridId = atomic_fetch_add(&grid_id, 1) + 1,
        .name = op->name,
        .graphNodeId = op->graph_node,
        .graphId = op->graph,
    };
    sim_buffers_append(&r, sim_record_size(r.kind), op->end_ns);
}

static void add_memcpy(const struct simgpu_op *op, uint64_t start, uint64_t end)
{
    const struct sim_memcpy_record r = {
        .kind = SIM_KIND_MEMCPY,
        .copyKind = (uint8_t)op->copy_kind,
        .srcKind = (uint8_t)op->source_memory,
        .dstKind = (uint8_t)op->target_memory,
        .flags = op->is_async ? 1 : 0,
        .bytes = op->bytes,
        .start = start,
        .end = end,
        .deviceId = op->device,
        .contextId = op->context,
        .streamId = op->stream,
        .correlationId = op->correlation,
        .graphNodeId = op->graph_node,
        .graphId = op->graph,
        .copyCount = 1,
    };
    sim_buffers_append(&r, sim_record_size(r.kind), op->end_ns);
}

static void add_peer_copy(const struct simgpu_op *op, uint64_t start, uint64_t end)
{
    const struct sim_peer_record r = {
        .kind = SIM_KIND_MEMCPY2,
        .copyKind = (uint8_t)op->copy_kind,
        .srcKind = (uint8_t)op->source_memory,
        .dstKind = (uint8_t)op->target_memory,
        .flags = op->is_async ? 1 : 0,
        .bytes = op->bytes,
        .start = start,
        .end = end,
        .deviceId = op->device,
        .contextId = op->context,
        .streamId = op->stream,
        .srcDeviceId = op->device,
        .srcContextId = op->context,
        .dstDeviceId = op->peer_device,
        .correlationId = op->correlation,
        .graphNodeId = op->graph_node,
        .graphId = op->graph,
    };
    sim_buffers_append(&r, sim_record_size(r.kind), op->end_ns);
}

static void add_memset(const struct simgpu_op *op, uint64_t start, uint64_t end)
{
    const struct sim_memset_record r = {
        .kind = SIM_KIND_MEMSET,
        .bytes = op->bytes,
        .start = start,
        .end = end,
        .deviceId = op->device,
        .contextId = op->context,
        .streamId = op->stream,
        .correlationId = op->correlation,
        .flags = op->is_async ? 1 : 0,
        .memoryKind = (uint16_t)op->target_memory,
        .graphNodeId = op->graph_node,
        .graphId = op->graph,
    };
    sim_buffers_append(&r, sim_record_size(r.kind), op->end_ns);
}

static uint32_t kind_of(const struct simgpu_op *op)
{
    switch (op->kind) {
    case SIMGPU_KERNEL:
        return SIM_KIND_CONCURRENT_KERNEL;
    case SIMGPU_MEMCPY:
        return op->peer_device == UINT32_MAX ? SIM_KIND_MEMCPY : SIM_KIND_MEMCPY2;
    case SIMGPU_MEMSET:
        return SIM_KIND_MEMSET;
    default:
        return 0; /* host functions have no record in 13.0 */
    }
}

/* Fault zero-timestamps. */
static bool zero_times(void)
{
    return sim_faults()->zero_timestamps && (atomic_fetch_add(&device_records, 1) + 1) % ZERO_EVERY == 0;
}

static void on_op(const struct simgpu_op *op)
{
    uint32_t kind = op->graph_as_whole ? 0 : kind_of(op);
    if (kind == 0 || !atomic_load_explicit(&enabled[kind], memory_order_relaxed)) {
        return;
    }
    uint64_t start = sim_record_time(op->start_ns), end = sim_record_time(op->end_ns);
    if (zero_times()) {
        start = end = 0;
    }
    switch (kind) {
    case SIM_KIND_CONCURRENT_KERNEL:
        add_kernel(op, start, end);
        break;
    case SIM_KIND_MEMCPY:
        add_memcpy(op, start, end);
        break;
    case SIM_KIND_MEMCPY2:
        add_peer_copy(op, start, end);
        break;
    default:
        add_memset(op, start, end);
        break;
    }
}

/* Whether a graph's launches are one record or a record a node is settled when it is instantiated. */
static int on_instantiate(void)
{
    return atomic_load(&enabled[SIM_KIND_GRAPH_TRACE]);
}

static void on_graph(const struct simgpu_graph *graph)
{
    if (!atomic_load_explicit(&enabled[SIM_KIND_GRAPH_TRACE], memory_order_relaxed)) {
        return;
    }
    struct sim_graph_record r = {
        .kind = SIM_KIND_GRAPH_TRACE,
        .correlationId = graph->correlation,
        .start = sim_record_time(graph->start_ns),
        .end = sim_record_time(graph->end_ns),
        .deviceId = graph->device,
        .graphId = graph->graph,
        .contextId = graph->context,
        .streamId = graph->stream,
        .endDeviceId = graph->end_device,
        .endContextId = graph->end_context,
    };
    if (zero_times()) {
        r.start = r.end = 0;
    }
    sim_buffers_append(&r, sim_record_size(r.kind), graph->end_ns);
}

static void on_device(uint32_t device, const char *name, const uint8_t uuid[16])
{
    if (device >= DEVICES_MAX) {
        return;
    }
    pthread_mutex_lock(&device_lock);
    struct device *d = &devices[device];
    bool is_new = !d->known;
    d->known = true;
    d->record.kind = SIM_KIND_DEVICE;
    d->record.id = device;
    d->record.name = name;
    d->record.isCudaVisible = 1;
    memcpy(d->record.uuid, uuid, sizeof(d->record.uuid));
    struct sim_device_record copy = d->record;
    pthread_mutex_unlock(&device_lock);
    if (is_new && atomic_load(&enabled[SIM_KIND_DEVICE])) {
        sim_buffers_append(&copy, sim_record_size(SIM_KIND_DEVICE), 0);
    }
}

static void dump_devices(void)
{
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        pthread_mutex_lock(&device_lock);
        struct device copy = devices[i];
        pthread_mutex_unlock(&device_lock);
        if (copy.known) {
            sim_buffers_append(&copy.record, sim_record_size(SIM_KIND_DEVICE), 0);
        }
    }
}

static void want_all_driver(bool want)
{
    for (unsigned id = 0; id < CBID_MAX; id++) {
        atomic_store(&driver_wanted[id], want);
    }
}

int sim_activity_attach(void)
{
    static const struct simgpu_tracer tracer = {
        on_api, on_op, on_device, on_instantiate, on_graph, sim_has_subscriber, sim_tell_enter, sim_tell_exit};
    if (sim_faults()->no_privilege) {
        return SIM_CUPTI_INSUFFICIENT_PRIVILEGES;
    }
    pthread_once(&once, prepare);
    return sim_attach(&tracer);
}

/* Kinds that the real library has and the simulator does not make: named once, refused. */
static int refuse(const char *what, unsigned number)
{
    static atomic_bool said[2048];
    if (!atomic_exchange(&said[number % 2048], true)) {
        fprintf(stderr, "simgpu: %s %u: not implemented (in libcupti.so.%d)\n", what, number, SIM_CUDA_MAJOR);
    }
    return SIM_CUPTI_NOT_SUPPORTED;
}

static int enable(uint32_t kind, bool dump)
{
    if (sim_record_size(kind) == 0) {
        return SIM_CUPTI_INVALID_KIND;
    }
    int result = sim_activity_attach();
    if (result != SIM_CUPTI_SUCCESS) {
        return result;
    }
    if (sim_record_times_offset(kind) == 0 && kind != SIM_KIND_DRIVER && kind != SIM_KIND_DEVICE &&
        kind != SIM_KIND_EXTERNAL_CORRELATION && kind != SIM_KIND_OVERHEAD) {
        return refuse("activity kind", kind);
    }
    if (kind == SIM_KIND_DRIVER) {
        want_all_driver(true);
    }
    bool was = atomic_exchange(&enabled[kind], true);
    if (kind == SIM_KIND_DEVICE && (dump || !was)) {
        dump_devices();
    }
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivityEnable(uint32_t kind)
{
    SIM_CALL();
    return enable(kind, false);
}

int cuptiActivityEnableAndDump(uint32_t kind)
{
    SIM_CALL();
    return enable(kind, true);
}

int cuptiActivityDisable(uint32_t kind)
{
    SIM_CALL();
    if (sim_record_size(kind) == 0) {
        return SIM_CUPTI_INVALID_KIND;
    }
    if (kind == SIM_KIND_DRIVER) {
        want_all_driver(false);
    }
    atomic_store(&enabled[kind], false);
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on)
{
    SIM_CALL();
    if (cbid == 0 || cbid >= sim_driver_cbid_count) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    int result = sim_activity_attach();
    if (result == SIM_CUPTI_SUCCESS) {
        atomic_store(&driver_wanted[cbid], on != 0);
    }
    return result;
}

void sim_activity_forget(void)
{
    want_all_driver(false);
    for (uint32_t kind = 0; kind < SIM_KIND_LIMIT; kind++) {
        atomic_store(&enabled[kind], false);
    }
}

int cuptiSetThreadIdType(uint32_t type)
{
    SIM_CALL();
    if (type > 1) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    atomic_store(&thread_id_type, type);
    return SIM_CUPTI_SUCCESS;
}

int cuptiGetThreadIdType(uint32_t *type)
{
    SIM_READER();
    if (!type) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    *type = atomic_load(&thread_id_type);
    return SIM_CUPTI_SUCCESS;
}
