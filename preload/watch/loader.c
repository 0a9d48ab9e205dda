/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C halves of dlsym and dlopen, and finding the real ones: the next definitions behind us in the
 * loader's list, whoever they belong to, so that other interposers stay in the chain. May run before our
 * constructor, inside an IFUNC resolver, or in an allocator's first call: no malloc, no lock, no dlerror().
 *
 * Nothing of the loader's interface is imported. Before glibc 2.34 it is in libdl, which not every program has: then
 * there is nothing behind us, and nobody to call us, until the process loads something that needs libdl.
 */
#include <dlfcn.h>

#include "preload/record/thread.h"
#include "watch_private.h"

/* The loader's own list of objects, as it shows it to debuggers. A weak reference does not make us need the loader by
 * its name, which differs from system to system. */
#pragma weak _r_debug
/* … and as musl does, where nothing of ours is done but this: handing on. */
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

st_dlsym_fn st_watch_next_dlsym;
st_dlopen_fn st_watch_next_dlopen;
static st_dlerror_fn next_dlerror;

/* called from loader_*.S */
void *st_watch_resolve_dlsym(void);
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

static const struct link_map *find_own(const struct link_map *map)
{
    while (map && map->l_ld != _DYNAMIC) {
        map = map->l_next;
    }
    return map;
}

const struct link_map *st_watch_own_map(void)
{
    static _Atomic(const struct link_map *) own;
    const struct link_map *map = atomic_load_explicit(&own, memory_order_relaxed);
    if (!map && !&_r_debug && &_dl_debug_addr) {
        map = find_own(_dl_debug_addr->r_map);
    } else if (!map && &_r_debug) {
        map = find_own(_r_debug.r_map);
        const struct st_namespaces *list = map ? NULL : st_far_namespaces(_r_debug.r_map);
        for (; list && !map; list = list->next) {
            map = find_own(list->first.r_map);
        }
        atomic_store_explicit(&own, map, memory_order_relaxed);
    }
    return map;
}

const struct link_map *st_watch_first_map(void)
{
    const struct link_map *map = st_watch_own_map();
    while (map && map->l_prev) {
        map = map->l_prev;
    }
    return map;
}

static uintptr_t definition_from(const struct link_map *map, const char *name)
{
    for (; map; map = map->l_next) {
        struct st_elf elf;
        bool is_read = !st_objects_is_gone(map->l_name) && st_elf_read(&elf, map->l_addr, map->l_ld);
        uintptr_t address = is_read ? st_elf_function(&elf, name) : 0;
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
    return definition_from(st_watch_first_map(), name);
}

void st_watch_resolve(void)
{
    __atomic_store_n(&next_dlerror, (st_dlerror_fn)next_definition("dlerror"), __ATOMIC_RELEASE);
    __atomic_store_n(&st_watch_next_dlopen, (st_dlopen_fn)next_definition("dlopen"), __ATOMIC_RELEASE);
    __atomic_store_n(&st_watch_next_dlsym, (st_dlsym_fn)next_definition("dlsym"), __ATOMIC_RELEASE);
}

/* What came later than our constructor may go again, so it is not kept. */
static st_dlsym_fn real_dlsym(void)
{
    st_dlsym_fn real = __atomic_load_n(&st_watch_next_dlsym, __ATOMIC_ACQUIRE);
    real = real ? real : (st_dlsym_fn)next_definition("dlsym");
    return real ? real : no_dlsym;
}

static st_dlopen_fn real_dlopen(void)
{
    st_dlopen_fn real = __atomic_load_n(&st_watch_next_dlopen, __ATOMIC_ACQUIRE);
    real = real ? real : (st_dlopen_fn)next_definition("dlopen");
    return real ? real : no_dlopen;
}

void *st_watch_resolve_dlsym(void)
{
    return (void *)real_dlsym();
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
    if (flags & RTLD_DEEPBIND) {
        st_objects_deepbind();
    }
    st_watch_scan();
    if (st_watch.is_started && !st_suppress && st_watch.hooks.on_dlopen) {
        st_watch.hooks.on_dlopen();
    }
    return (void *)real_dlopen();
}

void *st_watch_real_dlsym(void *handle, const char *name)
{
    return real_dlsym()(handle, name);
}

void *st_watch_real_dlopen(const char *file, int flags)
{
    return real_dlopen()(file, flags);
}

const char *st_watch_real_dlerror(void)
{
    st_dlerror_fn real = __atomic_load_n(&next_dlerror, __ATOMIC_ACQUIRE);
    real = real ? real : (st_dlerror_fn)next_definition("dlerror");
    return real ? real() : NULL;
}

struct search {
    const char *name;
    uintptr_t address;
};

static void search(void *arg)
{
    struct search *wanted = arg;
    wanted->address = st_watch_first_definition(wanted->name);
}

void *st_watch_find_function(const char *name)
{
    struct search wanted = {.name = name};
    if (!st_watch_locked(search, &wanted)) {
        search(&wanted); /* a forked child that has loaded nothing since: it is alone */
    }
    return (void *)wanted.address;
}

const char *st_watch_own_file(void)
{
    const struct link_map *own = st_watch_own_map();
    return own ? own->l_name : NULL;
}

void *st_watch_unwrap(void *address)
{
    struct st_watch_target *target = st_target_of_thunk(address);
    return target ? target->real : address;
}
