/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, wall share and the identity, scene by scene. scene_report() adds every identity up once more. */
#include "scene.h"

#include <string.h>

/*
 * Nested stages, one device; steps; a wait; what a request does under no stage.
 *
 *   µs       0    10             50        100       150   170 180
 *   request  |--------------------------------------------------|
 *   encode        [10           50]
 *   sample                         [60                150]
 *   step                            [70   100][110  140]
 *   calls          L12              L72 S75-95 L112        L160
 *   device           [15   40]         [76 94]    [120  155] [165 200]      device is done after the host
 *
 *   row           calls  share  host  self │ busy  kernels copies  self  launches
 *   encode            1     40    40    40 │   25       25      0    25         1
 *   sample            1     20    90    30 │   53       53      0     0         2
 *   sample/step       2     75    60    60 │   53       53      0    53         2
 *   unattributed      0     65    50    50 │   35       35      0    35         1
 *
 * Wall share: encode 10-50 · sample 60-70, 100-110 (140-150 is covered by the second step's kernel) · step
 * 70-100, 110-155 · unattributed 0-10, 50-60, 155-200.
 */
static void nested(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 180, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "encode", 10, 50, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 60, 150, 3, 1, 1, 0, 0},
        {1, ST_ROLE_STEP, "sample/step", 70, 100, 4, 3, 1, 0, 0},
        {1, ST_ROLE_STEP, "sample/step", 110, 140, 5, 3, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 12, 14, 2, 1},
        {1, LAUNCH, 72, 74, 4, 2},
        {1, SYNC, 75, 95, 4, 0},
        {1, LAUNCH, 112, 114, 5, 3},
        {1, LAUNCH, 160, 162, 1, 4},
    };
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 15, 40, "enc"},
        {2, ST_OP_KERNEL, 0, 76, 94, "unet"},
        {3, ST_OP_KERNEL, 0, 120, 155, "unet"},
        {4, ST_OP_KERNEL, 0, 165, 200, "free"},
    };
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    static const struct scene_expected_row rows[] = {
        {"encode", 1, 40, 40, 40, 25, 25, 0, 25, 1},
        {"sample", 1, 20, 90, 30, 53, 53, 0, 0, 2},
        {"sample/step", 2, 75, 60, 60, 53, 53, 0, 53, 2},
        {"unattributed", 0, 65, 50, 50, 35, 35, 0, 35, 1},
    };
    const struct st_report_request *request = &report.requests[0];
    assert_int_equal(report.request_count, 1);
    scene_expect_rows(request, 0, rows, 4);
    scene_expect_device(request, &(struct scene_expected_device){0, 113, 78, 0, 35, 0, 0, 87});
    assert_int_equal(request->wall_ns.value, 200000);
    assert_int_equal(request->host_return_ns.value, 180000);
    assert_int_equal(request->device_done_ns.value, 200000);
    assert_int_equal(request->steps, 2);
    const struct st_report_row *sample = scene_row(request->stages, request->stage_count, "sample");
    assert_int_equal(sample->waiting_ns.value, 20000);
    assert_int_equal(sample->in_cuda_ns.value, 4000);
    assert_int_equal(sample->launches_self.value, 0);
    assert_false(sample->own_cpu_ns.known); /* no CPU clock in this scene */
    st_report_finish(&report);
}

/*
 * Work launched in encode that runs while the host is in sample stays encode's; both stages' work at once is
 * shared.
 *
 *   µs       0        20                 80   100
 *   encode   [0     20]
 *   sample             [20                    100]
 *   device 0     [5                  50]               encode's
 *   device 0                  [30         70]          sample's, another stream
 *   owner    idle| encode    | shared | sample| idle
 *            0  5           30       50      70    100
 */
