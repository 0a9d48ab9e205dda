/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answering getenv() for objects that may hold a header-only library which looks for its tool by a variable (NVTX).
 * Such a library imports getenv, dlopen and dlsym: the getenv slots of objects that import all three lead to the
 * answering function, and the environment itself stays as it is – the program, its children and everything else that
 * asks see what they would see without us. Runs inside dl_iterate_phdr callbacks (objects.c).
 */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

static st_watch_getenv answer; /* set before the start, then constant */

void st_watch_set_getenv(st_watch_getenv fn)
{
    answer = fn;
}

static uint32_t bit_of(const char *name)
{
    static const char *const NAMES[] = {"getenv", "dlopen", "dlsym"};
    for (uint32_t i = 0; i < 3; i++) {
        if (strcmp(name, NAMES[i]) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

static bool may_ask(const struct st_elf *elf)
{
    uint32_t first_hashed = st_elf_first_hashed(elf), found = 0;
    for (uint32_t i = 1; i < first_hashed && found != 7; i++) {
        if (elf->symbols[i].st_shndx == SHN_UNDEF) {
            found |= bit_of(st_elf_name(elf, i));
        }
    }
    return found == 7;
}

/* What the slot holds: the real function, or, not bound yet, a place in the object itself. */
static bool leads_to_getenv(const struct object *object, void *value)
{
    return value == (void *)getenv || object_contains(object, (uintptr_t)value);
}

struct getenv_pass {
    const struct object *object;
    struct st_elf elf;
    struct st_patch patch;
    uintptr_t object_bytes;
    bool is_unrelocated;
};

static void visit(void *arg, const ElfW(Rela) *relocation)
{
    struct getenv_pass *pass = arg;
    uint32_t symbol = ELF64_R_SYM(relocation->r_info);
    if (!st_elf_is_slot(relocation) || ELF64_R_TYPE(relocation->r_info) == ST_RELOC_ADDRESS ||
        pass->elf.symbols[symbol].st_shndx != SHN_UNDEF || bit_of(st_elf_name(&pass->elf, symbol)) != 1) {
        return;
    }
    void **slot = (void **)(pass->elf.base + relocation->r_offset);
    void *value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (pass->elf.base && (uintptr_t)value < pass->object_bytes) {
        pass->is_unrelocated = true;
    } else if (leads_to_getenv(pass->object, value)) {
        st_patch_slot(&pass->patch, slot, (const void *)answer);
    }
}

bool object_answer_getenv(struct object *object)
{
    struct getenv_pass pass = {.object = object};
    if (!answer || object->has_getenv_done || object_is_system(object) ||
        !st_elf_read(&pass.elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
        return false;
    }
    if (may_ask(&pass.elf)) {
        pass.object_bytes = object_end(object) - object->base;
        st_patch_begin(&pass.patch, object->base, object->headers, object->header_count);
        st_elf_each_relocation(&pass.elf, visit, &pass);
        st_patch_end(&pass.patch);
    }
    object->has_getenv_done = !pass.is_unrelocated;
    return pass.is_unrelocated;
}
