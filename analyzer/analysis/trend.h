/* SPDX-License-Identifier: Apache-2.0 */
/* Do rounds, in the order in which they ran, still become longer or shorter? Any thread. */
#ifndef ST_ANALYSIS_TREND_H
#define ST_ANALYSIS_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"

enum {
    ST_TREND_LEAST = 5,     /* fewer rounds tell nothing */
    ST_TREND_MOST = 1000,   /* of more the latest */
    ST_TREND_PERCENT = 1,   /* smaller changes from the earlier to the later half are no trend */
};

/*
 * walls[0 … count): in order. A trend: the later half's median differs from the earlier half's by more than
 * ST_TREND_PERCENT, and the number of pairs that rose less those that fell is improbable without one (Mann–Kendall,
 * two-sided 5 %). *ret_change_ppm: later half over earlier half, less one. False: too few rounds, or out of memory.
 */
bool st_trend(const int64_t *walls, size_t count, bool *ret_has_trend, int64_t *ret_change_ppm);

/* What report->rounds says in words: that steady was not reached, or is not stable. walls: of the steady requests that
 * the figures are over, in order of begin. False: out of memory. */
bool st_trend_tell(struct st_answer *answer, const int64_t *walls, size_t count);

#endif
