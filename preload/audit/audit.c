/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstagetap-audit.so, loaded by LD_AUDIT (`stagetap run --audit`): tells the preloaded library of each
 * object as soon as it is mapped and before anything binds to it, in every link namespace. That reaches
 * what a preload alone can not: dlmopen, and constructors of a plugin that brings the first provider along.
 *
 * It returns no flags, so no call goes through the loader's auditing. It needs no libc (the loader would
 * load a second one for it): two functions that elf.c calls are its own. Runs with the loader's lock held.
 */
#include <link.h>
#include <string.h>

#include "preload/record/syscall.h"
#include "preload/watch/audit.h"
#include "preload/watch/elf.h"

#define QUOTE(name) QUOTE_EXPANDED(name)
#define QUOTE_EXPANDED(name) #name
#define EXPORT __attribute__((visibility("default")))

/* The loader's interface has number 2 since glibc 2.35; the loaders before it do not audit objects that
 * are bound at once, and slow every call down. (Some of the oldest, 2.23 and 2.27 among them, crash when any auditor
 * refuses; `stagetap run --audit` does not come so far.) */
enum { AUDIT_INTERFACE = 2 };

static struct st_audit *library; /* NULL until the preloaded library is mapped */

EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++) {
    }
    return (unsigned char)*a - (unsigned char)*b;
}

void *memset(void *target, int value, size_t bytes)
{
    for (volatile char *at = target; bytes; bytes--) {
        *at++ = (char)value;
    }
    return target;
}

unsigned la_version(unsigned version)
{
    static const char REFUSED[] = "stagetap: --audit needs glibc 2.35 or newer; going on without it\n";
    if (version < AUDIT_INTERFACE) {
        st_syscall6(SYS_write, 2, (long)REFUSED, sizeof(REFUSED) - 1, 0, 0, 0);
        return 0;
    }
    return AUDIT_INTERFACE;
}

/* The variable, if it is this object that defines it. */
static struct st_audit *find_library(const struct link_map *map)
{
    struct st_elf elf;
    uint32_t symbol = st_elf_read(&elf, map->l_addr, map->l_ld) ? st_elf_find(&elf, QUOTE(ST_AUDIT_VARIABLE)) : 0;
    bool is_there = symbol && elf.symbols[symbol].st_shndx != SHN_UNDEF &&
                    elf.symbols[symbol].st_size >= sizeof(struct st_audit);
    return is_there ? (struct st_audit *)(map->l_addr + elf.symbols[symbol].st_value) : NULL;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    if (!library && space == LM_ID_BASE) {
        library = find_library(map);
        if (library) {
            library->is_loaded = true;
        }
    } else if (library && library->on_object) {
        library->on_object();
    }
    return 0;
}
