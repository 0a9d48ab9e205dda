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
    bool registered; /* the program's own memory, made pinned */
};

/* New zero-filled memory. `want->base` and `id` are set. OUT_OF_MEMORY when the device (or the host) is full. */
CUresult sim_memory_map(struct sim_range *want);
/* Notes the program's own memory; false when part of it is known already. */
bool sim_memory_register(struct sim_range *range);
/* The range that holds [address, address + bytes); false: none. */
bool sim_memory_find(CUdeviceptr address, size_t bytes, struct sim_range *found);
/* Forgets the range that begins there, and returns its memory unless it was registered. */
bool sim_memory_unmap(CUdeviceptr base);
/* Returns all memory of a context. */
void sim_memory_unmap_context(const struct sim_context *context);
uint64_t sim_memory_free_bytes(uint32_t device);
uint64_t sim_memory_total_bytes(void);
void sim_memory_fork(enum sim_fork side);

#endif
