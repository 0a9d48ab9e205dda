/* SPDX-License-Identifier: Apache-2.0 */
/* A libcupti that can be used: found, opened, asked whether it would work for us. One thread. */
#ifndef ST_DEVICE_CUPTI_LOAD_H
#define ST_DEVICE_CUPTI_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_abi.h"
#include "records.h"

#define ST_CUPTI_WHY_BYTES 256
#define ST_CUPTI_MAX_TRIED 16

struct st_cupti_library {
    bool is_usable;
    struct st_cupti_functions f;
    uint32_t version; /* cuptiGetVersion */
    struct st_cupti_sizes sizes;
    char path[512];
    char refusal[ST_CUPTI_WHY_BYTES];  /* why there is none */
    char tried[1024];                  /* libraries that were not usable, each with the reason */
    void *handles[ST_CUPTI_MAX_TRIED]; /* what was opened so far */
    int handle_count;
};

/*
 * Try the places of cupti_find.h until a library answers well. `library` comes zeroed; its texts are filled in
 * any case. One subscription is made and given back at once: it tells whether another tool is there.
 */
bool st_cupti_load(const char *named, const char *cuda_home, struct st_cupti_library *library);

/* The library's name for an error, else its number. Valid until the next call; used by the starting thread, and
 * after that by the collecting one only. */
const char *st_cupti_error(const struct st_cupti_library *library, int result);

/* The release of the toolkit that an API version belongs to, as text. */
void st_cupti_release(uint32_t version, char *ret, size_t size);

#endif
