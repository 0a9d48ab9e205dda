/* SPDX-License-Identifier: Apache-2.0 */
/* A list that only grows; see at_call.h. */
#include "at_call.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/watch/watch.h"

#define MAX_FUNCTIONS 4 /* one for each source that there is */

static _Atomic(st_at_call_fn) functions[MAX_FUNCTIONS];

static void before_call(struct st_thread *thread, const uint64_t *words)
{
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        st_at_call_fn fn = atomic_load_explicit(&functions[i], memory_order_relaxed);
        if (fn == NULL) return;
        fn(thread, words);
    }
}

void st_at_call(st_at_call_fn fn)
{
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        st_at_call_fn found = NULL;
        if (atomic_compare_exchange_strong(&functions[i], &found, fn)) break;
        if (found == fn) return;
    }
    st_watch_set_before_call(before_call);
}
