/* SPDX-License-Identifier: Apache-2.0 */
/* What calls with options for the compiler have in common. Any thread. */
#ifndef SIMGPU_LINKER_H
#define SIMGPU_LINKER_H

#include "cuda_min.h"

/* The logs that the options ask for are empty. */
void sim_jit_answer(unsigned count, const CUjit_option *options, void **values);

#endif
