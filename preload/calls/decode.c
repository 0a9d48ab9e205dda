/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From saved argument words to CALL.a … CALL.d. On the path of every recorded call: general registers
 * only, no call out, no loop but over the entries of a batch. Memory of the caller is read only after
 * success – then it was good enough for the driver, too.
 */
#include "place.h"

enum { DIRECTIONS = 5, MAX_BATCH = 4096, STREAM_PER_THREAD = 2 };
enum { MEMORY_HOST = 1, MEMORY_DEVICE = 2, MEMORY_ARRAY = 3, MEMORY_UNIFIED = 4 }; /* CUmemorytype */

/* cudaMemcpyKind: host to host, host to device, device to host, device to device, default */
static const uint8_t direction_of_kind[DIRECTIONS] = {ST_DIR_H2H, ST_DIR_H2D, ST_DIR_D2H, ST_DIR_D2D, ST_DIR_UNKNOWN};

static uint32_t direction_of_memory(uint32_t source, uint32_t target)
{
    if (source == MEMORY_UNIFIED || target == MEMORY_UNIFIED) {
        return ST_DIR_UNKNOWN;
    }
    if (source == MEMORY_HOST) {
        return target == MEMORY_HOST ? ST_DIR_H2H : ST_DIR_H2D;
    }
    return target == MEMORY_HOST ? ST_DIR_D2H : ST_DIR_D2D;
}

static uint64_t end_of_copy(uint32_t type, const void *host, uint64_t device, const void *array)
{
    return type == MEMORY_HOST ? (uint64_t)host : type == MEMORY_ARRAY ? (uint64_t)array : device;
}

static uint32_t kind_of_node(uint32_t type)
{
    static const uint8_t kinds[] = {
        [0] = ST_NODE_KERNEL, [1] = ST_NODE_COPY,  [2] = ST_NODE_MEMSET, [3] = ST_NODE_HOST,
        [4] = ST_NODE_CHILD,  [5] = ST_NODE_OTHER, [6] = ST_NODE_EVENT,  [7] = ST_NODE_EVENT,
        [8] = ST_NODE_OTHER,  [9] = ST_NODE_OTHER, [10] = ST_NODE_OTHER, [11] = ST_NODE_OTHER,
        [12] = ST_NODE_OTHER}; /* CUgraphNodeType; conditional nodes and later kinds are not known */
    return type < sizeof(kinds) ? kinds[type] : ST_NODE_UNKNOWN;
}

/* c: the kind of node; b: the graph of a child graph node. */
static void decode_node(const struct st_call_row *row, bool ok, struct st_call_note *note)
{
    const struct node_params *params = (const struct node_params *)note->c;
    note->c = row->node;
    if (row->node == ST_NODE_NONE && ok && params) {
        note->c = kind_of_node(params->type);
        note->b = note->c == ST_NODE_CHILD ? params->child : 0;
    }
}

static uint32_t decode_copy_2d(const struct copy_2d *copy, struct st_call_note *note)
{
    note->a = end_of_copy(copy->target_type, copy->target_host, copy->target_device, copy->target_array);
    note->b = end_of_copy(copy->source_type, copy->source_host, copy->source_device, copy->source_array);
    note->c = copy->width_bytes * copy->height;
    return direction_of_memory(copy->source_type, copy->target_type);
}

static uint32_t decode_copy_3d(const struct copy_3d *copy, struct st_call_note *note)
{
    note->a = end_of_copy(copy->target_type, copy->target_host, copy->target_device, copy->target_array);
    note->b = end_of_copy(copy->source_type, copy->source_host, copy->source_device, copy->source_array);
    note->c = copy->width_bytes * copy->height * copy->depth;
    return direction_of_memory(copy->source_type, copy->target_type);
}

static uint32_t decode_copy_2d_32(const struct copy_2d_32 *copy, struct st_call_note *note)
{
    note->a = end_of_copy(copy->target_type, copy->target_host, copy->target_device, copy->target_array);
    note->b = end_of_copy(copy->source_type, copy->source_host, copy->source_device, copy->source_array);
    note->c = (uint64_t)copy->width_bytes * copy->height;
    return direction_of_memory(copy->source_type, copy->target_type);
}

static uint32_t decode_copy_3d_32(const struct copy_3d_32 *copy, struct st_call_note *note)
{
    note->a = end_of_copy(copy->target_type, copy->target_host, copy->target_device, copy->target_array);
    note->b = end_of_copy(copy->source_type, copy->source_host, copy->source_device, copy->source_array);
    note->c = (uint64_t)copy->width_bytes * copy->height * copy->depth;
    return direction_of_memory(copy->source_type, copy->target_type);
}

/* With an array the width counts elements of unknown size: then `c` is a lower bound (the driver call
 * inside has the bytes). */
static uint32_t decode_copy_rt3d(const struct copy_rt3d *copy, struct st_call_note *note)
{
    note->a = (uint64_t)(copy->target_array ? copy->target_array : copy->target.pointer);
    note->b = (uint64_t)(copy->source_array ? copy->source_array : copy->source.pointer);
    note->c = copy->extent[0] * copy->extent[1] * copy->extent[2];
    return copy->kind < DIRECTIONS ? direction_of_kind[copy->kind] : ST_DIR_UNKNOWN;
}

