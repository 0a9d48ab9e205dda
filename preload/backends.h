/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compute back-ends other than CUDA in this process. Their libraries are noted, never touched: what ran there is not
 * collected, and the trace says so.
 */
#ifndef ST_BACKENDS_H
#define ST_BACKENDS_H

#include <stdbool.h>
#include <stdint.h>

struct st_backend {
    const char *name; /* "Vulkan" */
    char soname[48];  /* of the first of its libraries that was mapped */
};

/* An object of this soname was mapped: the hook st_watch_hooks.on_object. Noted once for each back-end. */
void st_backend_note(const char *soname);
/* The n-th back-end ever mapped, as of the last scan; false at the end. Any thread. */
bool st_backend_get(uint32_t n, struct st_backend *ret);

#endif
