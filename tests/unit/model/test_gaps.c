/* SPDX-License-Identifier: Apache-2.0 */
/* A gap of every cause that is told. */
#include "scene.h"

#include <string.h>

/* The gap that begins at `start` µs; fails when there is none. */
static const struct st_report_gap *gap_at(const struct st_report *report, int64_t start)
{
    for (size_t i = 0; i < report->gap_count; i++) {
        if (report->gaps[i].start_ns == start * 1000) {
            return &report->gaps[i];
        }
    }
    fail_msg("no gap at %lld us", (long long)start);
    return NULL;
}

static void expect_gap(const struct st_report_gap *gap, int64_t length, const char *cause, const char *before,
                       const char *after)
{
    assert_int_equal(gap->duration_ns, length * 1000);
    assert_string_equal(gap->cause, cause);
    assert_string_equal(gap->before ? gap->before : "(edge)", before);
    assert_string_equal(gap->after ? gap->after : "(edge)", after);
}

static void expect_part(const struct st_report_gap *gap, size_t part, const char *cause, int64_t length)
{
    assert_true(part < gap->part_count);
    assert_string_equal(gap->parts[part].cause, cause);
    assert_int_equal(gap->parts[part].duration_ns, length * 1000);
}

static const struct scene_span SPANS[] = {
    {1, ST_ROLE_REQUEST, "request", 0, 1000, 1, 0, 1, 0, 0},
    {1, ST_ROLE_STAGE, "encode", 0, 100, 2, 1, 1, 0, 0},
    {1, ST_ROLE_STAGE, "sample", 100, 1000, 3, 1, 1, 0, 0},
};

/*
 *   µs       0     20          80                      400     405       460      1000
 *   device         [k enc  80]#########################         [k sample 460]#####
 *   host        L15 (sync 30-82)  own  (alloc 200-300) own (L400 402)
 *   parts                     82: waking up and own code to 200, alloc_free 100, own code to 400 = after_sync,
 *                             400-405 launch floor
 */
static void after_sync(void **state)
{
    static const struct scene_call calls[] = {{1, LAUNCH, 15, 17, 2, 1}, {1, SYNC, 30, 82, 2},
                                              {1, ALLOC, 200, 300, 3},   {1, LAUNCH, 400, 402, 3, 2}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 80, "a"}, {2, ST_OP_KERNEL, 0, 405, 460, "b"}};
    const struct scene scene = SCENE(SPANS, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_gap *gap = gap_at(&report, 80);
    assert_int_equal(report.gap_count, 3);
    expect_gap(gap, 325, "host_late.after_sync", "encode", "sample");
    expect_part(gap, 0, "host_late.after_sync", 120);
    expect_part(gap, 1, "host_late.alloc_free", 100);
    expect_part(gap, 2, "host_late.after_sync", 100);
    expect_part(gap, 3, "launch_floor", 5);
    assert_int_equal(gap->part_count, 4);
    assert_string_equal(gap->drained_why, "wait");
    assert_string_equal(gap->drained_call, "cuStreamSynchronize");
    assert_string_equal(gap->drained_stage, "encode");
    expect_gap(gap_at(&report, 0), 20, "before_first", "(edge)", "encode");
    expect_gap(gap_at(&report, 460), 540, "after_last", "sample", "(edge)");
    assert_string_equal(gap_at(&report, 0)->drained_why, "request begin");
    assert_string_equal(gap_at(&report, 460)->drained_why, "nothing more to do");
    assert_int_equal(report.gaps_total_count, 3);
    assert_int_equal(report.gaps_total_ns, 885000);
    st_report_finish(&report);
}

/* The gap from 80 µs, where `first` ends, to `start`, where `last` begins: its cause and how it was drained. */
static void gap_after(struct scene_op first, const struct scene_call *calls, size_t call_count, int64_t start,
                      struct scene_op last, const char *cause, const char *drained)
{
    const struct scene_op ops[] = {first, last};
    const struct scene scene = {
        .spans = SPANS, .span_count = 3, .calls = calls, .call_count = call_count, .ops = ops, .op_count = 2};
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_gap *gap = gap_at(&report, 80);
    if (strcmp(gap->cause, cause) != 0) {
        fail_msg("cause %s, expected %s", gap->cause, cause);
    }
    assert_int_equal(gap->duration_ns, (start - 80) * 1000);
    assert_string_equal(gap->drained_why ? gap->drained_why : "(none)", drained);
    st_report_finish(&report);
}

