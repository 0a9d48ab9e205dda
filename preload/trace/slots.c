/* SPDX-License-Identifier: Apache-2.0 */
/* Slots -> rows; the layout of a slot by kind is drawn in preload/trace/ring.h. */
#include "slots.h"

#include <string.h>

void st_slot_rows_init(struct st_slot_rows *set)
{
    *set = (struct st_slot_rows){
        .call.table = ST_T_CALL,
        .span_begin.table = ST_T_SPAN_BEGIN,
        .span_end.table = ST_T_SPAN_END,
        .mark.table = ST_T_MARK,
        .name.table = ST_T_NAME,
        .host_run.table = ST_T_HOST_RUN,
        .lost.table = ST_T_LOST,
    };
}

static struct st_rows *each_table(struct st_slot_rows *set, int index)
{
    struct st_rows *all[] = {&set->call, &set->span_begin, &set->span_end, &set->mark, &set->name,
                             &set->host_run, &set->lost};
    return index < (int)(sizeof(all) / sizeof(all[0])) ? all[index] : NULL;
}

void st_slot_rows_finish(struct st_slot_rows *set)
{
    struct st_rows *rows;
    for (int i = 0; (rows = each_table(set, i)); i++) {
        st_rows_finish(rows);
    }
}

void st_slot_rows_reset(struct st_slot_rows *set)
{
    struct st_rows *rows;
    for (int i = 0; (rows = each_table(set, i)); i++) {
        st_rows_reset(rows);
    }
    set->first_ticks = set->last_ticks = 0;
    set->rows_max = 0;
}

static void note_time(struct st_slot_rows *set, uint64_t ticks)
{
    if (!set->first_ticks || ticks < set->first_ticks) {
        set->first_ticks = ticks;
    }
    if (ticks > set->last_ticks) {
        set->last_ticks = ticks;
    }
}

static bool add_call(struct st_slot_rows *set, const struct st_slot *slot)
{
    note_time(set, slot->begin);
    note_time(set, slot->end);
    return st_rows_add(&set->call,
                       (int64_t[ST_COUNT_C_CALL]){slot->code, (int64_t)slot->begin, (int64_t)(slot->end - slot->begin),
                                                  slot->span, slot->result, slot->flags, (int64_t)slot->a,
                                                  (int64_t)slot->b, (int64_t)slot->c, (int64_t)slot->d},
                       NULL);
}

static bool add_span_begin(struct st_slot_rows *set, const struct st_slot *slot)
{
    note_time(set, slot->begin);
    return st_rows_add(&set->span_begin,
                       (int64_t[ST_COUNT_C_SPAN_BEGIN]){slot->code, (int64_t)slot->begin, slot->span, (int64_t)slot->a,
                                                        slot->flags, (int64_t)slot->b, slot->result,
                                                        (int64_t)slot->end, (int64_t)slot->c, (int64_t)slot->d},
                       NULL);
}

static bool add_span_end(struct st_slot_rows *set, const struct st_slot *slot)
{
    note_time(set, slot->begin);
    return st_rows_add(&set->span_end,
                       (int64_t[ST_COUNT_C_SPAN_END]){slot->code, (int64_t)slot->begin, slot->span, (int64_t)slot->end,
                                                      (int64_t)slot->c, (int64_t)slot->d},
                       NULL);
}

static bool add_mark(struct st_slot_rows *set, const struct st_slot *slot)
{
    note_time(set, slot->begin);
    return st_rows_add(&set->mark,
                       (int64_t[ST_COUNT_C_MARK]){slot->code, (int64_t)slot->begin, slot->span, (int64_t)slot->a,
                                                  (int64_t)slot->b},
                       NULL);
}

static bool add_host_run(struct st_slot_rows *set, const struct st_slot *slot)
{
    note_time(set, slot->begin);
    note_time(set, slot->end);
    return st_rows_add(&set->host_run,
                       (int64_t[ST_COUNT_C_HOST_RUN]){(int64_t)slot->a, (int64_t)slot->begin,
                                                      (int64_t)(slot->end - slot->begin), (int64_t)slot->b},
                       NULL);
}

static bool add_name(struct st_slot_rows *set, const struct st_slot *slot, uint32_t length)
{
    return st_rows_add(&set->name, (int64_t[ST_COUNT_C_NAME]){slot->code, (int64_t)slot->begin, (int64_t)slot->end},
                       &(struct st_text){(const char *)(slot + 1), length});
}

uint64_t st_slot_rows_add(struct st_slot_rows *set, const struct st_slot *slots, uint64_t mask, uint64_t from,
                        uint64_t to, bool skip_calls)
{
    uint64_t skipped = 0;
    bool is_good = true;
    for (uint64_t n = from; n < to && is_good; n++) {
        const struct st_slot *slot = &slots[n & mask];
        switch ((enum st_slot_kind)slot->kind) {
        case ST_SLOT_CALL:
            skipped += skip_calls;
            is_good = skip_calls || add_call(set, slot);
            break;
        case ST_SLOT_SPAN_BEGIN:
            is_good = add_span_begin(set, slot);
            break;
        case ST_SLOT_SPAN_END:
            is_good = add_span_end(set, slot);
            break;
        case ST_SLOT_MARK:
            is_good = add_mark(set, slot);
            break;
        case ST_SLOT_NAME: {
            /* the record does not wrap: its text ends before the ring's last slot does */
            uint64_t text_slots = ((uint64_t)slot->span + ST_SLOT_BYTES - 1) / ST_SLOT_BYTES;
            uint64_t room = mask - (n & mask);
            if (text_slots <= room && n + text_slots < to) {
                is_good = add_name(set, slot, slot->span);
                n += text_slots;
            }
            break;
        }
        case ST_SLOT_HOST_RUN:
            skipped += skip_calls;
            is_good = skip_calls || add_host_run(set, slot);
            break;
        case ST_SLOT_LOST:
            is_good = st_rows_add(&set->lost, (int64_t[ST_COUNT_C_LOST]){slot->code, (int64_t)slot->begin,
                                                                           (int64_t)slot->end, 0}, NULL);
            break;
        case ST_SLOT_SKIP:
            break;
        }
    }
    struct st_rows *rows;
    for (int i = 0; (rows = each_table(set, i)); i++) {
        set->rows_max = rows->count > set->rows_max ? rows->count : set->rows_max;
    }
    return is_good ? skipped : UINT64_MAX;
}

bool st_slot_rows_encode(const struct st_slot_rows *set, struct st_buffer *payload)
{
    return st_table_encode(&set->call, payload) && st_table_encode(&set->span_begin, payload) &&
           st_table_encode(&set->span_end, payload) && st_table_encode(&set->mark, payload) &&
           st_table_encode(&set->name, payload) && st_table_encode(&set->host_run, payload) &&
           st_table_encode(&set->lost, payload);
}
