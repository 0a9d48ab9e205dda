/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel names as STRING rows: each different text gets a number once. Used by the writer thread only;
 * memory comes from st_buffer (mmap), never from the target's allocator.
 */
#ifndef ST_DEVICE_NAMES_H
#define ST_DEVICE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/trace/buffer.h"
#include "preload/trace/table.h"

struct st_names {
    struct st_buffer texts;    /* all texts, one after another */
    struct st_buffer entries;  /* struct name_entry by number - 1 */
    struct st_buffer slots;    /* hash table: numbers, 0 = free */
    struct st_buffer pointers; /* hash table: where a text was read in this round */
    struct st_buffer scratch;  /* the text being read */
    uint32_t pointer_count;
    uint32_t round;
};

/* The number of a text, from 1; a new one also becomes a row of `strings` (table STRING). 0: no memory. */
uint32_t st_names_intern(struct st_names *names, const char *text, size_t length, struct st_rows *strings);

/*
 * Read a NUL-terminated text that somebody else owns and may have freed (the device library, when the
 * kernel's module was unloaded): through the system, so that a stale pointer is no crash. Cut at
 * ST_MAX_TEXT_BYTES; valid until the next call with the same `names`. False: NULL, or not readable.
 */
bool st_names_read(struct st_names *names, const char *pointer, struct st_text *ret_text);

/* Both together; a pointer is read once in a round. 0: NULL, not readable, or no memory. */
uint32_t st_names_intern_pointer(struct st_names *names, const char *pointer, struct st_rows *strings);

/* A new batch of records begins: pointers are read again, for another kernel may have got the address. */
void st_names_next_round(struct st_names *names);

void st_names_finish(struct st_names *names);

#endif
