/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread's time goes into: own code on and off the CPU, calls, waits. scene_report() checks that the parts sum
 * up and that no row holds more than the one above it. */
#include "scene.h"

#include <string.h>

/* The parts of a row in µs, NOT for unknown. */
static void expect_parts(const struct st_report *report, const char *name, int64_t host, int64_t own, int64_t off,
                         int64_t in_cuda, int64_t waiting)
{
    const struct st_report_request *request = &report->requests[0];
    const struct st_report_row *row = scene_row(request->stages, request->stage_count, name);
    const struct st_figure figures[] = {row->host_inclusive_ns, row->own_cpu_ns, row->off_cpu_ns, row->in_cuda_ns,
                                        row->waiting_ns};
    const int64_t expected[] = {host, own, off, in_cuda, waiting};
    static const char *const names[] = {"host", "own CPU", "off-CPU", "in CUDA", "waiting"};
    for (size_t i = 0; i < 5; i++) {
        if (figures[i].known != (expected[i] != NOT) || (figures[i].known && figures[i].value != expected[i] * 1000)) {
            fail_msg("%s %s: %s%lld ns, expected %lld us", name, names[i], figures[i].known ? "" : "unknown, ",
                     (long long)figures[i].value, (long long)expected[i]);
        }
    }
}

/* The CPU clock splits own code: sample holds the thread 100 µs, of which 60 on a CPU; 30 wait, with 5 on a CPU
 * (spinning); a launch takes 10.  own CPU 60 - 5 - 10 = 45, off-CPU 100 - 10 - 30 - 45 = 15. */
static void cpu_split(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 1000, 1060},
        {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 1000, 1060},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 20, 2, 1}, {1, SYNC, 30, 60, 2, 0, 0, 0, 0, 0, 5}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 55, "k"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_row *row =
        scene_row(report.requests[0].stages, report.requests[0].stage_count, "sample");
    assert_true(row->own_cpu_ns.known);
    assert_int_equal(row->own_cpu_ns.value, 45000);
    assert_int_equal(row->off_cpu_ns.value, 15000);
    assert_int_equal(row->own_cpu_ns.value + row->off_cpu_ns.value + row->in_cuda_ns.value + row->waiting_ns.value,
                     row->host_inclusive_ns.value);
    st_report_finish(&report);
}

/*
 * A copy to pageable memory is called asynchronous and waits; no CPU time is recorded for it, so the thread is taken
 * to sleep. The parent's parts are those of its steps and its own.
 *
 *   µs       0    100                          1100  1200
 *   sample   [0                                      1200]     CPU 100 + 30 in the step
 *   step          [100                         1100]           CPU 30
 *   calls          L 110-120  (D2H 130     1050)
 *   device           [120                 1030][1030 1040 d2h]
 */
static void waiting_copy(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 1200, 1, 0, 1, 1000, 1130},
        {1, ST_ROLE_STAGE, "sample", 0, 1200, 2, 1, 1, 1000, 1130},
        {1, ST_ROLE_STEP, "sample/step", 100, 1100, 3, 2, 1, 1050, 1080},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 110, 120, 3, 1}, {1, H2D, 130, 1050, 3, 2, 0, 4}};
    struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 120, 1030, "k"},
        {2, ST_OP_COPY, 0, 1030, 1040, NULL, 4, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PAGEABLE}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    expect_parts(&report, "sample/step", 1000, 20, 50, 10, 920);
    expect_parts(&report, "sample", 1200, 120, 150, 10, 920);
    assert_int_equal(report.sync_count, 1);
    assert_string_equal(report.syncs[0].call, "cuMemcpyHtoDAsync_v2");
    assert_int_equal(report.syncs[0].wait_ns, 920000);
    assert_string_equal(report.syncs[0].blocked_stage, "sample/step");
    assert_int_equal(report.syncs[0].awaited_stages[0].duration_ns, 910000); /* kernel 130-1030 and the copy */
    st_report_finish(&report);

    ops[1].target_memory = ST_MEM_PINNED; /* then it does not wait: a slow call, and the CPU was lost in it */
    report = scene_report(&scene, NULL);
    expect_parts(&report, "sample/step", 1000, NOT, NOT, 930, 0);
    expect_parts(&report, "sample", 1200, NOT, NOT, 930, 0);
    assert_int_equal(report.sync_count, 0);
    st_report_finish(&report);
}

/* The CPU clock says that the thread was on a CPU for longer than its own code lasts: the copy's wait did not sleep,
 * and what of its CPU time was own code is not known. */
static void spinning_copy(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 1000, 1, 0, 1, 1000, 1900},
        {1, ST_ROLE_STAGE, "sample", 0, 1000, 2, 1, 1, 1000, 1900},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 20, 2, 1}, {1, H2D, 100, 800, 2, 2, 0, 4}};
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 20, 780, "k"},
        {2, ST_OP_COPY, 0, 780, 795, NULL, 4, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PAGEABLE}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    expect_parts(&report, "sample", 1000, NOT, NOT, 10, 700);
    st_report_finish(&report);
}

