/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule a code object matches: found out when it is seen for the first time, then kept with the code object itself
 * (co_extra), so that it goes when the code goes. Needs the GIL; leaves no error set; runs no code of the program.
 */
#ifndef ST_STAGES_PYTHON_MATCH_H
#define ST_STAGES_PYTHON_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "python_api.h"
#include "stages.h"

/*
 * What is known of a code object, in one word that is 0 as long as nothing is: bit 0 always, bit 1 if a rule matches,
 * bit 2 if the rule only means something at the entry (`begin …`, `end …`), bit 3 if at the exit (`step-end`); rule and
 * row name above.
 */
enum { ST_PYTHON_SEEN = 1, ST_PYTHON_MATCHED = 2, ST_PYTHON_INSTANT = 4, ST_PYTHON_AT_EXIT = 8 };
static inline uint16_t st_python_rule(uint64_t known)
{
    return (uint16_t)(known >> 16);
}
static inline uint32_t st_python_name(uint64_t known)
{
    return (uint32_t)(known >> 32);
}
uint64_t st_python_pack(const struct st_stage_match *match);

#define ST_PYTHON_NAME_BYTES 512 /* of module:qualname; longer ones are cut */

/* Once in each life of the interpreter. False: this Python has no room for us in its code objects. */
bool st_python_match_init(void);
/* The interpreter is gone, and all that was kept in it; a later one may be initialised. */
void st_python_match_forget(void);

/* What was kept, or 0. */
uint64_t st_python_known(const void *code);

/* The first sight of `code`, whose function has these globals: match it and keep what was found (what matches nothing
 * only if `keeps_all`). `frame`: the interpreter's own frame (_PyInterpreterFrame) that runs it, NULL: the one that
 * runs now; only looked at from 3.11 on, in code that Dynamo made. Returns the word. */
uint64_t st_python_first_sight(st_py code, st_py globals, const void *frame, bool keeps_all);
const void *st_python_inner_frame(st_py frame); /* from 3.11 on; NULL in a free-threaded build */

/* Can the last part of a Python rule's name, behind its last dot, be `name`, in this module? */
bool st_python_rule_may_match(const struct st_map_rule *rule, const char *module, const char *name);

/* Code objects that a rule matched, so far. Any thread. */
uint64_t st_python_matched_codes(void);

#endif
