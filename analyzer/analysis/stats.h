/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics of integer samples. The arrays are sorted in place. Any thread. */
#ifndef ST_ANALYSIS_STATS_H
#define ST_ANALYSIS_STATS_H

#include <stddef.h>
#include <stdint.h>

void st_sort(int64_t *values, size_t count);
/* Of sorted values, count > 0. The value at `part`/`parts` of the way, between neighbours linearly. */
int64_t st_quantile(const int64_t *sorted, size_t count, unsigned part, unsigned parts);
int64_t st_median(const int64_t *sorted, size_t count);
/* (third quartile - first quartile) / median in millionths; 0 when the median is 0. */
int64_t st_spread_ppm(const int64_t *sorted, size_t count);

#endif
