/* SPDX-License-Identifier: Apache-2.0 */
/* Glue: device records as tables for the writer. Writer thread only. */
#include "source.h"

#include "device.h"

static struct st_device_rows rows;
static uint64_t lost_rows; /* decoded, but not encoded: out of memory */

static uint64_t collect(struct st_buffer *payload, bool is_final)
{
    if (!rows.kernel.table) {
        st_device_rows_init(&rows);
    }
    if (is_final) {
        st_device_finish();
    }
    st_device_collect(&rows);
    uint64_t records = (uint64_t)rows.kernel.count + rows.copy.count + rows.memset.count;
    size_t before = payload->length;
    if (!st_device_rows_encode(&rows, payload)) {
        payload->length = before;
        lost_rows += records;
    }
    st_device_rows_reset(&rows);
    return records;
}

static void add_state(struct st_buffer *payload)
{
    struct st_rows capabilities = {.table = ST_T_CAPABILITY}, keys = {.table = ST_T_KEY};
    st_device_capabilities(&capabilities, true);
    st_device_facts(&keys);
    st_table_encode(&capabilities, payload);
    st_table_encode(&keys, payload);
    st_rows_finish(&capabilities);
    st_rows_finish(&keys);
}

static uint64_t lost(enum st_lost cause)
{
    return st_device_lost(cause) + (cause == ST_LOST_DEVICE_UNREAD ? lost_rows : 0);
}

const struct st_device_source st_device_source = {
    .collect = collect,
    .clock = st_device_clock,
    .add_state = add_state,
    .lost = lost,
};
