/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs where: other threads, after and outside, open requests, lost rows; which rounds may be averaged. */
#include "scene.h"

#include <string.h>

#include "config/map.h"

#include "analyzer/model/model.h"

static void expect_ids(const struct st_report_id *ids, size_t count, const char *expected)
{
    char text[64] = "";
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%lld", i ? " " : "", (long long)ids[i].number);
    }
    assert_string_equal(text, expected);
}

/*
 * Calls shorter than the error between the two clocks: by time the device library's record of the first launch lies in
 * the second one. As many of each, so the order tells.
 *
 *   µs          10     12     14     16     18
 *   CALL        [encode]      [sample]             API    ┆encode┆      ┆sample┆      4 µs late
 */
static void order_before_time(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 5, 50, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "encode", 9, 13, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 13, 40, 3, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 10, 12, 2, 1},
        {1, LAUNCH, 14, 16, 3, 2},
    };
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 20, 25, "first"},
        {2, ST_OP_KERNEL, 0, 25, 35, "second"},
    };
    struct scene scene = SCENE(spans, calls, ops);
    scene.api_late = 4;
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    assert_int_equal(scene_row(request->stages, request->stage_count, "encode")->devices[0].busy_ns, 5000);
    assert_int_equal(scene_row(request->stages, request->stage_count, "sample")->devices[0].busy_ns, 10000);
    st_report_finish(&report);
}

/*
 * A worker thread without a request: while exactly one request is open its work belongs to that one.
 *
 *   µs         0    50        150  200   250       350  400   450
 *   thread 1        [request 1   ]       [request 2   ]
 *   thread 2            L60                 (decode 260 - 300: L270)     no request of its own
 *   thread 2   L10                  L220                           L420
 */
static void worker_thread(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 50, 150, 1, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 250, 350, 2, 0, 2, 0, 0},
        {2, ST_ROLE_STAGE, "decode", 260, 300, 3, 0, 0, 0, 0},
    };
    static const struct scene_call calls[] = {
        {2, LAUNCH, 10, 12, 0, 1},   {2, LAUNCH, 60, 62, 0, 2},   {2, LAUNCH, 220, 222, 0, 3},
        {2, LAUNCH, 270, 272, 3, 4}, {2, LAUNCH, 420, 422, 0, 5},
    };
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 15, 20, "k"},   {2, ST_OP_KERNEL, 0, 65, 160, "k"},  {3, ST_OP_KERNEL, 0, 225, 230, "k"},
        {4, ST_OP_KERNEL, 0, 275, 290, "k"}, {5, ST_OP_KERNEL, 0, 425, 430, "k"},
    };
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *first = &report.requests[0], *second = &report.requests[1];
    const struct st_report_row *row = scene_row(first->stages, first->stage_count, "unattributed/t2");
    assert_int_equal(row->launches.value, 1);
    assert_false(row->host_inclusive_ns.known); /* the thread was in no span */
    assert_int_equal(row->devices[0].self_ns, 95000);
    assert_int_equal(scene_row(first->stages, first->stage_count, "unattributed")->launches.value, 1);
    assert_int_equal(first->wall_ns.value, 110000); /* until the worker's kernel is done */
    assert_int_equal(first->host_return_ns.value, 100000);
    row = scene_row(second->stages, second->stage_count, "decode");
    assert_int_equal(row->host_inclusive_ns.value, 40000);
    assert_int_equal(row->devices[0].busy_ns, 15000);
    assert_int_equal(scene_row(report.before_first, report.before_first_count, "unattributed")->launches.value, 1);
    assert_int_equal(scene_row(report.between, report.between_count, "unattributed")->launches.value, 1);
    assert_int_equal(scene_row(report.after_last, report.after_last_count, "unattributed")->launches.value, 1);
    st_report_finish(&report);
}

/*
 * Saving the picture after the request's return is "after"; a load outside is a figure of its own.
 *
 *   µs         0 [load] 100   200 [request] 300  310 [output] 350   400 [request] 500
 */
