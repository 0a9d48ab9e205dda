/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects the process has, what they define for us, and which slots were bound before we knew.
 *
 *   look     cheap check of the loader's two counters; nothing new: done
 *   list     every object once: known ones are kept, new ones are read, missing ones forgotten
 *   bind     a function that is wanted gets a target, its symbol table entry names the thunk (bind.c)
 *   slots    only when something was bound: one pass over slots that hold a wanted function's address (slots.c)
 *   getenv   only when a source of stages asks for it: each new object once (environment.c)
 *
 * Everything here runs inside dl_iterate_phdr callbacks: glibc's recursive lock serialises it and keeps the
 * objects mapped. So no dl*() call (lock inversion), no malloc, no lock of ours. After fork() that lock may
 * be held for ever by a thread that does not exist: see st_objects_fork_child().
 */
#include <errno.h>
#include <string.h>

#include "objects.h"
#include "preload/record/syscall.h"

enum { MAX_OBJECTS = 4096, OBJECT_INDEX = 8192, UNINDEXED_OBJECTS = 16 };

/* Two tables: a list pass fills the other one from what it meets. */
static struct table {
    uint32_t count;
    uint16_t index[OBJECT_INDEX]; /* object + 1; open addressing; not used (nor touched) for a few objects */
    struct object objects[MAX_OBJECTS];
} tables[2];
static struct table *table = &tables[0];

static uint64_t seen_adds, seen_subs;
static uint32_t last_id;
static bool must_look;     /* slots of an object were not relocated yet */
static bool must_answer;   /* … those of getenv */
static struct found found; /* targets made since the last slot pass that saw all objects */
static bool is_deepbind;
static bool is_looking; /* a signal handler that lands in a pass and looks for symbols must not start another */
static const ElfW(Phdr) *own_headers;

/* ---- the table -------------------------------------------------------------------------------- */

static uint32_t index_place(uintptr_t dynamic)
{
    return (uint32_t)((dynamic >> 4) * 2654435761u >> 12) % OBJECT_INDEX;
}

static struct object *find_object(struct table *in, uintptr_t base, uintptr_t dynamic)
{
    if (in->count <= UNINDEXED_OBJECTS) {
        for (uint32_t i = 0; i < in->count; i++) {
            if (in->objects[i].dynamic == dynamic && in->objects[i].base == base) {
                return &in->objects[i];
            }
        }
        return NULL;
    }
    for (uint32_t at = index_place(dynamic); in->index[at]; at = (at + 1) % OBJECT_INDEX) {
        struct object *object = &in->objects[in->index[at] - 1];
        if (object->dynamic == dynamic && object->base == base) {
            return object;
        }
    }
    return NULL;
}

static void index_object(struct table *in, uint32_t n)
{
    uint32_t at = index_place(in->objects[n].dynamic);
    while (in->index[at]) {
        at = (at + 1) % OBJECT_INDEX;
    }
    in->index[at] = (uint16_t)(n + 1);
}

static struct object *add_object(struct table *to, uintptr_t base, uintptr_t dynamic)
{
    if (to->count == MAX_OBJECTS) {
        st_watch_count(&st_watch.out_of_reach);
        return NULL;
    }
    struct object *object = &to->objects[to->count++];
    memset(object, 0, sizeof(*object));
    object->base = base;
    object->dynamic = dynamic;
    if (to->count == UNINDEXED_OBJECTS + 1) {
        memset(to->index, 0, sizeof(to->index));
        for (uint32_t i = 0; i < to->count; i++) {
            index_object(to, i);
        }
    } else if (to->count > UNINDEXED_OBJECTS) {
        index_object(to, to->count - 1);
    }
    return object;
}

bool object_contains(const struct object *object, uintptr_t address)
{
    for (size_t i = 0; i < object->header_count; i++) {
        uintptr_t begin = object->base + object->headers[i].p_vaddr;
        if (object->headers[i].p_type == PT_LOAD && address >= begin && address < begin + object->headers[i].p_memsz) {
            return true;
        }
    }
    return false;
}

uintptr_t object_end(const struct object *object)
{
    uintptr_t end = object->base;
    for (size_t i = 0; i < object->header_count; i++) {
        uintptr_t there = object->base + object->headers[i].p_vaddr + object->headers[i].p_memsz;
        if (object->headers[i].p_type == PT_LOAD && there > end) {
            end = there;
        }
    }
    return end;
}

