/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object (executable or library) of the process as preload/watch knows it, and the three steps that
 * it goes through: objects.c lists, bind.c gives thunks, slots.c rewrites. All of it runs inside a
 * dl_iterate_phdr callback: no dl*() call, no malloc, no lock of ours.
 */
#ifndef ST_WATCH_OBJECTS_H
#define ST_WATCH_OBJECTS_H

#include "watch_private.h"

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
    bool has_dl_slots_done, has_getenv_done;
    bool is_far;   /* in another link namespace (far.c) */
    bool is_fresh; /* met after the start, in the list pass before this slot pass */
};

bool object_contains(const struct object *object, uintptr_t address);
uintptr_t object_end(const struct object *object);
/* The loader, libc and its parts: nothing there is a stage, and their slots stay as they are. */
bool object_is_system(const struct object *object);
/* Is what lies there now what was read? Not if it was unloaded and another one took its place. */
bool object_is_same(const struct object *object);

/* The n-th object of the last list pass; NULL at the end. Inside the lock. */
const struct object *objects_get(uint32_t n);

/* ---- bind.c ---- */

/* A new object: give thunks to what it defines for us and let its own symbol table name them. Sets in *ret_found
 * what kinds of targets there were. */
struct found {
    bool calls, stages;
};
void object_bind(struct object *object, const struct st_elf *elf, struct found *ret_found);
/* Read and bind an object that was not met before. */
void object_read(struct object *object, struct found *ret_found);
/* The layer that a library of this soname provides, 0 = none. NULL = no soname. */
enum st_layer object_provider_layer(const char *soname);
/* It is gone, and with it the addresses of its functions. */
void object_forget(const struct object *object);

/* ---- far.c ---- */

/* Look at the objects of the other link namespaces; part of the list pass. */
void far_objects_look(struct found *ret_found);
const struct object *far_objects_find(const void *address);

/* ---- slots.c ---- */

/* Rewrite the slots that were bound before the targets of the kinds in `found` existed, and where `want_dl`, those
 * of dlsym and dlopen that lead past us. True: not all could be told yet, the object is not relocated. */
bool object_rewrite_slots(struct object *object, struct found found, bool want_dl);

/* ---- environment.c ---- */

/* Let the object's getenv slots lead to the function of st_watch_set_getenv(), if it may need it. True: not relocated
 * yet, come again. */
bool object_answer_getenv(struct object *object);

#endif
