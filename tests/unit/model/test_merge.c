/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes on one time line. Both use the same thread numbers and ids, span ids, correlation ids and function
 * handles, as real ones may: nothing of one must be taken for the other's.
 */
#include "scene.h"

#include <string.h>

#include "analyzer/model/model.h"
#include "config/map.h"

static const struct st_report_options all = {.device = -1, .request = "all"};

static struct st_report run_of_two(const struct scene *one, const struct scene *two)
{
    const struct scene *const scenes[] = {one, two};
    return scene_report_of_run(scenes, 2, &all);
}

static const struct st_report_request *request_of(const struct st_report *report, const char *process, int64_t number)
{
    for (size_t i = 0; i < report->request_count; i++) {
        const struct st_report_id *id = &report->requests[i].id;
        if (id->number == number && strcmp(id->process, process) == 0) {
            return &report->requests[i];
        }
    }
    fail_msg("no request %s:%d", process, (int)number);
    return NULL;
}

/* A request from 100 to 200 with a stage, a launch at 110 and a kernel from 120 to 150. */
static const struct scene_span spans[] = {
    {1, ST_ROLE_REQUEST, "request", 100, 200, 1, 0, 1, 0, 0},
    {1, ST_ROLE_STAGE, "sample", 105, 190, 2, 1, 1, 0, 0},
};
static const struct scene_call calls[] = {{1, LAUNCH, 110, 112, 2, 1}};
static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 120, 150, "k"}};

/*
 * µs of process 1    0     100      120       150       170        200
 * process 1                [request 1                              ]
 *   device                          xxxxxxxxxxx
 * process 2, 20 µs later         [request 1                              ]   100 … 200 of its own
 *   device                                 xxxxxxxxxxxx                      120 … 150: 140 … 170
 */
static void one_device(void **state)
{
    struct scene one = SCENE(spans, calls, ops), two = SCENE(spans, calls, ops);
    one.pid = 71;
    one.start = 5000;
    one.uuids[0] = "aa";
    two.pid = 72;
    two.start = 5020;
    two.uuids[0] = "aa";
    struct st_report report = run_of_two(&two, &one); /* the order of the files does not matter */
    assert_int_equal(report.trace_count, 2);
    assert_string_equal(report.traces[0].process, "71");
    assert_int_equal(report.traces[0].monotonic_start_ns, 5000000);
    assert_int_equal(report.traces[1].monotonic_start_ns, 5020000);
    assert_int_equal(report.device_count, 1);
    assert_int_equal(report.devices[0].pid_count, 2);
    assert_int_equal(report.request_count, 2);
    const struct st_report_request *first = request_of(&report, "71", 1), *second = request_of(&report, "72", 1);
    assert_int_equal(first->begin_ns, 100000);
    assert_int_equal(second->begin_ns, 120000);
    /* busy, self, shared, unattributed, other, overlap, idle */
    scene_expect_device(first, &(struct scene_expected_device){0, 30, 30, 0, 0, 20, 10, 50});
    scene_expect_device(second, &(struct scene_expected_device){0, 30, 30, 0, 0, 20, 10, 50});
    assert_int_equal(scene_row(first->stages, first->stage_count, "sample")->launches.value, 1);
    assert_int_equal(report.kernel_count, 1);
    assert_int_equal(report.kernels[0].count, 2);
    /* each process warms up by itself, and they did the same */
    assert_int_equal(report.rounds.first_count, 2);
    assert_string_equal(first->shape, second->shape);
    st_report_finish(&report);
}

/* What points into a trace's own part still does. */
static void links(void **state)
{
    struct scene one = SCENE(spans, calls, ops), two = SCENE(spans, calls, ops);
    one.pid = 71;
    two.pid = 72;
    two.start = 20;
    struct st_model *models[] = {scene_model(&one), scene_model(&two)}, *model = NULL;
    struct st_err err;
    assert_int_equal(st_model_merge(models, 2, &model, &err), ST_OK);
    assert_int_equal(model->op_count, 2);
    for (size_t i = 0; i < model->op_count; i++) {
        const struct st_op *op = &model->ops[i];
        const struct st_call *call = &model->calls[op->call];
        uint32_t thread = st_model_thread_of_call(model, op->call);
        assert_int_equal(op->trace, i);
        assert_int_equal(op->group, call->group);
        assert_int_equal(model->threads[thread].trace, op->trace);
        assert_true(op->call >= model->traces[i].call_first && op->call < model->traces[i].call_end);
        assert_int_equal(model->spans[call->span].thread, thread);
        assert_true(call->span >= model->traces[i].span_first && call->span < model->traces[i].span_end);
        assert_int_equal(model->spans[model->spans[call->span].parent].role, ST_ROLE_REQUEST);
        assert_int_equal(model->spans[model->spans[call->span].parent].thread, thread);
        assert_int_equal(st_model_span_at(model, thread, call->begin_ns), call->span);
        const struct st_model_request *request = &model->requests[st_request_of_group(op->group)];
        assert_int_equal(request->trace, op->trace);
        assert_int_equal(model->spans[request->span].thread, request->thread);
        assert_int_equal(request->device_end_ns, op->end_ns);
    }
    st_model_destroy(model);
}