static void after_and_load(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_LOAD, "load", 0, 100, 1, 0, 0, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 200, 300, 2, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "output", 310, 350, 3, 0, 0, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 400, 500, 4, 0, 2, 0, 0},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 210, 212, 2, 1}, {1, D2H, 320, 330, 3, 2, 0, 64}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 215, 250, "k"},
                                          {2, ST_OP_COPY, 0, 322, 329, NULL, 64, ST_DIR_D2H, ST_MEM_DEVICE,
                                           ST_MEM_PAGEABLE}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *first = &report.requests[0];
    assert_int_equal(first->wall_ns.value, 100000);
    assert_int_equal(first->wall_with_tail_ns.value, 150000);
    assert_int_equal(first->after_count, 1);
    assert_string_equal(first->after[0].name, "output");
    assert_int_equal(first->after[0].copies[ST_COPY_D2H].bytes.value, 64);
    assert_int_equal(first->after[0].devices[0].busy_ns, 7000);
    assert_int_equal(report.requests[1].after_count, 0);
    assert_int_equal(report.requests[1].wall_with_tail_ns.value, 100000);
    assert_int_equal(report.rounds.load_count, 1);
    assert_int_equal(report.rounds.load_ns[0], 100000);
    assert_string_equal(report.before_first[0].name, "load");
    assert_int_equal(report.between_count, 0);
    st_report_finish(&report);
}

/*
 * A model is loaded again after a request, on the same thread: no part of that request, and the next round is a
 * first one again.
 */
static void load_between(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 100, 200, 2, 0, 2, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 200, 300, 3, 0, 3, 0, 0},
        {1, ST_ROLE_LOAD, "load", 310, 390, 4, 0, 0, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 400, 500, 5, 0, 4, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 500, 600, 6, 0, 5, 0, 0},
    };
    const struct scene scene = {.spans = spans, .span_count = 6};
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.requests[2].after_count, 0);
    assert_int_equal(report.requests[2].wall_with_tail_ns.value, 100000);
    assert_string_equal(report.between[0].name, "load");
    assert_int_equal(report.rounds.load_count, 1);
    expect_ids(report.rounds.first, report.rounds.first_count, "1 4");
    expect_ids(report.rounds.warmup, report.rounds.warmup_count, "2 5");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "3");
    st_report_finish(&report);
}

/* Killed inside the second request: it is listed with its rows and enters no figure. */
static void open_request(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 200, OPEN, 2, 0, 2, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 210, OPEN, 3, 2, 2, 0, 0},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 12, 1, 1}, {1, LAUNCH, 220, 222, 3, 2}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 15, 20, "k"}, {2, ST_OP_KERNEL, 0, 225, 260, "k"}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *open = &report.requests[1];
    assert_int_equal(report.open_requests, 1);
    assert_int_equal(report.request_count, 2);
    assert_false(open->complete);
    assert_false(open->wall_ns.known);
    assert_int_equal(open->phase, ST_PHASE_NONE);
    assert_false(open->selected);
    assert_int_equal(scene_row(open->stages, open->stage_count, "sample")->launches.value, 1);
    assert_int_equal(report.selected_requests, 1);
    assert_non_null(report.selection_note);
    for (size_t i = 0; i < report.gap_count; i++) {
        assert_int_equal(report.gaps[i].request.number, 1);
    }
    st_report_finish(&report);
}

/* Killed after the second request returned, before the records of its last launch came: its end is not known. Of a
 * trace that was closed in order the same is a lost record, and the request counts. */
