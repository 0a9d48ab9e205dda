/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which address belongs to what: device, pinned and managed memory, all of it host memory filled with zeros.
 * Everything else is pageable. Any thread; own lock, under which nothing else is taken.
 */
#ifndef SIMGPU_MEMORY_H
#define SIMGPU_MEMORY_H

#include <stdbool.h>

#include "context.h"
#include "fork.h"
#include "truth.h"

struct sim_range {
    CUdeviceptr base;
    size_t bytes;
    uint32_t kind; /* SIM_MEMORY_... */
    uint32_t device;
    uint64_t id;
    struct sim_context *context;
    struct sim_object *pool; /* stream-ordered allocations */
    unsigned flags;
    bool registered; /* memory that is not from here: the program's own, made pinned, or a mapping */
    struct sim_object *mapping; /* the allocation that virtual memory management put there */
    uint32_t readers, writers;  /* of a mapping: a bit for each device that may */
};

/* New zero-filled memory. `want->base` and `id` are set. OUT_OF_MEMORY when the device (or the host) is full. */
CUresult sim_memory_map(struct sim_range *want);
/* Memory of a device that lies elsewhere; false when the device is full. */
bool sim_memory_take(uint32_t device, size_t bytes);
void sim_memory_give(uint32_t device, size_t bytes);
/* Notes memory that is not from here; false when part of it is known already. */
bool sim_memory_register(struct sim_range *range);
/* The range that holds [address, address + bytes), or the first of the neighbouring mappings that do; false: none. */
bool sim_memory_find(CUdeviceptr address, size_t bytes, struct sim_range *found);
/* Some range lies in [base, base + bytes). */
bool sim_memory_any(CUdeviceptr base, size_t bytes);
/* Of the mapping that begins there. */
void sim_memory_set_access(CUdeviceptr base, uint32_t readers, uint32_t writers);
/* Forgets the range that begins there, and returns its memory unless it was registered. */
bool sim_memory_unmap(CUdeviceptr base);
/* Returns all memory of a context. */
void sim_memory_unmap_context(const struct sim_context *context);
uint64_t sim_memory_free_bytes(uint32_t device);
/* For libnvidia-ml: what this process has of a device. Exported. */
uint64_t simgpu_used_bytes(uint32_t device);
void sim_memory_fork(enum sim_fork side);

#endif