static void spill_and_overlap(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "encode", 0, 20, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 20, 100, 3, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 2, 4, 2, 1}, {1, LAUNCH, 22, 24, 3, 2, 9}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 5, 50, "a"}, {2, ST_OP_KERNEL, 0, 30, 70, "b"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    static const struct scene_expected_row rows[] = {
        {"encode", 1, 30, 20, 20, 45, 45, 0, 25, 1}, /* share 0-5 and 5-30 */
        {"sample", 1, 50, 80, 80, 40, 40, 0, 20, 1}, /* share 50-70 and 70-100 */
        {"shared", 0, 20, NOT, NOT, 0, 0, 0, 0, NOT},
        {"unattributed", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    scene_expect_rows(&report.requests[0], 0, rows, 4);
    scene_expect_device(&report.requests[0], &(struct scene_expected_device){0, 65, 45, 20, 0, 0, 0, 35});
    assert_int_equal(report.requests[0].devices[0].shared_count, 1);
    assert_string_equal(report.requests[0].devices[0].shared_by_set[0].cause, "encode+sample");
    st_report_finish(&report);
}

/*
 * Within one stage the deepest row owns the time; of two at one depth the later launched.
 *
 *   µs             0   10        40    50    60         90  100
 *   sample             [10                              90]      launched first, in sample itself
 *   sample/step             [20       50]
 *   sample/scan                 [30         60]                  launched last
 *   owner          idle|smp|step|  scan      |  sample    |idle
 */
static void deepest_row(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 9, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STEP, "sample/step", 3, 5, 3, 2, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample/scan", 6, 8, 4, 2, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 1, 2, 2, 1}, {1, LAUNCH, 3, 4, 3, 2}, {1, LAUNCH, 6, 7, 4, 3}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 10, 90, "a"},
                                          {2, ST_OP_KERNEL, 0, 20, 50, "b"},
                                          {3, ST_OP_KERNEL, 0, 30, 60, "c"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    static const struct scene_expected_row rows[] = {
        {"sample", 1, 45, 9, 5, 80, 80, 0, 40, 3},
        {"sample/step", 1, 12, 2, 2, 30, 30, 0, 10, 1},
        {"sample/scan", 1, 32, 2, 2, 30, 30, 0, 30, 1},
        {"unattributed", 0, 11, 91, 91, 0, 0, 0, 0, 0},
    };
    scene_expect_rows(&report.requests[0], 0, rows, 4);
    scene_expect_device(&report.requests[0], &(struct scene_expected_device){0, 80, 80, 0, 0, 0, 0, 20});
    assert_int_equal(report.gap_count, 2); /* the shorter ones end inside the first: no gap between */
    st_report_finish(&report);
}

/*
 * Two devices, a peer copy that makes both busy, a memset; kernels hide a copy only on their own device.
 *
 *   µs         0         20        40        60        80   100
 *   device 0   [10 kernel    40]        [50 peer 60]
 *   device 1        [20 memset 30]      [50 peer 60][60 k 80]
 *   device 0                [35 h2d   45]                         5 under the kernel, 5 alone
 */
static void two_devices(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 1, 2, 2, 1},           {1, MEMSET, 3, 4, 2, 2, 0, 64}, {1, H2D, 5, 6, 2, 3, 0, 1000},
        {1, H2D, 7, 8, 2, 4, 0, 500}, {1, LAUNCH, 9, 10, 2, 5},
    };
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 10, 40, "k"},
        {2, ST_OP_MEMSET, 1, 20, 30, NULL, 64},
        {3, ST_OP_COPY, 0, 35, 45, NULL, 1000, ST_DIR_H2D, ST_MEM_PINNED, ST_MEM_DEVICE},
        {4, ST_OP_COPY, 0, 50, 60, NULL, 500, ST_DIR_P2P, ST_MEM_DEVICE, ST_MEM_DEVICE, 1},
        {5, ST_OP_KERNEL, 1, 60, 80, "k"},
    };
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    static const struct scene_expected_row on_0[] = {
        {"sample", 1, 100, 100, 100, 45, 30, 15, 45, 2},
        {"unattributed", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    static const struct scene_expected_row on_1[] = {
        {"sample", 1, 100, 100, 100, 40, 20, 20, 40, 2},
        {"unattributed", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    assert_int_equal(request->device_count, 2);
    scene_expect_rows(request, 0, on_0, 2);
    scene_expect_rows(request, 1, on_1, 2);
    scene_expect_device(request, &(struct scene_expected_device){0, 45, 45, 0, 0, 0, 0, 55});
    scene_expect_device(request, &(struct scene_expected_device){1, 40, 40, 0, 0, 0, 0, 60});
    const struct st_report_row *row = &request->stages[0];
    assert_int_equal(row->copies[ST_COPY_H2D].count.value, 1);
    assert_int_equal(row->copies[ST_COPY_H2D].bytes.value, 1000);
    assert_int_equal(row->copies[ST_COPY_H2D].busy_ns.value, 10000);
    assert_int_equal(row->copies[ST_COPY_P2P].count.value, 1); /* the call says H2D, the device knows better */
    assert_int_equal(row->copies[ST_COPY_P2P].busy_ns.value, 20000); /* on both devices */
    assert_int_equal(row->memsets.count.value, 1);
    assert_int_equal(row->memsets.bytes.value, 64);
    assert_int_equal(report.kernel_count, 1);
    assert_int_equal(report.kernels[0].count, 2);
    st_report_finish(&report);

    /* one device alone: its work in the lists, zeros for one that did nothing; wall shares stay */
    report = scene_report(&scene, &(struct st_report_options){.device = 1});
    assert_int_equal(report.kernels[0].count, 1);
    assert_int_equal(report.kernels[0].total_ns, 20000);
    assert_int_equal(report.transfer_count, 1);
    assert_string_equal(report.transfers[0].direction, "p2p");
    st_report_finish(&report);
    report = scene_report(&scene, &(struct st_report_options){.device = 2});
    assert_true(report.kernels_known && report.transfers_known && report.gaps_known);
    assert_int_equal(report.kernel_count + report.transfer_count, 0);
    request = &report.requests[0];
    assert_true(request->devices_known);
    assert_int_equal(request->device_count, 1);
    static const struct scene_expected_row on_2[] = {
        {"sample", 1, 100, 100, 100, 0, 0, 0, 0, 2},
        {"unattributed", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    scene_expect_rows(request, 2, on_2, 2);
    scene_expect_device(request, &(struct scene_expected_device){2, 0, 0, 0, 0, 0, 0, 100});
    assert_int_equal(report.gap_count, 1);
    st_report_finish(&report);
}

/*
 * Two waits for two devices; --device lists those during which that device worked, and only its work.
 *
 *   µs         0         20        40        60        80   100
 *   thread     (L0)(L1)  (sync 20   45)    (sync 60     90)(sync 92 - 95: for nothing)
 *   device 0   [10 a        40]
 *   device 1             [20 b                       85]
 */
static void waits_by_device(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 50, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "decode", 50, 100, 3, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 1, 2, 2, 1}, {1, LAUNCH, 3, 4, 2, 2},  {1, SYNC, 20, 45, 2},
        {1, SYNC, 60, 90, 3},    {1, SYNC, 92, 95, 3},
    };
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 10, 40, "a"}, {2, ST_OP_KERNEL, 1, 20, 85, "b"}};
    static const int64_t awaited[2][2] = {{20000, 0}, {25000, 25000}}; /* of the wait in sample, in decode */
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.sync_count, 2);
    st_report_finish(&report);
    for (int64_t device = 0; device < 3; device++) {
        report = scene_report(&scene, &(struct st_report_options){.device = device});
        assert_int_equal(report.sync_count, device == 0 ? 1 : device == 1 ? 2 : 0);
        for (size_t i = 0; i < report.sync_count; i++) {
            bool in_decode = strcmp(report.syncs[i].blocked_stage, "decode") == 0;
            assert_int_equal(report.syncs[i].count, 1);
            assert_int_equal(report.syncs[i].awaited_stages[0].duration_ns, awaited[device][in_decode]);
        }
        st_report_finish(&report);
    }
}

