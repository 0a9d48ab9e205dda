/* SPDX-License-Identifier: Apache-2.0 */
/* What simgpu reads of a PTX text: the kernels with their parameters, and the module's variables. No state. */
#ifndef SIMGPU_PTX_H
#define SIMGPU_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels.h"

struct sim_ptx_entry {
    char *name;
    unsigned param_count;
    unsigned sizes[SIMGPU_KERNEL_PARAMS_MAX], offsets[SIMGPU_KERNEL_PARAMS_MAX]; /* bytes */
};

struct sim_ptx_variable {
    char *name;
    size_t bytes;
};

struct sim_ptx {
    struct sim_ptx_entry *entries;
    unsigned entry_count;
    struct sim_ptx_variable *variables;
    unsigned variable_count;
};

/* False: not PTX, more parameters than a kernel of simgpu may have, or no memory. The caller finishes `ptx` either
 * way. */
bool sim_ptx_parse(struct sim_ptx *ptx, const char *text);
void sim_ptx_finish(struct sim_ptx *ptx);

#endif
