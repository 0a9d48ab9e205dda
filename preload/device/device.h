/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who says when the device really worked: CUPTI activity records, if a libcupti is there and lets us. What
 * cannot be had is said in CAPABILITY rows; nothing here can make the target fail. No CUDA function is
 * called, and all CUPTI calls are made with st_suppress set.
 *
 * st_device_start() or st_device_refuse() run in a thread of the target; everything in st_device_source is
 * called by the writer thread, before or after that.
 */
#ifndef ST_DEVICE_DEVICE_H
#define ST_DEVICE_DEVICE_H

#include "preload/trace/table.h"
#include "preload/writer/writer.h"

/* After cuInit succeeded: find libcupti, check it, enable what it has. Once; plain C context; takes milliseconds (a
 * dlopen). `cupti_path` (STAGETAP_CUPTI) and `cuda_home` may be NULL; needed during the call only. */
void st_device_start(const char *cupti_path, const char *cuda_home);

/* Instead of starting: no device times are wanted; `why` goes into the capabilities. */
void st_device_refuse(const char *why);

/*
 * For st_writer_set_device(). The final collect has everything delivered that is there, waiting two seconds at
 * most; nothing is asked of the library after it.
 */
extern const struct st_device_source st_device_source;

/* Append KEY rows: which library, which version, what was tried before. Nothing before the start. Writer thread. */
void st_device_facts(struct st_rows *rows);

/* In a forked child: if the parent used the library, never touch it again (its threads are gone, its locks may be
 * held). */
void st_device_fork_child(void);

#endif