/*
 * Two requests at once: what the other one runs is other, and beside own work it is overlap.
 *
 *   µs          0    20   40   60   80   100  120
 *   request 1   [0                  80]                    thread 1
 *   request 2             [40                 120]         thread 2
 *   device 0       [10 r1     50]
 *   device 0              [45 r2    70]
 *   device 0                               [90 r2 110]
 *   of r1:      idle 10 · self 40 (5 of it overlapped) · other 20 · idle 10
 */
static void overlapping_requests(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 80, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 80, 2, 1, 1, 0, 0},
        {2, ST_ROLE_REQUEST, "request", 40, 120, 3, 0, 2, 0, 0},
        {2, ST_ROLE_STAGE, "sample", 40, 120, 4, 3, 2, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 5, 7, 2, 1}, {2, LAUNCH, 42, 44, 4, 2}, {2, LAUNCH, 80, 82, 4, 3}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 10, 50, "a"},
                                          {2, ST_OP_KERNEL, 0, 45, 70, "a"},
                                          {3, ST_OP_KERNEL, 0, 90, 110, "a"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.request_count, 2);
    scene_expect_device(&report.requests[0], &(struct scene_expected_device){0, 40, 40, 0, 0, 20, 5, 20});
    scene_expect_device(&report.requests[1], &(struct scene_expected_device){0, 45, 45, 0, 0, 5, 5, 30});
    st_report_finish(&report);
}

