/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing into other objects' symbol tables and slots. A page that is not writable is made so, written and
 * given back. Inside a dl_iterate_phdr callback: the object stays mapped, but another thread may be
 * relocating it or running its code at this moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "watch_private.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(st_arch_page_bytes() - 1);
}

void st_patch_begin(struct st_patch *patch, uintptr_t base, const ElfW(Phdr) *headers, size_t header_count)
{
    memset(patch, 0, sizeof(*patch));
    patch->base = base;
    patch->headers = headers;
    patch->header_count = header_count;
    for (size_t i = 0; i < header_count; i++) {
        if (headers[i].p_type == PT_GNU_RELRO) {
            patch->relro_begin = page_of(base + headers[i].p_vaddr);
            patch->relro_end = page_of(base + headers[i].p_vaddr + headers[i].p_memsz);
        }
    }
}

static void close_page(struct st_patch *patch)
{
    if (patch->open_page) {
        mprotect((void *)patch->open_page, st_arch_page_bytes(), patch->open_protection);
        patch->open_page = 0;
    }
}

void st_patch_end(struct st_patch *patch)
{
    close_page(patch);
}

static bool open_page(struct st_patch *patch, uintptr_t page, int protection)
{
    close_page(patch);
    /* keep it executable meanwhile: a small object has code in the same page */
    if (mprotect((void *)page, st_arch_page_bytes(), protection | PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    patch->open_page = page;
    patch->open_protection = protection;
    return true;
}

/* What the page's segment asks for. */
static int segment_protection(const struct st_patch *patch, uintptr_t address)
{
    for (size_t i = 0; i < patch->header_count; i++) {
        const ElfW(Phdr) *header = &patch->headers[i];
        uintptr_t begin = patch->base + header->p_vaddr;
        if (header->p_type == PT_LOAD && address >= begin && address < begin + header->p_memsz) {
            return (header->p_flags & PF_R ? PROT_READ : 0) | (header->p_flags & PF_W ? PROT_WRITE : 0) |
                   (header->p_flags & PF_X ? PROT_EXEC : 0);
        }
    }
    return PROT_READ;
}

/* ---- is a page writable at this moment? --------------------------------------------------------- */

/* Kernels before 5.14: look it up. Buffer on the stack: scans of a forked child must not share one. */
static bool is_writable_by_maps(uintptr_t page)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return true;
    }
    char text[4096];
    size_t used = 0;
    ssize_t got;
    bool writable = true, found = false;
    while (!found && (got = read(fd, text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t)got;
        text[used] = '\0';
        char *line = text, *end;
        while (!found && (end = strchr(line, '\n')) != NULL) {
            char *at;
            uintptr_t from = strtoul(line, &at, 16), to = strtoul(at + 1, &at, 16);
            if (page >= from && page < to) {
                writable = at[2] == 'w';
                found = true;
            }
            line = end + 1;
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
    }
    close(fd);
    return writable;
}

static bool can_be_populated(uintptr_t page)
{
    return madvise((void *)page, st_arch_page_bytes(), MADV_POPULATE_WRITE) == 0;
}

/* Asking "now" matters: RELRO of an object that another thread is loading is not read-only yet, and must
 * not become so by us. The system's answer is believed if it is right for two pages of our own: emulators
 * say yes to any advice. */
static bool is_writable(uintptr_t page)
{
    static enum { UNKNOWN, BY_MADVISE, BY_MAPS } method;
    if (method == UNKNOWN) {
        bool is_right = can_be_populated(page_of((uintptr_t)&method)) &&
                        !can_be_populated(page_of((uintptr_t)st_watch_thunks));
        method = is_right ? BY_MADVISE : BY_MAPS;
    }
    return method == BY_MADVISE ? can_be_populated(page) : is_writable_by_maps(page);
}

/* ---- the two kinds of places -------------------------------------------------------------------- */

bool st_patch_symbol(struct st_patch *patch, const ElfW(Sym) *symbol, const void *address)
{
    uintptr_t place = (uintptr_t)&symbol->st_value;
    uintptr_t page = page_of(place);
    if (page != patch->open_page) {
        int protection = segment_protection(patch, place);
        if (!(protection & PROT_WRITE) && !open_page(patch, page, protection)) {
            st_watch_count(&st_watch.edits_refused);
            return false;
        }
    }
    /* the loader adds the object's base, modulo 2^64 */
    __atomic_store_n((ElfW(Addr) *)place, (uintptr_t)address - patch->base, __ATOMIC_RELEASE);
    st_watch_count(&st_watch.edits);
    return true;
}

bool st_patch_slot(struct st_patch *patch, void **slot, const void *address)
{
    uintptr_t page = page_of((uintptr_t)slot);
    bool is_relro = page >= patch->relro_begin && page < patch->relro_end;
    if (is_relro && page != patch->open_page && !is_writable(page) && !open_page(patch, page, PROT_READ)) {
        st_watch_count(&st_watch.slots_refused);
        return false;
    }
    __atomic_store_n(slot, (void *)(uintptr_t)address, __ATOMIC_RELEASE);
    st_watch_count(&st_watch.slots);
    return true;
}
