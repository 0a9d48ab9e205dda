/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing and sampling the trace clock; see clock.h. May run inside a thunk: no libc but getauxval, no vector
 * registers. CPUID is asked as late as possible: in a virtual machine it costs tens of microseconds.
 */
#include "clock.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "syscall.h"

static int gettime_by_syscall(clockid_t clock, struct timespec *ret_time)
{
    return (int)st_syscall6(SYS_clock_gettime, clock, (long)ret_time, 0, 0, 0, 0);
}

struct st_clock st_clock = {.is_tsc = false, .gettime = gettime_by_syscall};

static bool is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

#if defined(__aarch64__)
static const char VDSO_NAME[] = "__kernel_clock_gettime";
#else
static const char VDSO_NAME[] = "__vdso_clock_gettime";
#endif

/* Number of symbols by the GNU table, the only one of newer kernels on aarch64: the chain of the highest
 * bucket ends with the last symbol. Layout: bucket count, first hashed symbol, bloom words, shift; bloom; … */
static uint32_t count_symbols(const uint32_t *table)
{
    const uint32_t *buckets = table + 4 + 2 * table[2], *chains = buckets + table[0];
    uint32_t first = table[1], last = 0;
    for (uint32_t i = 0; i < table[0]; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last < first) {
        return 0;
    }
    while (!(chains[last - first] & 1)) {
        last++;
    }
    return last + 1;
}

/* The vDSO is a small ELF image; its symbol table is walked once. */
static st_clock_gettime_fn find_vdso_gettime(void)
{
    uintptr_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base) {
        return NULL;
    }
    const ElfW(Ehdr) *image = (const void *)base;
    const ElfW(Phdr) *segments = (const void *)(base + image->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t bias = 0;
    for (int i = 0; i < image->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) {
            bias = base - segments[i].p_vaddr;
        }
        if (segments[i].p_type == PT_DYNAMIC) {
            dynamic = (const void *)(base + segments[i].p_offset);
        }
    }
    const char *strings = NULL;
    const ElfW(Sym) *symbols = NULL;
    uint32_t count = 0;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = bias + dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_STRTAB) {
            strings = (const char *)address;
        } else if (dynamic->d_tag == DT_SYMTAB) {
            symbols = (const void *)address;
        } else if (dynamic->d_tag == DT_HASH) {
            count = ((const uint32_t *)address)[1];
        } else if (dynamic->d_tag == DT_GNU_HASH && count == 0) {
            count = count_symbols((const uint32_t *)address);
        }
    }
    for (uint32_t i = 0; strings && symbols && i < count; i++) {
        if (is_same(strings + symbols[i].st_name, VDSO_NAME)) {
            return (st_clock_gettime_fn)(bias + symbols[i].st_value);
        }
    }
    return NULL;
}

/* CPUID 8000_0007h EDX bit 8: the counter runs at one rate in all power states. Arm's architecture promises it. */
static bool has_invariant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

void st_clock_init(void)
{
    static atomic_bool is_done;
    if (atomic_load_explicit(&is_done, memory_order_acquire)) {
        return;
    }
    st_clock_gettime_fn vdso = find_vdso_gettime();
    if (vdso) {
        st_clock.gettime = vdso;
    }
    st_clock.is_tsc = has_invariant_counter();
    atomic_store_explicit(&is_done, true, memory_order_release);
}

void st_clock_read(uint64_t (*device_clock)(void), struct st_clock_sample *ret_sample)
{
    ret_sample->width_ticks = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        struct st_clock_sample sample = {.device_ns = 0};
        uint64_t before = st_ticks();
        sample.raw_ns = st_clock_ns(CLOCK_MONOTONIC_RAW);
        sample.monotonic_ns = st_clock_ns(CLOCK_MONOTONIC);
        if (device_clock) {
            sample.device_ns = device_clock();
        }
        sample.realtime_ns = st_clock_ns(CLOCK_REALTIME);
        uint64_t after = st_ticks();
        sample.width_ticks = after - before;
        sample.ticks = before + sample.width_ticks / 2;
        if (sample.width_ticks < ret_sample->width_ticks) {
            *ret_sample = sample;
        }
    }
}

uint64_t st_clock_rate(const struct st_clock_sample *first, const struct st_clock_sample *last)
{
    uint64_t ns = last->monotonic_ns - first->monotonic_ns;
    if (ns < 100000 || last->ticks <= first->ticks) {
        return 0;
    }
    return (uint64_t)((unsigned __int128)(last->ticks - first->ticks) * 1000000000u / ns);
}
