/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of a ring -> rows of the event tables, for the writer and for readers of a live or dead ring. Not
 * thread-safe per object.
 */
#ifndef ST_TRACE_SLOTS_H
#define ST_TRACE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk.h"
#include "ring.h"
#include "table.h"

struct st_slot_rows {
    struct st_rows call, span_begin, span_end, mark, name, host_run, lost;
    uint64_t first_ticks, last_ticks; /* of the rows so far; 0 = none */
    uint32_t rows_max;                /* of the largest table */
};

void st_slot_rows_init(struct st_slot_rows *set);
void st_slot_rows_finish(struct st_slot_rows *set);
/* Forget the rows. */
void st_slot_rows_reset(struct st_slot_rows *set);

/* Add the slots [from, to) of the ring. `skip_calls`: only boundaries (the limit is reached); returns how
 * many calls were skipped. UINT64_MAX: out of memory, nothing is usable. */
uint64_t st_slot_rows_add(struct st_slot_rows *set, const struct st_slot *slots, uint64_t mask, uint64_t from,
                        uint64_t to, bool skip_calls);

/* Append the tables to a payload. */
bool st_slot_rows_encode(const struct st_slot_rows *set, struct st_buffer *payload);

#endif
