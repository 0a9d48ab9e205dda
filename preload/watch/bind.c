/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object defines for us: providers are recognised by their soname, stage functions by the matcher.
 * A wanted function gets a target, and the object's own symbol table is made to name the thunk. From then on
 * the loader itself binds every later caller to it: constructors, lazy slots, RTLD_DEEPBIND, RTLD_NEXT, dlsym.
 * Runs inside dl_iterate_phdr callbacks (objects.c).
 */
#include <stdio.h>
#include <string.h>

#include "objects.h"

#include "config/cxx_name.h"

enum { MAX_PROVIDERS = 16 };

static struct provider {
    struct st_watch_provider public;
    uint32_t owner;
    _Atomic bool is_mapped;
} providers[MAX_PROVIDERS];
static _Atomic uint32_t provider_count;

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* By DT_SONAME, so that a renamed file counts; the second form catches copies renamed by auditwheel. */
enum st_layer object_provider_layer(const char *soname)
{
    if (!soname) {
        return 0;
    }
    if (starts_with(soname, "libcuda.so")) {
        return ST_LAYER_DRIVER;
    }
    return starts_with(soname, "libcudart") && strstr(soname, ".so") ? ST_LAYER_RUNTIME : 0;
}

/* libcudart.so.11.0 → 11; 0 = the name does not tell. */
static int provider_major(const char *soname)
{
    const char *at = strstr(soname, ".so.");
    int major = 0;
    for (at = at ? at + 4 : ""; *at >= '0' && *at <= '9' && major < 1000; at++) {
        major = 10 * major + (*at - '0');
    }
    return major;
}

/* The record of a provider: the one it had when it was mapped before, or a new one. NULL: no room. */
static struct provider *add_provider(const struct object *object, const struct st_elf *elf, enum st_layer layer)
{
    uint32_t count = atomic_load_explicit(&provider_count, memory_order_relaxed);
    for (uint32_t n = 0; n < count; n++) {
        struct provider *known = &providers[n];
        if (!atomic_load_explicit(&known->is_mapped, memory_order_relaxed) &&
            known->public.is_far == object->is_far && strcmp(known->public.soname, object->soname) == 0 &&
            strcmp(known->public.path, object->name) == 0) {
            known->owner = object->id;
            return known;
        }
    }
    if (count == MAX_PROVIDERS) {
        st_watch_count(&st_watch.out_of_reach);
        return NULL;
    }
    struct provider *provider = &providers[count];
    snprintf(provider->public.soname, sizeof(provider->public.soname), "%s", object->soname);
    snprintf(provider->public.path, sizeof(provider->public.path), "%s", object->name);
    provider->public.layer = (uint8_t)layer;
    provider->public.is_far = object->is_far;
    provider->public.simulated = st_elf_function(elf, "simgpu_tracer_set") != 0;
    provider->owner = object->id;
    return provider;
}

/* Visible to st_watch_get_provider() from here on. */
static void publish_provider(struct provider *provider, uint32_t functions)
{
    provider->public.functions = functions;
    atomic_store_explicit(&provider->is_mapped, true, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&provider_count, memory_order_relaxed);
    if (provider == &providers[count]) {
        atomic_store_explicit(&provider_count, count + 1, memory_order_release);
    }
}

/* The target of a defined symbol, or NULL if it is not wanted. */
static struct st_watch_target *target_of_symbol(struct object *object, const struct st_elf *elf, uint32_t symbol,
                                                enum st_layer layer, struct found *found)
{
    const char *name = st_elf_name(elf, symbol);
    void *real = (void *)(elf->base + elf->symbols[symbol].st_value);
    if (layer) {
        int call = st_call_find_for(name, provider_major(object->soname));
        if (call < 0 || st_calls[call].layer != layer) {
            return NULL;
        }
        found->calls = true;
        return st_target_add_call(real, (uint16_t)call, object->id);
    }
    uint16_t rule;
    uint32_t stage_symbol;
    if (!st_watch.matcher(name, &rule, &stage_symbol)) {
        return NULL;
    }
    object->owns_stages = found->stages = true;
    return st_target_add_stage(real, rule, stage_symbol, object->id, st_cxx_has_small_arguments(name));
}

/* Give thunks to what is wanted and let the object's own symbol table name them. */
static void bind_symbols(struct object *object, const struct st_elf *elf, enum st_layer layer, struct found *found)
{
    struct provider *provider = layer ? add_provider(object, elf, layer) : NULL;
    uint32_t count = st_elf_symbol_count(elf), functions = 0;
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
        struct st_watch_target *target = target_of_symbol(object, elf, i, layer, found);
        if (target && st_patch_symbol(&patch, symbol, st_target_thunk(target)) && !object->edited) {
            object->edited = symbol;
            object->edited_value = symbol->st_value;
        }
        functions += target != NULL;
    }
    st_patch_end(&patch);
    if (provider) {
        publish_provider(provider, functions);
    }
}

void object_bind(struct object *object, const struct st_elf *elf, struct found *ret_found)
{
    enum st_layer layer = object_provider_layer(elf->soname);
    if (layer || (st_watch.matcher && !object_is_system(object))) {
        bind_symbols(object, elf, layer, ret_found);
    }
}

void object_forget(const struct object *object)
{
    st_target_forget(object->id);
    for (uint32_t i = 0; i < atomic_load_explicit(&provider_count, memory_order_relaxed); i++) {
        if (providers[i].owner == object->id) {
            atomic_store_explicit(&providers[i].is_mapped, false, memory_order_relaxed);
        }
    }
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

bool st_watch_driver_is_far(void)
{
    bool is_far = false;
    struct st_watch_provider provider;
    for (uint32_t n = 0; st_watch_get_provider(n, &provider); n++) {
        if (provider.mapped && provider.layer == ST_LAYER_DRIVER) {
            if (!provider.is_far) {
                return false;
            }
            is_far = true;
        }
    }
    return is_far;
}
