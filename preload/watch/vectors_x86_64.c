/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much st_watch_call_saved() (thunk_x86_64.S) has to save. Runs where vector registers are live: compiled
 * for general registers only.
 */
#include <cpuid.h>

#include "watch_private.h"

/* Asked of the processor when it is first needed: in a virtual machine that takes 100 µs. */
uint64_t st_watch_vector_bytes(void)
{
    enum { LEAF_XSAVE = 0xd, COMPONENTS = 0xe7, LEGACY_AND_HEADER = 576, OSXSAVE = 1 << 27, KNOWN = 1 };
    static _Atomic uint64_t known; /* size + KNOWN */
    uint64_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
    if (bytes) {
        return bytes - KNOWN;
    }
    uint32_t size, offset, c, d, features;
    if (__get_cpuid(1, &size, &offset, &features, &d) && (features & OSXSAVE)) {
        bytes = LEGACY_AND_HEADER;
        for (uint32_t component = 2; component < 8; component++) {
            if ((COMPONENTS >> component & 1) &&
                __get_cpuid_count(LEAF_XSAVE, component, &size, &offset, &c, &d) && size && offset + size > bytes) {
                bytes = offset + size;
            }
        }
    }
    atomic_store_explicit(&known, bytes + KNOWN, memory_order_relaxed);
    return bytes;
}
