/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that only grows: a place is taken by its hash, filled, and then announced in the list of places. A name has
 * one place: whoever loses the race for it finds it taken by the same hash. Half of the places stay free, so that a
 * search is short when there is no room for more names, too.
 */
#include "seen.h"

#include <stdatomic.h>

enum { PLACES = 2 * ST_SEEN_NAMES };

static struct seen {
    _Atomic uint64_t hash; /* 0: free */
    _Atomic uint64_t count;
    uint32_t source; /* enum st_map_source */
    char text[ST_SEEN_NAME_BYTES];
} seen[PLACES];
static _Atomic uint32_t order[ST_SEEN_NAMES]; /* places + 1, first met first; release, pairs with st_seen_get */
static _Atomic uint32_t order_count;
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

uint32_t st_seen_place(enum st_map_source source, const char *text)
{
    uint64_t hash = hash_of(source, text);
    for (uint32_t step = 0; step < PLACES; step++) {
        uint32_t place = (uint32_t)(((hash >> 32) + step) % PLACES);
        struct seen *at = &seen[place];
        uint64_t found = atomic_load_explicit(&at->hash, memory_order_relaxed);
        if (found == 0 && atomic_load_explicit(&order_count, memory_order_relaxed) >= ST_SEEN_NAMES) {
            return 0;
        }
        if (found == 0 && atomic_compare_exchange_strong(&at->hash, &found, hash)) {
            for (uint32_t i = 0; text[i] && i < ST_SEEN_NAME_BYTES - 1; i++) {
                at->text[i] = text[i]; /* the rest is zero from the start */
            }
            at->source = source;
            uint32_t n = atomic_fetch_add_explicit(&order_count, 1, memory_order_relaxed);
            found = hash;
            if (n < ST_SEEN_NAMES) { /* else others came first; it stays untold */
                atomic_store_explicit(&order[n], place + 1, memory_order_release);
            }
        }
        if (found == hash) {
            return place + 1;
        }
    }
    return 0;
}

static void count_more(uint32_t place, uint64_t more)
{
    atomic_fetch_add_explicit(place ? &seen[place - 1].count : &untold, more, memory_order_relaxed);
}

void st_seen_count(uint32_t place)
{
    count_more(place, 1);
}

void st_seen_add(enum st_map_source source, const char *text, uint64_t count)
{
    count_more(st_seen_place(source, text), count);
}

void st_seen_note(enum st_map_source source, const char *text)
{
    st_seen_count(st_seen_place(source, text));
}

void st_seen_fork_child(void)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        atomic_store_explicit(&seen[i].count, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&untold, 0, memory_order_relaxed);
}

bool st_seen_get(uint32_t n, enum st_map_source *ret_source, uint64_t *ret_count, const char **ret_text)
{
    uint32_t place = n < ST_SEEN_NAMES ? atomic_load_explicit(&order[n], memory_order_acquire) : 0;
    if (place == 0) {
        return false;
    }
    *ret_source = seen[place - 1].source;
    *ret_count = atomic_load_explicit(&seen[place - 1].count, memory_order_relaxed);
    *ret_text = seen[place - 1].text;
    return true;
}

uint64_t st_seen_untold(void)
{
    return atomic_load_explicit(&untold, memory_order_relaxed);
}
