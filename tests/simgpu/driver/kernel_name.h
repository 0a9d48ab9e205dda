/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's name says: the base name inside a mangled one, and a duration at its end. Any thread. */
#ifndef SIMGPU_KERNEL_NAME_H
#define SIMGPU_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function's own name without namespaces, arguments and template arguments; other names as they are. */
void sim_kernel_base_name(const char *name, char *base, size_t size);
/* True and the time for a base name that ends in `_<N>us`, `_<N>ns` or `_<N>ms`. */
bool sim_kernel_name_time(const char *base, uint64_t *ns);

#endif
