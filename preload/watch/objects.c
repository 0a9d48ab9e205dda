/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects the process has, what they define for us, and which slots were bound before we knew.
 *
 *   look     cheap check of the loader's two counters; nothing new: done
 *   list     every object once: known ones are kept, new ones are read (bind_symbols), missing ones forgotten
 *   bind     a function that is wanted gets a target, its symbol table entry names the thunk
 *   slots    only when something was bound: one pass over slots that hold a wanted function's address
 *
 * Everything here runs inside dl_iterate_phdr callbacks: glibc's recursive lock serialises it and keeps the
 * objects mapped. So no dl*() call (lock inversion), no malloc, no lock of ours. After fork() that lock may
 * be held for ever by a thread that does not exist: see st_objects_fork_child().
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "watch_private.h"

enum { MAX_OBJECTS = 4096, OBJECT_INDEX = 8192, UNINDEXED_OBJECTS = 16, MAX_PROVIDERS = 16 };

struct object {
    uintptr_t base, dynamic;
    const char *name;   /* file, as the loader knows it */
    const char *soname; /* in the object's own memory; NULL = none */
    const ElfW(Phdr) *headers;
    const ElfW(Sym) *edited; /* one symbol that we edited … */
    ElfW(Addr) edited_value; /* … and how: gone if the object was loaded afresh at the same place */
    uint32_t id;             /* owner of targets; never used twice */
    uint16_t header_count;
    bool is_met;             /* in the list pass under way */
    bool owns_stages, imports_stages;
    bool has_dl_slots_done;
};

/* Two tables: a list pass fills the other one from what it meets. */
static struct table {
    uint32_t count;
    uint16_t index[OBJECT_INDEX]; /* object + 1; open addressing; not used (nor touched) for a few objects */
    struct object objects[MAX_OBJECTS];
} tables[2];
static struct table *table = &tables[0];

static uint64_t seen_adds, seen_subs;
static uint32_t last_id;
static bool must_look;                            /* slots of an object were not relocated yet */
static bool has_new_calls, has_new_stages;        /* targets made in this pass */
static bool is_deepbind;
static const ElfW(Phdr) *own_headers;

static struct provider {
    struct st_watch_provider public;
    uint32_t owner;
    _Atomic bool is_mapped;
} providers[MAX_PROVIDERS];
static _Atomic uint32_t provider_count;

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

static bool object_contains(const struct object *object, uintptr_t address)
{
    for (size_t i = 0; i < object->header_count; i++) {
        uintptr_t begin = object->base + object->headers[i].p_vaddr;
        if (object->headers[i].p_type == PT_LOAD && address >= begin && address < begin + object->headers[i].p_memsz) {
            return true;
        }
    }
    return false;
}

static uintptr_t object_end(const struct object *object)
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

/* ---- what an object defines ------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* By DT_SONAME, so that a renamed file counts; the second form catches copies renamed by auditwheel. */
static enum st_layer provider_layer(const char *soname)
{
    if (starts_with(soname, "libcuda.so")) {
        return ST_LAYER_DRIVER;
    }
    return starts_with(soname, "libcudart") && strstr(soname, ".so") ? ST_LAYER_RUNTIME : 0;
}

/* The loader, libc and its parts: their functions are no stages. */
static bool is_system(const char *soname)
{
    static const char *const PREFIXES[] = {"ld-linux", "libc.so", "libpthread.so", "libdl.so", "librt.so", "linux-vdso"};
    for (size_t i = 0; i < sizeof(PREFIXES) / sizeof(PREFIXES[0]); i++) {
        if (starts_with(soname, PREFIXES[i])) {
            return true;
        }
    }
    return false;
}

static struct provider *add_provider(const struct object *object, const struct st_elf *elf, enum st_layer layer)
{
    uint32_t n = atomic_load_explicit(&provider_count, memory_order_relaxed);
    if (n == MAX_PROVIDERS) {
        st_watch_count(&st_watch.out_of_reach);
        return NULL;
    }
    struct provider *provider = &providers[n];
    snprintf(provider->public.soname, sizeof(provider->public.soname), "%s", object->soname);
    snprintf(provider->public.path, sizeof(provider->public.path), "%s", object->name);
    provider->public.layer = (uint8_t)layer;
    provider->public.simulated = st_elf_function(elf, "simgpu_tracer_set") != 0;
    provider->owner = object->id;
    return provider;
}