/* What one process tells by itself must come out the same beside another: all but other, overlap and idle. */
static void same_as_alone(void **state)
{
    struct scene one = SCENE(spans, calls, ops), two = SCENE(spans, calls, ops);
    one.pid = 71;
    two.pid = 72;
    two.start = 20;
    struct st_report alone = scene_report(&two, &all), both = run_of_two(&one, &two);
    const struct st_report_request *a = &alone.requests[0], *b = request_of(&both, "72", 1);
    assert_null(a->id.process);
    assert_int_equal(a->stage_count, b->stage_count);
    for (size_t i = 0; i < a->stage_count; i++) {
        const struct st_report_row *x = &a->stages[i], *y = scene_row(b->stages, b->stage_count, x->name);
        assert_int_equal(x->wall_share_ns.value, y->wall_share_ns.value);
        assert_int_equal(x->host_inclusive_ns.value, y->host_inclusive_ns.value);
        assert_int_equal(x->in_cuda_ns.value, y->in_cuda_ns.value);
        assert_int_equal(x->devices[0].busy_ns, y->devices[0].busy_ns);
    }
    assert_string_equal(a->shape, b->shape);
    assert_int_equal(a->begin_ns + 20000, b->begin_ns);
    st_report_finish(&alone);
    st_report_finish(&both);
}

/*
 * CUDA_VISIBLE_DEVICES turned round: process 1 has A as 0 and B as 1, process 2 has B as 0, and C as 1.
 * Without uuids nothing tells whether they mean one device.
 */
static void devices_by_uuid(void **state)
{
    static const struct scene_call two_calls[] = {{1, LAUNCH, 110, 112, 2, 1}, {1, LAUNCH, 112, 114, 2, 2}};
    static const struct scene_op on_both[] = {{1, ST_OP_KERNEL, 0, 120, 150, "k"}, {2, ST_OP_KERNEL, 1, 130, 160, "k"}};
    struct scene one = SCENE(spans, two_calls, on_both), two = SCENE(spans, two_calls, on_both);
    one.pid = 71;
    one.uuids[0] = "aa";
    one.uuids[1] = "bb";
    two.pid = 72;
    two.start = 10;
    two.uuids[0] = "bb";
    two.uuids[1] = "cc";
    struct st_report report = run_of_two(&one, &two);
    assert_int_equal(report.device_count, 3);
    const struct st_report_device *shared = &report.devices[1], *last = &report.devices[2];
    assert_string_equal(shared->uuid, "bb");
    assert_int_equal(shared->pid_count, 2);
    assert_int_equal(shared->users[0].ordinal, 1);
    assert_int_equal(shared->users[1].ordinal, 0);
    assert_string_equal(shared->users[1].process, "72");
    assert_string_equal(last->uuid, "cc");
    assert_int_equal(last->users[0].ordinal, 1);
    const struct st_report_request *first = request_of(&report, "71", 1), *second = request_of(&report, "72", 1);
    /* A: nobody else; B: 130 … 160 of process 1 and 130 … 160 of process 2, at the same time */
    scene_expect_device(first, &(struct scene_expected_device){0, 30, 30, 0, 0, 0, 0, 70});
    scene_expect_device(first, &(struct scene_expected_device){1, 30, 30, 0, 0, 0, 30, 70});
    scene_expect_device(second, &(struct scene_expected_device){1, 30, 30, 0, 0, 0, 30, 70});
    scene_expect_device(second, &(struct scene_expected_device){2, 30, 30, 0, 0, 0, 0, 70});
    st_report_finish(&report);

    static const char *const UNKNOWN[] = {NULL, ""}; /* no DEVICE row; one without uuid */
    for (size_t i = 0; i < 2; i++) {
        one.uuids[0] = one.uuids[1] = two.uuids[0] = two.uuids[1] = UNKNOWN[i];
        report = run_of_two(&one, &two);
        const struct st_report_request *apart = request_of(&report, "71", 1);
        assert_int_equal(apart->devices[0].overlap_other_ns, 0);
        assert_int_equal(apart->devices[1].overlap_other_ns, 0);
        assert_int_equal(request_of(&report, "72", 1)->devices[0].device, 2);
        assert_int_equal(request_of(&report, "72", 1)->devices[1].device, 3);
        st_report_finish(&report);
    }

    one.uuids[0] = one.uuids[1] = two.uuids[0] = two.uuids[1] = "aa"; /* nonsense, but not one device in a process */
    report = run_of_two(&one, &two);
    assert_int_equal(request_of(&report, "72", 1)->device_count, 2);
    assert_int_equal(report.device_count, 2);
    st_report_finish(&report);
}

