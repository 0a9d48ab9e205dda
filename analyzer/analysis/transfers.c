/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the selected requests by direction, kind of memory and row.
 *
 *   device 0   [kernel         ]
 *   copies            [h2d           ]  [h2d ]      count 2, busy = union of both,
 *   exposed                     ######  ######      exposed = what no kernel on that device hides
 *
 * rate = bytes / busy. Repeats and round trips need the addresses of each copy, which no model holds yet.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/vec.h"
#include "answer.h"

struct copy {
    uint8_t direction, memory; /* enum st_direction, enum st_memory of the host's side */
    uint16_t device;
    uint32_t row;
    int64_t start_ns, end_ns, bytes, exposed_ns;
};

/* The union of a device's kernels, with the time covered up to each. */
struct cover {
    int64_t *starts, *ends, *covered;
    size_t count;
};

static int by_copy(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    int order = a->direction != b->direction ? a->direction - b->direction : a->memory - b->memory;
    if (order != 0) {
        return order;
    }
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static bool same_kind(const struct copy *a, const struct copy *b)
{
    return a->direction == b->direction && a->memory == b->memory && a->row == b->row;
}

static const char *direction_name(unsigned direction)
{
    static const char *const names[] = {
        [ST_DIR_H2D] = "h2d", [ST_DIR_D2H] = "d2h", [ST_DIR_D2D] = "d2d", [ST_DIR_P2P] = "p2p", [ST_DIR_H2H] = "h2h"};
    return direction < sizeof(names) / sizeof(names[0]) && names[direction] ? names[direction] : "unknown";
}

static const char *memory_name(unsigned memory)
{
    switch (memory) {
    case ST_MEM_PAGEABLE:
        return "pageable";
    case ST_MEM_PINNED:
        return "pinned";
    case ST_MEM_DEVICE:
    case ST_MEM_ARRAY:
        return "device";
    case ST_MEM_MANAGED:
        return "managed";
    default:
        return "unknown";
    }
}

/* Kernels of one device in the whole trace: a copy may be hidden by anybody's. */
static bool make_cover(const struct st_model *model, int64_t device, struct cover *cover)
{
    size_t size = model->op_count + 1;
    *cover = (struct cover){malloc(size * sizeof(int64_t)), malloc(size * sizeof(int64_t)),
                            malloc(size * sizeof(int64_t)), 0};
    if (!cover->starts || !cover->ends || !cover->covered) {
        return false;
    }
    for (size_t i = 0; i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        if (op->kind != ST_OP_KERNEL || op->device != device) {
            continue;
        }
        if (cover->count > 0 && op->start_ns <= cover->ends[cover->count - 1]) {
            int64_t *end = &cover->ends[cover->count - 1];
            *end = op->end_ns > *end ? op->end_ns : *end;
        } else {
            cover->starts[cover->count] = op->start_ns;
            cover->ends[cover->count++] = op->end_ns;
        }
    }
    for (size_t i = 0; i < cover->count; i++) {
        cover->covered[i] = (i ? cover->covered[i - 1] : 0) + cover->ends[i] - cover->starts[i];
    }
    return true;
}

static void free_cover(struct cover *cover)
{
    free(cover->starts);
    free(cover->ends);
    free(cover->covered);
}

/* How much of (-∞, at_ns) kernels cover. */
static int64_t covered_until(const struct cover *cover, int64_t at_ns)
{
    size_t low = 0, high = cover->count; /* first that starts at or after at_ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cover->starts[middle] < at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return 0;
    }
    int64_t past = cover->ends[low - 1] - at_ns;
    return cover->covered[low - 1] - (past > 0 ? past : 0);
}

static bool expose(const struct st_model *model, struct copy *copies, size_t count)
{
    bool done[INT16_MAX + 1] = {false};
    for (size_t i = 0; i < count; i++) {
        struct cover cover;
        if (done[copies[i].device]) {
            continue;
        }
        done[copies[i].device] = true;
        bool good = make_cover(model, copies[i].device, &cover);
        for (size_t k = i; good && k < count; k++) {
            if (copies[k].device == copies[i].device) {
                copies[k].exposed_ns = copies[k].end_ns - copies[k].start_ns -
                                       (covered_until(&cover, copies[k].end_ns) -
                                        covered_until(&cover, copies[k].start_ns));
            }
        }
        free_cover(&cover);
        if (!good) {
            return false;
        }
    }
    return true;
}

static void fill_transfer(const struct st_answer *answer, const struct copy *copies, size_t count,
                          struct st_report_transfer *ret)
{
    int64_t exposed = 0, reach = INT64_MIN;
    *ret = (struct st_report_transfer){.direction = direction_name(copies->direction),
                                       .kind = memory_name(copies->memory),
                                       .stage = answer->model->rows[copies->row].name,
                                       .count = (int64_t)count};
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && copies[i].device != copies[i - 1].device) {
            reach = INT64_MIN;
        }
        int64_t from = copies[i].start_ns > reach ? copies[i].start_ns : reach;
        ret->busy_ns += copies[i].end_ns > from ? copies[i].end_ns - from : 0;
        reach = copies[i].end_ns > reach ? copies[i].end_ns : reach;
        ret->bytes += copies[i].bytes;
        exposed += copies[i].exposed_ns;
    }
    if (ret->busy_ns > 0) {
        ret->rate_bytes_per_s = st_known((int64_t)((double)ret->bytes * 1e9 / (double)ret->busy_ns));
    }
    ret->exposed_ns = st_known(exposed < ret->busy_ns ? exposed : ret->busy_ns);
}

static bool report_copies(struct st_answer *answer, struct copy *copies, size_t count)
{
    struct st_report *report = answer->report;
    size_t kinds = 0;
    if (!expose(answer->model, copies, count)) {
        return false;
    }
    st_vec_sort(copies, count, sizeof(*copies), by_copy);
    for (size_t i = 0; i < count; i++) {
        kinds += i == 0 || !same_kind(&copies[i], &copies[i - 1]);
    }
    report->transfers = st_arena_array(answer->arena, kinds, sizeof(*report->transfers));
    for (size_t i = 0, end; report->transfers && i < count; i = end) {
        for (end = i + 1; end < count && same_kind(&copies[end], &copies[i]);) {
            end++;
        }
        fill_transfer(answer, copies + i, end - i, &report->transfers[report->transfer_count++]);
    }
    report->transfers_known = st_model_has_device_time(answer->model);
    return report->transfers != NULL;
}

bool st_answer_transfers(struct st_answer *answer)
{
    const struct st_model *model = answer->model;
    struct copy *copies = NULL;
    size_t count = 0, capacity = 0;
    bool good = true;
    struct st_request_view view;
    for (size_t at = 0; good && st_answer_next_view(answer, &at, &view);) {
        for (size_t k = 0; good && k < view.op_count; k++) {
            const struct st_op *op = &model->ops[view.ops[k]];
            if (op->kind != ST_OP_COPY || !st_answer_has_op(answer, op)) {
                continue;
            }
            good = st_vec_reserve((void **)&copies, &capacity, count, sizeof(*copies));
            if (good) {
                copies[count++] = (struct copy){
                    .direction = op->direction,
                    .memory = op->direction == ST_DIR_D2H ? op->target_memory : op->source_memory,
                    .device = op->device,
                    .row = op->row,
                    .start_ns = op->start_ns,
                    .end_ns = op->end_ns,
                    .bytes = op->bytes};
            }
        }
    }
    good = good && report_copies(answer, copies, count);
    free(copies);
    return good;
}
