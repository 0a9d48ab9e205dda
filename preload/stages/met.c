/* SPDX-License-Identifier: Apache-2.0 */
/* A table that only grows; see met.h. */
#include "met.h"

#include <stdatomic.h>

#include "config/cxx_name.h"
#include "hidden.h"
#include "seen.h"
#include "symbol_file.h"

#define PLACES 8192
#define MAX_STEPS 64

static struct met {
    _Atomic uintptr_t address; /* 0: free */
    _Atomic uint64_t count;
} met[PLACES];

void st_met_note(uintptr_t address)
{
    uint32_t at = (uint32_t)((address * 0x9E3779B97F4A7C15ull) >> 48) % PLACES;

    for (uint32_t step = 0; step < MAX_STEPS; step++, at = (at + 1) % PLACES) {
        uintptr_t found = atomic_load_explicit(&met[at].address, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(&met[at].address, &found, address)) found = address;
        if (found != address) continue;
        atomic_fetch_add_explicit(&met[at].count, 1, memory_order_relaxed);
        return;
    }
}

/* ---- names ---- */

/* Those of one object, sorted, relative to its base. */
struct addresses {
    uint32_t count;
    struct {
        uint64_t value, count;
    } of[PLACES];
};

static void gather(struct addresses *ret, uintptr_t base, uintptr_t end)
{
    ret->count = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        uintptr_t address = atomic_load_explicit(&met[i].address, memory_order_relaxed);
        if (address <= base || address > end) continue;
        uint32_t at = ret->count++;
        uint64_t value = address - 1 - base; /* behind a call: the call itself */
        for (; at > 0 && ret->of[at - 1].value > value; at--) ret->of[at] = ret->of[at - 1];
        ret->of[at].value = value;
        ret->of[at].count = atomic_load_explicit(&met[i].count, memory_order_relaxed);
    }
}

static void note_function(void *context, const char *name, uint64_t value, uint64_t size)
{
    struct addresses *addresses = context;
    uint32_t low = 0, high = addresses->count;
    uint64_t count = 0;
    char plain[ST_CXX_NAME_BYTES];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (addresses->of[middle].value < value) low = middle + 1;
        else high = middle;
    }
    for (; low < addresses->count && addresses->of[low].value < value + size; low++) {
        count += addresses->of[low].count;
        addresses->of[low].count = 0; /* a second name of the function tells nothing new */
    }
    if (count > 0) st_seen_add(ST_MAP_SYMBOL, st_cxx_name(name, plain, sizeof(plain)) ? plain : name, count);
}

void st_met_tell(void)
{
    static struct addresses addresses;
    struct st_hidden_object object;

    for (uint32_t n = 0; st_hidden_object(n, &object); n++) {
        if (object.is_ours) continue;
        gather(&addresses, object.base, object.end);
        if (addresses.count > 0)
            st_symbol_file_read(object.path, object.headers_hash, true, note_function, &addresses);
    }
}
