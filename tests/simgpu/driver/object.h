/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles. Everything that the API hands out as an opaque pointer lives in a slot of one reserved address range
 * and begins with struct sim_object, so that any pointer can be checked (dead, wrong type, garbage) without a
 * lock and without reading foreign memory. Any thread.
 */
#ifndef SIMGPU_OBJECT_H
#define SIMGPU_OBJECT_H

#include <stdatomic.h>
#include <stddef.h>

enum { SIM_SLOT_BYTES = 512 };

enum sim_object_type {
    SIM_FREE_SLOT,
    SIM_CONTEXT,
    SIM_STREAM,
    SIM_EVENT,
    SIM_MODULE, /* also libraries */
    SIM_FUNCTION, /* also kernels of libraries */
    SIM_LINKER,
    SIM_POOL,
    SIM_ALLOCATION, /* of virtual memory management */
    SIM_GRAPH,
    SIM_NODE, /* of a graph */
    SIM_EXEC, /* an executable graph */
    SIM_USER_OBJECT
};

struct sim_object {
    _Atomic unsigned type;
    struct sim_object *next_free;
};

/* A zeroed object, or NULL when the range is used up. */
void *sim_object_create(enum sim_object_type type);
/* The object becomes invalid; its slot is used again later. */
void sim_object_destroy(void *object);
/* The pointer itself if it is a live object of that type, else NULL. */
void *sim_object_check(const void *handle, enum sim_object_type type);

#endif
