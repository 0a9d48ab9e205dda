/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_MODEL: how long things take. Read once by cuInit; constant afterwards. Any thread. */
#ifndef SIMGPU_MODEL_H
#define SIMGPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_model {
    uint32_t devices;
    bool serial;               /* kernels of different streams never overlap */
    uint64_t launch_ns;        /* host cost of a kernel launch */
    uint64_t first_launch_ns;  /* host cost of a function's first launch */
    uint32_t queue;            /* operations a stream holds before a launch blocks */
    uint32_t foreign_percent;  /* of device time taken by someone else */
    bool zero_small_d2h;       /* device-to-host copies of at most SIM_ZEROED_BYTES deliver zeros */
    double speed;              /* durations are divided by it ... */
    uint64_t speed_after_ns;   /* ... this long after cuInit */
    uint64_t start_ns;         /* when cuInit was called */
};

/* From a device's knowing of an operation to its earliest start. */
enum { SIM_LATENCY_NS = 2000, SIM_FOREIGN_PERIOD_NS = 2000000, SIM_STAGING_CHUNK_BYTES = 512 << 10,
       SIM_SMALL_COPY_BYTES = 64 << 10, SIM_ZEROED_BYTES = 16 };

extern struct sim_model sim_model;

/* False, with a message on stderr that names the line, when the file cannot be understood. */
bool sim_model_load(void);
/* All at full speed. `memory` is a CUpti_ActivityMemoryKind, `copy_kind` a CUpti_ActivityMemcpyKind. */
struct sim_kernel_cost {
    double fixed_ns, per_thread_ns, per_argument_ns; /* the last: times its first argument as a number */
};
struct sim_kernel_cost sim_model_kernel(const char *name);
uint64_t sim_model_copy_ns(uint32_t copy_kind, uint32_t memory, uint64_t bytes);
uint64_t sim_model_memset_ns(uint64_t bytes);
/* What of the time that a copy takes is spent on `bytes` alone, without the fixed part. */
uint64_t sim_model_transfer_ns(uint32_t copy_kind, uint32_t memory, uint64_t bytes);
/* `duration_ns` at the speed that holds at `when_ns`. */
uint64_t sim_model_at_speed(uint64_t duration_ns, uint64_t when_ns);

#endif
