/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: handles that stream-ordered allocations name. Nothing is kept back for later use. Any thread. */
#ifndef SIMGPU_POOL_H
#define SIMGPU_POOL_H

#include "cuda_min.h"

void sim_pools_start(void);

#endif
