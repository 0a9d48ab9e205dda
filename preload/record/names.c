/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row names: text -> small number. A fixed table, filled front to back; a slot is claimed with one
 * compare-and-swap and published by its `ready` flag. Two threads adding the same text at the same instant
 * may get two numbers for it, which readers merge by text. Libc-free.
 */
#include "record.h"

static struct row_name {
    _Atomic uint32_t ready;
    char text[ST_MAX_ROW_NAME_BYTES];
} names[ST_MAX_ROW_NAMES];
static _Atomic uint32_t claimed;

static bool is_same(const char *a, const char *b)
{
    unsigned i = 0;
    while (a[i] && a[i] == b[i] && i < ST_MAX_ROW_NAME_BYTES - 1) {
        i++;
    }
    return a[i] == b[i] || i == ST_MAX_ROW_NAME_BYTES - 1;
}

uint32_t st_row_name_count(void)
{
    uint32_t count = atomic_load_explicit(&claimed, memory_order_acquire);
    count = count < ST_MAX_ROW_NAMES ? count : ST_MAX_ROW_NAMES;
    for (uint32_t i = 0; i < count; i++) {
        if (!atomic_load_explicit(&names[i].ready, memory_order_acquire)) {
            return i;
        }
    }
    return count;
}

uint32_t st_row_name(struct st_thread *thread, const char *text)
{
    uint32_t count = atomic_load_explicit(&claimed, memory_order_acquire);
    for (uint32_t i = 0; i < count && i < ST_MAX_ROW_NAMES; i++) {
        if (atomic_load_explicit(&names[i].ready, memory_order_acquire) && is_same(names[i].text, text)) {
            return i + 1;
        }
    }
    uint32_t index = atomic_fetch_add_explicit(&claimed, 1, memory_order_acq_rel);
    if (index >= ST_MAX_ROW_NAMES) {
        atomic_store_explicit(&claimed, ST_MAX_ROW_NAMES, memory_order_relaxed);
        return 0;
    }
    for (unsigned i = 0; i < ST_MAX_ROW_NAME_BYTES - 1 && text[i]; i++) {
        names[index].text[i] = text[i];
    }
    atomic_store_explicit(&names[index].ready, 1, memory_order_release);
    if (thread) {
        st_emit_name(thread, ST_NAME_ROW, index + 1, names[index].text);
    }
    return index + 1;
}

const char *st_row_name_text(uint32_t name)
{
    return name > 0 && name <= ST_MAX_ROW_NAMES ? names[name - 1].text : "";
}
