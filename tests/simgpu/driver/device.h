/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated devices: what they say of themselves. Constant after cuInit; any thread. */
#ifndef SIMGPU_DEVICE_H
#define SIMGPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_min.h"
#include "identity.h"

enum { SIM_SM_COUNT = 108, SIM_THREADS_PER_SM = 2048, SIM_THREADS_PER_BLOCK = 1024,
       SIM_SHARED_OPTIN_BYTES = 166912 };

bool sim_device_valid(CUdevice device);
/* For cuInit: contexts, pools and time lines of the model's devices. */
void sim_devices_start(void);

#endif
