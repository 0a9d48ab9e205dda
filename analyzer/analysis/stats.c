/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics; see stats.h. */
#include "stats.h"

#include <stdlib.h>

#include "analyzer/model/vec.h"

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void st_sort(int64_t *values, size_t count)
{
    st_vec_sort(values, count, sizeof(*values), by_value);
}

int64_t st_quantile(const int64_t *sorted, size_t count, unsigned part, unsigned parts)
{
    unsigned __int128 place = (unsigned __int128)(count - 1) * part;
    size_t low = (size_t)(place / parts);
    unsigned rest = (unsigned)(place % parts);
    int64_t below = sorted[low];
    int64_t above = low + 1 < count ? sorted[low + 1] : below;
    return below + (int64_t)((__int128)(above - below) * rest / parts);
}

int64_t st_median(const int64_t *sorted, size_t count)
{
    return st_quantile(sorted, count, 1, 2);
}

int64_t st_spread_ppm(const int64_t *sorted, size_t count)
{
    int64_t median = st_median(sorted, count);
    __int128 range = (__int128)st_quantile(sorted, count, 3, 4) - st_quantile(sorted, count, 1, 4);
    return median > 0 ? (int64_t)(range * 1000000 / median) : 0;
}
