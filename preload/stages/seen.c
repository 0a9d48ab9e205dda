/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that only grows: a place is taken by its hash, filled, and then announced by its source. Two threads may now
 * and then take two places for one name; the reader adds them up.
 */
#include "seen.h"

#include <stdatomic.h>

static struct seen {
    _Atomic uint64_t hash;  /* 0: free */
    _Atomic uint32_t source; /* enum st_map_source; 0: the text is not there yet */
    _Atomic uint64_t count;
    char text[ST_SEEN_NAME_BYTES];
} seen[ST_SEEN_NAMES];
static _Atomic uint64_t untold;

/* FNV-1a, never 0. */
static uint64_t hash_of(enum st_map_source source, const char *text)
{
    uint64_t hash = 14695981039346656037u ^ (uint64_t)source;
    for (uint32_t i = 0; text[i] && i < ST_SEEN_NAME_BYTES - 1; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    }
    return hash | 1;
}

void st_seen_note(enum st_map_source source, const char *text)
{
    uint64_t hash = hash_of(source, text);
    for (uint32_t step = 0; step < ST_SEEN_NAMES; step++) {
        struct seen *at = &seen[(hash + step) % ST_SEEN_NAMES];
        uint64_t found = atomic_load_explicit(&at->hash, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&at->hash, &found, hash)) {
            for (uint32_t i = 0; text[i] && i < ST_SEEN_NAME_BYTES - 1; i++) {
                at->text[i] = text[i]; /* the rest is zero from the start */
            }
            atomic_store_explicit(&at->source, source, memory_order_release);
            found = hash;
        }
        if (found == hash) {
            atomic_fetch_add_explicit(&at->count, 1, memory_order_relaxed);
            return;
        }
    }
    atomic_fetch_add_explicit(&untold, 1, memory_order_relaxed);
}

bool st_seen_get(uint32_t n, enum st_map_source *ret_source, uint64_t *ret_count, const char **ret_text)
{
    for (uint32_t i = 0; i < ST_SEEN_NAMES; i++) {
        uint32_t source = atomic_load_explicit(&seen[i].source, memory_order_acquire);
        if (source && n-- == 0) {
            *ret_source = source;
            *ret_count = atomic_load_explicit(&seen[i].count, memory_order_relaxed);
            *ret_text = seen[i].text;
            return true;
        }
    }
    return false;
}

uint64_t st_seen_untold(void)
{
    return atomic_load_explicit(&untold, memory_order_relaxed);
}
