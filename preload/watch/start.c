/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of watching, and the late start of others just before main(). Runs in the constructor, before
 * libc's own initialisation when linked with -z initfirst: no environ, no stdio.
 */
#include <link.h>
#include <string.h>

#include "frame.h"
#include "objects.h"

#include "preload/calls/capture.h"

struct st_watch_state st_watch;

void st_watch_set_hooks(const struct st_watch_hooks *hooks)
{
    st_watch.hooks = *hooks;
}

void st_watch_set_before_call(void (*before_call)(struct st_thread *thread, const uint64_t *words))
{
    __atomic_store_n(&st_watch.hooks.before_call, before_call, __ATOMIC_RELAXED);
}

void st_watch_set_matcher(st_watch_matcher matcher)
{
    st_watch.matcher = matcher;
}

void st_watch_start(char **argv)
{
    st_watch.main_stack_top = (uintptr_t)argv;
    st_frame_start();
    st_watch.may_scan = true;
    st_watch_scan();
    st_watch.is_started = true;
    st_far_start();
}

void st_watch_fork_child(void)
{
    atomic_store_explicit(&st_watch.is_first_done, false, memory_order_relaxed);
    atomic_store_explicit(&st_watch.is_init_told, false, memory_order_relaxed);
    st_capture_fork_child();
    st_objects_fork_child();
    st_far_fork_child();
}

/* ---- before main -------------------------------------------------------------------------------- */

enum { MAX_AT_MAIN = 4 };

typedef int (*main_fn)(int, char **, char **);
typedef int (*start_main_fn)(main_fn, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static void (*at_main[MAX_AT_MAIN])(void);
static int at_main_count;
static main_fn program_main;
static start_main_fn real_start_main;

static int run_main(int argc, char **argv, char **envp)
{
    for (int i = 0; i < at_main_count; i++) {
        at_main[i]();
    }
    return program_main(argc, argv, envp);
}

static int start_main(main_fn main_function, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end)
{
    program_main = main_function;
    return real_start_main(run_main, argc, argv, init, fini, loader_fini, stack_end);
}

/* A slot that is not bound yet leads to the program's own way to the loader's resolver, which on aarch64 works
 * only for the call that goes through the slot: then the function is looked for as the loader would. */
static bool patch_start_slot(const struct object *program, const struct st_elf *elf, struct st_patch *patch,
                             const ElfW(Rela) *relocations, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t type = ELF64_R_TYPE(relocations[i].r_info), symbol = ELF64_R_SYM(relocations[i].r_info);
        if ((type == ST_RELOC_JUMP_SLOT || type == ST_RELOC_GLOB_DAT) && symbol &&
            strcmp(st_elf_name(elf, symbol), "__libc_start_main") == 0) {
            void **slot = (void **)(elf->base + relocations[i].r_offset);
            bool is_bound = !object_contains(program, (uintptr_t)*slot);
            real_start_main = is_bound ? (start_main_fn)*slot
                                       : (start_main_fn)st_watch_first_definition("__libc_start_main");
            return real_start_main && st_patch_slot(patch, slot, (const void *)start_main);
        }
    }
    return false;
}

/* The program is the first object of the walk. */
static int patch_program(struct dl_phdr_info *info, size_t size, void *arg)
{
    bool *ret_done = arg;
    const struct object program = {.base = info->dlpi_addr, .headers = info->dlpi_phdr,
                                   .header_count = info->dlpi_phnum};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        struct st_elf elf;
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
            st_elf_read(&elf, info->dlpi_addr, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr))) {
            struct st_patch patch;
            st_patch_begin(&patch, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
            *ret_done = patch_start_slot(&program, &elf, &patch, elf.relocations, elf.relocation_count) ||
                        patch_start_slot(&program, &elf, &patch, elf.jump_slots, elf.jump_slot_count);
            st_patch_end(&patch);
        }
    }
    return 1;
}

bool st_watch_at_main(void (*fn)(void))
{
    bool is_patched = at_main_count > 0;
    if (at_main_count == MAX_AT_MAIN) {
        return false;
    }
    if (!is_patched) {
        dl_iterate_phdr(patch_program, &is_patched);
    }
    if (is_patched) {
        at_main[at_main_count++] = fn;
    }
    return is_patched;
}

uint64_t st_watch_generation(void)
{
    return atomic_load_explicit(&st_watch.generation, memory_order_acquire);
}

/* ---- figures ------------------------------------------------------------------------------------ */

void st_watch_get_stats(struct st_watch_stats *ret)
{
#define FIGURE(name) .name = atomic_load_explicit(&st_watch.name, memory_order_relaxed)
    *ret = (struct st_watch_stats){
        FIGURE(scans), FIGURE(objects), FIGURE(edits), FIGURE(edits_refused), FIGURE(slots), FIGURE(slots_refused),
        FIGURE(out_of_reach), FIGURE(bound_before), FIGURE(thrown), FIGURE(abandoned), FIGURE(too_deep),
        FIGURE(unbounded), FIGURE(host_untimed),
        FIGURE(lookups_asked), FIGURE(lookups_found), FIGURE(lookups_wrapped), FIGURE(lookups_passed),
        FIGURE(lookups_not_found),
        .thunks = st_target_count(ST_TARGET_CALL), .stage_thunks = st_target_count(ST_TARGET_STAGE),
    };
#undef FIGURE
}
