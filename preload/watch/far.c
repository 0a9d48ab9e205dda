/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects in other link namespaces (dlmopen). dl_iterate_phdr does not show them to us; the loader's list for
 * debuggers does, since glibc 2.35: a chain with one entry for each namespace. With the LD_AUDIT shim they are
 * seen before anything binds to them and are edited like any other object. Without it their calls stay
 * unseen – then they are named as out of reach.
 *
 * far_objects_look() runs in each list pass (objects.c): inside a dl_iterate_phdr callback, so objects stay
 * mapped and listed. Costs nothing while the process has one namespace.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "audit.h"
#include "objects.h"

enum { MAX_FAR_OBJECTS = 512, MAX_UNREACHED = 16, CHAIN_VERSION = 2 };

__attribute__((visibility("default"))) struct st_audit ST_AUDIT_VARIABLE;

static struct object far_objects[MAX_FAR_OBJECTS];
static uint32_t far_count;

static struct st_watch_unreached unreached[MAX_UNREACHED];
static _Atomic uint32_t unreached_count;

bool st_watch_is_audited(void)
{
    return ST_AUDIT_VARIABLE.is_loaded;
}

/* The loader has just released the lock that a fork may have left held. */
static void on_object(void)
{
    st_objects_lock_is_free();
    st_watch_scan();
}

void st_far_start(void)
{
    if (st_watch_is_audited()) {
        atomic_store_explicit(&ST_AUDIT_VARIABLE.on_object, on_object, memory_order_release);
    }
}

void st_far_fork_child(void)
{
    atomic_store_explicit(&unreached_count, 0, memory_order_relaxed); /* the child says it where it still holds */
}

/* Where debuggers find it: behind the program's DT_DEBUG. (Of the loader's variable a program may have a copy, which is
 * too short.) */
const struct st_namespaces *st_far_namespaces(const struct link_map *program)
{
    const struct st_namespaces *list = NULL;
    for (const ElfW(Dyn) *dynamic = program ? program->l_ld : NULL; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_DEBUG) {
            list = (const struct st_namespaces *)dynamic->d_un.d_ptr;
        }
    }
    return list && list->first.r_version >= CHAIN_VERSION ? list : NULL;
}

static void note_unreached(const char *soname, const char *path)
{
    uint32_t count = atomic_load_explicit(&unreached_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(unreached[i].soname, soname) == 0 && strcmp(unreached[i].path, path) == 0) {
            return;
        }
    }
    if (count < MAX_UNREACHED) {
        st_watch_count(&st_watch.out_of_reach);
        snprintf(unreached[count].soname, sizeof(unreached[count].soname), "%s", soname);
        snprintf(unreached[count].path, sizeof(unreached[count].path), "%s", path);
        atomic_store_explicit(&unreached_count, count + 1, memory_order_release); /* pairs with the getter */
    }
}

/* Program headers of an object of which only the loader's public entry is known. False: not to be found. */
static bool find_headers(struct object *object)
{
    unsigned char resident;
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->base;
    if (mincore((void *)object->base, ST_SMALLEST_PAGE, &resident) != 0 ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > ST_SMALLEST_PAGE) {
        return false;
    }
    object->headers = (const ElfW(Phdr) *)(object->base + header->e_phoff);
    object->header_count = header->e_phnum;
    return true;
}

static struct object *find_object(const struct link_map *map)
{
    for (uint32_t i = 0; i < far_count; i++) {
        if (far_objects[i].base == map->l_addr && far_objects[i].dynamic == (uintptr_t)map->l_ld) {
            return &far_objects[i];
        }
    }
    return NULL;
}

/* First pass: which of the known ones are still there? */
static void meet(const struct link_map *map, struct found *ret_found)
{
    struct object *object = find_object(map);
    if (object && object_is_same(object)) {
        object->is_met = true;
    }
}

/* Second pass: the new ones. */
static void add(const struct link_map *map, struct found *ret_found)
{
    struct st_elf elf;
    if (find_object(map)) {
        return;
    }
    bool is_provider = st_elf_read(&elf, map->l_addr, map->l_ld) && object_provider_layer(elf.soname);
    if (st_watch_is_audited() && far_count < MAX_FAR_OBJECTS) {
        struct object *object = &far_objects[far_count];
        *object = (struct object){.base = map->l_addr, .dynamic = (uintptr_t)map->l_ld, .name = map->l_name,
                                  .is_far = true};
        if (find_headers(object)) {
            far_count++;
            object_read(object, ret_found);
            return;
        }
    }
    if (is_provider) {
        note_unreached(elf.soname, map->l_name);
    }
}

static void walk(const struct st_namespaces *list, void (*visit)(const struct link_map *, struct found *),
                 struct found *ret_found)
{
    for (list = list->next; list; list = list->next) {
        for (const struct link_map *map = list->first.r_map; map; map = map->l_next) {
            visit(map, ret_found);
        }
    }
}

void far_objects_look(struct found *ret_found)
{
    const struct st_namespaces *list = st_far_namespaces(st_watch_first_map());
    if (!list) {
        return;
    }
    walk(list, meet, ret_found);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < far_count; i++) {
        if (far_objects[i].is_met) {
            far_objects[i].is_met = false;
            far_objects[kept++] = far_objects[i];
        } else {
            object_forget(&far_objects[i]);
        }
    }
    far_count = kept;
    walk(list, add, ret_found);
}

const struct object *far_objects_find(const void *address)
{
    for (uint32_t i = 0; i < far_count; i++) {
        if (object_contains(&far_objects[i], (uintptr_t)address)) {
            return &far_objects[i];
        }
    }
    return NULL;
}

bool st_watch_get_unreached(uint32_t n, struct st_watch_unreached *ret)
{
    if (n >= atomic_load_explicit(&unreached_count, memory_order_acquire)) {
        return false;
    }
    *ret = unreached[n];
    return true;
}