/*
 * The queue is full: launch 3 returns when operation 1 ends. Launch 4 is as long but nothing ends then; launch 2 is
 * the first one of its function.
 *
 *   thread   (1)(2 60-160  )(3 160-510              )(4 510-700 )
 *   device   [1 20                                505][2 505-900                     ][3 …
 */
static void full_queue(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 1200, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 1200, 2, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 10, 15, 2, 1},
        {1, LAUNCH, 60, 160, 2, 2, 0, 0, 0, 0, 0, 4242},
        {1, LAUNCH, 160, 510, 2, 3},
        {1, LAUNCH, 510, 700, 2, 4},
    };
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 505, "a"},
                                          {2, ST_OP_KERNEL, 0, 505, 900, "b"},
                                          {3, ST_OP_KERNEL, 0, 900, 1000, "a"},
                                          {4, ST_OP_KERNEL, 0, 1000, 1100, "a"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    expect_parts(&report, "sample", 1200, NOT, NOT, 295, 350);
    assert_true(report.notes.count > 0 && strstr(report.notes.items[report.notes.count - 1], "own CPU") != NULL);
    assert_int_equal(report.sync_count, 1);
    assert_string_equal(report.syncs[0].call, "cuLaunchKernel");
    assert_int_equal(report.syncs[0].wait_ns, 350000);
    st_report_finish(&report);
}

/* `count` launches of `length` µs kernels, entered every 10 µs from 0 on; launch `held` (from 1) takes until the end of
 * the kernel that runs 300 µs later, whether that is a full queue or a lost CPU. Prompt ones go on behind it where
 * `more`. Returns what is shown as waiting, in µs. */
static int64_t waiting_at(size_t count, size_t held, int64_t length, size_t more)
{
    static struct scene_call calls[2048];
    static struct scene_op ops[2048];
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 4000000, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 4000000, 2, 1, 1, 0, 0},
    };
    int64_t at = 1;
    for (size_t i = 0; i < count + more; i++, at += 10) {
        int64_t start = 10 + (int64_t)i * length, end = at + 5;
        if (i + 1 == held) {
            end = 10 + ((at + 300 - 10) / length + 1) * length + 2;
        }
        calls[i] = (struct scene_call){1, LAUNCH, at, end, 2, (int64_t)i + 1};
        ops[i] = (struct scene_op){(int64_t)i + 1, ST_OP_KERNEL, 0, start, start + length, "k"};
        at = end > at + 5 ? end : at;
    }
    const struct scene scene = {.spans = spans, .span_count = 2, .calls = calls, .call_count = count + more,
                                .ops = ops, .op_count = count + more};
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    int64_t waiting = scene_row(request->stages, request->stage_count, "sample")->waiting_ns.value / 1000;
    st_report_finish(&report);
    return waiting;
}

/*
 *   thread   (1)(2)(3) … (40 ········)(41)(42) …    a lost CPU: behind it the queue takes more and more at once
 *   device   [1   ][2   ] …           ]             … and where kernels are short, one ends whenever the call returns
 */
static void preempted_or_full(void **state)
{
    assert_true(waiting_at(40, 40, 1000, 0) > 300);  /* as deep as ever, and at the end of a long kernel: full */
    assert_int_equal(waiting_at(40, 40, 1000, 60), 0); /* 60 more went in at once */
    assert_int_equal(waiting_at(40, 20, 1000, 0), 0);  /* the same while the queue was filled */
    assert_int_equal(waiting_at(40, 40, 20, 0), 0);    /* short kernels: an end tells nothing … */
    assert_true(waiting_at(1024, 1024, 20, 0) > 300);  /* … but in front of a very deep queue */
    assert_int_equal(waiting_at(1024, 512, 20, 0), 0); /* which that was not yet */
}

/* A span that is left late ends, for the sums, with the one around it; one of another request inside is none of this
 * row's children. */
static void odd_nesting(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_STAGE, "serve", 0, 1000, 1, 0, 0, 1000, 1500},
        {1, ST_ROLE_REQUEST, "request", 100, 900, 2, 1, 1, 1050, 1450},
        {1, ST_ROLE_STAGE, "serve", 200, 600, 3, 2, 1, 1100, 1300},
        {1, ST_ROLE_STAGE, "serve/part", 300, 700, 4, 3, 1, 1150, 1350},
    };
    const struct scene scene = {.spans = spans, .span_count = 4};
    struct st_report report = scene_report(&scene, NULL);
    expect_parts(&report, "serve", 400, 200, 200, 0, 0);
    const struct st_report_row *part =
        scene_row(report.requests[0].stages, report.requests[0].stage_count, "serve/part");
    assert_int_equal(part->host_inclusive_ns.value, 300000); /* 300-600 */
    assert_int_equal(scene_row(report.before_first, report.before_first_count, "serve")->host_inclusive_ns.value,
                     1000000);
    st_report_finish(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_split),     cmocka_unit_test(waiting_copy), cmocka_unit_test(spinning_copy),
        cmocka_unit_test(full_queue), cmocka_unit_test(preempted_or_full),
        cmocka_unit_test(odd_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
