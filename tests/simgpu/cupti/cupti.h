/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside simgpu's libcupti. Flow: libcuda's tracer (tracer.h) → records.c makes a record → buffers.c puts it
 * into a client's buffer → the client's complete callback, from the worker thread or from FlushAll.
 *
 * Traps: what crashes or hangs with the real library aborts here with a message – any CUDA call and any CUPTI
 * call but the readers (GetNextRecord, GetNumDroppedRecords, GetTimestamp, names, version) from inside a buffer
 * callback, FlushAll in a forked child.
 */
#ifndef SIMGPU_CUPTI_H
#define SIMGPU_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../tracer.h"

enum {
    SIM_CUPTI_SUCCESS = 0,
    SIM_CUPTI_INVALID_PARAMETER = 1,
    SIM_CUPTI_INVALID_CONTEXT = 3,
    SIM_CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
    SIM_CUPTI_MAX_LIMIT_REACHED = 12,
    SIM_CUPTI_NOT_INITIALIZED = 15,
    SIM_CUPTI_INVALID_KIND = 21,
    SIM_CUPTI_NOT_SUPPORTED = 27,
    SIM_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    SIM_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    SIM_CUPTI_UNKNOWN = 999,
};

typedef void (*sim_request_fn)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*sim_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);
typedef uint64_t (*sim_timestamp_fn)(void);

/* faults.c: SIMGPU_FAULTS as libcuda parsed it; loaded once, on the first call of any CUPTI function. */
struct sim_faults {
    bool no_cupti, no_privilege, subscriber_taken, unordered, zero_timestamps, clock_step, hang_at_exit;
    long drop_percent; /* 0 = none */
    const struct sim_layout *layout;
};
const struct sim_faults *sim_faults(void);
/* Attaches to libcuda's tracer, once. 0, NOT_INITIALIZED (libcuda is not simgpu's) or UNKNOWN (no libcuda). */
int sim_attach(const struct simgpu_tracer *tracer);

/* libcuda's number of a graph, an executable graph or a node; 0: no such thing. */
uint64_t sim_graph_id(const void *handle);
/* … of a context, NULL being the current one, with its device. */
uint32_t sim_context_id(const void *handle, uint32_t *device);

/* activity.c */
int sim_activity_attach(void);
void sim_activity_forget(void); /* no kind is on any more */
uint32_t sim_driver_cbid(const char *name); /* 0: none; after sim_activity_attach */

/* subscriber.c: callbacks for a driver call. */
int sim_has_subscriber(void);
void sim_tell_enter(const struct simgpu_call *call);
void sim_tell_exit(const struct simgpu_call *call);

/* external.c: what the calling thread pushed goes with the driver call of this correlation id. */
void sim_external_append(uint32_t correlation);

/* clock.c */
uint64_t sim_monotonic_ns(void);
/* Device and API times: CLOCK_MONOTONIC to the clock of the records, a constant offset, or a rate (clock.c). */
uint64_t sim_record_time(uint64_t monotonic_ns);
void sim_clock_start(void);

/* buffers.c: a record whose device work ends at `end_ns` (CLOCK_MONOTONIC; 0 = complete). Any thread. */
void sim_buffers_append(const void *record, size_t bytes, uint64_t end_ns);
/* Delivers complete buffers, or with `forced` all of them. `seal`: the one being filled too. */
void sim_buffers_deliver(bool forced, bool seal);
void sim_buffers_start(void);
void sim_buffers_forget(void); /* the client's functions, and what was not delivered */
/* True on a thread that is inside a request or complete callback. */
bool sim_in_callback(void);
_Noreturn void sim_trap(const char *what, const char *why);

/* Made by cbids.py. NULL / 0 for what is not known. */
extern const unsigned sim_driver_cbid_count, sim_runtime_cbid_count;
extern const char *const sim_driver_cbid_names[], *const sim_runtime_cbid_names[];

/* First lines of API functions: of those that may be called inside a buffer callback, and of the others. */
#define SIM_READER()                                                                                                   \
    do {                                                                                                               \
        if (sim_faults()->no_cupti) {                                                                                  \
            return SIM_CUPTI_NOT_INITIALIZED;                                                                          \
        }                                                                                                              \
    } while (0)
#define SIM_CALL()                                                                                                     \
    do {                                                                                                               \
        if (sim_in_callback()) {                                                                                       \
            sim_trap(__func__, "called from inside a buffer callback");                                                \
        }                                                                                                              \
        SIM_READER();                                                                                                  \
    } while (0)

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record);
int cuptiActivityRegisterCallbacks(sim_request_fn request, sim_complete_fn complete);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushPeriod(uint32_t milliseconds);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
int cuptiActivityRegisterTimestampCallback(sim_timestamp_fn callback);
int cuptiGetTimestamp(uint64_t *timestamp);

#endif
