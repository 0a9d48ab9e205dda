/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says about its process and about itself: settings, versions, call table, stage map, pointer
 * look-ups. Writer thread, except st_facts_set_program() and st_facts_simulated() (session start).
 */
#ifndef ST_PRELOAD_FACTS_H
#define ST_PRELOAD_FACTS_H

#include <stdbool.h>

#include "preload/trace/buffer.h"

void st_facts_set_program(const char *program);

/* Is a provider in the process one of simgpu's? */
bool st_facts_simulated(void);

/* Once, at the start: KEY, CALLDEF, RULE, the row names known so far. */
void st_facts_add_start(struct st_buffer *payload);

/* Running totals: COUNTER, RULE with counts, NOT_INTERCEPTED, providers as KEY. */
void st_facts_add_state(struct st_buffer *payload, bool is_final);

#endif