/* The target of a defined symbol, or NULL if it is not wanted. */
static struct st_watch_target *target_of_symbol(struct object *object, const struct st_elf *elf, uint32_t symbol,
                                                enum st_layer layer)
{
    const char *name = st_elf_name(elf, symbol);
    void *real = (void *)(elf->base + elf->symbols[symbol].st_value);
    if (layer) {
        int call = st_call_find(name);
        if (call < 0 || st_calls[call].layer != layer) {
            return NULL;
        }
        has_new_calls = true;
        return st_target_add_call(real, (uint16_t)call, object->id);
    }
    uint16_t rule;
    uint32_t stage_symbol;
    if (!st_watch.matcher(name, &rule, &stage_symbol)) {
        return NULL;
    }
    object->owns_stages = has_new_stages = true;
    return st_target_add_stage(real, rule, stage_symbol, object->id);
}

/* Give thunks to what is wanted and let the object's own symbol table name them. */
static void bind_symbols(struct object *object, const struct st_elf *elf, enum st_layer layer)
{
    struct provider *provider = layer ? add_provider(object, elf, layer) : NULL;
    uint32_t count = st_elf_symbol_count(elf);
    struct st_patch patch;
    st_patch_begin(&patch, object->base, object->headers, object->header_count);
    for (uint32_t i = 1; i < count; i++) {
        const ElfW(Sym) *symbol = &elf->symbols[i];
        if (!st_elf_is_defined_function(symbol)) {
            uint16_t rule;
            uint32_t stage_symbol;
            if (!layer && symbol->st_shndx == SHN_UNDEF && !object->imports_stages) {
                object->imports_stages = st_watch.matcher(st_elf_name(elf, i), &rule, &stage_symbol);
            }
            continue;
        }
        if (st_target_of_thunk((void *)(elf->base + symbol->st_value))) {
            continue; /* edited before */
        }
        struct st_watch_target *target = target_of_symbol(object, elf, i, layer);
        if (target && st_patch_symbol(&patch, symbol, st_target_thunk(target)) && !object->edited) {
            object->edited = symbol;
            object->edited_value = symbol->st_value;
        }
        if (target && provider) {
            provider->public.functions++;
        }
    }
    st_patch_end(&patch);
    if (provider) {
        atomic_store_explicit(&provider->is_mapped, true, memory_order_relaxed);
        atomic_fetch_add_explicit(&provider_count, 1, memory_order_release); /* pairs with st_watch_get_provider() */
    }
}

