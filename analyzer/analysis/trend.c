/* SPDX-License-Identifier: Apache-2.0 */
/* See trend.h. */
#include "trend.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

static int64_t median_of(const int64_t *walls, size_t count, int64_t *scratch)
{
    memcpy(scratch, walls, count * sizeof(*walls));
    st_sort(scratch, count);
    return st_median(scratch, count);
}

/* |score| > 1.96 standard deviations of what chance gives: n(n-1)(2n+5)/18 is its variance. */
static bool is_improbable(const int64_t *walls, size_t count)
{
    int64_t score = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            score += (walls[k] > walls[i]) - (walls[k] < walls[i]);
        }
    }
    double n = (double)count, variance = n * (n - 1) * (2 * n + 5) / 18;
    return (double)score * (double)score > 1.96 * 1.96 * variance;
}

bool st_trend(const int64_t *walls, size_t count, bool *ret_has_trend, int64_t *ret_change_ppm)
{
    size_t used = count < ST_TREND_MOST ? count : ST_TREND_MOST, half = used / 2;
    int64_t *scratch = used < ST_TREND_LEAST ? NULL : malloc(used * sizeof(*scratch));
    if (!scratch) {
        return false;
    }
    walls += count - used;
    int64_t earlier = median_of(walls, half, scratch), later = median_of(walls + used - half, half, scratch);
    free(scratch);
    double change = earlier > 0 ? (double)(later - earlier) / (double)earlier : 0;
    *ret_change_ppm = (int64_t)(change * 1e6);
    *ret_has_trend = (change > ST_TREND_PERCENT / 100.0 || change < -ST_TREND_PERCENT / 100.0) &&
                     is_improbable(walls, used);
    return true;
}

/* Requests that a rule named and that have an end. */
static size_t count_rounds(const struct st_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->request_count; i++) {
        const struct st_model_request *request = &model->requests[i];
        count += request->is_complete && !request->is_implicit && request->window_of == ST_NONE;
    }
    return count;
}

bool st_trend_tell(struct st_answer *answer, const int64_t *walls, size_t count)
{
    struct st_report_rounds *rounds = &answer->report->rounds;
    size_t total = count_rounds(answer->model);
    int64_t change_ppm = 0;
    rounds->stability_known = st_trend(walls, count, &rounds->has_trend, &change_ppm);
    if (rounds->steady_count == 0 && total > 0) {
        rounds->note = st_arena_format(answer->arena, "steady was not reached: no request of %zu is behind the first "
                                                      "and the warm-up ones by the rule %s",
                                       total, rounds->rule);
        return rounds->note != NULL;
    }
    if (rounds->has_trend) {
        rounds->note = st_arena_format(answer->arena,
                                       "not stable: the steady requests still trend (median of the later half %+.1f %% "
                                       "from that of the earlier one)",
                                       (double)change_ppm / 1e4);
        return rounds->note != NULL;
    }
    return true;
}
