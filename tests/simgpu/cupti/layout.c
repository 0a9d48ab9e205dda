/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of activity records by kind, measured by feeding the real libraries' cuptiActivityGetNextRecord, and
 * that function itself, with the real ones' answers for every way a buffer can end. Constant data; any thread.
 */
#include <stdio.h>

#include "../cuda_major.h"
#include "records.h"
#include "cupti.h"

/* One column a library, in this order; 0: a kind that it does not know. */
static const struct sim_layout layouts[] = {
    {0, 11080, 18, 35, 90, SIM_CUPTI_UNKNOWN},
    {1, 12040, 22, 50, 90, SIM_CUPTI_INVALID_KIND},
    {2, 12080, 26, 50, 120, SIM_CUPTI_INVALID_KIND},
    {3, 13000, 130001, 75, 121, SIM_CUPTI_INVALID_KIND},
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))
#define ALL(size) {size, size, size, size}
#define TILL_13(size) {size, size, size, 0}

/* clang-format off */
static const uint16_t sizes[SIM_KIND_LIMIT][LAYOUTS] = {
    [1] = {88, 88, 96, 96}, [2] = ALL(88), [3] = {200, 208, 208, 216}, [4] = ALL(40), [5] = ALL(40),
    [6] = TILL_13(24), [7] = TILL_13(24), [8] = {176, 184, 184, 184}, [9] = {16, 24, 32, 32},
    [10] = {200, 208, 208, 216}, [11] = ALL(32), [12] = ALL(56), [13] = {32, 32, 32, 40}, [14] = TILL_13(24),
    [15] = TILL_13(56), [16] = TILL_13(40), [17] = {40, 56, 56, 56}, [18] = ALL(144), [19] = ALL(40), [20] = ALL(40),
    [21] = TILL_13(32), [22] = ALL(96), [23] = TILL_13(32), [24] = TILL_13(48), [25] = {64, 64, 104, 104},
    [26] = ALL(32), [27] = ALL(24), [28] = ALL(24), [29] = TILL_13(56), [30] = TILL_13(40), [31] = TILL_13(32),
    [32] = TILL_13(24), [33] = ALL(152), [34] = ALL(152), [35] = ALL(120), [36] = {24, 24, 56, 56}, [37] = ALL(24),
    [38] = {40, 40, 56, 56}, [39] = ALL(24), [40] = ALL(136), [41] = TILL_13(32), [42] = TILL_13(32),
    [43] = TILL_13(32), [44] = TILL_13(32), [45] = ALL(80), [46] = ALL(168), [47] = ALL(40), [48] = ALL(40),
    [49] = {120, 120, 128, 128}, [50] = {72, 72, 72, 80}, [51] = {48, 56, 56, 56}, [52] = {64, 72, 72, 72},
    [53] = {0, 0, 56, 56}, [54] = {0, 0, 64, 64}, [55] = {0, 0, 0, 32},
};
/* clang-format on */

const struct sim_layout *sim_layout_of(long cuda_version)
{
    const struct sim_layout *own = NULL;
    for (size_t i = 0; i < LAYOUTS; i++) {
        if (layouts[i].cuda_version == cuda_version) {
            return &layouts[i];
        }
        if (layouts[i].cuda_version == SIM_CUDA_VERSION) {
            own = &layouts[i];
        }
    }
    if (cuda_version >= 0) {
        fprintf(stderr, "simgpu: SIMGPU_FAULTS: no such cupti-layout (the list: tests/simgpu/README.md)\n");
    }
    return own;
}

size_t sim_record_size(uint32_t kind)
{
    return kind < SIM_KIND_LIMIT ? sizes[kind][sim_faults()->layout->column] : 0;
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
 * MAX_LIMIT_REACHED, an unknown kind (also of the record stood on, also zeros) is INVALID_KIND, or UNKNOWN in 11.8.
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
            return sim_faults()->layout->bad_kind;
        }
        offset = (size_t)((uint8_t *)*record - buffer) + size;
    }
    if (offset >= valid_bytes) {
        return SIM_CUPTI_MAX_LIMIT_REACHED;
    }
    void *next = buffer + offset;
    size_t size = sim_record_size(*(const uint32_t *)next);
    if (size == 0) {
        return sim_faults()->layout->bad_kind;
    }
    if (size > valid_bytes - offset) {
        return SIM_CUPTI_MAX_LIMIT_REACHED;
    }
    *record = next;
    return SIM_CUPTI_SUCCESS;
}
