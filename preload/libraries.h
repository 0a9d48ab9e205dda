/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of the driver's user library, of the runtime and of NVIDIA's libraries beside them, as the names of the
 * files that were mapped tell them: libcuda.so.1 is a link to libcuda.so.570.86.15. No function of theirs is called.
 * A library that is linked statically is not found; one whose file bears no more than its soname (Python wheels)
 * tells the major version only.
 */
#ifndef ST_LIBRARIES_H
#define ST_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ST_LIBRARY_VERSION_BYTES = 64 };

/* An object was mapped; `file` as the loader names it. Any thread, under the loader's lock; takes a copy only. */
void st_library_note(const char *soname, const char *file);
/* The n-th of those that were noted: the fact's key and "570.86.15" ("" if the name tells none). False at the end.
 * Follows links: for the writer's thread. */
bool st_library_get(uint32_t n, const char **ret_key, char ret_version[ST_LIBRARY_VERSION_BYTES]);

#endif
