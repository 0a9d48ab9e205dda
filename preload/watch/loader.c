/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C halves of dlsym and dlopen, and finding the real ones: the next definitions behind us in the
 * loader's list, whoever they belong to, so that other interposers stay in the chain. May run before our
 * constructor, inside an IFUNC resolver, or in an allocator's first call: no malloc, no lock, no dlerror().
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "watch_private.h"

st_dlsym_fn st_watch_next_dlsym;
st_dlopen_fn st_watch_next_dlopen;

/* called from loader_*.S */
void *st_watch_dlsym_handle(void *handle, const char *name);
void *st_watch_dlsym_default(void *handle, const char *name);
void *st_watch_before_dlopen(const char *file, int flags);

static void *no_dlsym(void *handle, const char *name)
{
    return NULL;
}

static void *no_dlopen(const char *file, int flags)
{
    return NULL;
}

const struct link_map *st_watch_own_map(void)
{
    static _Atomic(struct link_map *) own;
    struct link_map *map = atomic_load_explicit(&own, memory_order_relaxed);
    if (!map) {
        Dl_info info;
        if (!dladdr1((void *)(uintptr_t)st_watch_thunks, &info, (void **)&map, RTLD_DL_LINKMAP)) {
            return NULL;
        }
        atomic_store_explicit(&own, map, memory_order_relaxed);
    }
    return map;
}

static uintptr_t definition_from(const struct link_map *map, const char *name)
{
    for (; map; map = map->l_next) {
        struct st_elf elf;
        uintptr_t address = st_elf_read(&elf, map->l_addr, map->l_ld) ? st_elf_function(&elf, name) : 0;
        if (address) {
            return address;
        }
    }
    return 0;
}

static uintptr_t next_definition(const char *name)
{
    const struct link_map *own = st_watch_own_map();
    return own ? definition_from(own->l_next, name) : 0;
}

uintptr_t st_watch_first_definition(const char *name)
{
    const struct link_map *map = st_watch_own_map();
    while (map && map->l_prev) {
        map = map->l_prev;
    }
    return definition_from(map, name);
}

void st_watch_resolve(void)
{
    uintptr_t address = next_definition("dlopen");
    __atomic_store_n(&st_watch_next_dlopen, address ? (st_dlopen_fn)address : no_dlopen, __ATOMIC_RELEASE);
    address = next_definition("dlsym");
    __atomic_store_n(&st_watch_next_dlsym, address ? (st_dlsym_fn)address : no_dlsym, __ATOMIC_RELEASE);
}

static st_dlsym_fn real_dlsym(void)
{
    if (!__atomic_load_n(&st_watch_next_dlsym, __ATOMIC_ACQUIRE)) {
        st_watch_resolve();
    }
    return st_watch_next_dlsym;
}

/* A provider that was loaded since the last look is edited before the look-up. Nothing runs after one
 * that failed: dlerror() is the real one's. */
void *st_watch_dlsym_handle(void *handle, const char *name)
{
    st_dlsym_fn real = real_dlsym();
    st_watch_scan();
    void *address = real(handle, name);
    struct st_watch_target *target = address ? st_target_find(address) : NULL;
    return target ? st_target_thunk(target) : address;
}

/* RTLD_DEFAULT: once the symbol tables are edited the real dlsym gives the right answer for its caller's
 * scope. Only where the system refused an edit we ask in our own scope, and answer only with a thunk. */
void *st_watch_dlsym_default(void *handle, const char *name)
{
    bool may_be_ours = name && (st_watch.matcher || (name[0] == 'c' && name[1] == 'u') || name[0] == '_');
    if (!may_be_ours) {
        return NULL;
    }
    st_watch_scan();
    if (atomic_load_explicit(&st_watch.edits_refused, memory_order_relaxed) == 0) {
        return NULL;
    }
    void *address = real_dlsym()(RTLD_DEFAULT, name);
    struct st_watch_target *target = address ? st_target_find(address) : NULL;
    return target ? st_target_thunk(target) : NULL;
}

void *st_watch_before_dlopen(const char *file, int flags)
{
    if (!__atomic_load_n(&st_watch_next_dlopen, __ATOMIC_ACQUIRE)) {
        st_watch_resolve();
    }
    if (flags & RTLD_DEEPBIND) {
        st_objects_deepbind();
    }
    st_watch_scan();
    return (void *)st_watch_next_dlopen;
}

void *st_watch_real_dlsym(void *handle, const char *name)
{
    return real_dlsym()(handle, name);
}

void *st_watch_real_dlopen(const char *file, int flags)
{
    real_dlsym();
    return st_watch_next_dlopen(file, flags);
}

void *st_watch_unwrap(void *address)
{
    struct st_watch_target *target = st_target_of_thunk(address);
    return target ? target->real : address;
}