static void uncovered_request(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 100, 200, 2, 0, 2, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 10, 12, 1, 1}, {1, LAUNCH, 110, 112, 2, 2}, {1, LAUNCH, 120, 122, 2, 3}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 15, 20, "k"}, {2, ST_OP_KERNEL, 0, 115, 118, "k"}};
    struct scene scene = SCENE(spans, calls, ops);
    for (int cut = 0; cut < 2; cut++) {
        scene.is_cut = cut;
        struct st_report report = scene_report(&scene, NULL);
        assert_true(report.requests[0].complete);
        assert_int_equal(report.requests[1].complete, !cut);
        assert_int_equal(report.requests[1].wall_ns.known, !cut);
        assert_int_equal(report.requests[1].host_return_ns.value, 100000);
        assert_int_equal(report.open_requests, cut);
        assert_int_equal(report.requests_without_device_time, cut);
        assert_int_equal(report.device_known_until_ns.known, cut);
        assert_true(!cut || report.device_known_until_ns.value == 110000);
        for (size_t r = 0; cut && r < report.requests[1].stage_count; r++) {
            assert_false(report.requests[1].stages[r].wall_share_ns.known); /* not what the host alone shows */
        }
        assert_string_equal(report.traces[0].lost.items[ST_LOST_CAUSES].key, "launches_without_record");
        assert_int_equal(report.traces[0].lost.items[ST_LOST_CAUSES].value, 1);
        st_report_finish(&report);
    }
}

/* Only requests that have no end, or whose device work is not in the trace whole: none of them is said to be taken. */
static void only_open_requests(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_REQUEST, "request", 100, OPEN, 2, 0, 2, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 10, 12, 1, 1}, {1, LAUNCH, 20, 22, 1, 2}, {1, LAUNCH, 110, 112, 2, 3}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 15, 20, "k"}};
    struct scene scene = SCENE(spans, calls, ops);
    scene.is_cut = true;
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.open_requests, 2);
    assert_null(strstr(report.selection_note, "taken"));
    assert_true(report.requests[0].host_return_ns.known);
    for (size_t i = 0; i < report.notes.count; i++) {
        assert_null(strstr(report.notes.items[i], "yet"));
    }
    st_report_finish(&report);
}

/*
 * A rule has matched when a span says so, whatever its count says: that is only written when the trace is closed. Of a
 * trace that just ends, no rule is accused.
 */
static void unmatched_rules(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0, 5},
        {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 0, 0, 6},
    };
    static const struct st_model_rule rules[] = {
        {.rule = 5, .source = ST_MAP_SYMBOL, .role = ST_MAP_REQUEST, .pattern = "r", .name = "", .line = "met"},
        {.rule = 6, .source = ST_MAP_SYMBOL, .role = ST_MAP_STAGE, .pattern = "s", .name = "s", .line = "met too"},
        {.rule = 7, .source = ST_MAP_SYMBOL, .role = ST_MAP_STAGE, .pattern = "x", .name = "x", .line = "missed"},
        {.rule = 8, .source = ST_MAP_SYMBOL, .role = ST_MAP_END, .matched = 2, .pattern = "e", .name = "", .line = ""},
    };
    struct scene scene = {.spans = spans, .span_count = 2, .rules = rules, .rule_count = 4};
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.unmatched_rules.count, 1);
    assert_string_equal(report.unmatched_rules.items[0], "missed");
    st_report_finish(&report);

    scene.is_cut = true;
    report = scene_report(&scene, NULL);
    assert_int_equal(report.unmatched_rules.count, 0);
    st_report_finish(&report);
}

/*
 * `sample step-end`: two iterations, the second with a stage inside; what follows the last mark is sample's own. Host
 * times by thread and time, device work by the launch.
 *
 *   µs       0     100        200   300         400      500
 *   sample         [100                               500]
 *   marks                     |200             |400
 *   unet                         [220   390]
 *   calls           L110       L210 L230            L410
 */
