/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel handles and host stubs, kept so that a second handle can be named like the first
 * (cuKernelGetFunction, cudaGetKernel) and that names registered before the trace began are not lost.
 *
 * A table that only grows, in memory that is touched only when a name is kept: entries are claimed with
 * one atomic add and published by their key. Off the launch path; plain C, no malloc, no lock.
 */
#include <stdatomic.h>
#include <string.h>

#include "place.h"

enum { MAX_NAMES = 8192, TEXT_BYTES = 1 << 20, BUCKETS = 16384 };

struct kept_name {
    uint64_t key;
    uint32_t text;        /* offset in texts */
    _Atomic uint8_t kind; /* enum st_name_kind; set last */
};

static struct kept_name names[MAX_NAMES];
static char texts[TEXT_BYTES];
static _Atomic uint32_t buckets[BUCKETS]; /* name + 1; open addressing; the newest of a key is found last */
static _Atomic uint32_t name_count, text_bytes;

static uint32_t bucket_of(uint64_t key)
{
    return (uint32_t)((key * 0x9E3779B97F4A7C15ull) >> 50) % BUCKETS;
}

static const char *find(uint64_t key)
{
    const char *text = NULL;
    uint32_t at = bucket_of(key);
    for (int i = 0; i < BUCKETS; i++, at = (at + 1) % BUCKETS) {
        uint32_t name = atomic_load_explicit(&buckets[at], memory_order_acquire);
        if (!name) {
            break;
        }
        if (names[name - 1].key == key) {
            text = texts + names[name - 1].text;
        }
    }
    return text;
}

/* Full: the name is still told to the trace by the caller, it only can not be found again. */
static void keep(uint8_t kind, uint64_t key, const char *text)
{
    const char *known = find(key);
    if (known && strcmp(known, text) == 0) {
        return;
    }
    size_t bytes = strlen(text) + 1;
    uint32_t name = atomic_load_explicit(&name_count, memory_order_relaxed);
    if (bytes > TEXT_BYTES / 64 || name >= MAX_NAMES ||
        atomic_load_explicit(&text_bytes, memory_order_relaxed) > TEXT_BYTES - bytes) {
        return;
    }
    name = atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
    uint32_t at = atomic_fetch_add_explicit(&text_bytes, (uint32_t)bytes, memory_order_relaxed);
    if (name >= MAX_NAMES || at > TEXT_BYTES - bytes) {
        return; /* other threads were faster */
    }
    memcpy(texts + at, text, bytes);
    names[name].key = key;
    names[name].text = at;
    atomic_store_explicit(&names[name].kind, kind, memory_order_release); /* pairs with st_call_early_name() */
    for (uint32_t bucket = bucket_of(key);; bucket = (bucket + 1) % BUCKETS) {
        uint32_t empty = 0;
        if (atomic_compare_exchange_strong_explicit(&buckets[bucket], &empty, name + 1, memory_order_release,
                                                    memory_order_relaxed)) {
            return; /* pairs with the acquire in find() */
        }
    }
}

bool st_call_name(const struct st_call_row *row, const uint64_t *frame, int result, uint64_t *ret_key,
                  const char **ret_text)
{
    if (result != 0) {
        return false;
    }
    uint64_t key = st_call_place(row->key, frame, true);
    const char *text = row->alias ? find(st_call_place(row->alias, frame, true))
                                  : (const char *)st_call_place(row->text, frame, true);
    if (!key || !text) {
        return false;
    }
    keep(row->names, key, text);
    *ret_key = key;
    *ret_text = text;
    return true;
}

bool st_call_early_name(uint32_t n, int *ret_kind, uint64_t *ret_key, const char **ret_text)
{
    if (n >= MAX_NAMES) {
        return false;
    }
    *ret_kind = atomic_load_explicit(&names[n].kind, memory_order_acquire);
    *ret_key = names[n].key;
    *ret_text = texts + names[n].text;
    return *ret_kind != 0;
}
