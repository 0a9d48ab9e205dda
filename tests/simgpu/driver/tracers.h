/* SPDX-License-Identifier: Apache-2.0 */
/* The observers (libcupti) that simgpu_tracer_set() brought, as one. Any thread. */
#ifndef SIMGPU_TRACERS_H
#define SIMGPU_TRACERS_H

#include "tracer.h"

/* Who is told; NULL: nobody. graph_as_whole() of it has a bit for each observer, and the other functions take it so. */
const struct simgpu_tracer *sim_tracer(void);
void sim_tracers_add(const struct simgpu_tracer *tracer);
/* In a forked child nobody is told any more. */
void sim_tracers_fork_child(void);

#endif
