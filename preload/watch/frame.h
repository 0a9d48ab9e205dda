/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many words of arguments can there be on the stack of a call whose signature nobody knows? They lie in the frame
 * of the function that is returned to, and unwind information (.eh_frame) says where that frame ends:
 *
 *     CFA of the caller      its own return address and saved registers are below it
 *     …                      its variables
 *     stack                  arguments of the call, if there are any on the stack
 *
 * Read from the mapped object; nothing is kept, as another object may lie there at the next call.
 */
#ifndef ST_WATCH_FRAME_H
#define ST_WATCH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct st_frame_call {
    uintptr_t stack;          /* the caller's stack pointer, at the first argument */
    uintptr_t return_address;
    uintptr_t frame_pointer;  /* rbp, x29, as the caller left it */
    uint64_t ret_words;       /* from `stack` to the end of the caller's frame; UINT64_MAX: not known */
    bool ret_is_libc;         /* the caller is in libc, which passes no structures to functions of others */
};

/* Fill ret_…. Plain C (void *: for st_watch_call_saved); any thread. No lock, no allocation; before glibc 2.35 one
 * dl_iterate_phdr. */
void st_frame_measure(void *call);

/* Note where libc is, and what it has to find an object fast. Constructor. */
void st_frame_start(void);

#endif