/*
 * A thread with no request: the request that is open in the other process is not its.
 *
 *   process 1        [request 1      ]
 *   process 2   L50       L130            no request before 300
 *   process 2                               [request 1 300 … 400]
 */
static void belongs_by_process(void **state)
{
    static const struct scene_span late[] = {{1, ST_ROLE_REQUEST, "request", 300, 400, 1, 0, 1, 0, 0}};
    static const struct scene_call early[] = {{2, LAUNCH, 50, 52, 0, 1}, {2, LAUNCH, 130, 132, 0, 2}};
    static const struct scene_op their[] = {{1, ST_OP_KERNEL, 0, 60, 70, "k"}, {2, ST_OP_KERNEL, 0, 160, 170, "k"}};
    struct scene one = SCENE(spans, calls, ops), two = SCENE(late, early, their);
    one.pid = 71;
    two.pid = 72;
    one.uuids[0] = two.uuids[0] = "aa";
    struct st_report report = run_of_two(&one, &two);
    const struct st_report_request *request = request_of(&report, "71", 1);
    scene_expect_device(request, &(struct scene_expected_device){0, 30, 30, 0, 0, 10, 0, 60});
    assert_int_equal(scene_row(request->stages, request->stage_count, "unattributed")->launches.value, 0);
    assert_int_equal(scene_row(report.before_first, report.before_first_count, "unattributed")->launches.value, 2);
    st_report_finish(&report);
}

/* Waits in one process are for its own work, also outside of requests, where all processes are in one table. */
static void waits_for_its_own(void **state)
{
    static const struct scene_call waiting[] = {{1, LAUNCH, 10, 12, 0, 1}, {1, SYNC, 20, 90, 0}};
    static const struct scene_op short_work[] = {{1, ST_OP_KERNEL, 0, 30, 40, "k"}};
    static const struct scene_call launching[] = {{1, LAUNCH, 10, 12, 0, 1}};
    static const struct scene_op long_work[] = {{1, ST_OP_KERNEL, 0, 30, 80, "k"}};
    struct scene one = {.calls = waiting, .call_count = 2, .ops = short_work, .op_count = 1, .pid = 71};
    struct scene two = {.calls = launching, .call_count = 1, .ops = long_work, .op_count = 1, .pid = 72};
    struct st_report report = run_of_two(&one, &two);
    assert_int_equal(report.sync_count, 1);
    assert_int_equal(report.syncs[0].awaited_count, 1);
    assert_int_equal(report.syncs[0].awaited_stages[0].duration_ns, 10000);
    st_report_finish(&report);
}

/*
 * Phases count in each process, and a load in one does not make the next request of the other a first one.
 *
 *   process 1   [load] r1 first   r2 warm-up   r3 steady
 *   process 2        r1 first  [load]  r2 first   r3 warm-up
 */
static void phases(void **state)
{
    static const struct scene_span first[] = {
        {1, ST_ROLE_LOAD, "load", 10, 50, 1, 0, 0, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 100, 200, 2, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 300, 400, 3, 0, 2, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 500, 600, 4, 0, 3, 0, 0},
    };
    static const struct scene_span second[] = {
        {1, ST_ROLE_REQUEST, "request", 110, 190, 1, 0, 1, 0, 0},
        {1, ST_ROLE_LOAD, "load", 210, 290, 2, 0, 0, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 310, 390, 3, 0, 2, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 510, 590, 4, 0, 3, 0, 0},
    };
    struct scene one = {.spans = first, .span_count = 4, .pid = 71},
                 two = {.spans = second, .span_count = 4, .pid = 72};
    struct st_report report = run_of_two(&one, &two);
    assert_int_equal(report.rounds.first_count, 3);
    assert_int_equal(report.rounds.warmup_count, 2);
    assert_int_equal(report.rounds.steady_count, 1);
    assert_string_equal(report.rounds.steady[0].process, "71");
    assert_int_equal(report.rounds.steady[0].number, 3);
    assert_int_equal(report.rounds.load_count, 2);
    assert_int_equal(request_of(&report, "72", 2)->phase, ST_PHASE_FIRST);
    st_report_finish(&report);
}