static void read_object(struct object *object)
{
    struct st_elf elf;
    st_watch_count(&st_watch.objects);
    object->id = ++last_id;
    if (!st_elf_read(&elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
        return;
    }
    object->soname = elf.soname;
    enum st_layer layer = elf.soname ? provider_layer(elf.soname) : 0;
    if (layer || (st_watch.matcher && !(elf.soname && is_system(elf.soname)))) {
        bind_symbols(object, &elf, layer);
    }
}

/* ---- the slot pass ---------------------------------------------------------------------------- */

/* Does the object import one of the watched calls? If not, its relocations are never read. */
static bool imports_calls(const struct st_elf *elf)
{
    uint32_t first_hashed = st_elf_first_hashed(elf);
    for (uint32_t i = 1; i < first_hashed; i++) {
        if (elf->symbols[i].st_shndx == SHN_UNDEF && st_call_find(st_elf_name(elf, i)) >= 0) {
            return true;
        }
    }
    for (uint16_t call = 0; elf->gnu_hash && call < st_call_count; call++) {
        uint32_t symbol = st_elf_find(elf, st_calls[call].name);
        if (symbol && elf->symbols[symbol].st_shndx == SHN_UNDEF) {
            return true;
        }
    }
    return false;
}

/* What a slot that holds `value` should hold instead, or NULL. A call is rebound only where it is imported:
 * programs have data symbols of the same names. */
static void *replacement(const struct st_elf *elf, uint32_t symbol, void *value)
{
    struct st_watch_target *target = st_target_find(value);
    if (!target || (target->kind == ST_TARGET_CALL && elf->symbols[symbol].st_shndx != SHN_UNDEF)) {
        return NULL;
    }
    return st_target_thunk(target);
}

/* dlsym or dlopen of libc, bound past us by RTLD_DEEPBIND (or about to be: a lazy slot). */
static void *dl_replacement(const struct object *object, const struct st_elf *elf, uint32_t symbol, void *value)
{
    if (elf->symbols[symbol].st_shndx != SHN_UNDEF) {
        return NULL;
    }
    const char *name = st_elf_name(elf, symbol);
    bool is_dlsym = strcmp(name, "dlsym") == 0;
    if (!is_dlsym && strcmp(name, "dlopen") != 0) {
        return NULL;
    }
    void *real = is_dlsym ? (void *)st_watch_next_dlsym : (void *)st_watch_next_dlopen;
    bool is_lazy = object_contains(object, (uintptr_t)value);
    return value == real || is_lazy ? (is_dlsym ? (void *)dlsym : (void *)dlopen) : NULL;
}

struct slot_pass {
    struct object *object;
    struct st_elf elf;
    struct st_patch patch;
    uintptr_t object_bytes;
    bool want_targets, want_dl;
    bool is_unrelocated;
};

static void visit_slots(struct slot_pass *pass, const ElfW(Rela) *relocations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t type = ELF64_R_TYPE(relocations[i].r_info), symbol = ELF64_R_SYM(relocations[i].r_info);
        bool is_slot = type == ST_RELOC_JUMP_SLOT || type == ST_RELOC_GLOB_DAT ||
                       (type == ST_RELOC_ADDRESS && relocations[i].r_addend == 0);
        if (!is_slot || symbol == 0) {
            continue;
        }
        void **slot = (void **)(pass->elf.base + relocations[i].r_offset);
        void *value = __atomic_load_n(slot, __ATOMIC_ACQUIRE), *with = NULL;
        if (pass->elf.base && (uintptr_t)value < pass->object_bytes) {
            /* Not yet an address: the loader will bind it – by the edited symbols, unless it has looked
             * them up already. So come again. 0 is a weak reference that stays unbound. */
            pass->is_unrelocated |= value != NULL && type == ST_RELOC_JUMP_SLOT;
            continue;
        }
        if (pass->want_targets) {
            with = replacement(&pass->elf, symbol, value);
        }
        if (!with && pass->want_dl) {
            with = dl_replacement(pass->object, &pass->elf, symbol, value);
        }
        if (with) {
            st_patch_slot(&pass->patch, slot, with);
        }
    }
}

static void visit_object(struct object *object)
{
    struct slot_pass pass = {.object = object, .want_dl = is_deepbind && !object->has_dl_slots_done};
    pass.want_targets = has_new_stages && (object->owns_stages || object->imports_stages);
    if (!pass.want_targets && !pass.want_dl && !has_new_calls) {
        return;
    }
    if ((object->soname && is_system(object->soname)) ||
        !st_elf_read(&pass.elf, object->base, (const ElfW(Dyn) *)object->dynamic)) {
        return;
    }
    pass.want_targets = pass.want_targets || (has_new_calls && imports_calls(&pass.elf));
    if (!pass.want_targets && !pass.want_dl) {
        return;
    }
    pass.object_bytes = object_end(object) - object->base;
    st_patch_begin(&pass.patch, object->base, object->headers, object->header_count);
    visit_slots(&pass, pass.elf.jump_slots, pass.elf.jump_slot_count);
    if (pass.elf.relative_count < pass.elf.relocation_count) {
        visit_slots(&pass, pass.elf.relocations + pass.elf.relative_count,
                    pass.elf.relocation_count - pass.elf.relative_count);
    }
    st_patch_end(&pass.patch);
    object->has_dl_slots_done |= pass.want_dl && !pass.is_unrelocated;
    must_look |= pass.is_unrelocated;
}

