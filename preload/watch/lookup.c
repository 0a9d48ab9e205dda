/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers handed out by cuGetProcAddress, cudaGetDriverEntryPoint and kin. Judged by address first: that
 * is exact. An address that is no export of a provider is judged by the name and version that were asked
 * for, where the table is certain of the variant; what remains passes through and is listed once.
 *
 * Runs after the real look-up returned, on its thread, as plain C.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "watch_private.h"

enum { MAX_MISSES = 64 };

static struct st_watch_miss misses[MAX_MISSES];
static _Atomic uint32_t miss_count;

struct unknown_pointer {
    void *address;
    const char *symbol;
    const void *caller;
    uint64_t flags;
    int version;
    int call; /* row, or -1 */
    uint32_t owner;
    struct st_watch_target *target;
};

/* Names that no row has are many and harmless, but not those of the families whose calls are operations. */
static bool is_watched_family(const char *symbol)
{
    static const char *const FAMILIES[] = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
    for (size_t i = 0; i < sizeof(FAMILIES) / sizeof(FAMILIES[0]); i++) {
        if (strncmp(symbol, FAMILIES[i], strlen(FAMILIES[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Inside the lock. */
static void note_miss(const struct unknown_pointer *pointer)
{
    uint32_t count = atomic_load_explicit(&miss_count, memory_order_relaxed), owner;
    const char *caller = NULL;
    st_objects_find(pointer->caller, &owner, &caller);
    caller = !caller ? "(unknown)" : caller[0] ? caller : "(program)";
    struct st_watch_miss miss = {.version = pointer->version, .flags = pointer->flags};
    snprintf(miss.symbol, sizeof(miss.symbol), "%s", pointer->symbol);
    snprintf(miss.caller, sizeof(miss.caller), "%s", caller);
    for (uint32_t i = 0; i < count; i++) {
        if (misses[i].version == miss.version && misses[i].flags == miss.flags &&
            strcmp(misses[i].symbol, miss.symbol) == 0 && strcmp(misses[i].caller, miss.caller) == 0) {
            return;
        }
    }
    if (count < MAX_MISSES) {
        misses[count] = miss;
        atomic_store_explicit(&miss_count, count + 1, memory_order_release); /* pairs with st_watch_get_miss() */
    }
}

static void adopt(void *arg)
{
    struct unknown_pointer *pointer = arg;
    if (pointer->call >= 0) {
        const char *name;
        st_objects_find(pointer->address, &pointer->owner, &name); /* else it goes with the look-up's provider */
        pointer->target = st_target_add_call(pointer->address, (uint16_t)pointer->call, pointer->owner);
    }
    if (!pointer->target) {
        note_miss(pointer);
    }
}

static void *thunk_for(struct unknown_pointer *pointer)
{
    if (st_target_of_thunk(pointer->address)) {
        return pointer->address;
    }
    struct st_watch_target *target = st_target_find(pointer->address);
    if (!target && (st_call_find(pointer->symbol) >= 0 || is_watched_family(pointer->symbol))) {
        pointer->call = st_call_find_version(pointer->symbol, pointer->version, pointer->flags);
        st_watch_locked(adopt, pointer);
        target = pointer->target;
    }
    return target ? st_target_thunk(target) : NULL;
}

void st_watch_after_lookup(const struct st_watch_target *target, const uint64_t *frame, int result, bool is_inner)
{
    int saved_errno = errno;
    void **place = (void **)frame[1];
    struct unknown_pointer pointer = {.caller = (const void *)frame[ST_CALL_FRAME_RETURN], .owner = target->owner};
    st_call_asked(target->row, frame, &pointer.symbol, &pointer.version, &pointer.flags);
    bool is_found = result == 0 && place && *place && pointer.symbol;
    void *thunk = NULL;
    if (is_found) {
        pointer.address = *place;
        thunk = thunk_for(&pointer);
        if (thunk) {
            *place = thunk;
        }
    }
    if (!is_inner) {
        st_watch_count(&st_watch.lookups_asked);
        st_watch_count(is_found ? &st_watch.lookups_found : &st_watch.lookups_not_found);
        if (is_found) {
            st_watch_count(thunk ? &st_watch.lookups_wrapped : &st_watch.lookups_passed);
        }
    }
    errno = saved_errno;
}

bool st_watch_get_miss(uint32_t n, struct st_watch_miss *ret)
{
    if (n >= atomic_load_explicit(&miss_count, memory_order_acquire)) {
        return false;
    }
    *ret = misses[n];
    return true;
}
