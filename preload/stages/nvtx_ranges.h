/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVTX ranges mean for the calling thread: names are matched, matched ranges become stages. Pushed
 * ranges nest per domain; started ranges carry an id and may end on another thread. Plain C, called from
 * the target's NVTX calls; no allocation but for registered strings.
 */
#ifndef ST_STAGES_NVTX_RANGES_H
#define ST_STAGES_NVTX_RANGES_H

#include <stdint.h>

#include "nvtx_abi.h"

/* A domain is known by its handle; NULL is the default one. */
void st_nvtx_push(void *domain, const char *name);
void st_nvtx_push_wide(void *domain, const wchar_t *name);
void st_nvtx_push_attributes(void *domain, const struct st_nvtx_attributes *attributes);
void st_nvtx_pop(void *domain);

/* `id` 0: make one up. Returns the id. */
uint64_t st_nvtx_range_start(const char *name, uint64_t id);
uint64_t st_nvtx_range_start_wide(const wchar_t *name, uint64_t id);
uint64_t st_nvtx_range_start_attributes(const struct st_nvtx_attributes *attributes, uint64_t id);
void st_nvtx_range_end(uint64_t id);

/* In the child of a fork: the ranges are its parent's. */
void st_nvtx_fork_child(void);

void st_nvtx_mark(const char *name);
void st_nvtx_mark_wide(const wchar_t *name);
void st_nvtx_mark_attributes(const struct st_nvtx_attributes *attributes);

/* Remember what a string handle stands for. `handle` NULL: make one up. Returns the handle, NULL: no memory. */
void *st_nvtx_register(const char *text, void *handle);
void *st_nvtx_register_wide(const wchar_t *text, void *handle);

/* A handle for a domain, different from all others as long as there are few. */
void *st_nvtx_new_domain(void);

#endif
