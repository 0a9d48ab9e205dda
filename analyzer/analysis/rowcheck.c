/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold in every table of rows, whatever was recorded: the parts of host time sum to it, and a row
 * holds at least what each row below it holds (counts: what all of them hold). Checked on the finished rows, as
 * a reader of the report could: a violation is a defect of the analyzer.
 */
#include "answer.h"

enum { MOST_DEPTH = 128 };

static bool holds(struct st_figure above, struct st_figure below)
{
    return !above.known || !below.known || above.value >= below.value;
}

static bool parts_sum_up(const struct st_report_row *row)
{
    if (!row->own_cpu_ns.known) {
        return true;
    }
    return row->own_cpu_ns.value >= 0 && row->off_cpu_ns.value >= 0 &&
           row->own_cpu_ns.value + row->off_cpu_ns.value + row->in_cuda_ns.value + row->waiting_ns.value ==
               row->host_inclusive_ns.value;
}

static bool is_above(const struct st_report_row *above, const struct st_report_row *below)
{
    bool good = holds(above->host_inclusive_ns, below->host_inclusive_ns) &&
                holds(above->own_cpu_ns, below->own_cpu_ns) && holds(above->off_cpu_ns, below->off_cpu_ns) &&
                holds(above->in_cuda_ns, below->in_cuda_ns) && holds(above->waiting_ns, below->waiting_ns);
    for (size_t d = 0; d < above->device_count && d < below->device_count; d++) {
        good = good && above->devices[d].busy_ns >= below->devices[d].busy_ns &&
               above->devices[d].compute_ns >= below->devices[d].compute_ns;
    }
    return good;
}

bool st_rows_fit(const struct st_report_row *rows, size_t count)
{
    size_t path[MOST_DEPTH]; /* the row at each depth that the current one lies below */
    int64_t launches[MOST_DEPTH] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct st_report_row *row = &rows[i];
        if (row->depth >= MOST_DEPTH) {
            continue;
        }
        path[row->depth] = i;
        launches[row->depth] = 0;
        if (!parts_sum_up(row)) {
            return false;
        }
        if (row->depth > 0) {
            const struct st_report_row *above = &rows[path[row->depth - 1]];
            launches[row->depth - 1] += row->launches.value;
            if (!is_above(above, row) || launches[row->depth - 1] > above->launches.value) {
                return false;
            }
        }
    }
    return true;
}
