/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The activity buffers lent to CUPTI: a bounded pool (pages are touched only when used), and small spare buffers for
 * when all are out – what lands in a spare one is counted and thrown away. The two callbacks run on any thread, inside
 * the target's CUDA calls: no lock, no system call, no CUPTI call.
 */
#ifndef ST_DEVICE_BUFFERS_H
#define ST_DEVICE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

/* Make the pool. `sizes` is kept (to count what is thrown away). False: no memory; then all buffers are spare. */
bool st_buffers_init(const struct st_cupti_sizes *sizes);

/* The callbacks for cuptiActivityRegisterCallbacks. */
void st_buffers_request(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_max_records);
void st_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid_bytes);

/* Hand each completed buffer to `read`, in order of completion, then give it back to the pool. One thread. */
void st_buffers_take(void (*read)(void *arg, const uint8_t *buffer, size_t valid_bytes), void *arg);

/* Is any completed buffer waiting? */
bool st_buffers_waiting(void);

/* Records thrown away so far. */
uint64_t st_buffers_discarded(void);

#endif
