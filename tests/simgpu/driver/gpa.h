/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind cuGetProcAddress: generated, sorted by symbol, then version, then variant. Constant. */
#ifndef SIMGPU_GPA_H
#define SIMGPU_GPA_H

struct sim_gpa_row {
    const char *symbol;
    int version;    /* in which this variant was introduced */
    int per_thread; /* 1: the variant whose default stream is the calling thread's */
    void *function;
};

extern const struct sim_gpa_row sim_gpa_rows[];
extern const unsigned sim_gpa_row_count;

#endif
