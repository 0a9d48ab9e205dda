/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames of the calling thread, read from memory: without the GIL, a lock or a system call. They are this
 * thread's own, and it runs no Python code while it is in ours, so nobody changes them; what they refer to lives as
 * long as they do. Nothing is read before st_python_frames_prepare() has compared, with the GIL, what is found there
 * with what Python itself says.
 */
#ifndef ST_STAGES_PYTHON_FRAMES_H
#define ST_STAGES_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "python_backends.h"

struct st_python_frame {
    const void *frame, *code; /* names for them; not to be followed */
    const void *name, *file;  /* strings of Python: qualified name (before 3.11: name), file */
};

/* A walk from the innermost frame outwards: begin, then next until it says false. */
struct st_python_walk {
    uintptr_t frame;
    uint32_t steps; /* bounded: a chain that is not one must end */
};

/* With the GIL: is the layout of this version's structures known and right? ST_PYTHON_NOT_YET: no Python code runs. */
enum st_python_installed st_python_frames_prepare(const char **ret_why);
/* With the GIL: which file is the program's own, once Python knows. */
void st_python_frames_find_main(void);
bool st_python_frames_has_main(void);
/* Another program may come: the interpreter is gone. */
void st_python_frames_forget_main(void);

/* The frames of this thread. Any thread, after st_python_frames_prepare(). */
void st_python_frames_begin(struct st_python_walk *walk);
bool st_python_frames_next(struct st_python_walk *walk, struct st_python_frame *ret);

/* The text of a string, "" if it is not plain ASCII or longer than `size`. */
void st_python_frame_text(const void *string, char *ret, uint32_t size);

/*
 * The module of a file, "" if it can not be told: a file of the program's own could be imported by several names. Files
 * in site-packages, dist-packages and Python's own library have the name of their path; the program's main file is
 * `__main__`.
 */
void st_python_frame_module(const char *file, char *ret, uint32_t size);
/* What it could be: the last `count` parts of the path, from 1; false: it has less. */
bool st_python_frame_module_guess(const char *file, uint32_t count, char *ret, uint32_t size);

#endif
