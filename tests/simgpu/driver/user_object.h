/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User objects: what a program ties to the life of its graphs. Graphs own references, copies of a graph own as many;
 * the last reference's end has the object's destructor called, by a thread of the driver's own. Any thread.
 */
#ifndef SIMGPU_USER_OBJECT_H
#define SIMGPU_USER_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

struct sim_op;
struct sim_user_object;

/* The references that one graph owns; the graphs' lock guards them. */
struct sim_user_references {
    struct sim_user_reference {
        struct sim_user_object *object;
        size_t count;
    } *list;
    size_t count;
};

/* `to` is empty. False: no memory, and nothing was taken. */
bool sim_user_references_copy(struct sim_user_references *to, const struct sim_user_references *from);
/* Gives all back; those of an executable graph count until `last`, its last operation (or NULL), is over. */
void sim_user_references_drop(struct sim_user_references *references, struct sim_op *last);

#endif
