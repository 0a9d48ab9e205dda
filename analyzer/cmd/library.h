/* SPDX-License-Identifier: Apache-2.0 */
/* The preloaded library beside this program. Main thread. */
#ifndef ST_CMD_LIBRARY_H
#define ST_CMD_LIBRARY_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define ST_LIBRARY "libstagetap.so"

/* Its absolute path: in the build tree, or installed. False: it was not found. */
bool st_library_find(char ret[PATH_MAX]);
/* The version in its file into ret. False: it tells none. */
bool st_library_version(const char *path, char *ret, size_t size);

#endif
