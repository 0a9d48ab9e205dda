/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers for people: the only place that turns nanoseconds, bytes and counts into text and back. Integer
 * arithmetic throughout. Pure functions, any thread.
 */
#ifndef ST_UTIL_UNITS_H
#define ST_UTIL_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum st_unit { ST_UNIT_AUTO, ST_UNIT_NS, ST_UNIT_US, ST_UNIT_MS, ST_UNIT_S };

/* How the values of one column are written: value / divisor with so many decimals, `name` in the head. */
struct st_scale {
    int64_t divisor;
    int decimals; /* 10^decimals divides divisor */
    const char *name;
};

#define ST_NUMBER_BYTES 40 /* room for any number these functions write */

/* "auto", "ns", "us", "ms", "s". */
bool st_unit_parse(const char *text, enum st_unit *ret_unit);

/* The scale for times whose largest absolute value is `largest_ns`; ST_UNIT_AUTO chooses by it. */
struct st_scale st_scale_time(enum st_unit unit, int64_t largest_ns);

/* The scale for sizes, decimal prefixes (1 MB = 10^6 bytes). The unit follows the largest value, but is so
 * fine that `smallest_bytes`, the smallest that is not 0 (0 = there is none), does not look like nothing. */
struct st_scale st_scale_bytes(int64_t largest_bytes, int64_t smallest_bytes);

/* Scale of plain integers: no name, no decimals. */
struct st_scale st_scale_count(void);

/* Write `value` in `scale`, rounded half away from zero, without its unit. Returns `ret`. */
char *st_scale_format(const struct st_scale *scale, int64_t value, char ret[ST_NUMBER_BYTES]);

/* The same for people: what is above 0 and would round to 0 becomes "<0.1". */
char *st_scale_show(const struct st_scale *scale, int64_t value, char ret[ST_NUMBER_BYTES]);

/* Write a time with its unit ("1.842 s"), each choosing its own. `unit` as above. Returns `ret`. */
char *st_time_format(enum st_unit unit, int64_t value_ns, char ret[ST_NUMBER_BYTES]);

/* A whole number without sign, nothing behind it. */
bool st_count_parse(const char *text, int64_t *ret_value);

#endif
