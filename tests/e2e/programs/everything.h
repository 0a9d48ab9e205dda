/* SPDX-License-Identifier: Apache-2.0 */
/* What everything.c asks of the plugins that it loads and unloads all the time. */
#ifndef E2E_EVERYTHING_H
#define E2E_EVERYTHING_H

#include "cuda_few.h"

typedef CUresult (*launch_fn)(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                              unsigned int block_x, unsigned int block_y, unsigned int block_z,
                              unsigned int shared_bytes, CUstream stream, void **params, void **extra);
typedef CUresult (*lookup_fn)(const char *symbol, void **pointer, int version, unsigned long long flags, int *status);

/* Launches by each way that a library has to reach the driver. Returns how many succeeded. */
typedef int (*plugin_fn)(CUfunction function);
__attribute__((visibility("default"))) int plugin_run(CUfunction function);

static inline int launch_by(launch_fn launch, CUfunction function)
{
    return launch && launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0;
}

#endif