/* A second image after exec has the same process id. */
static void one_id_twice(void **state)
{
    struct scene one = SCENE(spans, calls, ops), two = SCENE(spans, calls, ops);
    one.pid = two.pid = 71;
    two.start = 1000;
    one.uuids[0] = two.uuids[0] = "aa";
    struct st_report report = run_of_two(&one, &two);
    assert_string_equal(report.traces[1].process, "71.2");
    assert_int_equal(request_of(&report, "71.2", 1)->begin_ns, 1100000);
    assert_int_equal(report.devices[0].pid_count, 1);
    assert_int_equal(report.devices[0].user_count, 2);
    st_report_finish(&report);

    const struct scene *const scenes[] = {&one, &two};
    report = scene_report_of_run(scenes, 2, &(struct st_report_options){.device = -1, .request = "71.2:1"});
    assert_int_equal(report.request_count, 1);
    assert_string_equal(report.selection, "request 71.2:1");
    st_report_finish(&report);
}

/* One process without device time: its own figures are unknown, those of the other are not. */
static void device_time_of_one(void **state)
{
    struct scene one = SCENE(spans, calls, ops),
                 two = {.spans = spans, .span_count = 2, .calls = calls, .call_count = 1};
    one.pid = 71;
    two.pid = 72;
    struct st_report report = run_of_two(&one, &two);
    assert_true(request_of(&report, "71", 1)->devices_known);
    assert_false(request_of(&report, "72", 1)->devices_known);
    assert_string_equal(report.device_time, "measured");
    bool is_told = false;
    for (size_t i = 0; i < report.notes.count; i++) {
        is_told = is_told || strstr(report.notes.items[i], "device time of process 72: not collected");
    }
    assert_true(is_told);
    st_report_finish(&report);
}

/* A rule is unmatched when no process met it. */
static void rules(void **state)
{
    static const struct st_model_rule met[] = {
        {.rule = 1, .source = ST_MAP_SYMBOL, .matched = 1, .pattern = "", .name = "", .line = "in one"},
        {.rule = 2, .source = ST_MAP_SYMBOL, .pattern = "", .name = "", .line = "in none"}};
    static const struct st_model_rule unmet[] = {
        {.rule = 1, .source = ST_MAP_SYMBOL, .pattern = "", .name = "", .line = "in one"},
        {.rule = 2, .source = ST_MAP_SYMBOL, .pattern = "", .name = "", .line = "in none"}};
    struct scene one = {.rules = unmet, .rule_count = 2, .pid = 71}, two = {.rules = met, .rule_count = 2, .pid = 72};
    struct st_report report = run_of_two(&one, &two);
    assert_int_equal(report.unmatched_rules.count, 1);
    assert_string_equal(report.unmatched_rules.items[0], "in none");
    st_report_finish(&report);
}

/* "3" does not say whose; "71:3" is fine for one process, too. */
static void request_ids(void **state)
{
    static const struct {
        const char *text;
        enum st_status of_two, of_one;
    } CASES[] = {{"1", ST_USAGE, ST_OK},       {"71:1", ST_OK, ST_OK},        {"72:1", ST_OK, ST_USAGE},
                 {"71:2", ST_USAGE, ST_USAGE}, {"7:1", ST_USAGE, ST_USAGE},   {"71:", ST_USAGE, ST_USAGE},
                 {":1", ST_USAGE, ST_USAGE},   {"71:1x", ST_USAGE, ST_USAGE}, {"711:1", ST_USAGE, ST_USAGE}};
    struct scene one = SCENE(spans, calls, ops), two = SCENE(spans, calls, ops);
    one.pid = 71;
    two.pid = 72;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct st_report_options options = {.device = -1, .request = CASES[i].text};
        struct st_model *models[] = {scene_model(&one), scene_model(&two)}, *both = NULL, *alone = scene_model(&one);
        struct st_report report;
        struct st_err err;
        assert_int_equal(st_model_merge(models, 2, &both, &err), ST_OK);
        assert_int_equal(st_report_build(both, &options, &report, &err), CASES[i].of_two);
        if (CASES[i].of_two == ST_OK) {
            st_report_finish(&report);
        }
        assert_int_equal(st_report_build(alone, &options, &report, &err), CASES[i].of_one);
        if (CASES[i].of_one == ST_OK) {
            st_report_finish(&report);
        }
        st_model_destroy(both);
        st_model_destroy(alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device),      cmocka_unit_test(same_as_alone),      cmocka_unit_test(links),
        cmocka_unit_test(devices_by_uuid), cmocka_unit_test(belongs_by_process), cmocka_unit_test(waits_for_its_own),
        cmocka_unit_test(phases),          cmocka_unit_test(one_id_twice),       cmocka_unit_test(device_time_of_one),
        cmocka_unit_test(rules),           cmocka_unit_test(request_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
