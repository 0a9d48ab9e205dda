/* SPDX-License-Identifier: Apache-2.0 */
/* The stage hooks of the spy: counted, and built for general registers only, as real ones must be. */
#ifndef WATCH_SPY_HOOKS_H
#define WATCH_SPY_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

extern bool spy_clobber;
extern int spy_entered, spy_returned, spy_thrown, spy_abandoned;

uint64_t spy_stage_enter(uint16_t rule, uint32_t symbol);
void spy_stage_leave(uint64_t token, int how);
void spy_destroy_vectors(void *unused);

#endif
