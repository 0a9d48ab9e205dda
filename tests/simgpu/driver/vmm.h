/* SPDX-License-Identifier: Apache-2.0 */
/* What pointers of virtual memory management say of themselves. Any thread. */
#ifndef SIMGPU_VMM_H
#define SIMGPU_VMM_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_min.h"
#include "memory.h"

/* The reserved stretch of addresses that holds this one, mapped or not; false: none. */
bool sim_vmm_reserved(CUdeviceptr address, CUdeviceptr *base, size_t *bytes);
/* 0 none, 1 read, 3 read and write: what a device may do with a mapping. */
unsigned sim_vmm_access(const struct sim_range *range, uint32_t device);

#endif
