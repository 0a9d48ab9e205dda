/* SPDX-License-Identifier: Apache-2.0 */
/* The host functions of a `simgpu-kernels.so` beside this library (see kernels.h). Loaded once by cuInit. */
#ifndef SIMGPU_KERNELS_PLUGIN_H
#define SIMGPU_KERNELS_PLUGIN_H

#include "kernels.h"

void sim_kernels_plugin_load(void);
/* The host function of that kernel, or NULL. */
const struct simgpu_kernel *sim_kernels_find(const char *name);

#endif
