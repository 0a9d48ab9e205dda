/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of preload/watch share. */
#ifndef ST_WATCH_WATCH_PRIVATE_H
#define ST_WATCH_WATCH_PRIVATE_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf.h"
#include "target.h"
#include "watch.h"

struct st_watch_state {
    /* set by the constructor, then constant (hooks.before_call may come later); a thread that was there before it goes
     * by may_scan */
    struct st_watch_hooks hooks;
    st_watch_matcher matcher;
    atomic_bool may_scan; /* the rules are known: a sanitizer's first look-ups come before, from our constructor */
    bool is_started; /* st_watch_start() is done */
    uintptr_t main_stack_top; /* words of the main thread's stack below it can be read */

    /* once per process, again in a forked child */
    atomic_bool is_first_done, is_init_told;

    /* figures */
    _Atomic uint64_t scans, objects, edits, edits_refused, slots, slots_refused, out_of_reach;
    _Atomic uint64_t thrown, abandoned, too_deep, unbounded;
    _Atomic uint64_t host_untimed;
    _Atomic uint64_t bound_before;
    _Atomic uint64_t generation; /* of the list of objects */
    _Atomic uint64_t lookups_asked, lookups_found, lookups_wrapped, lookups_passed, lookups_not_found;
};
extern struct st_watch_state st_watch;

static inline void st_watch_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- objects.c ---- */

/* Run fn(arg) inside the loader's lock, where state may change. False: not possible now (forked child). */
bool st_watch_locked(void (*fn)(void *), void *arg);

/* Inside the lock: the object that an address lies in. *ret_name is valid while the lock is held. */
bool st_objects_find(const void *address, uint32_t *ret_owner, const char **ret_name);

/* RTLD_DEEPBIND was seen: from now on dlsym and dlopen slots bound to libc are rebound, too. */
void st_objects_deepbind(void);

void st_objects_fork_child(void);
/* Another thread was closing it when this process forked: it is in the loader's lists for ever, but not mapped. */
bool st_objects_is_gone(const char *name);
/* The loader's lock was seen free by the thread that calls. */
void st_objects_lock_is_free(void);

/* ---- far.c ---- */

/* The loader's r_debug since glibc 2.35: a chain, one entry for each link namespace. Older headers do not know it. */
struct st_namespaces {
    struct r_debug first;
    struct st_namespaces *next;
};
/* The chain, of which `program` is the first object. NULL: not known. */
const struct st_namespaces *st_far_namespaces(const struct link_map *program);

/* From now on the shim tells of new objects. Last step of the start. */
void st_far_start(void);
void st_far_fork_child(void);

/* ---- patch.c: inside the lock ---- */

struct st_patch {
    const ElfW(Phdr) *headers;
    size_t header_count;
    uintptr_t base;
    uintptr_t relro_begin, relro_end; /* whole pages that the loader makes read-only */
    uintptr_t open_page;              /* made writable by us; 0 = none */
    int open_protection;              /* what it gets back */
};
void st_patch_begin(struct st_patch *patch, uintptr_t base, const ElfW(Phdr) *headers, size_t header_count);
void st_patch_end(struct st_patch *patch);
/* Store a new value; false: the system refused. */
bool st_patch_symbol(struct st_patch *patch, const ElfW(Sym) *symbol, const void *address);
bool st_patch_slot(struct st_patch *patch, void **slot, const void *address);

/* ---- loader.c: the real functions ---- */

typedef void *(*st_dlsym_fn)(void *, const char *);
typedef void *(*st_dlopen_fn)(const char *, int);
typedef char *(*st_dlerror_fn)(void);
/* NULL: before st_watch_resolve(), or not in the process then. */
extern st_dlsym_fn st_watch_next_dlsym;
extern st_dlopen_fn st_watch_next_dlopen;
/* The first definition of a function in the loader's list, or 0. */
uintptr_t st_watch_first_definition(const char *name);
/* Our entry in the loader's list of objects. */
const struct link_map *st_watch_own_map(void);
/* The head of that list. */
const struct link_map *st_watch_first_map(void);

/* ---- loader_*.S, exported ---- */
void *dlsym(void *handle, const char *name);
void *dlopen(const char *file, int flags);

/* ---- lookup.c ---- */

/* A pointer look-up returned: count it, hand out our thunk. `is_inner`: inside another one. */
void st_watch_after_lookup(const struct st_watch_target *target, const uint64_t *frame, int result, bool is_inner);

/* ---- host_functions.c ---- */

/* Before the call: have the driver call our thunk of the program's function. The thread is claimed. */
void st_host_pass(struct st_thread *thread, const struct st_call_row *row, uint64_t *words);
/* The program's function behind a thunk that the driver was given; anything else comes back unchanged. */
uint64_t st_host_unwrap(uint64_t given);
/* After the call: the program sees its own function. */
void st_host_answer(const struct st_call_row *row, const uint64_t *words);

/* ---- hook.c, called by the thunk ---- */

/* Words to copy from the caller's stack, or ST_WATCH_JUMP: run the function without coming back. */
#define ST_WATCH_JUMP (-1)
int64_t st_watch_enter(struct st_watch_target *target, uint64_t *frame);
void st_watch_leave(struct st_watch_target *target, const uint64_t *frame, uint64_t result);
/* x86_64: size of the area that st_watch_call_saved() saves vector registers to; 0: there is only FXSAVE. */
uint64_t st_watch_vector_bytes(void);
int st_watch_personality(int version, int actions, uint64_t exception_class, void *exception, void *context);

#endif
