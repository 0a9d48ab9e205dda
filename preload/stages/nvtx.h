/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges as a source of stages. NVTX loads the library that NVTX_INJECTION64_PATH names at the first
 * NVTX call of each object; we put ourselves there, and pass everything on to a tool that was there before.
 */
#ifndef ST_STAGES_NVTX_H
#define ST_STAGES_NVTX_H

#include "preload/trace/format.h"

#include "nvtx_abi.h"

/* Constructor, after st_watch_start(): note our own path; if a CUDA library is there already, have the
 * environment set just before main(). */
void st_nvtx_start(void);

/* Put NVTX_INJECTION64_PATH into this process's environment (once; a value that is there goes into
 * STAGETAP_INTERNAL_NVTX_CHAIN). Plain C. */
void st_nvtx_set_environment(void);

/* How far it came, with the reason why not further. Any thread. */
enum st_capability_state st_nvtx_state(const char **ret_why);

/* What NVTX calls, once for each object that uses it. Returns 1: attached. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(st_nvtx_get_table_fn get_table);

#endif
