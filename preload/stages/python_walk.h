/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is learned from looking at the Python frames when a CUDA call is made (python_frames.h must be prepared): names
 * that a rule could match, at most once per millisecond and thread; and, where there is no hook, stages. A stage is
 * then entered at the first CUDA call inside it and left at the first one outside of it: edges are concluded, and calls
 * of one function from the same place, one right after the other, are one.
 */
#ifndef ST_STAGES_PYTHON_WALK_H
#define ST_STAGES_PYTHON_WALK_H

#include <stdint.h>

/* From now on names are noted. With the GIL, or any thread: cheap when it was said before. */
void st_python_walk_for_names(void);
/* From now on stages are found so. `start_ticks`: a time before any Python code ran. */
void st_python_walk_for_stages(uint64_t start_ticks);

/* Leave what is still entered on the calling thread: the program ends. */
void st_python_walk_end(void);

#endif
