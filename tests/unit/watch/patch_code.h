/* SPDX-License-Identifier: Apache-2.0 */
/* Patching a function in place. */
#ifndef WATCH_PATCH_CODE_H
#define WATCH_PATCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum { PATCH_BYTES = 14 }; /* a jump to anywhere */
#else
enum { PATCH_BYTES = 16 };
#endif

struct patch {
    uint8_t *function;
    uint8_t before[PATCH_BYTES];
    void *original; /* the copy of the first instructions, and a jump to the rest */
};

/* The function goes to `hook` from now on. False: its first instructions are not known. */
bool patch_apply(struct patch *patch, void *function, void *hook);
void patch_undo(const struct patch *patch);

#endif
