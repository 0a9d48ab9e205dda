/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small invented process runs: tables of spans, calls and device operations in microseconds, made into a
 * model without any file. The tests draw what they expect above the numbers.
 */
#ifndef TEST_MODEL_SCENE_H
#define TEST_MODEL_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyzer/analysis/report.h"
#include "analyzer/model/build.h"

#define OPEN (-1) /* end of a span or call that was never recorded */

enum scene_call_id {
    LAUNCH = 1,   /* driver calls */
    SYNC = 2,     /* waits */
    D2H = 3,      /* waits */
    H2D = 4,
    ALLOC = 5,
    MODULE = 6,
    STREAM_WAIT = 7,
    MEMSET = 8,
    HOST_FUNC = 9,
    RT_LAUNCH = 10, /* runtime calls */
    RT_SYNC = 11,
    QUERY = 12,
    SCENE_CALLS,
};

struct scene_span {
    uint32_t thread;
    enum st_span_role role;
    const char *name;
    int64_t begin, end; /* µs */
    uint32_t id, parent, request;
    int64_t begin_cpu, end_cpu; /* µs, 0 = not read */
    int64_t rule;
};
struct scene_call {
    uint32_t thread;
    enum scene_call_id call;
    int64_t begin, end; /* µs */
    uint32_t span;
    int64_t correlation; /* 0: without a DRIVER_API row */
    int64_t stream, bytes, result, flags, cpu; /* cpu: µs inside a SYNC */
    int64_t function;
};
struct scene_op {
    int64_t correlation;
    enum st_op_kind kind;
    int64_t device, start, end; /* µs */
    const char *name;           /* kernel */
    int64_t bytes, direction, source_memory, target_memory, peer, graph;
};
struct scene_mark { /* `NAME step-end` on the thread of the span that is open */
    int64_t at; /* µs */
    uint32_t span;
    const char *name; /* one of the spans' */
    int64_t late;     /* µs; > 0: concluded */
};
struct scene {
    const struct scene_span *spans;
    size_t span_count;
    const struct scene_call *calls;
    size_t call_count;
    const struct scene_op *ops;
    size_t op_count;
    const char *kernel_rule_pattern, *kernel_rule_name; /* one rule, or NULL */
    const struct scene_mark *marks;
    size_t mark_count;
    const struct st_model_rule *rules;                  /* further ones */
    size_t rule_count;
    const char *rounds;                                 /* recorded setting, or NULL */
    bool is_cut;     /* the trace just ends: the process was killed */
    bool lose_calls; /* CALL rows are lost, DRIVER_API rows are not */
    int64_t api_late; /* µs that the device library's clock is ahead in DRIVER_API rows */
    uint32_t pid;
    int64_t start;           /* µs on CLOCK_MONOTONIC; all other times count from here */
    const char *uuids[4];    /* of devices 0, 1 …, up to NULL */
};

#define SCENE(spans_, calls_, ops_)                                                                                   \
    {.spans = (spans_), .span_count = sizeof(spans_) / sizeof((spans_)[0]), .calls = (calls_),                        \
     .call_count = sizeof(calls_) / sizeof((calls_)[0]), .ops = (ops_), .op_count = sizeof(ops_) / sizeof((ops_)[0])}

/* The model of a scene; threads are named "t1", "t2" …, their tids are 100 + number. */
struct st_model *scene_model(const struct scene *scene);
/* Its report with default options (or `options`); the model is gone afterwards. Checks every identity. */
struct st_report scene_report(const struct scene *scene, const struct st_report_options *options);

/* The same for the processes of one run. */
struct st_report scene_report_of_run(const struct scene *const *scenes, size_t count,
                                     const struct st_report_options *options);

/* A row by name, of rows[0 … count); fails the test when there is none. */
const struct st_report_row *scene_row(const struct st_report_row *rows, size_t count, const char *name);

/* One line of an expected table, in µs. NOT for a figure that must be unknown. */
#define NOT INT64_MIN
struct scene_expected_row {
    const char *name;
    int64_t calls, share, host, self; /* wall share, host inclusive, host self */
    int64_t busy, kernels, copies, device_self;
    int64_t launches;
};
/* Compares all rows of `request`, in order; device figures of `device` (its row has none: 0). */
void scene_expect_rows(const struct st_report_request *request, int64_t device,
                       const struct scene_expected_row *expected, size_t count);

struct scene_expected_device {
    int64_t device, busy, self, shared, unattributed, other, overlap, idle;
};
void scene_expect_device(const struct st_report_request *request, const struct scene_expected_device *expected);

#endif
