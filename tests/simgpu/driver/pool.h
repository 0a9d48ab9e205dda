/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: handles that stream-ordered allocations name. Nothing is kept back for later use. Any thread. */
#ifndef SIMGPU_POOL_H
#define SIMGPU_POOL_H

#include "cuda_min.h"
#include "object.h"

void sim_pools_start(void);
/* An allocation of the pool was freed; the pool itself may be gone. */
void sim_pool_returned(struct sim_object *pool, size_t bytes);

#endif
