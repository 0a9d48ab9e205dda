/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots (GOT and data words) that the loader filled before a symbol table was edited. One pass, when a
 * provider or a stage library is new; libraries that import nothing of ours never have their relocations read.
 * Runs inside dl_iterate_phdr callbacks (objects.c).
 */
#include <stdio.h>
#include <string.h>

#include "objects.h"

/* Does the object import one of the watched calls? If not, its relocations are never read. */
static bool imports_calls(const struct st_elf *elf)
{
    uint32_t first_hashed = st_elf_first_hashed(elf);
    for (uint32_t i = 1; i < first_hashed; i++) {
        if (elf->symbols[i].st_shndx == SHN_UNDEF && st_call_find(st_elf_name(elf, i)) >= 0) {
            return true;
        }
    }
    for (uint16_t call = 0; elf->gnu_hash && call < st_call_count; call++) {
        uint32_t symbol = st_elf_find(elf, st_calls[call].name);
        if (symbol && elf->symbols[symbol].st_shndx == SHN_UNDEF) {
            return true;
        }
    }
    return false;
}

/* Data of a library that the program refers to directly was copied into the program: with it, pointers. */
static bool has_copies(const struct object *object, const struct st_elf *elf)
{
    bool is_program = object->name && object->name[0] == '\0';
    for (size_t i = elf->relative_count; is_program && i < elf->relocation_count; i++) {
        if (ELF64_R_TYPE(elf->relocations[i].r_info) == ST_RELOC_COPY) {
            return true;
        }
    }
    return false;
}

/* What a slot that holds `value` should hold instead, or NULL. A call is rebound only where it is imported:
 * programs have data symbols of the same names. */
static void *replacement(const struct st_elf *elf, uint32_t symbol, void *value)
{
    struct st_watch_target *target = st_target_find(value);
    if (!target || (target->kind == ST_TARGET_CALL && elf->symbols[symbol].st_shndx != SHN_UNDEF)) {
        return NULL;
    }
    return st_target_thunk(target);
}

/* dlsym or dlopen of libc, bound past us by RTLD_DEEPBIND (or about to be: a lazy slot). */
static void *dl_replacement(const struct object *object, const struct st_elf *elf, uint32_t symbol, void *value)
{
    if (elf->symbols[symbol].st_shndx != SHN_UNDEF) {
        return NULL;
    }
    const char *name = st_elf_name(elf, symbol);
    bool is_dlsym = strcmp(name, "dlsym") == 0;
    if (!is_dlsym && strcmp(name, "dlopen") != 0) {
        return NULL;
    }
    void *real = is_dlsym ? (void *)st_watch_next_dlsym : (void *)st_watch_next_dlopen;
    bool is_lazy = object_contains(object, (uintptr_t)value);
    return (real && value == real) || is_lazy ? (is_dlsym ? (void *)dlsym : (void *)dlopen) : NULL;
}

/*
 * An object that came in the same dlopen as the CUDA library that it is bound to: its constructors have run
 * already. What they called was not seen.
 */
static char first_bound_before[256];

static void note_bound_before(const struct object *object)
{
    if (atomic_load_explicit(&st_watch.bound_before, memory_order_relaxed) == 0) {
        snprintf(first_bound_before, sizeof(first_bound_before), "%s", object->name);
    }
    atomic_fetch_add_explicit(&st_watch.bound_before, 1, memory_order_release); /* pairs with the getter */
}

const char *st_watch_first_bound_before(void)
{
    return atomic_load_explicit(&st_watch.bound_before, memory_order_acquire) ? first_bound_before : "";
}

struct slot_pass {
    struct object *object;
    struct st_elf elf;
    struct st_patch patch;
    uintptr_t object_bytes;
    bool want_targets, want_dl;
    bool is_unrelocated;
    bool has_calls; /* a call's slot held the real address */
};

/* Copied data: each word that is the address of a watched function. */
static void visit_copy(struct slot_pass *pass, const ElfW(Rela) *relocation)
{
    uintptr_t size = pass->elf.symbols[ELF64_R_SYM(relocation->r_info)].st_size;
    uintptr_t begin = (pass->elf.base + relocation->r_offset + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    uintptr_t end = pass->elf.base + relocation->r_offset + size;
    if (!object_contains(pass->object, begin) || size > pass->object_bytes || !object_contains(pass->object, end - 1)) {
        return;
    }
    for (uintptr_t at = begin; at + sizeof(void *) <= end; at += sizeof(void *)) {
        void **slot = (void **)at;
        struct st_watch_target *target = st_target_find(__atomic_load_n(slot, __ATOMIC_ACQUIRE));
        if (target) {
            st_patch_slot(&pass->patch, slot, st_target_thunk(target));
        }
    }
}

static void visit(void *arg, const ElfW(Rela) *relocation)
{
    struct slot_pass *pass = arg;
    uint32_t type = ELF64_R_TYPE(relocation->r_info), symbol = ELF64_R_SYM(relocation->r_info);
    if (type == ST_RELOC_COPY && pass->want_targets) {
        visit_copy(pass, relocation);
    }
    if (!st_elf_is_slot(relocation)) {
        return;
    }
    void **slot = (void **)(pass->elf.base + relocation->r_offset);
    void *value = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *with = NULL;
    if (pass->elf.base && (uintptr_t)value < pass->object_bytes) {
        /* Not yet an address: the loader will bind it – by the edited symbols, unless it has looked
         * them up already. So come again. 0 is a weak reference that stays unbound. */
        pass->is_unrelocated |= value != NULL && type == ST_RELOC_JUMP_SLOT;
        return;
    }
    if (pass->want_targets) {
        with = replacement(&pass->elf, symbol, value);
        pass->has_calls |= with && st_target_of_thunk(with)->kind == ST_TARGET_CALL;
    }
    if (!with && pass->want_dl) {
        with = dl_replacement(pass->object, &pass->elf, symbol, value);
    }
    if (with) {
        st_patch_slot(&pass->patch, slot, with);
    }
}

bool object_rewrite_slots(struct object *object, struct found found, bool want_dl)
{
    struct slot_pass pass = {.object = object, .want_dl = want_dl && !object->has_dl_slots_done};
    pass.want_targets = found.stages && (object->owns_stages || object->imports_stages);
    if (!pass.want_targets && !pass.want_dl && !found.calls && !found.stages) {
        return false;
    }
    if (object_is_system(object) || !st_elf_read(&pass.elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
        return false;
    }
    pass.want_targets = pass.want_targets || (found.calls && imports_calls(&pass.elf)) ||
                        has_copies(object, &pass.elf);
    if (!pass.want_targets && !pass.want_dl) {
        return false;
    }
    pass.object_bytes = object_end(object) - object->base;
    st_patch_begin(&pass.patch, object->base, object->headers, object->header_count);
    st_elf_each_relocation(&pass.elf, visit, &pass);
    st_patch_end(&pass.patch);
    if (object->is_fresh && pass.has_calls) {
        note_bound_before(object);
    }
    object->is_fresh = false;
    object->has_dl_slots_done |= pass.want_dl && !pass.is_unrelocated;
    return pass.is_unrelocated;
}