static void step_end(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 500, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 100, 500, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "unet", 220, 390, 3, 2, 1, 0, 0},
    };
    static const struct scene_mark marks[] = {{400, 2, "sample"}, {200, 2, "sample", 7}, {450, 1, "sample"}};
    static const struct scene_call calls[] = {
        {1, LAUNCH, 110, 112, 2, 1}, {1, LAUNCH, 210, 212, 2, 2}, {1, LAUNCH, 230, 232, 3, 3},
        {1, LAUNCH, 410, 412, 2, 4}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 120, 220, "a"},
                                          {2, ST_OP_KERNEL, 0, 220, 230, "a"},
                                          {3, ST_OP_KERNEL, 0, 240, 340, "u"},
                                          {4, ST_OP_KERNEL, 0, 415, 420, "a"}};
    struct scene scene = SCENE(spans, calls, ops);
    scene.marks = marks;
    scene.mark_count = 3; /* the last one comes when the stage is not open: a step of nothing */
    struct st_report report = scene_report(&scene, NULL);
    static const struct scene_expected_row rows[] = {
        {"sample", 1, 100, 400, 100, 115, 115, 0, 5, 3},
        {"sample/step", 2, 140, 300, 130, 110, 110, 0, 110, 2},
        {"unet", 1, 160, 170, 170, 100, 100, 0, 100, 1},
        {"unattributed", 0, 100, 100, 100, 0, 0, 0, 0, 0},
    };
    assert_int_equal(report.requests[0].steps, 2);
    scene_expect_rows(&report.requests[0], 0, rows, 4);
    const struct st_report_row *sample = &report.requests[0].stages[0], *step = &report.requests[0].stages[1];
    assert_string_equal(step->edges, "inferred"); /* the first mark was concluded, and may be 7 µs late */
    assert_true(step->edges_doubt_ns.known);
    assert_int_equal(step->edges_doubt_ns.value, 7000);
    assert_string_equal(report.requests[0].stages[2].edges, "exact");
    assert_int_equal(report.requests[0].stages[2].edges_doubt_ns.value, 0);
    assert_false(report.requests[0].stages[3].edges_doubt_ns.known); /* unattributed has no edges */
    assert_string_equal(sample->edges, "inferred"); /* its row includes the one below */
    st_report_finish(&report);
}

/* A trace without requests: the lists cover all of it, and the rows outside have their device figures. */
static void no_request(void **state)
{
    static const struct scene_span spans[] = {{1, ST_ROLE_STAGE, "sample", 0, 300, 1, 0, 0, 0, 0}};
    static const struct scene_call calls[] = {
        {1, LAUNCH, 10, 12, 1, 1}, {1, SYNC, 15, 102, 1}, {1, LAUNCH, 200, 202, 1, 2}, {2, D2H, 400, 450, 0, 3, 0, 64}};
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 20, 100, "a"},
        {2, ST_OP_KERNEL, 0, 205, 290, "a"},
        {3, ST_OP_COPY, 0, 410, 440, NULL, 64, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PAGEABLE},
        {77, ST_OP_KERNEL, 0, 500, 510, "lost"},
    };
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    assert_string_equal(report.lists_cover, "process");
    assert_int_equal(report.request_count, 0);
    assert_int_equal(report.kernel_count, 2);
    assert_string_equal(report.kernels[0].name, "a");
    assert_int_equal(report.kernels[0].total_ns, 165000);
    assert_string_equal(report.kernels[0].stage, "sample");
    assert_int_equal(report.transfer_count, 1);
    assert_int_equal(report.sync_count, 2);
    assert_int_equal(report.gaps_total_count, 4); /* 0-20, 100-205, 290-410, 440-500 */
    assert_int_equal(report.gaps_total_ns, 305000);
    assert_int_equal(report.gaps[1].request.number, 0);
    assert_string_equal(report.gaps[1].cause, "host_late.after_sync");
    assert_string_equal(report.gaps[3].drained_why, "process begin");
    const struct st_report_row *sample = scene_row(report.before_first, report.before_first_count, "sample");
    assert_int_equal(sample->devices[0].busy_ns, 165000);
    assert_int_equal(sample->waiting_ns.value, 87000);
    const struct st_report_row *bare = scene_row(report.before_first, report.before_first_count, "unattributed");
    assert_int_equal(bare->devices[0].busy_ns, 40000);
    assert_false(bare->host_inclusive_ns.known); /* a thread without any range has no begin and end */
    st_report_finish(&report);
}

