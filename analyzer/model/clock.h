/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One clock from another: a line through pairs of readings taken together, piece by piece.
 *
 *   ns ^            ·            readings (CLOCK rows)
 *      |        · ‾              between two: the line through them
 *      |    · ‾                  outside: the nearest piece goes on; a piece shorter than 10 ms is too short
 *      |  ‾                      to tell a rate, then that of all readings, or the given rate
 *      +-----------------> ticks
 *
 * Residual: how far the line through the neighbours misses a reading, at worst, or half the time that one
 * reading took, whichever is larger. One thread while adding; constant after st_clock_prepare().
 */
#ifndef ST_MODEL_CLOCK_H
#define ST_MODEL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct st_clock_point {
    int64_t from, to;
    int64_t width_ns; /* time between the first and last of the readings that were "together" */
};
struct st_clock {
    struct st_clock_point *points;
    double *slopes; /* slopes[i] holds from points[i] on */
    size_t count, capacity;
    double rate;     /* ns per unit where two points cannot tell; 0 = unknown */
    int64_t origin;  /* `from` at which `to` is 0, without any point */
    size_t last;     /* piece used last: times come nearly sorted */
};

bool st_clock_add(struct st_clock *clock, int64_t from, int64_t to, int64_t width_ns); /* false: no memory */
bool st_clock_prepare(struct st_clock *clock);
int64_t st_clock_convert(struct st_clock *clock, int64_t from);
int64_t st_clock_residual_ns(const struct st_clock *clock); /* 0 without points */
void st_clock_finish(struct st_clock *clock);

#endif
