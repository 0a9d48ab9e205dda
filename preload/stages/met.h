/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses that were met on stacks, and at the end the names of their functions. */
#ifndef ST_STAGES_MET_H
#define ST_STAGES_MET_H

#include <stdint.h>

/* One more sample with this return address. Any thread; lock-free. What there is no room for is forgotten. */
void st_met_note(uintptr_t address);

/* Read the files of the objects (hidden.h) and note the functions as SEEN names. Plain C with system calls, no malloc;
 * at the end, once. */
void st_met_tell(void);

#endif
