/* SPDX-License-Identifier: Apache-2.0 */
/* Modules (also as libraries) and their functions (also as kernels). Any thread. */
#ifndef SIMGPU_MODULE_H
#define SIMGPU_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda_min.h"
#include "image.h"
#include "kernels.h"
#include "model.h"
#include "object.h"

struct sim_module;

struct sim_function {
    struct sim_object object;
    struct sim_function *next; /* in the module */
    struct sim_module *module;
    const char *name; /* lives as long as the process */
    const struct simgpu_kernel *host; /* what it does, or NULL */
    const struct sim_image_entry *entry; /* its parameters, or NULL when they are not known */
    struct sim_kernel_cost cost;
    _Atomic bool loaded;
    _Atomic int dynamic_shared_bytes;
    struct sim_old_launch *old_launch; /* old_launch.c; NULL until it is used */
};

/* A live function, given as CUfunction or CUkernel; else NULL. */
struct sim_function *sim_function_check(const void *handle);

#endif
