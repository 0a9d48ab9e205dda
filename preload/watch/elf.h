/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the dynamic section of an object that is mapped in this process: symbols by name or number, and
 * where its relocations are. Nothing is copied. No allocation, no dl*() call: usable inside
 * dl_iterate_phdr callbacks, before libc is initialised, and from any thread while the object stays mapped.
 */
#ifndef ST_WATCH_ELF_H
#define ST_WATCH_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"

struct st_elf {
    uintptr_t base;
    const char *strings;
    const ElfW(Sym) *symbols;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Rela) *jump_slots;
    size_t jump_slot_count;
    const ElfW(Rela) *relocations;
    size_t relocation_count;
    size_t relative_count; /* the first ones of `relocations`, without a symbol */
    const char *soname;    /* NULL = none */
};

/* False: no symbol table that could be read. */
bool st_elf_read(struct st_elf *elf, uintptr_t base, const ElfW(Dyn) *dynamic);

/* Index of the symbol `name` (defined here or, if the linker hashed it, imported), or 0. */
uint32_t st_elf_find(const struct st_elf *elf, const char *name);

/* Address of an exported function, or 0. */
uintptr_t st_elf_function(const struct st_elf *elf, const char *name);

/* Number of dynamic symbols (at least of those that relocations use), or 0 if it can not be told. */
uint32_t st_elf_symbol_count(const struct st_elf *elf);

/* Imported symbols have numbers below this one – except functions whose address is taken: the linker may
 * hash those, st_elf_find() finds them. */
uint32_t st_elf_first_hashed(const struct st_elf *elf);

/* Tell each() of every relocation but the relative ones, which name no symbol: those of the PLT first. */
void st_elf_each_relocation(const struct st_elf *elf, void (*each)(void *context, const ElfW(Rela) *relocation),
                            void *context);

/* Does it fill a place with the address of a symbol: a slot of the PLT or GOT, or a pointer in data? */
static inline bool st_elf_is_slot(const ElfW(Rela) *relocation)
{
    uint32_t type = ELF64_R_TYPE(relocation->r_info);
    return ELF64_R_SYM(relocation->r_info) != 0 &&
           (type == ST_RELOC_JUMP_SLOT || type == ST_RELOC_GLOB_DAT ||
            (type == ST_RELOC_ADDRESS && relocation->r_addend == 0));
}

static inline const char *st_elf_name(const struct st_elf *elf, uint32_t symbol)
{
    return elf->strings + elf->symbols[symbol].st_name;
}
static inline bool st_elf_is_defined_function(const ElfW(Sym) *symbol)
{
    return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value != 0 &&
           ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
           !st_arch_is_variant_call(symbol->st_other);
}

#endif
