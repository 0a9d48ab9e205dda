/* SPDX-License-Identifier: Apache-2.0 */
/* See spy_hooks.h. */
#include "spy_hooks.h"

#include <stddef.h>

#include "preload/trace/format.h"
#include "preload/watch/watch.h"

bool spy_clobber;
int spy_entered, spy_returned, spy_thrown, spy_abandoned;

uint64_t spy_stage_enter(uint16_t rule, uint32_t symbol)
{
    if (spy_clobber) {
        st_watch_call_saved(spy_destroy_vectors, NULL);
    }
    int number = __atomic_add_fetch(&spy_entered, 1, __ATOMIC_RELAXED);
    return rule == 7 ? (uint64_t)number : ST_WATCH_BYPASS;
}

void spy_stage_leave(uint64_t token, int how)
{
    int *counter = how == ST_END_RETURN ? &spy_returned : how == ST_END_THROWN ? &spy_thrown : &spy_abandoned;
    __atomic_add_fetch(counter, token != 0, __ATOMIC_RELAXED);
}
