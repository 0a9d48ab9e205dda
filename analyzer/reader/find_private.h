/* SPDX-License-Identifier: Apache-2.0 */
/* What finding one file (find.c) and a whole run (find_run.c) have in common. One thread. */
#ifndef ST_READER_FIND_PRIVATE_H
#define ST_READER_FIND_PRIVATE_H

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "preload/trace/format.h"

/* The header of a file, if it is a trace, and when it was written to last. *ret_why (may be NULL): why it could not be
 * read, NULL where there is no regular file (any more). */
bool st_find_header(const char *path, struct st_trace_header *ret_header, struct timespec *ret_changed,
                    const char **ret_why);
/* Is a file of this name a trace that stagetap wrote? "a.stap", "a.stap.1", "a.stap.old.2". */
bool st_find_is_named_like_a_trace(const char *name);
bool st_find_is_later(struct timespec a, struct timespec b);
/* The path of an entry of `folder`; its length, or -1 for a name that no trace has, or a path too long. */
int st_find_path(const char *folder, const char *name, char ret_path[PATH_MAX]);

#endif
