/* SPDX-License-Identifier: Apache-2.0 */
/* The three moments of a fork; a part with locks takes them BEFORE and frees them on both sides after. */
#ifndef SIMGPU_FORK_H
#define SIMGPU_FORK_H

enum sim_fork { SIM_FORK_BEFORE, SIM_FORK_PARENT, SIM_FORK_CHILD };

#endif
