/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays: pointer, count, capacity side by side in a structure of the caller's; sorting. Any thread. */
#ifndef ST_MODEL_VEC_H
#define ST_MODEL_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Make room for item number `count` (and some more). False: out of memory, nothing changed. */
static inline bool st_vec_reserve(void **items, size_t *capacity, size_t count, size_t item_bytes)
{
    if (count < *capacity) {
        return true;
    }
    size_t wanted = *capacity ? *capacity + *capacity / 2 + 1 : 16;
    void *grown = count < wanted ? realloc(*items, wanted * item_bytes) : NULL;
    if (!grown) {
        return false;
    }
    *items = grown;
    *capacity = wanted;
    return true;
}

/* qsort() and qsort_r(), which want an array even where there is nothing to sort. */
static inline void st_vec_sort(void *items, size_t count, size_t item_bytes, int (*compare)(const void *, const void *))
{
    if (count > 1) {
        qsort(items, count, item_bytes, compare);
    }
}

static inline void st_vec_sort_with(void *items, size_t count, size_t item_bytes,
                                    int (*compare)(const void *, const void *, void *), void *context)
{
    if (count > 1) {
        qsort_r(items, count, item_bytes, compare, context);
    }
}

#endif
