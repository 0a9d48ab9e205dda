/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else may be in a process, and what it means for a measurement: compute back-ends that are not followed, and
 * variables that change what is measured. Asked by the preloaded library and by the analyzer. No allocation, no
 * libc beyond string functions; any thread.
 */
#ifndef ST_CONFIG_SURROUNDINGS_H
#define ST_CONFIG_SURROUNDINGS_H

#include <stdbool.h>

/* "libvulkan.so.1" → "Vulkan": the other back-end that a library of this name (soname or file, no folder) belongs to;
 * NULL = none. The same for all its libraries. */
const char *st_backend_of(const char *name);
/* Is this what st_backend_of() answers for some library? */
bool st_is_backend(const char *word);

/* Does the variable with this value change what is measured? Then what it does, in a few words; else NULL. */
const char *st_distortion(const char *variable, const char *value);

#endif