/* The calls were lost, the device library's records of them were not: thread and time still place the work. */
static void lost_calls(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "encode", 0, 30, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "sample", 30, 100, 3, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 12, 2, 1}, {1, LAUNCH, 40, 42, 3, 2}};
    static const struct scene_op ops[] = {{1, ST_OP_KERNEL, 0, 35, 60, "k"}, {2, ST_OP_KERNEL, 0, 60, 70, "k"}};
    struct scene scene = SCENE(spans, calls, ops);
    scene.lose_calls = true;
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_request *request = &report.requests[0];
    assert_int_equal(scene_row(request->stages, request->stage_count, "encode")->devices[0].busy_ns, 25000);
    assert_int_equal(scene_row(request->stages, request->stage_count, "sample")->devices[0].busy_ns, 10000);
    assert_int_equal(scene_row(request->stages, request->stage_count, "encode")->launches.value, 0);
    bool said = false;
    for (size_t i = 0; i < report.notes.count; i++) {
        said = said || strstr(report.notes.items[i], "placed by thread and time");
    }
    assert_true(said);
    st_report_finish(&report);
}

/* The two clocks miss each other by 5 µs; the launches are 3 µs apart, but of different functions' calls. */
static void clocks_apart(void **state)
{
    struct st_builder *builder = st_builder_create(NULL);
    struct st_model *model;
    assert_true(st_builder_thread(builder, 1, 101, "t1", 2));
    assert_true(st_builder_calldef(builder, 1, ST_LAYER_DRIVER, ST_CLASS_LAUNCH, 0, "launch", 6));
    assert_true(st_builder_calldef(builder, 2, ST_LAYER_DRIVER, ST_CLASS_COPY, 0, "copy", 4));
    for (int64_t i = 0; i < 2; i++) {
        int64_t at = 100000 + 3000 * i, call = 1 + i;
        assert_true(st_builder_call(builder, &(struct st_raw_call){.thread = 1, .call = call, .begin_ticks = at,
                                                                   .duration_ticks = 2000}));
        assert_true(st_builder_api(builder, &(struct st_raw_api){.tid = 101, .start_device = at + 5000,
                                                                 .duration_ns = 1000, .correlation = 7 + i,
                                                                 .call = call}));
    }
    assert_true(st_builder_op(builder, &(struct st_raw_op){.kind = ST_OP_KERNEL, .start_device = 120000,
                                                           .duration_ns = 10, .correlation = 7}));
    assert_true(st_builder_op(builder, &(struct st_raw_op){.kind = ST_OP_COPY, .start_device = 130000,
                                                           .duration_ns = 10, .correlation = 8}));
    assert_int_equal(st_builder_finish(builder, NULL, NULL, &model), ST_OK);
    assert_int_equal(model->traces->faults.unmatched_device, 0);
    assert_int_equal(model->ops[0].call, 0);
    assert_int_equal(model->ops[1].call, 1);
    st_model_destroy(model);
}

/* ---- rounds ---- */

/* Requests one after another, each of `walls[i]` µs with `launches[i]` launches. */
static struct st_report rounds_of(const int64_t *walls, const int *launches, size_t count, const char *recorded,
                                  const char *chosen)
{
    struct scene_span spans[16] = {0};
    struct scene_call calls[64] = {0};
    size_t call_count = 0;
    int64_t at = 0;
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = (uint32_t)i + 1;
        spans[i] = (struct scene_span){1, ST_ROLE_REQUEST, "request", at, at + walls[i], id, 0, id, 0, 0};
        for (int k = 0; k < launches[i]; k++) {
            calls[call_count++] = (struct scene_call){1, LAUNCH, at + 1 + k, at + 2 + k, id};
        }
        at += walls[i] + 10;
    }
    const struct scene scene = {
        .spans = spans, .span_count = count, .calls = calls, .call_count = call_count, .rounds = recorded};
    return scene_report(&scene, &(struct st_report_options){.device = -1, .rounds = chosen});
}