bool object_is_system(const struct object *object)
{
    static const char *const PREFIXES[] = {"ld-linux", "libc.so", "libpthread.so",
                                           "libdl.so", "librt.so", "linux-vdso"};
    for (size_t i = 0; object->soname && i < sizeof(PREFIXES) / sizeof(PREFIXES[0]); i++) {
        if (strncmp(object->soname, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the passes -------------------------------------------------------------------------------- */

void object_read(struct object *object, struct found *ret_found)
{
    struct st_elf elf;
    st_watch_count(&st_watch.objects);
    object->id = ++last_id;
    object->is_fresh = st_watch.is_started;
    if (st_elf_read(&elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
        object->soname = elf.soname;
        if (elf.soname && st_watch.hooks.on_object) {
            st_watch.hooks.on_object(elf.soname, object->name);
        }
        object_bind(object, &elf, ret_found);
    }
}

/* With the shim everything loaded after the start binds to edited symbols. */
static bool needs_slot_pass(void)
{
    return !st_watch.is_started || !st_watch_is_audited() ||
           atomic_load_explicit(&st_watch.edits_refused, memory_order_relaxed) != 0;
}

/* Slots of an object that was not relocated are looked at again next time, as if the targets were new. */
static void rewrite_slots_of_all(void)
{
    must_look = false;
    for (uint32_t i = 0; i < table->count; i++) {
        must_look |= object_rewrite_slots(&table->objects[i], found, is_deepbind);
    }
    found.calls &= must_look;
    found.stages &= must_look;
    st_watch_count(&st_watch.scans);
}

enum { MAX_GONE = 16 };

static const char *gone[MAX_GONE]; /* the loader's pointers to their names, which nobody frees */
static uint32_t gone_count;

bool st_objects_is_gone(const char *name)
{
    for (uint32_t i = 0; i < gone_count; i++) {
        if (gone[i] == name) {
            return true;
        }
    }
    return false;
}

static uintptr_t dynamic_of(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        }
    }
    return 0;
}

bool object_is_same(const struct object *object)
{
    struct st_elf elf;
    return st_elf_read(&elf, object->base, (const ElfW(Dyn) *)object->dynamic) && elf.soname == object->soname &&
           (!object->edited || object->edited->st_value == object->edited_value);
}

static int list_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const bool *may_be_replaced = arg;
    struct table *other = table == &tables[0] ? &tables[1] : &tables[0]; /* filled; `table` is what was */
    uintptr_t dynamic = st_objects_is_gone(info->dlpi_name) ? 0 : dynamic_of(info);
    if (!dynamic || info->dlpi_phdr == own_headers) {
        return 0;
    }
    struct object *known = find_object(table, info->dlpi_addr, dynamic);
    struct object *object = add_object(other, info->dlpi_addr, dynamic);
    if (!object) {
        return 0;
    }
    if (known && (!*may_be_replaced || object_is_same(known))) {
        known->is_met = true;
        *object = *known;
        object->is_met = object->is_fresh = false;
    }
    object->name = info->dlpi_name;
    object->headers = info->dlpi_phdr;
    object->header_count = info->dlpi_phnum;
    if (object->id == 0) {
        object_read(object, &found);
    }
    return 0;
}

static void list_objects(bool may_be_replaced)
{
    struct table *before = table, *after = table == &tables[0] ? &tables[1] : &tables[0];
    after->count = 0;
    /* Forgetting comes after reading: a target that is made again at the same address by a new object has
     * a new owner by then. */
    dl_iterate_phdr(list_object, &may_be_replaced);
    for (uint32_t i = 0; i < before->count; i++) {
        if (!before->objects[i].is_met) {
            object_forget(&before->objects[i]);
        }
        before->objects[i].is_met = false;
    }
    table = after;
    far_objects_look(&found);
}

static void answer_getenv_of_all(void)
{
    must_answer = false;
    for (uint32_t i = 0; i < table->count; i++) {
        must_answer |= object_answer_getenv(&table->objects[i]);
    }
}

/* First callback of an outer dl_iterate_phdr: the lock is ours; nested walks are allowed. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    uint64_t adds = info->dlpi_adds, subs = info->dlpi_subs;
    if ((adds == seen_adds && subs == seen_subs && !must_look && !must_answer) || is_looking) {
        return 1;
    }
    is_looking = true;
    if (adds != seen_adds || subs != seen_subs) {
        list_objects(subs != seen_subs);
        st_watch_count(&st_watch.generation);
        seen_adds = adds;
        seen_subs = subs;
    }
    if (!needs_slot_pass()) {
        must_look = false;
    } else if (found.calls || found.stages || is_deepbind) {
        rewrite_slots_of_all();
    }
    answer_getenv_of_all();
    is_looking = false;
    return 1;
}

/* ---- fork ------------------------------------------------------------------------------------- */

/*
 * If another thread was in dlopen when this process forked, glibc leaves its write lock held in the child
 * for ever. The child's own dlopen takes and releases that lock (or hangs by itself): so we stay away from
 * dl_iterate_phdr until the list of objects has changed.
 */
static bool is_forked;
static const struct link_map *fork_last;
static uint32_t fork_count;

static const struct link_map *last_object(uint32_t *ret_count)
{
    const struct link_map *last = NULL;
    *ret_count = 0;
    for (const struct link_map *map = st_watch_first_map(); map; map = map->l_next) {
        last = map;
        ++*ret_count;
    }
    return last;
}

/* A thread that closes an object unmaps it first, then takes it out of the list. Asked as long as nothing else can
 * have been mapped in its place. */
static void note_gone(void)
{
    for (const struct link_map *map = st_watch_first_map(); map && gone_count < MAX_GONE; map = map->l_next) {
        if (!st_objects_is_gone(map->l_name) && !st_sys_is_readable((uintptr_t)map->l_ld)) {
            gone[gone_count++] = map->l_name;
        }
    }
}

void st_objects_fork_child(void)
{
    note_gone();
    fork_last = last_object(&fork_count);
    is_forked = true;
}

void st_objects_lock_is_free(void)
{
    is_forked = false;
}

bool st_watch_is_blocked(void)
{
    if (__builtin_expect(!is_forked, 1)) {
        return false;
    }
    uint32_t count;
    is_forked = last_object(&count) == fork_last && count == fork_count;
    return is_forked;
}

/* ---- entry points ----------------------------------------------------------------------------- */

static int note_own_headers(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct link_map *own = arg;
    if (!st_objects_is_gone(info->dlpi_name) && dynamic_of(info) == (uintptr_t)own->l_ld) {
        own_headers = info->dlpi_phdr;
        return 1;
    }
    return 0;
}

void st_watch_scan(void)
{
    if (!st_watch.may_scan || st_watch_is_blocked()) {
        return;
    }
    int saved_errno = errno;
    if (!own_headers) {
        const struct link_map *own = st_watch_own_map();
        if (!own) {
            return;
        }
        dl_iterate_phdr(note_own_headers, (void *)(uintptr_t)own);
    }
    dl_iterate_phdr(look, NULL);
    errno = saved_errno;
}

void st_objects_deepbind(void)
{
    if (!is_deepbind) {
        is_deepbind = true;
        must_look = true;
    }
}

struct locked_call {
    void (*fn)(void *);
    void *arg;
};

/* An object that another thread has closed since the last scan must not be read. */
static int run_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct locked_call *call = arg;
    if (st_watch.may_scan && own_headers) {
        look(info, size, NULL);
    }
    call->fn(call->arg);
    return 1;
}

bool st_watch_locked(void (*fn)(void *), void *arg)
{
    if (st_watch_is_blocked()) {
        return false;
    }
    dl_iterate_phdr(run_locked, &(struct locked_call){fn, arg});
    return true;
}

const struct object *objects_get(uint32_t n)
{
    return n < table->count ? &table->objects[n] : NULL;
}

bool st_objects_find(const void *address, uint32_t *ret_owner, const char **ret_name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (object_contains(&table->objects[i], (uintptr_t)address)) {
            *ret_owner = table->objects[i].id;
            *ret_name = table->objects[i].name;
            return true;
        }
    }
    const struct object *object = far_objects_find(address);
    if (object) {
        *ret_owner = object->id;
        *ret_name = object->name;
    }
    return object != NULL;
}
