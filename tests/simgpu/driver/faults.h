/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIMGPU_FAULTS, parsed once. simgpu_fault() is declared in tracer.h (libcupti asks by name too):
 * -1 not set | 1 a plain word | N of `word=N` and `word=N%` | a version as 1000 * major + 10 * minor
 * (`cupti-layout=11.8` -> 11080). Any thread.
 */
#ifndef SIMGPU_FAULTS_H
#define SIMGPU_FAULTS_H

#include <stdbool.h>

#include "tracer.h"

/* False, with a message on stderr, when the variable holds a word that is no fault. */
bool sim_faults_valid(void);

#endif
