/* SPDX-License-Identifier: Apache-2.0 */
/* Growing byte buffer on mmap; see buffer.h. */
#include "buffer.h"

#include <string.h>
#include <sys/mman.h>

enum { FIRST_BYTES = 64 << 10 };

bool st_buffer_reserve(struct st_buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->length) {
        return true;
    }
    if (more > SIZE_MAX / 4 - buffer->length) {
        return false;
    }
    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_BYTES;
    while (capacity < buffer->length + more) {
        capacity *= 2;
    }
    void *bytes = buffer->bytes ? mremap(buffer->bytes, buffer->capacity, capacity, MREMAP_MAYMOVE)
                                : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool st_buffer_append(struct st_buffer *buffer, const void *bytes, size_t length)
{
    if (!st_buffer_reserve(buffer, length)) {
        return false;
    }
    if (length) {
        memcpy(buffer->bytes + buffer->length, bytes, length);
        buffer->length += length;
    }
    return true;
}

void st_buffer_finish(struct st_buffer *buffer)
{
    if (buffer->bytes) {
        munmap(buffer->bytes, buffer->capacity);
    }
    *buffer = (struct st_buffer){0};
}
