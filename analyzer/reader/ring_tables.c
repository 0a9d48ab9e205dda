/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring slots as tables, so that whoever reads a trace needs one way only. The mapping of slot fields to
 * columns is the comment of struct st_slot (preload/trace/ring.h). One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "rings.h"

/* Cells of one table under construction: column after column, each `rows` long. */
struct maker {
    struct st_table table;
    int64_t *cells;
    struct st_text *texts;
    uint32_t capacity;
};

static const uint16_t table_of_kind[] = {
    [ST_SLOT_CALL] = ST_T_CALL, [ST_SLOT_SPAN_BEGIN] = ST_T_SPAN_BEGIN, [ST_SLOT_SPAN_END] = ST_T_SPAN_END,
    [ST_SLOT_MARK] = ST_T_MARK, [ST_SLOT_NAME] = ST_T_NAME,             [ST_SLOT_LOST] = ST_T_LOST,
};

static uint64_t slots_of(const struct st_slot *slot)
{
    return slot->kind == ST_SLOT_NAME ? 1 + ((uint64_t)slot->span + ST_SLOT_BYTES - 1) / ST_SLOT_BYTES : 1;
}

/* The values of one slot, by column id of its table. */
static void slot_values(const struct st_slot *slot, uint32_t thread, int64_t values[ST_MAX_COLUMNS])
{
    switch (slot->kind) {
    case ST_SLOT_CALL:
        values[ST_CALL_C_call] = slot->code;
        values[ST_CALL_C_begin_ticks] = (int64_t)slot->begin;
        values[ST_CALL_C_duration_ticks] = (int64_t)(slot->end - slot->begin);
        values[ST_CALL_C_span] = slot->span;
        values[ST_CALL_C_result] = slot->result;
        values[ST_CALL_C_flags] = slot->flags;
        values[ST_CALL_C_a] = (int64_t)slot->a;
        values[ST_CALL_C_b] = (int64_t)slot->b;
        values[ST_CALL_C_c] = (int64_t)slot->c;
        values[ST_CALL_C_d] = (int64_t)slot->d;
        break;
    case ST_SLOT_SPAN_BEGIN:
        values[ST_SPAN_BEGIN_C_role] = slot->code;
        values[ST_SPAN_BEGIN_C_at_ticks] = (int64_t)slot->begin;
        values[ST_SPAN_BEGIN_C_span] = slot->span;
        values[ST_SPAN_BEGIN_C_parent] = (int64_t)slot->a;
        values[ST_SPAN_BEGIN_C_name] = slot->flags;
        values[ST_SPAN_BEGIN_C_request] = (int64_t)slot->b;
        values[ST_SPAN_BEGIN_C_rule] = slot->result;
        values[ST_SPAN_BEGIN_C_cpu_ns] = (int64_t)slot->end;
        break;
    case ST_SLOT_SPAN_END:
        values[ST_SPAN_END_C_how] = slot->code;
        values[ST_SPAN_END_C_at_ticks] = (int64_t)slot->begin;
        values[ST_SPAN_END_C_span] = slot->span;
        values[ST_SPAN_END_C_cpu_ns] = (int64_t)slot->end;
        break;
    case ST_SLOT_MARK:
        values[ST_MARK_C_kind] = slot->code;
        values[ST_MARK_C_at_ticks] = (int64_t)slot->begin;
        values[ST_MARK_C_span] = slot->span;
        values[ST_MARK_C_a] = (int64_t)slot->a;
        values[ST_MARK_C_b] = (int64_t)slot->b;
        break;
    case ST_SLOT_NAME:
        values[ST_NAME_C_kind] = slot->code;
        values[ST_NAME_C_at_ticks] = (int64_t)slot->begin;
        values[ST_NAME_C_key] = (int64_t)slot->end;
        break;
    default:
        values[ST_LOST_C_cause] = slot->code;
        values[ST_LOST_C_at_ticks] = (int64_t)slot->begin;
        values[ST_LOST_C_count] = (int64_t)slot->end;
        values[ST_LOST_C_thread] = thread;
    }
}

