/* SPDX-License-Identifier: Apache-2.0 */
/* The hash tables of ELF objects (DT_GNU_HASH, else DT_HASH); see elf.h. */
#include "elf.h"

/* The loader turns these values into addresses in memory, except for the vDSO. */
static const void *address_in(uintptr_t base, ElfW(Addr) value)
{
    return (const void *)(value < base ? value + base : value);
}

bool st_elf_read(struct st_elf *elf, uintptr_t base, const ElfW(Dyn) *dynamic)
{
    size_t soname = 0;
    *elf = (struct st_elf){.base = 0};
    elf->base = base;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        ElfW(Addr) value = dynamic->d_un.d_ptr;
        switch (dynamic->d_tag) {
        case DT_STRTAB: elf->strings = address_in(base, value); break;
        case DT_SYMTAB: elf->symbols = address_in(base, value); break;
        case DT_GNU_HASH: elf->gnu_hash = address_in(base, value); break;
        case DT_HASH: elf->sysv_hash = address_in(base, value); break;
        case DT_JMPREL: elf->jump_slots = address_in(base, value); break;
        case DT_PLTRELSZ: elf->jump_slot_count = value / sizeof(ElfW(Rela)); break;
        case DT_RELA: elf->relocations = address_in(base, value); break;
        case DT_RELASZ: elf->relocation_count = value / sizeof(ElfW(Rela)); break;
        case DT_RELACOUNT: elf->relative_count = value; break;
        case DT_SONAME: soname = value; break;
        default: break;
        }
    }
    if (!elf->jump_slots) {
        elf->jump_slot_count = 0;
    }
    if (!elf->relocations) {
        elf->relocation_count = 0;
    }
    if (soname && elf->strings) {
        elf->soname = elf->strings + soname;
    }
    return elf->strings && elf->symbols;
}

/* No strcmp(): a sanitizer that is looking for the real functions by way of our dlsym() has its own one, which does
 * not work yet. Nothing in this file may call out. */
static bool is_named(const struct st_elf *elf, uint32_t symbol, const char *name)
{
    const char *other = st_elf_name(elf, symbol);
    while (*name && *name == *other) {
        name++;
        other++;
    }
    return *name == *other;
}

/* Layout: bucket count, first hashed symbol, bloom words, bloom shift; bloom; buckets; chains. */
static uint32_t find_gnu(const struct st_elf *elf, const char *name)
{
    const uint32_t *table = elf->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], bloom_count = table[2], shift = table[3];
    const uint64_t *bloom = (const uint64_t *)(const void *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(bloom + bloom_count), *chains = buckets + bucket_count;
    if (bucket_count == 0 || bloom_count == 0) {
        return 0;
    }
    uint32_t hash = 5381;
    for (const char *c = name; *c; c++) {
        hash = hash * 33 + (uint8_t)*c;
    }
    uint64_t word = bloom[hash / 64 % bloom_count];
    if (!(word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1)) {
        return 0;
    }
    uint32_t symbol = buckets[hash % bucket_count];
    if (symbol < first) {
        return 0;
    }
    for (;; symbol++) {
        uint32_t chain = chains[symbol - first]; /* low bit: end of the chain */
        if ((chain | 1) == (hash | 1) && is_named(elf, symbol, name)) {
            return symbol;
        }
        if (chain & 1) {
            return 0;
        }
    }
}

/* Layout: bucket count, chain count, buckets, chains. */
static uint32_t find_sysv(const struct st_elf *elf, const char *name)
{
    const uint32_t *table = elf->sysv_hash;
    uint32_t bucket_count = table[0], hash = 0;
    const uint32_t *buckets = table + 2, *chains = buckets + bucket_count;
    if (bucket_count == 0) {
        return 0;
    }
    for (const char *c = name; *c; c++) {
        hash = (hash << 4) + (uint8_t)*c;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    for (uint32_t symbol = buckets[hash % bucket_count]; symbol; symbol = chains[symbol]) {
        if (is_named(elf, symbol, name)) {
            return symbol;
        }
    }
    return 0;
}

uint32_t st_elf_find(const struct st_elf *elf, const char *name)
{
    return elf->gnu_hash ? find_gnu(elf, name) : elf->sysv_hash ? find_sysv(elf, name) : 0;
}

uintptr_t st_elf_function(const struct st_elf *elf, const char *name)
{
    uint32_t symbol = st_elf_find(elf, name);
    return symbol && st_elf_is_defined_function(&elf->symbols[symbol]) ? elf->base + elf->symbols[symbol].st_value : 0;
}

/* The highest symbol that a relocation uses, plus 1. */
static uint32_t count_used(const ElfW(Rela) *relocations, size_t count, uint32_t so_far)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = ELF64_R_SYM(relocations[i].r_info);
        so_far = symbol >= so_far ? symbol + 1 : so_far;
    }
    return so_far;
}

/* The GNU table holds no count: the chain of the highest bucket ends with the last symbol. Where nothing is
 * hashed (a program that exports nothing) the linker does not even tell where imports end. */
static uint32_t count_gnu(const struct st_elf *elf)
{
    const uint32_t *table = elf->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], bloom_count = table[2], last = 0;
    const uint32_t *buckets = table + 4 + 2 * bloom_count, *chains = buckets + bucket_count;
    for (uint32_t i = 0; i < bucket_count; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    if (last == 0) {
        return count_used(elf->relocations, elf->relocation_count,
                          count_used(elf->jump_slots, elf->jump_slot_count, first));
    }
    while (!(chains[last - first] & 1)) {
        last++;
    }
    return last + 1;
}

void st_elf_each_relocation(const struct st_elf *elf, void (*each)(void *, const ElfW(Rela) *), void *context)
{
    for (size_t i = 0; i < elf->jump_slot_count; i++) {
        each(context, &elf->jump_slots[i]);
    }
    for (size_t i = elf->relative_count; i < elf->relocation_count; i++) {
        each(context, &elf->relocations[i]);
    }
}

uint32_t st_elf_symbol_count(const struct st_elf *elf)
{
    return elf->sysv_hash ? elf->sysv_hash[1] : elf->gnu_hash ? count_gnu(elf) : 0;
}

uint32_t st_elf_first_hashed(const struct st_elf *elf)
{
    uint32_t count = st_elf_symbol_count(elf);
    return elf->gnu_hash && elf->gnu_hash[1] > 1 && elf->gnu_hash[1] < count ? elf->gnu_hash[1] : count;
}