/* A runtime call with its driver call inside is one launch and its time counts once; a failed and a captured
 * launch are neither launches. A runtime launch in which no driver call was seen counts. */
static void counting(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample/sub", 50, 100, 3, 2, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, RT_LAUNCH, 10, 20, 2, 0, 0, 0, 0, ST_CALL_HAS_INNER}, {1, LAUNCH, 12, 18, 2, 1, 0, 0, 0, ST_CALL_INNER},
        {1, LAUNCH, 30, 32, 2, 0, 0, 0, 719},                     {1, LAUNCH, 34, 36, 2, 0, 0, 0, 0, ST_CALL_CAPTURED},
        {1, RT_LAUNCH, 60, 62, 3, 0},                             {1, QUERY, 64, 65, 3, 0, 0, 0, 600},
    };
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 30, "k"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_row *row =
        scene_row(report.requests[0].stages, report.requests[0].stage_count, "sample");
    assert_int_equal(row->launches.value, 2);
    assert_int_equal(row->launches_self.value, 1);
    assert_int_equal(row->failed.value, 1);
    assert_int_equal(row->captured.value, 1);
    assert_int_equal(row->in_cuda_ns.value, 17000);
    assert_int_equal(report.api_error_count, 1); /* "not ready" is an answer */
    assert_string_equal(report.api_errors[0].call, "cuLaunchKernel");
    assert_int_equal(report.api_errors[0].code, 719);
    assert_string_equal(report.api_errors[0].stage, "sample");
    st_report_finish(&report);
}

