/* SPDX-License-Identifier: Apache-2.0 */
/* Reading symbol tables: what the loader itself says of every symbol of libc is what st_elf_find() finds. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "preload/watch/elf.h"

int main(int argc, char **argv)
{
    int failures = 0, seen = 0;
    struct link_map *map;
    /* argument: a library with only a DT_HASH table; libc has DT_GNU_HASH */
    void *handles[] = {dlopen("libc.so.6", RTLD_NOW), dlopen(argc > 1 ? argv[1] : NULL, RTLD_NOW)};
    for (int i = 0; i < 2; i++) {
        struct st_elf elf;
        if (!handles[i] || dlinfo(handles[i], RTLD_DI_LINKMAP, &map) != 0 ||
            !st_elf_read(&elf, map->l_addr, map->l_ld)) {
            printf("can not read %d\n", i);
            return 1;
        }
        uint32_t count = st_elf_symbol_count(&elf);
        for (uint32_t symbol = 1; symbol < count; symbol++) {
            const char *name = st_elf_name(&elf, symbol);
            if (!st_elf_is_defined_function(&elf.symbols[symbol]) || !dlsym(handles[i], name)) {
                continue; /* only old versions of the name: dlsym does not give them */
            }
            uint32_t found = st_elf_find(&elf, name);
            seen++;
            if (!found || strcmp(st_elf_name(&elf, found), name) != 0) {
                printf("%s: not found\n", name);
                failures++;
            }
        }
        failures += st_elf_find(&elf, "no_such_symbol") != 0 || st_elf_function(&elf, "") != 0;
        if (i == 1 && (elf.gnu_hash || !elf.sysv_hash || st_elf_function(&elf, "own_loader_run") == 0)) {
            printf("the second library does not test DT_HASH\n");
            failures++;
        }
    }
    printf("%d symbols, %d failures\n", seen, failures);
    return failures != 0 || seen < 1000;
}
