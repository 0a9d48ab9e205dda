/* SPDX-License-Identifier: Apache-2.0 */
/* Can a library be preloaded into this program? Told from its file, which is read and never run. One thread. */
#ifndef ST_DOCTOR_PROGRAM_H
#define ST_DOCTOR_PROGRAM_H

#include <stdbool.h>

#include "doctor.h"

enum { ST_SEEN_BYTES = 512 };

/* Look at the file. False: nothing speaks against it (also: it cannot be read, or is a script). True: *ret_fault and
 * `ret_seen` say why the loader will not put our library into it. `name`: what the evidence calls it. */
bool st_program_refuses(const char *path, const char *name, enum st_fault *ret_fault, char ret_seen[ST_SEEN_BYTES]);

/* The path that running `command` would take (searched in PATH if it has no slash). False: none. */
bool st_program_find(const char *command, char *ret, size_t size);

#endif