/* A kernel rule moves device figures and the launch; the host's time stays. */
static void kernel_rule(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 12, 2, 1}, {1, LAUNCH, 14, 16, 2, 2}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 20, 30, "unet"},
                                          {2, ST_OP_KERNEL, 0, 30, 70, "vae_upsample"}};
    const struct scene scene = {.spans = spans, .span_count = 2, .calls = calls, .call_count = 2, .ops = ops,
                                .op_count = 2, .kernel_rule_pattern = "vae_*", .kernel_rule_name = "decode"};
    struct st_report report = scene_report(&scene, NULL);
    static const struct scene_expected_row rows[] = {
        {"sample", 1, 60, 100, 100, 10, 10, 0, 10, 1},
        {"decode", 0, 40, 0, 0, 40, 40, 0, 40, 1},
        {"unattributed", 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    scene_expect_rows(&report.requests[0], 0, rows, 3);
    assert_int_equal(report.unmatched_rules.count, 0);
    size_t notes = 0; /* a row that no range opens says where its host time is */
    for (size_t i = 0; i < report.notes.count; i++) {
        notes += strstr(report.notes.items[i], "decode is labelled by a kernel rule alone") != NULL;
    }
    assert_int_equal(notes, 1);
    st_report_finish(&report);
}

/* Kernels get their rows from $1; of more than 64 names the rest is "other". `load` is a row as any other here. */
static void kernel_rule_names(void **state)
{
    static const struct scene_span spans[] = {{1, ST_ROLE_REQUEST, "request", 0, 1000, 1, 0, 1, 0, 0}};
    static char kernels[70][16];
    struct scene_call calls[72];
    struct scene_op ops[72];
    for (int i = 0; i < 72; i++) {
        int n = i < 70 ? i : i - 70; /* the first two once more: no further name */
        snprintf(kernels[n], sizeof(kernels[n]), "layer_%d", n);
        calls[i] = (struct scene_call){1, LAUNCH, 10 * i + 1, 10 * i + 2, 1, i + 1};
        ops[i] = (struct scene_op){i + 1, ST_OP_KERNEL, 0, 10 * i + 2, 10 * i + 8, kernels[n]};
    }
    const struct scene scene = {.spans = spans, .span_count = 1, .calls = calls, .call_count = 72, .ops = ops,
                                .op_count = 72, .kernel_rule_pattern = "layer_*", .kernel_rule_name = "load/l$1"};
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    assert_int_equal(scene_row(request->stages, request->stage_count, "load/l0")->launches.value, 2);
    assert_int_equal(scene_row(request->stages, request->stage_count, "load/l63")->launches.value, 1);
    assert_int_equal(scene_row(request->stages, request->stage_count, "other")->launches.value, 6);
    assert_int_equal(scene_row(request->stages, request->stage_count, "load")->launches.value, 66);
    st_report_finish(&report);
}

/* No device records and nobody who promised them: device figures are unknown, never 0. */
static void no_device_time(void **state)
{
    static const struct scene_span spans[] = {{1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0}};
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 12, 1, 0}, {1, D2H, 20, 40, 1, 0, 0, 4096}};
    const struct scene scene = {.spans = spans, .span_count = 1, .calls = calls, .call_count = 2};
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    assert_false(request->devices_known);
    assert_false(request->device_done_ns.known);
    assert_int_equal(request->wall_ns.value, 100000);
    assert_false(request->stages[0].device_known);
    assert_false(request->stages[0].wall_share_ns.known);
    assert_true(request->stages[0].graph_nodes.known); /* no graph was launched */
    assert_int_equal(request->stages[0].graph_nodes.value, 0);
    assert_false(request->stages[0].copies[ST_COPY_D2H].busy_ns.known);
    assert_int_equal(request->stages[0].copies[ST_COPY_D2H].count.value, 1);
    assert_int_equal(request->stages[0].copies[ST_COPY_D2H].bytes.value, 4096);
    assert_int_equal(request->stages[0].launches.value, 1);
    assert_string_equal(request->stages[0].device_time, "not_collected");
    assert_false(report.gaps_known);
    assert_false(report.kernels_known);
    assert_false(report.transfers_known);
    st_report_finish(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested),      cmocka_unit_test(spill_and_overlap), cmocka_unit_test(two_devices),
        cmocka_unit_test(waits_by_device),
        cmocka_unit_test(deepest_row),
        cmocka_unit_test(overlapping_requests), cmocka_unit_test(counting),
        cmocka_unit_test(kernel_rule), cmocka_unit_test(kernel_rule_names),
        cmocka_unit_test(no_device_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
