/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of activity records by kind, measured by feeding the real libraries' cuptiActivityGetNextRecord, and
 * that function itself, with the real one's answers for every way a buffer can end. Constant data; any thread.
 */
#include "records.h"
#include "cupti.h"

/* clang-format off */
static const struct sim_layout layout_13_0 = {
    "13.0", 130001,
    {
        [1] = 96, [2] = 88, [3] = 216, [4] = 40, [5] = 40, [8] = 184, [9] = 32, [10] = 216, [11] = 32, [12] = 56,
        [13] = 40, [17] = 56, [18] = 144, [19] = 40, [20] = 40, [22] = 96, [25] = 104, [26] = 32, [27] = 24,
        [28] = 24, [33] = 152, [34] = 152, [35] = 120, [36] = 56, [37] = 24, [38] = 56, [39] = 24, [40] = 136,
        [45] = 80, [46] = 168, [47] = 40, [48] = 40, [49] = 128, [50] = 80, [51] = 56, [52] = 72, [53] = 56,
        [54] = 64, [55] = 32,
    },
};
/* clang-format on */

const struct sim_layout *const sim_layout = &layout_13_0;

size_t sim_record_size(uint32_t kind)
{
    return kind < SIM_KIND_LIMIT ? sim_layout->size[kind] : 0;
}

size_t sim_record_times_offset(uint32_t kind)
{
    switch (kind) {
    case SIM_KIND_CONCURRENT_KERNEL:
    case SIM_KIND_MEMCPY:
    case SIM_KIND_MEMCPY2:
    case SIM_KIND_MEMSET:
        return 16;
    case SIM_KIND_GRAPH_TRACE:
        return 8;
    default:
        return 0;
    }
}

/*
 * The first or next record of a buffer. *record is left alone on error: no room for one more record is
 * MAX_LIMIT_REACHED, an unknown kind (also of the record stood on, also zeros) is INVALID_KIND.
 */
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record)
{
    SIM_READER();
    if (!buffer || !record) {
        return SIM_CUPTI_INVALID_PARAMETER;
    }
    size_t offset = 0;
    if (*record) {
        size_t size = sim_record_size(*(const uint32_t *)*record);
        if (size == 0) {
            return SIM_CUPTI_INVALID_KIND;
        }
        offset = (size_t)((uint8_t *)*record - buffer) + size;
    }
    if (offset >= valid_bytes) {
        return SIM_CUPTI_MAX_LIMIT_REACHED;
    }
    void *next = buffer + offset;
    size_t size = sim_record_size(*(const uint32_t *)next);
    if (size == 0) {
        return SIM_CUPTI_INVALID_KIND;
    }
    if (size > valid_bytes - offset) {
        return SIM_CUPTI_MAX_LIMIT_REACHED;
    }
    *record = next;
    return SIM_CUPTI_SUCCESS;
}