static void phases(void **state)
{
    static const int64_t walls[] = {900, 120, 100, 104, 96};
    static const int same[] = {2, 2, 2, 2, 2}, other[] = {2, 2, 3, 3, 2};
    struct st_report report = rounds_of(walls, same, 5, NULL, NULL);
    assert_string_equal(report.rounds.rule, "warmup=1");
    assert_false(report.rounds.chosen_afterwards);
    expect_ids(report.rounds.first, report.rounds.first_count, "1");
    expect_ids(report.rounds.warmup, report.rounds.warmup_count, "2");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "3 4 5");
    assert_int_equal(report.rounds.steady_n, 3);
    assert_int_equal(report.rounds.steady_median_ns.value, 100000);
    assert_int_equal(report.rounds.steady_min_ns.value, 96000);
    assert_int_equal(report.rounds.steady_max_ns.value, 104000);
    assert_int_equal(report.rounds.steady_spread_ppm.value, 40000); /* quartiles 98, 102 */
    assert_int_equal(report.selected_requests, 3);
    assert_int_equal(report.requests[report.typical].id.number, 3);
    st_report_finish(&report);

    report = rounds_of(walls, other, 5, NULL, NULL); /* 3 and 4 are of another shape */
    expect_ids(report.rounds.first, report.rounds.first_count, "1 3");
    expect_ids(report.rounds.warmup, report.rounds.warmup_count, "2 4");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "5");
    assert_string_equal(report.requests[0].shape, report.requests[1].shape);
    assert_string_not_equal(report.requests[0].shape, report.requests[2].shape);
    st_report_finish(&report);
}

/*
 * A load inside requests of one shape (L) is what each of them does; for another shape (n), and outside, it is a load.
 *
 *   1 L     2 L      3 L    [load]  4 L    5 n    6 n      7 L      8 n
 *   first   warm-up  steady         first  first  warm-up  warm-up  first
 */
static void loads_inside(void **state)
{
    static const char ORDER[] = "LLL.LnnLn";
    struct scene_span spans[2 * sizeof(ORDER)] = {0};
    size_t count = 0;
    uint32_t id = 0, number = 0;
    for (int i = 0; ORDER[i]; i++) {
        int64_t at = 1000 * i;
        uint32_t request = ORDER[i] == '.' ? 0 : ++id;
        number += request > 0;
        if (request) {
            spans[count++] = (struct scene_span){1, ST_ROLE_REQUEST, "request", at, at + 900, id, 0, number, 0, 0};
        }
        if (ORDER[i] != 'n') {
            spans[count++] = (struct scene_span){.thread = 1, .role = ST_ROLE_LOAD, .name = "load", .begin = at + 100,
                                                 .end = at + 200, .id = ++id, .parent = request,
                                                 .request = request ? number : 0};
        }
    }
    const struct scene scene = {.spans = spans, .span_count = count};
    struct st_report report = scene_report(&scene, &(struct st_report_options){.device = -1});
    expect_ids(report.rounds.first, report.rounds.first_count, "1 4 5 8");
    expect_ids(report.rounds.warmup, report.rounds.warmup_count, "2 6 7");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "3");
    st_report_finish(&report);
}

static void rules(void **state)
{
    static const int64_t walls[] = {900, 300, 200, 101, 100, 102};
    static const int same[] = {1, 1, 1, 1, 1, 1};
    struct st_report report = rounds_of(walls, same, 6, "stable=5%/3", NULL);
    expect_ids(report.rounds.warmup, report.rounds.warmup_count, "2 3");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "4 5 6"); /* the window itself is steady */
    assert_false(report.rounds.chosen_afterwards);
    st_report_finish(&report);

    report = rounds_of(walls, same, 6, "stable=5%/4", NULL); /* never met: no steady figure */
    assert_int_equal(report.rounds.steady_count, 0);
    assert_false(report.rounds.steady_median_ns.known);
    assert_string_equal(report.selection, "all");
    st_report_finish(&report);

    report = rounds_of(walls, same, 6, "warmup=1", "warmup=3");
    expect_ids(report.rounds.steady, report.rounds.steady_count, "5 6");
    assert_true(report.rounds.chosen_afterwards);
    st_report_finish(&report);
}

