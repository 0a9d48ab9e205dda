/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External correlation: ids that a client pushes on a thread and that go, one record for each kind that has one, with
 * every driver call of that thread. Own thread only.
 */
#include <stddef.h>

#include "cupti.h"
#include "records.h"

enum { KINDS = 6, DEPTH = 256, QUEUE_EMPTY = 18 };

static __thread struct {
    uint64_t ids[DEPTH];
    unsigned depth; /* may be more than there is room for */
} stacks[KINDS];

int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last_id);

int cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id)
{
    SIM_CALL();
    if (kind == 0 || kind >= KINDS) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (stacks[kind].depth < DEPTH) {
        stacks[kind].ids[stacks[kind].depth] = id;
    }
    stacks[kind].depth++;
    return SIM_CUPTI_SUCCESS;
}

int cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last_id)
{
    SIM_CALL();
    if (kind == 0 || kind >= KINDS) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    if (stacks[kind].depth == 0) {
        return QUEUE_EMPTY;
    }
    stacks[kind].depth--;
    if (last_id && stacks[kind].depth < DEPTH) {
        *last_id = stacks[kind].ids[stacks[kind].depth];
    }
    return SIM_CUPTI_SUCCESS;
}

void sim_external_append(uint32_t correlation)
{
    for (uint32_t kind = 1; kind < KINDS; kind++) {
        unsigned depth = stacks[kind].depth;
        if (depth > 0 && depth <= DEPTH) {
            const struct sim_external_record r = {.kind = SIM_KIND_EXTERNAL_CORRELATION,
                                                  .externalKind = kind,
                                                  .externalId = stacks[kind].ids[depth - 1],
                                                  .correlationId = correlation};
            sim_buffers_append(&r, sim_record_size(r.kind), 0);
        }
    }
}
