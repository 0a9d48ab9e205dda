/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer straight on mmap: the writer thread lives in a process whose allocator is not
 * ours to use. A zeroed structure is an empty buffer. Not thread-safe.
 */
#ifndef ST_TRACE_BUFFER_H
#define ST_TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_buffer {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
};

/* Make room for `more` bytes after `length`. False: out of memory, nothing changed. */
bool st_buffer_reserve(struct st_buffer *buffer, size_t more);
bool st_buffer_append(struct st_buffer *buffer, const void *bytes, size_t length);
/* Give the memory back; the buffer is empty and usable again. */
void st_buffer_finish(struct st_buffer *buffer);

#endif
