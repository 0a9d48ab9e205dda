/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which device records belong to calls outside of the window (STAGETAP_WINDOW) and need not be written. Only what is
 * certain is left out – the record of the call lies well outside of every window –, the rest is kept, and the reader
 * leaves out what has no call. Writer thread.
 */
#ifndef ST_DEVICE_OUTSIDE_H
#define ST_DEVICE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/trace/table.h"

/* Readings taken together, from time to time. */
void st_outside_note_clock(uint64_t ticks, uint64_t device_ns);

/* Before records are read: what changed since. */
void st_outside_look(void);

/* The record of a call that began at `start_ns` (the library's clock). True: it is outside, and so is what it
 * launched. */
bool st_outside_call(uint32_t correlation, uint64_t start_ns);

/* Did a call launch this that is outside? */
bool st_outside_operation(uint32_t correlation);

/* Take the rows of such operations out of a table without texts, once the calls among the records are read: an
 * operation may come before its call. */
void st_outside_drop(struct st_rows *rows, unsigned column_count, unsigned correlation_column);

#endif
