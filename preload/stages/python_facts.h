/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions that the process's Python modules tell of themselves, read from modules that the program has imported:
 * nothing is imported, no code of the program runs. What only a call could tell (torch.backends.cuda.matmul.allow_tf32,
 * torch.backends.cudnn.benchmark) is not asked for: newer versions of torch answer with a warning on stderr.
 */
#ifndef ST_STAGES_PYTHON_FACTS_H
#define ST_STAGES_PYTHON_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* With the GIL: note what can be told now and could not before. */
void st_python_facts_look(void);

/* The interpreter is gone, and with it the strings that were made in it. */
void st_python_facts_forget(void);

/* The n-th fact, from 0: "torch" and "2.9.1"; false at the end. Any thread. */
bool st_python_fact(uint32_t n, const char **ret_key, const char **ret_value);

#endif
