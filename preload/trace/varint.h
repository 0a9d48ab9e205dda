/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LEB128 and zigzag, the integers of the columns. Writers need up to ST_VARINT_MAX bytes of room; readers
 * never look at or past `end`. Pure, any thread.
 */
#ifndef ST_TRACE_VARINT_H
#define ST_TRACE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define ST_VARINT_MAX 10

static inline uint64_t st_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t st_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Returns the place after the last byte written. */
static inline uint8_t *st_varint_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Returns the place after the value, or NULL if it is cut or longer than 64 bits. */
static inline const uint8_t *st_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *ret_value)
{
    if (at < end && *at < 0x80) {
        *ret_value = *at;
        return at + 1;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) {
            return NULL;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return at;
        }
    }
    return NULL;
}

#endif
