/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python functions as a source of stages. CPython is looked for when the program loads libraries, and at its first
 * CUDA call; one of three ways to follow it (python_backends.h) is installed at the first moment at which the calling
 * thread holds the GIL, which any import of an extension module is. Nothing is installed if the map has no python rule.
 * The GIL is never asked for: a thread that waits for it inside a CUDA call may be waited for by its holder.
 */
#ifndef ST_STAGES_PYTHON_H
#define ST_STAGES_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/trace/format.h"

/* STAGETAP_PY, as in settings.def */
enum st_python_choice { ST_PY_AUTO, ST_PY_MONITORING, ST_PY_EVAL, ST_PY_WALK, ST_PY_OFF };

/* Constructor, after st_stages_init(). */
void st_python_start(enum st_python_choice choice);

/* A dlopen() of the target comes; a CUDA call of the process is the first one. Plain C, any thread. */
void st_python_on_dlopen(void);
void st_python_on_first_call(void);

/* The program ends, on this thread. */
void st_python_end(void);

/* ---- for the facts in the trace; any thread ---- */

struct st_python_stats {
    uint64_t codes;      /* code objects that a rule matched */
    uint64_t mismatches; /* functions left in another order than they were entered (greenlets do that) */
};
void st_python_get_stats(struct st_python_stats *ret);

/* "3.11.7: frame-evaluation hook", or NULL while no Python was found. */
const char *st_python_description(void);
/* What STAGETAP_PY asked for and this Python can not do, and what is done instead; NULL: nothing. */
const char *st_python_note(void);
/* How far the source is; *ret_why in words. */
enum st_capability_state st_python_state(const char **ret_why);

#endif
