/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libc that callers shall reach through ours; see watch.h. Unlike providers libc is there from the start
 * and stays: one pass is final. Before glibc 2.34 libpthread has functions of the same names (write, close …), which
 * are redirected to the same ones of ours. The pass runs inside a dl_iterate_phdr callback: objects stay mapped.
 */
#include <string.h>

#include "watch_private.h"

enum { MAX_REDIRECTS = 96 };

/* Who is visited at present, and what is known so far. */
struct redirect_pass {
    const struct st_watch_redirect *list, *words;
    uint32_t count;
    uintptr_t libc[MAX_REDIRECTS], pthread[MAX_REDIRECTS]; /* addresses of the functions; 0 = not there */
    uintptr_t lowest, highest;                             /* of these addresses */
    uintptr_t word;
    const struct link_map *own;
    struct st_watch_redirected *done;
};

struct visited {
    const struct dl_phdr_info *info;
    struct st_elf elf;
    struct st_patch patch;
    uintptr_t dynamic;
};

static bool visit(const struct dl_phdr_info *info, struct visited *ret)
{
    *ret = (struct visited){.info = info};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            ret->dynamic = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        }
    }
    return ret->dynamic && st_elf_read(&ret->elf, info->dlpi_addr, (const ElfW(Dyn) *)ret->dynamic);
}

static bool is_named(const struct visited *object, const char *prefix)
{
    return object->elf.soname && strncmp(object->elf.soname, prefix, strlen(prefix)) == 0;
}

static bool has_functions(const struct visited *object)
{
    return is_named(object, "libc.so") || is_named(object, "libpthread.so");
}

/* ---- where the functions are ---- */

static int find_functions(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct redirect_pass *pass = arg;
    struct visited object;
    if (!visit(info, &object) || !has_functions(&object)) {
        return 0;
    }
    bool is_libc = is_named(&object, "libc.so");
    for (uint32_t i = 0; i < pass->count; i++) {
        uintptr_t address = st_elf_function(&object.elf, pass->list[i].name);
        (is_libc ? pass->libc : pass->pthread)[i] = address;
        if (address && is_libc && pass->list[i].real) {
            *pass->list[i].real = (void *)address;
        }
        if (address && pass->list[i].ours) {
            pass->lowest = !pass->lowest || address < pass->lowest ? address : pass->lowest;
            pass->highest = address > pass->highest ? address : pass->highest;
        }
    }
    if (is_libc && pass->words) {
        pass->word = st_elf_function(&object.elf, pass->words->name);
        if (pass->word && pass->words->real) {
            *pass->words->real = (void *)pass->word;
        }
    }
    return 0;
}

/* What leads to ours instead of `address`, or NULL. Not a function that only libpthread has: there is no real one. */
static const void *replacement(const struct redirect_pass *pass, uintptr_t address)
{
    if (address < pass->lowest || address > pass->highest) {
        return NULL;
    }
    for (uint32_t i = 0; i < pass->count; i++) {
        if (pass->list[i].ours && pass->libc[i] && (pass->libc[i] == address || pass->pthread[i] == address)) {
            return pass->list[i].ours;
        }
    }
    return NULL;
}

static void note(bool is_done, uint32_t *written, struct st_watch_redirected *done)
{
    ++*(is_done ? written : &done->refused);
}

/* ---- symbols, words and slots ---- */

/* By address: write and __write, puts and _IO_puts are one function. */
static void edit_symbols(const struct redirect_pass *pass, struct visited *object)
{
    uint32_t symbols = st_elf_symbol_count(&object->elf);
    for (uint32_t i = 1; i < symbols; i++) {
        const ElfW(Sym) *symbol = &object->elf.symbols[i];
        const void *with = st_elf_is_defined_function(symbol)
                               ? replacement(pass, object->elf.base + symbol->st_value)
                               : NULL;
        if (with) {
            note(st_patch_symbol(&object->patch, symbol, with), &pass->done->symbols, pass->done);
        }
    }
}

static void edit_words(const struct redirect_pass *pass, struct visited *object)
{
    const struct dl_phdr_info *info = object->info;
    for (size_t i = 0; pass->word && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_GNU_RELRO) {
            continue;
        }
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, end = begin + info->dlpi_phdr[i].p_memsz;
        begin = (begin + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
        for (uintptr_t at = begin; at + sizeof(void *) <= end; at += sizeof(void *)) {
            if (*(uintptr_t *)at == pass->word) {
                note(st_patch_slot(&object->patch, (void **)at, pass->words->ours), &pass->done->words, pass->done);
            }
        }
    }
}

struct slot_edit {
    const struct redirect_pass *pass;
    struct visited *object;
};

static void edit_slot(void *arg, const ElfW(Rela) *relocation)
{
    const struct slot_edit *edit = arg;
    if (!st_elf_is_slot(relocation)) {
        return;
    }
    void **slot = (void **)(edit->object->elf.base + relocation->r_offset);
    const void *with = replacement(edit->pass, (uintptr_t)__atomic_load_n(slot, __ATOMIC_ACQUIRE));
    if (with) {
        note(st_patch_slot(&edit->object->patch, slot, with), &edit->pass->done->slots, edit->pass->done);
    }
}

static int edit_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct redirect_pass *pass = arg;
    struct visited object;
    if (!visit(info, &object) || object.dynamic == (uintptr_t)pass->own->l_ld || is_named(&object, "ld-linux") ||
        is_named(&object, "linux-vdso")) {
        return 0;
    }
    st_patch_begin(&object.patch, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
    if (has_functions(&object)) {
        edit_symbols(pass, &object);
        if (is_named(&object, "libc.so")) {
            edit_words(pass, &object);
        }
    } else {
        st_elf_each_relocation(&object.elf, edit_slot, &(struct slot_edit){pass, &object});
    }
    st_patch_end(&object.patch);
    return 0;
}

static void redirect(void *arg)
{
    dl_iterate_phdr(find_functions, arg);
    dl_iterate_phdr(edit_object, arg);
}

void st_watch_redirect(const struct st_watch_redirect *list, uint32_t count, const struct st_watch_redirect *words,
                       struct st_watch_redirected *ret)
{
    struct redirect_pass pass = {.list = list, .words = words, .count = count, .own = st_watch_own_map(), .done = ret};
    *ret = (struct st_watch_redirected){0};
    if (pass.own && count <= MAX_REDIRECTS) {
        st_watch_locked(redirect, &pass);
    }
}
