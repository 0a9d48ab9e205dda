/* SPDX-License-Identifier: Apache-2.0 */
/* Where a libcupti may lie, best place first. One thread, once (static buffers). */
#ifndef ST_DEVICE_CUPTI_FIND_H
#define ST_DEVICE_CUPTI_FIND_H

#include <stdbool.h>

enum st_cupti_place {
    ST_CUPTI_MAPPED,    /* already in the process */
    ST_CUPTI_NAMED,     /* STAGETAP_CUPTI */
    ST_CUPTI_NEIGHBOUR, /* beside the mapped libcuda or libcudart */
    ST_CUPTI_LOADER,    /* plain soname: the loader's own search */
    ST_CUPTI_TOOLKIT,   /* below CUDA_HOME */
};

/* Returns true to stop the search: it is this one, or looking further makes no sense. */
typedef bool (*st_cupti_try_fn)(const char *path, enum st_cupti_place place, void *arg);

/*
 * Offer the places in order; files that do not exist are not offered. `named` and `cuda_home` may be NULL.
 * Returns the number of libcupti copies mapped already: with two or more only `named` is offered, for it
 * cannot be known which of them the target uses.
 */
int st_cupti_find(const char *named, const char *cuda_home, st_cupti_try_fn try, void *arg);

#endif
