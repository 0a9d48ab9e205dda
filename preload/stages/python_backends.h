/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to learn which Python function runs. Each is installed at most once, with the GIL, in the main interpreter;
 * python.c chooses. None calls PyEval_SetProfile or touches what other tools have set.
 */
#ifndef ST_STAGES_PYTHON_BACKENDS_H
#define ST_STAGES_PYTHON_BACKENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "python_api.h"

struct st_thread;

enum st_python_installed {
    ST_PYTHON_NOT_YET, /* ask again at another moment */
    ST_PYTHON_INSTALLED,
    ST_PYTHON_REFUSED, /* for ever; *ret_why says why */
};

/* ---- sys.monitoring, 3.12 and newer: python_monitoring.c ---- */

enum st_python_installed st_python_monitoring_install(const char **ret_why);
/* The matched functions that run on this thread right now are taken for entered: their begin is concluded, and was at
 * most `late_ticks` ago. Once, after the installation. */
void st_python_monitoring_adopt(uint64_t late_ticks);
/* Functions that were left in another order than they were entered. */
uint64_t st_python_monitoring_mismatches(void);

/* ---- the frame-evaluation hook (PEP 523), 3.8 to 3.11: python_eval.c ---- */

enum st_python_installed st_python_eval_install(const char **ret_why);
/* Why it was given up, or NULL while it is not: 3.11's hook needs more of the C stack than
 * there is. Any thread. */
const char *st_python_eval_given_up(void);

#endif
