/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded in front of a program: logs what its cuGetProcAddress_v2 look-ups asked for and got, one line each
 * in the file named by E2E_LOOKUPS: symbol, version, flags, file that the pointer lies in, name there, address.
 * It stands between the program and whatever dlsym would have given (a profiler's thunk or the function itself).
 */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/watch/elf.h"

typedef void *(*dlsym_fn)(void *, const char *);
typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);

static lookup_fn real_lookup;

/* The next one behind us in the loader's list, whoever it belongs to. */
static dlsym_fn next_dlsym(void)
{
    static dlsym_fn next;
    Dl_info info;
    struct link_map *map;
    struct st_elf elf;

    if (next == NULL && dladdr1((void *)(uintptr_t)&real_lookup, &info, (void **)&map, RTLD_DL_LINKMAP)) {
        for (map = map->l_next; map != NULL && next == NULL; map = map->l_next) {
            if (st_elf_read(&elf, map->l_addr, map->l_ld)) next = (dlsym_fn)st_elf_function(&elf, "dlsym");
        }
    }
    return next;
}

static int logged_lookup(const char *symbol, void **pointer, int version, uint64_t flags, int *status)
{
    static FILE *log;
    int result = real_lookup(symbol, pointer, version, flags, status);
    Dl_info info = {0};

    if (log == NULL) log = fopen(getenv("E2E_LOOKUPS"), "w");
    if (log == NULL) abort();
    if (pointer != NULL && *pointer != NULL) dladdr(*pointer, &info);
    fprintf(log, "%s\t%d\t%llu\t%s\t%s\t%p\n", symbol, version, (unsigned long long)flags,
            info.dli_fname != NULL ? info.dli_fname : "", info.dli_sname != NULL ? info.dli_sname : "",
            result == 0 && pointer != NULL ? *pointer : NULL);
    fflush(log);
    if (result == 0 && strcmp(symbol, "cuGetProcAddress") == 0 && version >= 12000 && *pointer != NULL) {
        real_lookup = (lookup_fn)*pointer; /* the program goes on with this one */
        *pointer = (void *)logged_lookup;
    }
    return result;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);
void *dlsym(void *handle, const char *name)
{
    dlsym_fn next = next_dlsym();
    void *address = next != NULL ? next(handle, name) : NULL;

    if (address != NULL && strcmp(name, "cuGetProcAddress_v2") == 0) {
        real_lookup = (lookup_fn)address;
        return (void *)logged_lookup;
    }
    return address;
}