static enum st_status maker_start(struct maker *maker, uint16_t table, uint32_t rows)
{
    const struct st_table_def *def = st_table_find(table);
    *maker = (struct maker){.table = {.id = table, .def = def}, .capacity = rows};
    maker->cells = calloc((size_t)def->column_count * rows, sizeof(*maker->cells));
    maker->texts = calloc((size_t)def->column_count * rows, sizeof(*maker->texts));
    for (uint16_t c = 0; maker->cells && maker->texts && c < def->column_count; c++) {
        if (def->columns[c].type == ST_TYPE_TEXT) {
            maker->table.texts[c] = maker->texts + (size_t)c * rows;
        } else {
            maker->table.ints[c] = maker->cells + (size_t)c * rows;
        }
    }
    return maker->cells && maker->texts ? ST_OK : ST_NO_MEMORY;
}

static void maker_finish(struct maker *maker)
{
    free(maker->cells);
    free(maker->texts);
}

static void maker_add(struct maker *maker, const int64_t values[ST_MAX_COLUMNS], struct st_text text)
{
    uint32_t row = maker->table.rows++;
    for (uint16_t c = 0; c < maker->table.def->column_count; c++) {
        maker->cells[(size_t)c * maker->capacity + row] = values[c];
        maker->texts[(size_t)c * maker->capacity + row] = text;
    }
}

/* One table: all slots of `kind` from index `from` on. */
static enum st_status one_kind(const struct st_ring_copy *ring, uint64_t from, uint16_t kind, uint32_t rows,
                               const struct st_chunk_head *head, st_reader_table_fn each, void *context)
{
    struct maker maker;
    enum st_status status = maker_start(&maker, table_of_kind[kind], rows);
    uint64_t count = ring->end_slot - ring->first_slot;
    for (uint64_t i = from; status == ST_OK && i < count && maker.table.rows < rows; i += slots_of(&ring->slots[i])) {
        int64_t values[ST_MAX_COLUMNS] = {0};
        struct st_text text = {"", 0};
        if (ring->slots[i].kind != kind) {
            continue;
        }
        slot_values(&ring->slots[i], ring->thread, values);
        if (kind == ST_SLOT_NAME && slots_of(&ring->slots[i]) <= count - i) {
            text = (struct st_text){(const char *)&ring->slots[i + 1], ring->slots[i].span};
        }
        maker_add(&maker, values, text);
    }
    if (status == ST_OK) {
        status = each(context, head, &maker.table);
    }
    maker_finish(&maker);
    return status;
}

static enum st_status thread_row(const struct st_ring_copy *ring, const struct st_chunk_head *head,
                                 st_reader_table_fn each, void *context)
{
    struct maker maker;
    int64_t values[ST_MAX_COLUMNS] = {[ST_THREAD_C_thread] = ring->thread, [ST_THREAD_C_tid] = ring->tid};
    enum st_status status = maker_start(&maker, ST_T_THREAD, 1);
    if (status == ST_OK) {
        maker_add(&maker, values,
                  (struct st_text){ring->thread_name, (uint32_t)strnlen(ring->thread_name, sizeof(ring->thread_name))});
        status = each(context, head, &maker.table);
    }
    maker_finish(&maker);
    return status;
}

enum st_status st_ring_each_table(const struct st_ring_copy *ring, uint64_t from_slot, st_reader_table_fn each,
                                  void *context)
{
    enum { KINDS = sizeof(table_of_kind) / sizeof(table_of_kind[0]) };
    uint32_t rows[KINDS] = {0};
    uint64_t count = ring->end_slot - ring->first_slot;
    uint64_t from = from_slot > ring->first_slot ? from_slot - ring->first_slot : 0;
    struct st_chunk_head head = {.sequence = UINT32_MAX,
                                 .kind = ST_CHUNK_EVENTS,
                                 .ring = ring->ring,
                                 .thread = ring->thread,
                                 .first_slot = ring->first_slot + from,
                                 .end_slot = ring->end_slot};
    enum st_status status = thread_row(ring, &head, each, context);
    for (uint64_t i = from; i < count; i += slots_of(&ring->slots[i])) {
        if (ring->slots[i].kind < KINDS) {
            rows[ring->slots[i].kind]++;
        }
    }
    for (uint16_t kind = ST_SLOT_CALL; status == ST_OK && kind < KINDS; kind++) {
        if (rows[kind] > 0) {
            status = one_kind(ring, from, kind, rows[kind], &head, each, context);
        }
    }
    return status;
}