/* Slots of an object that was not relocated are looked at again next time, as if the targets were new. */
static void visit_slots_of_all(void)
{
    bool again_calls = has_new_calls, again_stages = has_new_stages;
    must_look = false;
    for (uint32_t i = 0; i < table->count; i++) {
        visit_object(&table->objects[i]);
    }
    has_new_calls = must_look && again_calls;
    has_new_stages = must_look && again_stages;
    st_watch_count(&st_watch.scans);
}

/* ---- the list pass ---------------------------------------------------------------------------- */

static uintptr_t dynamic_of(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            return info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        }
    }
    return 0;
}

/* The same place, but is it the same object? */
static bool is_same_object(const struct object *object)
{
    struct st_elf elf;
    return st_elf_read(&elf, object->base, (const ElfW(Dyn) *)object->dynamic) && elf.soname == object->soname &&
           (!object->edited || object->edited->st_value == object->edited_value);
}

static int list_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    const bool *may_be_replaced = arg;
    struct table *other = table == &tables[0] ? &tables[1] : &tables[0]; /* filled; `table` is what was */
    uintptr_t dynamic = dynamic_of(info);
    if (!dynamic || info->dlpi_phdr == own_headers) {
        return 0;
    }
    struct object *known = find_object(table, info->dlpi_addr, dynamic);
    struct object *object = add_object(other, info->dlpi_addr, dynamic);
    if (!object) {
        return 0;
    }
    if (known && (!*may_be_replaced || is_same_object(known))) {
        known->is_met = true;
        *object = *known;
        object->is_met = false;
    }
    object->name = info->dlpi_name;
    object->headers = info->dlpi_phdr;
    object->header_count = info->dlpi_phnum;
    if (object->id == 0) {
        read_object(object);
    }
    return 0;
}

static void forget(const struct object *object)
{
    st_target_forget(object->id);
    for (uint32_t i = 0; i < atomic_load_explicit(&provider_count, memory_order_relaxed); i++) {
        if (providers[i].owner == object->id) {
            atomic_store_explicit(&providers[i].is_mapped, false, memory_order_relaxed);
        }
    }
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
            forget(&before->objects[i]);
        }
        before->objects[i].is_met = false;
    }
    table = after;
}

/* First callback of an outer dl_iterate_phdr: the lock is ours; nested walks are allowed. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    uint64_t adds = info->dlpi_adds, subs = info->dlpi_subs;
    if (adds == seen_adds && subs == seen_subs && !must_look) {
        return 1;
    }
    if (adds != seen_adds || subs != seen_subs) {
        list_objects(subs != seen_subs);
        seen_adds = adds;
        seen_subs = subs;
    }
    if (has_new_calls || has_new_stages || is_deepbind) {
        visit_slots_of_all();
    }
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
    const struct link_map *map = st_watch_own_map(), *last = NULL;
    while (map && map->l_prev) {
        map = map->l_prev;
    }
    for (*ret_count = 0; map; map = map->l_next) {
        last = map;
        ++*ret_count;
    }
    return last;
}

void st_objects_fork_child(void)
{
    fork_last = last_object(&fork_count);
    is_forked = true;
}

static bool is_blocked(void)
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
    if (dynamic_of(info) == (uintptr_t)own->l_ld) {
        own_headers = info->dlpi_phdr;
        return 1;
    }
    return 0;
}

void st_watch_scan(void)
{
    if (is_blocked()) {
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

static int run_locked(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct locked_call *call = arg;
    call->fn(call->arg);
    return 1;
}

bool st_watch_locked(void (*fn)(void *), void *arg)
{
    if (is_blocked()) {
        return false;
    }
    dl_iterate_phdr(run_locked, &(struct locked_call){fn, arg});
    return true;
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
    return false;
}

bool st_watch_get_provider(uint32_t n, struct st_watch_provider *ret)
{
    if (n >= atomic_load_explicit(&provider_count, memory_order_acquire)) {
        return false;
    }
    *ret = providers[n].public;
    ret->mapped = atomic_load_explicit(&providers[n].is_mapped, memory_order_relaxed);
    return true;
}
