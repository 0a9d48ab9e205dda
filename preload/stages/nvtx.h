/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges as a source of stages. NVTX loads the library that getenv("NVTX_INJECTION64_PATH") names at the first
 * NVTX call of each object; we are the answer to that, and pass everything on to a tool that is named there.
 */
#ifndef ST_STAGES_NVTX_H
#define ST_STAGES_NVTX_H

#include "preload/trace/format.h"

#include "nvtx_abi.h"

/* Constructor, before st_watch_start(): from now on objects that may use NVTX find us when they ask the environment for
 * NVTX_INJECTION64_PATH. The variable itself is left as it is. */
void st_nvtx_init(void);

/* How far it came, with the reason why not further. Any thread. */
enum st_capability_state st_nvtx_state(const char **ret_why);

/* What NVTX calls, once for each object that uses it. Returns 1: attached. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(st_nvtx_get_table_fn get_table);

#endif
