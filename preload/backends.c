/* SPDX-License-Identifier: Apache-2.0 */
/* See backends.h. */
#include "backends.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "config/surroundings.h"

enum { MAX_BACKENDS = 8 };

static struct st_backend backends[MAX_BACKENDS];
static _Atomic uint32_t backend_count;

void st_backend_note(const char *soname)
{
    const char *name = st_backend_of(soname);
    uint32_t count = atomic_load_explicit(&backend_count, memory_order_relaxed); /* one writer: the loader's lock */
    for (uint32_t i = 0; name && i < count; i++) {
        if (strcmp(backends[i].name, name) == 0) {
            return;
        }
    }
    if (name && count < MAX_BACKENDS) {
        backends[count].name = name;
        snprintf(backends[count].soname, sizeof(backends[count].soname), "%s", soname);
        atomic_store_explicit(&backend_count, count + 1, memory_order_release); /* pairs with the getter */
    }
}

bool st_backend_get(uint32_t n, struct st_backend *ret)
{
    if (n >= atomic_load_explicit(&backend_count, memory_order_acquire)) {
        return false;
    }
    *ret = backends[n];
    return true;
}