static void one_gap(const struct scene_call *calls, size_t call_count, int64_t start, struct scene_op last,
                    const char *cause, const char *drained)
{
    gap_after((struct scene_op){1, ST_OP_KERNEL, 0, 20, 80, "a"}, calls, call_count, start, last, cause, drained);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* device [a 20-80]##########[b 200-]   the causes differ in what the calls before b's launch were */
static void host_causes(void **state)
{
    const struct scene_op b = {2, ST_OP_KERNEL, 0, 200, 250, "b"};
    static const struct scene_call own_code[] = {{1, LAUNCH, 15, 17, 2, 1}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(own_code, COUNT(own_code), 200, b, "host_late.own_code", "host slower than device");

    static const struct scene_call after_copy[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, D2H, 20, 82, 2}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(after_copy, COUNT(after_copy), 200, b, "host_late.after_copy", "wait");

    /* an "asynchronous" copy from the device to pageable memory waits until it is done */
    static const struct scene_call pageable[] = {
        {1, LAUNCH, 15, 17, 2, 0}, {1, H2D, 20, 81, 2, 1}, {1, LAUNCH, 195, 197, 3, 2}};
    const struct scene_op copy = {1, ST_OP_COPY, 0, 20, 80, NULL, 64, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PAGEABLE};
    gap_after(copy, pageable, COUNT(pageable), 200, b, "host_late.after_copy", "wait");
    const struct scene_op pinned = {1, ST_OP_COPY, 0, 20, 80, NULL, 64, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PINNED};
    gap_after(pinned, pageable, COUNT(pageable), 200, b, "host_late.own_code", "host slower than device");

    /* a copy whose call returns 100 µs after its end: nothing else can have been waited for */
    static const struct scene_call late_copy[] = {
        {1, LAUNCH, 15, 17, 2, 0}, {1, H2D, 20, 180, 2, 1}, {1, LAUNCH, 195, 197, 3, 2}};
    gap_after(copy, late_copy, COUNT(late_copy), 200, b, "host_late.after_copy", "wait");

    static const struct scene_call module[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, MODULE, 85, 190, 3}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(module, COUNT(module), 200, b, "host_late.module_load", "host slower than device");

    static const struct scene_call other[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, QUERY, 85, 190, 3}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(other, COUNT(other), 200, b, "host_late.other_call", "host slower than device");

    /* the wait ended long before the gap: it did not drain the queue */
    static const struct scene_call early[] = {
        {1, SYNC, 1, 10, 2}, {1, LAUNCH, 15, 17, 2, 1}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(early, COUNT(early), 200, b, "host_late.own_code", "host slower than device");

    /* the host waits 100 µs on for a device that seems idle */
    static const struct scene_call unseen[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, SYNC, 30, 190, 2}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(unseen, COUNT(unseen), 200, b, "unseen_work", "wait");

    /* … but it had spun while the kernel ran and lost its CPU for the rest: it returned late */
    static const struct scene_call late[] = {
        {1, LAUNCH, 0, 1, 2, 1}, {1, SYNC, 1, 190, 2, 0, 0, 0, 0, 0, 78}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(late, COUNT(late), 200, b, "host_late.after_sync", "wait");

    /* … or it spun all along: then the device was at something */
    static const struct scene_call spun[] = {
        {1, LAUNCH, 0, 1, 2, 1}, {1, SYNC, 1, 190, 2, 0, 0, 0, 0, 0, 189}, {1, LAUNCH, 195, 197, 3, 2}};
    one_gap(spun, COUNT(spun), 200, b, "unseen_work", "wait");

    /* the first launch of its function takes 110 µs */
    static const struct scene_call first[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, LAUNCH, 85, 198, 3, 2, 0, 0, 0, 0, 0, 4242}};
    one_gap(first, COUNT(first), 200, b, "host_late.module_load", "host slower than device");
}

/* device [a 20-80]##########[b …]   b was launched at 30, long before the gap */
static void enqueued_in_time(void **state)
{
    const struct scene_op near = {2, ST_OP_KERNEL, 0, 84, 250, "b"}, far = {2, ST_OP_KERNEL, 0, 200, 250, "b"};
    static const struct scene_call plain[] = {{1, LAUNCH, 15, 17, 2, 1}, {1, LAUNCH, 30, 32, 3, 2}};
    one_gap(plain, COUNT(plain), 84, near, "launch_floor", "(none)");
    one_gap(plain, COUNT(plain), 200, far, "unknown", "(none)");

    static const struct scene_call event[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, STREAM_WAIT, 25, 26, 3, 0, 9}, {1, LAUNCH, 30, 32, 3, 2, 9}};
    one_gap(event, COUNT(event), 200, far, "dependency.event_wait", "(none)");

    static const struct scene_call other_stream[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, STREAM_WAIT, 25, 26, 3, 0, 8}, {1, LAUNCH, 30, 32, 3, 2, 9}};
    one_gap(other_stream, COUNT(other_stream), 200, far, "unknown", "(none)");

    static const struct scene_call function[] = {
        {1, LAUNCH, 15, 17, 2, 1}, {1, HOST_FUNC, 25, 26, 3, 0, 9}, {1, LAUNCH, 30, 32, 3, 2, 9}};
    one_gap(function, COUNT(function), 200, far, "dependency.host_function", "(none)");

    const struct scene_op staged = {2, ST_OP_COPY, 0, 200, 250, NULL, 4096, ST_DIR_H2D, ST_MEM_PAGEABLE,
                                    ST_MEM_DEVICE};
    static const struct scene_call copy[] = {{1, LAUNCH, 15, 17, 2, 1}, {1, H2D, 30, 210, 3, 2, 0, 4096}};
    one_gap(copy, COUNT(copy), 200, staged, "dependency.pageable_staging", "(none)");
}

/* An operation whose launch is not known ends the gap: nobody is blamed. Other work that runs in the request
 * ends gaps, too, and is named "other". */
static void unknown_neighbours(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 1000, 1, 0, 1, 0, 0},
        {2, ST_ROLE_REQUEST, "request", 100, 1000, 2, 0, 2, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 15, 17, 1, 1}, {2, LAUNCH, 150, 152, 2, 2}, {1, LAUNCH, 400, 402, 1, 4}};
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 20, 80, "a"},   {2, ST_OP_KERNEL, 0, 200, 250, "b"},
        {99, ST_OP_KERNEL, 0, 300, 320, "x"}, {4, ST_OP_KERNEL, 0, 405, 500, "a"},
    };
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, &(struct st_report_options){.request = "1", .device = -1});
    expect_gap(gap_at(&report, 80), 120, "host_late.own_code", "unattributed", "other");
    expect_gap(gap_at(&report, 250), 50, "unknown", "other", "other");
    expect_gap(gap_at(&report, 320), 85, "host_late.own_code", "other", "unattributed");
    assert_int_equal(report.traces[0].lost.items[ST_LOST_CAUSES - 1].value, 1);
    assert_string_equal(report.traces[0].lost.items[ST_LOST_CAUSES - 1].key, "unmatched_device");
    scene_expect_device(&report.requests[0], &(struct scene_expected_device){0, 155, 0, 0, 155, 70, 0, 775});
    st_report_finish(&report);
}

/* --min cuts the list, never the sums. */
static void short_ones(void **state)
{
    static const struct scene_call calls[] = {{1, LAUNCH, 15, 17, 2, 1}, {1, LAUNCH, 30, 32, 3, 2}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 80, "a"}, {2, ST_OP_KERNEL, 0, 84, 900, "b"}};
    const struct scene scene = SCENE(SPANS, calls, ops);
    struct st_report report =
        scene_report(&scene, &(struct st_report_options){.device = -1, .min_gap_ns = 20000});
    assert_int_equal(report.gap_count, 2);
    assert_int_equal(report.gaps_total_count, 3);
    assert_int_equal(report.gaps_total_ns, 124000);
    assert_int_equal(report.requests[0].devices[0].idle_ns, 124000);
    st_report_finish(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_sync),         cmocka_unit_test(host_causes), cmocka_unit_test(enqueued_in_time),
        cmocka_unit_test(unknown_neighbours), cmocka_unit_test(short_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