/* Bad values are refused with a reason, and the report is untouched. */
static void bad_options(void **state)
{
    const struct scene scene = {0};
    struct st_model *model = scene_model(&scene);
    struct st_report report = {.live = true};
    struct st_err err;
    const struct st_report_options bad[] = {
        {.device = -1, .request = "soon"}, {.device = -1, .request = "1"}, {.device = -1, .rounds = "two"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(st_report_build(model, &bad[i], &report, &err), ST_USAGE);
        assert_true(report.live && !report.arena);
        assert_true(strlen(err.what) > 0 && strlen(err.hint) > 0);
    }
    assert_int_equal(st_report_build(model, NULL, &report, &err), ST_OK); /* an empty trace has an answer */
    assert_int_equal(report.request_count, 0);
    assert_false(report.cuda_work_seen);
    st_report_finish(&report);
    st_model_destroy(model);
}

/* A wait names the work it waited for; kernels and copies are summed by row. */
static void lists(void **state)
{
    static const struct scene_span spans[] = {
        {1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
        {1, ST_ROLE_STAGE, "decode", 0, 20, 2, 1, 1, 0, 0},
        {1, ST_ROLE_STAGE, "output", 20, 100, 3, 1, 1, 0, 0},
    };
    static const struct scene_call calls[] = {
        {1, LAUNCH, 5, 6, 2, 1}, {1, LAUNCH, 7, 8, 2, 2}, {1, D2H, 30, 80, 3, 3, 0, 8000}};
    static const struct scene_op ops[] = {
        {1, ST_OP_KERNEL, 0, 10, 20, "k"}, {2, ST_OP_KERNEL, 0, 20, 60, "k"},
        {3, ST_OP_COPY, 0, 60, 76, NULL, 8000, ST_DIR_D2H, ST_MEM_DEVICE, ST_MEM_PAGEABLE}};
    const struct scene scene = SCENE(spans, calls, ops);
    struct st_report report = scene_report(&scene, NULL);
    assert_int_equal(report.sync_count, 1);
    assert_string_equal(report.syncs[0].call, "cuMemcpyDtoH_v2");
    assert_string_equal(report.syncs[0].blocked_stage, "output");
    assert_int_equal(report.syncs[0].wait_ns, 50000);
    assert_int_equal(report.syncs[0].awaited_count, 2);
    assert_string_equal(report.syncs[0].awaited_stages[0].cause, "decode");
    assert_int_equal(report.syncs[0].awaited_stages[0].duration_ns, 30000);
    assert_string_equal(report.syncs[0].awaited_stages[1].cause, "output");
    assert_int_equal(report.syncs[0].awaited_stages[1].duration_ns, 16000);
    assert_int_equal(report.kernel_count, 1);
    assert_int_equal(report.kernels[0].count, 2);
    assert_int_equal(report.kernels[0].total_ns, 50000);
    assert_int_equal(report.kernels[0].min_ns, 10000);
    assert_int_equal(report.kernels[0].median_ns, 25000);
    assert_int_equal(report.transfer_count, 1);
    assert_string_equal(report.transfers[0].kind, "pageable");
    assert_int_equal(report.transfers[0].busy_ns, 16000);
    assert_int_equal(report.transfers[0].exposed_ns.value, 16000);
    assert_int_equal(report.transfers[0].rate_bytes_per_s.value, 500000000);
    st_report_finish(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_before_time),
        cmocka_unit_test(worker_thread), cmocka_unit_test(after_and_load), cmocka_unit_test(load_between),
        cmocka_unit_test(open_request),
        cmocka_unit_test(uncovered_request), cmocka_unit_test(only_open_requests),
        cmocka_unit_test(unmatched_rules), cmocka_unit_test(no_request),
        cmocka_unit_test(step_end),
        cmocka_unit_test(lost_calls),    cmocka_unit_test(clocks_apart),   cmocka_unit_test(phases),
        cmocka_unit_test(loads_inside),
        cmocka_unit_test(rules),         cmocka_unit_test(bad_options),    cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