static uint32_t decode_copy_rt3d_peer(const struct copy_rt3d_peer *copy, struct st_call_note *note)
{
    note->a = (uint64_t)(copy->target_array ? copy->target_array : copy->target.pointer);
    note->b = (uint64_t)(copy->source_array ? copy->source_array : copy->source.pointer);
    note->c = copy->extent[0] * copy->extent[1] * copy->extent[2];
    return ST_DIR_P2P;
}

/* a, b: the first target and source; c: all bytes. */
static void decode_batch(uint64_t count, bool ok, struct st_call_note *note)
{
    const uint64_t *targets = (const uint64_t *)note->a, *sources = (const uint64_t *)note->b;
    const uint64_t *sizes = (const uint64_t *)note->c;
    note->a = note->b = note->c = 0;
    if (!ok || !count || !targets || !sources || !sizes) {
        return;
    }
    note->a = targets[0];
    note->b = sources[0];
    for (uint64_t i = 0; i < count && i < MAX_BATCH; i++) {
        note->c += sizes[i];
    }
}

/* a, b: of the first copy; c: of all, as decode_copy_rt3d() has it. */
static void decode_3d_batch(const struct copy_3d_batch *copies, uint64_t count, struct st_call_note *note)
{
    if (!count) {
        return;
    }
    note->a = copies[0].target.address_or_array;
    note->b = copies[0].source.address_or_array;
    for (uint64_t i = 0; i < count && i < MAX_BATCH; i++) {
        note->c += copies[i].extent[0] * copies[i].extent[1] * copies[i].extent[2];
    }
}

/* a: the function, b: the stream of the first device's launch. */
static void decode_launch_multi(uint8_t decoder, const void *list, struct st_call_note *note)
{
    note->a = *(const uint64_t *)list;
    note->b = decoder == DECODE_LAUNCH_MULTI ? ((const struct launch_multi *)list)->stream
                                             : ((const struct launch_rt_multi *)list)->stream;
}

/* note->a holds the address of the structure, or of the first of several; in LAUNCH_EX it is the function. */
static uint32_t decode_structure(const struct st_call_row *row, const uint64_t *frame, bool ok,
                                 struct st_call_note *note)
{
    const void *structure = (const void *)note->a;
    if (row->decoder == DECODE_COPY_BATCH) {
        decode_batch(st_call_place(row->c2, frame, ok), ok, note);
        return ST_DIR_UNKNOWN;
    }
    if (row->decoder == DECODE_NODE) {
        decode_node(row, ok, note);
        return ST_DIR_UNKNOWN;
    }
    if (row->decoder == DECODE_LAUNCH_EX) {
        const struct launch_config *config = (const struct launch_config *)note->b;
        note->b = ok && config ? config->stream : 0;
        return ST_DIR_UNKNOWN;
    }
    note->a = 0;
    if (!ok || !structure) {
        return ST_DIR_UNKNOWN;
    }
    switch (row->decoder) {
    case DECODE_COPY_2D:
        return decode_copy_2d(structure, note);
    case DECODE_COPY_3D:
        return decode_copy_3d(structure, note);
    case DECODE_COPY_3D_BATCH:
        decode_3d_batch(structure, st_call_place(row->c2, frame, ok), note);
        return ST_DIR_UNKNOWN;
    case DECODE_COPY_2D_32:
        return decode_copy_2d_32(structure, note);
    case DECODE_COPY_3D_32:
        return decode_copy_3d_32(structure, note);
    case DECODE_LAUNCH_MULTI:
    case DECODE_LAUNCH_RT_MULTI:
        decode_launch_multi(row->decoder, structure, note);
        return ST_DIR_UNKNOWN;
    case DECODE_COPY_RT3D:
        return decode_copy_rt3d(structure, note);
    default:
        return decode_copy_rt3d_peer(structure, note);
    }
}

/* Stream 0 of a _ptsz or _ptds variant is the thread's own default stream. */
static void name_default_stream(uint8_t class_id, struct st_call_note *note)
{
    uint64_t *stream = NULL;
    switch (class_id) {
    case ST_CLASS_LAUNCH:
    case ST_CLASS_GRAPH_LAUNCH:
    case ST_CLASS_EVENT_RECORD:
    case ST_CLASS_STREAM_WAIT:
    case ST_CLASS_HOST_FUNC:
        stream = &note->b;
        break;
    case ST_CLASS_COPY:
    case ST_CLASS_MEMSET:
        stream = &note->d;
        break;
    case ST_CLASS_SYNC:
    case ST_CLASS_QUERY:
    case ST_CLASS_CAPTURE:
        stream = &note->a;
        break;
    default:
        break;
    }
    if (stream && *stream == 0) {
        *stream = STREAM_PER_THREAD;
    }
}

void st_call_decode_more(const struct st_call_row *row, const uint64_t *frame, bool ok, struct st_call_note *note)
{
    uint32_t direction = row->direction;
    if (row->decoder != DECODE_PLAIN) {
        uint32_t told = decode_structure(row, frame, ok, note);
        direction = direction ? direction : told;
    } else if (row->c2) {
        note->c *= st_call_place(row->c2, frame, ok) * (row->c3 ? st_call_place(row->c3, frame, ok) : 1);
    }
    if (row->unit) {
        note->c *= row->unit;
    }
    if (row->kind) {
        uint64_t kind = st_call_place(row->kind, frame, ok);
        direction = kind < DIRECTIONS ? direction_of_kind[kind] : ST_DIR_UNKNOWN;
    }
    note->flags |= direction << ST_CALL_DIRECTION_SHIFT;
    if (row->per_thread) {
        name_default_stream(row->class_id, note);
    }
}
