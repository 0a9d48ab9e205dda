/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that patches driver functions in place, as communication libraries do: the first instructions are
 * overwritten with a jump to a hook, which goes on with a copy of them. patcher WHERE
 *
 *   before  at the function itself, before anybody looked it up
 *   after   at the function itself, when it was looked up and called
 *   found   at the address that dlsym gave
 */
#include "patch_code.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/watch/elf.h"

typedef int (*copy_fn)(uint64_t target, const void *source, size_t bytes);
typedef int (*async_fn)(uint64_t target, const void *source, size_t bytes, void *stream);
typedef int (*wait_fn)(void *stream);
typedef int (*lookup_fn)(const char *symbol, void **pointer, int version, uint64_t flags, int *status);

static struct patch copy_patch, async_patch;
static int copies_hooked, asyncs_hooked;

static int hooked_copy(uint64_t target, const void *source, size_t bytes)
{
    copies_hooked++;
    return ((copy_fn)copy_patch.original)(target, source, bytes);
}

static int hooked_async(uint64_t target, const void *source, size_t bytes, void *stream)
{
    asyncs_hooked++;
    return ((async_fn)async_patch.original)(target, source, bytes, stream);
}

static void *find(void *handle, const char *name)
{
    void *address = handle ? dlsym(handle, name) : NULL;
    if (!address) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return address;
}

/* By our own reading of the driver's symbol table, without the loader. */
static void *read_address(void *handle, const char *name)
{
    struct link_map *map;
    struct st_elf elf;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !st_elf_read(&elf, map->l_addr, map->l_ld)) {
        exit(1);
    }
    return (void *)st_elf_function(&elf, name);
}

static void call(copy_fn copy, async_fn async, wait_fn wait, int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++) {
        sum += copy(1, &sum, 8) + async(2, &sum, 8, NULL) + wait(NULL);
    }
    printf("sum %d hooked %d and %d\n", sum, copies_hooked, asyncs_hooked);
}

/* Both functions, or one (the other NULL). */
static void patch(void *copy, void *async)
{
    if ((copy && !patch_apply(&copy_patch, copy, (void *)hooked_copy)) ||
        (async && !patch_apply(&async_patch, async, (void *)hooked_async))) {
        printf("the function's first instructions are not known\n");
        exit(3);
    }
}

int main(int argc, char **argv)
{
    const char *where = argc == 2 ? argv[1] : "";
    void *handle = dlopen("./libcuda_patchable.so", RTLD_NOW), *pointer = NULL;
    void *real_copy = read_address(handle, "cuMemcpyHtoD_v2");
    void *real_async = read_address(handle, "cuMemcpyHtoDAsync_v2");
    if (strcmp(where, "before") == 0) {
        patch(real_copy, real_async);
    }
    copy_fn copy = (copy_fn)find(handle, "cuMemcpyHtoD_v2");
    async_fn async = (async_fn)find(handle, "cuMemcpyHtoDAsync_v2");
    wait_fn wait = (wait_fn)find(handle, "cuStreamSynchronize");
    call(copy, async, wait, 3);
    if (strcmp(where, "after") == 0) {
        patch(real_copy, real_async);
    } else if (strcmp(where, "found") == 0) {
        patch((void *)copy, NULL);
    }
    call(copy, async, wait, 5);
    if (strcmp(where, "found") == 0) {
        patch(NULL, (void *)async); /* the thunks of both may lie side by side */
    }
    call((copy_fn)find(handle, "cuMemcpyHtoD_v2"), (async_fn)find(handle, "cuMemcpyHtoDAsync_v2"), wait, 7);
    lookup_fn lookup = (lookup_fn)find(handle, "cuGetProcAddress_v2");
    printf("lookup %d\n", lookup("cuMemcpyHtoD", &pointer, 12000, 0, NULL));
    call((copy_fn)pointer, async, wait, 9);
    patch_undo(&copy_patch);
    call(copy, async, wait, 11);
    ((void (*)(void))find(handle, "fake_executed"))();
    return 0;
}
