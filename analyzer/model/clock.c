/* SPDX-License-Identifier: Apache-2.0 */
/* Piecewise linear clock conversion; see clock.h. */
#include "clock.h"

#include <stdlib.h>

#include "vec.h"

enum { SHORT_PIECE_NS = 10 * 1000 * 1000 };
#define FAR_NS ((int64_t)1 << 60) /* no instant is farther from the start; keeps arithmetic from overflowing */

bool st_clock_add(struct st_clock *clock, int64_t from, int64_t to, int64_t width_ns)
{
    if (!st_vec_reserve((void **)&clock->points, &clock->capacity, clock->count, sizeof(*clock->points))) {
        return false;
    }
    clock->points[clock->count++] = (struct st_clock_point){from, to, width_ns};
    return true;
}

static int by_from(const void *left, const void *right)
{
    const struct st_clock_point *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static double slope_between(const struct st_clock_point *a, const struct st_clock_point *b)
{
    return ((double)b->to - (double)a->to) / ((double)b->from - (double)a->from);
}

/* All readings together tell the rate better than the given one, if they lie far enough apart or it is unknown. */
static double best_rate(const struct st_clock *clock)
{
    if (clock->count > 1) {
        const struct st_clock_point *first = clock->points, *last = clock->points + clock->count - 1;
        if (clock->rate == 0 || last->to - first->to >= SHORT_PIECE_NS) {
            return slope_between(first, last);
        }
    }
    return clock->rate > 0 ? clock->rate : 1;
}

bool st_clock_prepare(struct st_clock *clock)
{
    size_t kept = 0;
    st_vec_sort(clock->points, clock->count, sizeof(*clock->points), by_from);
    for (size_t i = 0; i < clock->count; i++) { /* a reading that runs backwards is no reading */
        const struct st_clock_point *point = &clock->points[i];
        if (kept == 0 || (point->from > clock->points[kept - 1].from && point->to > clock->points[kept - 1].to)) {
            clock->points[kept++] = *point;
        }
    }
    clock->count = kept;
    clock->last = 0;
    free(clock->slopes);
    clock->slopes = malloc((kept + 1) * sizeof(*clock->slopes));
    if (!clock->slopes) {
        return false;
    }
    clock->rate = best_rate(clock);
    clock->slopes[0] = clock->rate;
    for (size_t i = 0; i + 1 < kept; i++) {
        clock->slopes[i] = slope_between(&clock->points[i], &clock->points[i + 1]);
    }
    if (kept > 1) {
        bool is_short = clock->points[kept - 1].to - clock->points[kept - 2].to < SHORT_PIECE_NS;
        clock->slopes[kept - 1] = is_short ? clock->rate : clock->slopes[kept - 2];
    }
    return true;
}

static int64_t limited(double value)
{
    if (!(value > -(double)FAR_NS)) {
        return -FAR_NS;
    }
    return value < (double)FAR_NS ? (int64_t)(value < 0 ? value - 0.5 : value + 0.5) : FAR_NS;
}

/* The piece that holds `from`: the last point at or before it, or the first. */
static size_t piece_of(struct st_clock *clock, int64_t from)
{
    size_t i = clock->last;
    if (clock->points[i].from <= from && (i + 1 == clock->count || from < clock->points[i + 1].from)) {
        return i;
    }
    size_t low = 0, high = clock->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (clock->points[middle].from <= from) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return clock->last = low;
}

int64_t st_clock_convert(struct st_clock *clock, int64_t from)
{
    if (clock->count == 0) {
        return limited(((double)from - (double)clock->origin) * clock->rate);
    }
    size_t i = piece_of(clock, from);
    const struct st_clock_point *point = &clock->points[i];
    int64_t apart;
    double slope = clock->slopes[i];
    if (from < point->from && clock->count > 1 && clock->points[1].to - clock->points[0].to < SHORT_PIECE_NS) {
        slope = clock->rate;
    }
    if (__builtin_sub_overflow(from, point->from, &apart)) {
        return from < point->from ? -FAR_NS : FAR_NS;
    }
    int64_t sum;
    return __builtin_add_overflow(point->to, limited((double)apart * slope), &sum) ? FAR_NS : sum;
}

int64_t st_clock_residual_ns(const struct st_clock *clock)
{
    int64_t worst = 0;
    for (size_t i = 0; i < clock->count; i++) {
        const struct st_clock_point *point = &clock->points[i];
        int64_t half = point->width_ns / 2;
        worst = half > worst ? half : worst;
        if (i > 0 && i + 1 < clock->count) {
            const struct st_clock_point *before = point - 1;
            double expected = slope_between(before, point + 1) * ((double)point->from - (double)before->from);
            int64_t missed = llabs(limited(expected - ((double)point->to - (double)before->to)));
            worst = missed > worst ? missed : worst;
        }
    }
    return worst;
}

void st_clock_finish(struct st_clock *clock)
{
    free(clock->points);
    free(clock->slopes);
    *clock = (struct st_clock){0};
}
