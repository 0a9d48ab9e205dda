/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a `symbol` rule names and that no symbol edit can reach: static and hidden ones, those called inside
 * one object. They are known by their addresses, from the .symtab of the files that are mapped, and are looked for on
 * the stacks of threads that make CUDA calls (unwind.h).
 */
#ifndef ST_STAGES_HIDDEN_H
#define ST_STAGES_HIDDEN_H

#include <stdbool.h>
#include <stdint.h>

struct st_hidden {
    uintptr_t begin, end; /* code */
    uint32_t name;        /* row name, as the match gave it */
    uint16_t rule;
};

/* Constant; a newer one replaces it and it stays valid. Sorted, without overlap. */
struct st_hidden_table {
    uint32_t count;
    struct st_hidden functions[];
};

/* Follow every symbol rule this way (`stacks`), or only those that no dynamic function matches. Constructor. */
void st_hidden_init(bool follows_all);

/* The list of objects changed: read the files that are new. Plain C with system calls; one thread at a time, others
 * return at once. Not from inside a callback of dl_iterate_phdr. False: not possible now. */
bool st_hidden_update(void);

/* NULL: no such function was found so far. Any thread. */
const struct st_hidden_table *st_hidden_table(void);

/* Place in the table + 1 of the function that holds this address, 0: none. */
uint32_t st_hidden_find(const struct st_hidden_table *table, uintptr_t address);

/* ---- for what is said at the end; not while an update runs ---- */

/* File in whose .symtab a function for this rule was found first; NULL: in none. */
const char *st_hidden_where(uint16_t rule);
/* Files that were mapped and that no symbols could be read from, because they are stripped, or at all. */
uint32_t st_hidden_stripped_count(void);

/* The n-th object ever met; false at the end. `path` stays valid. */
struct st_hidden_object {
    const char *path;
    uintptr_t base, end;
    uint64_t headers_hash;
    bool is_ours; /* a CUDA library, libc or the loader */
};
bool st_hidden_object(uint32_t n, struct st_hidden_object *ret);

#endif
