/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph launches run, told by the calls and marks that made the graphs; and what a report says of calls that were
 * not seen. One thread, one event every 10 ns in the order in which it is told.
 */
#include <string.h>

#include "scene.h"

enum { CREATE = 1, CLONE, DESTROY, ADD, DESTROY_NODE, INSTANTIATE, UPDATE, DESTROY_EXEC, SWITCH, LAUNCH_GRAPH,
       RT_INSTANTIATE, RT_LAUNCH_GRAPH, ALL_CALLS };
enum { G = 0x100, H = 0x200, NODE = 0x300, E = 0x400, F = 0x500 };

static const struct {
    const char *name;
    int layer, class, does;
} DEFS[ALL_CALLS] = {
    [CREATE] = {"cuGraphCreate", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_CREATE},
    [CLONE] = {"cuGraphClone", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_CLONE},
    [DESTROY] = {"cuGraphDestroy", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_DESTROY},
    [ADD] = {"cuGraphAddNode", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_ADD_NODE},
    [DESTROY_NODE] = {"cuGraphDestroyNode", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_DESTROY_NODE},
    [INSTANTIATE] = {"cuGraphInstantiate", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_INSTANTIATE},
    [UPDATE] = {"cuGraphExecUpdate", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_UPDATE},
    [DESTROY_EXEC] = {"cuGraphExecDestroy", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_DESTROY_EXEC},
    [SWITCH] = {"cuGraphNodeSetEnabled", ST_LAYER_DRIVER, ST_CLASS_GRAPH, ST_DOES_SWITCH_NODE},
    [LAUNCH_GRAPH] = {"cuGraphLaunch", ST_LAYER_DRIVER, ST_CLASS_GRAPH_LAUNCH, ST_DOES_NOTHING},
    [RT_INSTANTIATE] = {"cudaGraphInstantiate", ST_LAYER_RUNTIME, ST_CLASS_GRAPH, ST_DOES_INSTANTIATE},
    [RT_LAUNCH_GRAPH] = {"cudaGraphLaunch", ST_LAYER_RUNTIME, ST_CLASS_GRAPH_LAUNCH, ST_DOES_NOTHING},
};

static struct st_builder *builder;
static int64_t now;

static void begin(void)
{
    builder = st_builder_create(NULL);
    assert_non_null(builder);
    now = 0;
    assert_true(st_builder_thread(builder, 1, 101, "t", 1));
    for (int i = 1; i < ALL_CALLS; i++) {
        assert_true(st_builder_calldef(builder, i, DEFS[i].layer, DEFS[i].class, 0, DEFS[i].name,
                                       strlen(DEFS[i].name)));
        st_builder_call_does(builder, i, DEFS[i].does);
    }
}

static void tell_result(int call, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int64_t result, int64_t flags)
{
    assert_true(st_builder_call(builder, &(struct st_raw_call){.thread = 1, .call = call, .begin_ticks = now,
                                                               .duration_ticks = 5, .result = result, .flags = flags,
                                                               .a = (int64_t)a, .b = (int64_t)b, .c = (int64_t)c,
                                                               .d = (int64_t)d}));
    now += 10;
}

static void tell(int call, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    tell_result(call, a, b, c, d, 0, 0);
}

static void add(uint64_t graph, enum st_node_kind kind)
{
    tell(ADD, graph, 0, kind, (uint64_t)(NODE + now));
}

static void mark(enum st_mark kind, uint64_t a, uint64_t b)
{
    assert_true(st_builder_mark(builder, &(struct st_raw_mark){.kind = kind, .at_ticks = now, .a = (int64_t)a,
                                                               .b = (int64_t)b}));
    now += 10;
}

static void captured(uint64_t graph, bool is_new, int64_t kernels)
{
    if (is_new) {
        mark(ST_MARK_GRAPH_NODES, graph, ST_NODE_NONE);
    }
    mark(ST_MARK_GRAPH_NODES, graph, (uint64_t)kernels << ST_MARK_COUNT_SHIFT | ST_NODE_KERNEL);
}

/* The launches told run so many kernels, in order; -1: not known. */
static void expect_launches(const int64_t *kernels, size_t count)
{
    struct st_model *model = NULL;
    const struct st_reader_summary summary = {.has_end = true};
    size_t at = 0;
    assert_int_equal(st_builder_finish(builder, &summary, "graphs", &model), ST_OK);
    for (size_t i = 0; i < model->call_count; i++) {
        if (model->calls[i].counts_as == ST_COUNTS_GRAPH_LAUNCH) {
            assert_true(at < count);
            assert_int_equal(model->calls[i].value, kernels[at]);
            at++;
        }
    }
    assert_int_equal(at, count);
    st_model_destroy(model);
}
#define EXPECT(...) expect_launches((const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / 8)

static void by_hand(void **state)
{
    begin();
    tell(CREATE, G, 0, 0, 0);
    add(G, ST_NODE_KERNEL);
    add(G, ST_NODE_KERNEL);
    add(G, ST_NODE_COPY);
    tell(INSTANTIATE, E, G, 0, 0);
    add(G, ST_NODE_KERNEL); /* not in E any more */
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(CREATE, H, 0, 0, 0);
    tell(ADD, H, G, ST_NODE_CHILD, NODE);
    tell(ADD, H, G, ST_NODE_CHILD, NODE + 1);
    tell(INSTANTIATE, F, H, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    tell(DESTROY_NODE, 0, 0, 0, NODE);
    tell(UPDATE, F, H, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    tell_result(UPDATE, F, G, 0, 0, 910, 0); /* refused: F stays */
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    tell(CLONE, G, H, 0, 0);
    add(G, ST_NODE_KERNEL);
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    EXPECT(2, 6, 3, 3, 4);
}

static void by_capture(void **state)
{
    begin();
    captured(G, true, 5);
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    captured(G, false, 2); /* captured into it */
    tell(INSTANTIATE, F, G, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    captured(H, true, 1);
    mark(ST_MARK_GRAPH_CHILD, H, F);
    tell(INSTANTIATE, E, H, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    captured(G, true, 3); /* the handle of a graph that was destroyed unseen */
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    EXPECT(5, 7, 8, 3);
}

/* What was not seen stays unknown; handles that were destroyed mean nothing. */
static void unknown(void **state)
{
    begin();
    tell(INSTANTIATE, E, 0x999, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(LAUNCH_GRAPH, 0x998, 0, 0, 0);
    captured(G, true, 2);
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(SWITCH, E, 0, 0, NODE);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(DESTROY, G, 0, 0, 0);
    tell(INSTANTIATE, F, G, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    captured(H, true, 4);
    mark(ST_MARK_GRAPH_NODES, H, 1u << ST_MARK_COUNT_SHIFT | ST_NODE_UNKNOWN);
    tell(INSTANTIATE, E, H, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(DESTROY_EXEC, E, 0, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    captured(G, false, 1); /* into a graph that was made unseen */
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    EXPECT(-1, -1, 2, -1, -1, -1, -1, -1);
}

/* A graph that no call made, changed by a node, lies inside some other: all graphs so far are in doubt. */
static void changed_inside(void **state)
{
    begin();
    captured(G, true, 2);
    tell(INSTANTIATE, E, G, 0, 0);
    add(0x777, ST_NODE_KERNEL);
    tell(LAUNCH_GRAPH, E, 0, 0, 0); /* made before */
    tell(INSTANTIATE, F, G, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    captured(H, true, 3);
    tell(INSTANTIATE, F, H, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    tell(DESTROY_NODE, 0, 0, 0, 0x778);
    tell(INSTANTIATE, F, H, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    EXPECT(2, -1, 3, -1);
}

/* Of a driver call inside a runtime call one counts; a runtime call that had none inside counts itself. */
static void two_layers(void **state)
{
    begin();
    captured(G, true, 2);
    tell_result(INSTANTIATE, E, G, 0, 0, 0, ST_CALL_INNER);
    tell_result(RT_INSTANTIATE, 0x888, G, 0, 0, 0, ST_CALL_HAS_INNER); /* its words are not looked at */
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    tell(LAUNCH_GRAPH, 0x888, 0, 0, 0);
    tell(RT_INSTANTIATE, F, G, 0, 0);
    tell(LAUNCH_GRAPH, F, 0, 0, 0);
    EXPECT(2, -1, 2);
}

static void losses(void **state)
{
    begin();
    captured(G, true, 2);
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    assert_true(st_builder_counter(builder, "lost.ring_full", 3));
    EXPECT(-1);
}

/* Child in child in child: more kernels than a number holds. */
static void too_many(void **state)
{
    begin();
    captured(G, true, 1000);
    for (int i = 0; i < 64; i++) {
        tell(CLONE, H, G, 0, 0);
        tell(ADD, G, H, ST_NODE_CHILD, NODE);
    }
    tell(INSTANTIATE, E, G, 0, 0);
    tell(LAUNCH_GRAPH, E, 0, 0, 0);
    EXPECT(-1);
}

static void many_graphs(void **state)
{
    enum { GRAPHS = 5000 };
    static int64_t kernels[GRAPHS];
    begin();
    for (int i = 0; i < GRAPHS; i++) {
        captured((uint64_t)(0x10000 + 16 * i), true, i);
        tell(INSTANTIATE, (uint64_t)(0x100000 + 16 * i), (uint64_t)(0x10000 + 16 * i), 0, 0);
    }
    for (int i = 0; i < GRAPHS; i++) {
        kernels[i] = i;
        tell(LAUNCH_GRAPH, (uint64_t)(0x100000 + 16 * i), 0, 0, 0);
    }
    expect_launches(kernels, GRAPHS);
}

/* Captured launches are none; without device records the nodes are told by the graph, or null. */
static void counts(void **state)
{
    static const struct scene_span spans[] = {{1, ST_ROLE_REQUEST, "request", 0, 100, 1, 0, 1, 0, 0},
                                              {1, ST_ROLE_STAGE, "sample", 0, 100, 2, 1, 1, 0, 0}};
    static const struct scene_call calls[] = {{1, LAUNCH, 10, 12, 2, 0, 0, 0, 0, ST_CALL_CAPTURED},
                                              {1, H2D, 14, 16, 2, 0, 0, 64, 0, ST_CALL_CAPTURED},
                                              {1, LAUNCH, 20, 22, 2, 0, 0, 0, 901, 0},
                                              {1, LAUNCH, 24, 26, 2, 0},
                                              {1, RT_LAUNCH, 30, 32, 2, 0},
                                              {1, RT_LAUNCH, 34, 36, 2, 0, 0, 0, 98, 0}};
    const struct scene scene = {.spans = spans, .span_count = 2, .calls = calls, .call_count = 6};
    struct st_report report = scene_report(&scene, NULL);
    const struct st_report_row *row = scene_row(report.requests[0].stages, report.requests[0].stage_count, "sample");
    assert_int_equal(row->launches.value, 2);
    assert_int_equal(row->captured.value, 2);
    assert_int_equal(row->failed.value, 2);
    assert_int_equal(row->copies[ST_COPY_H2D].count.value, 0);
    assert_int_equal(report.traces[0].completeness.runtime_without_driver, 1); /* the failed one says nothing */
    assert_int_equal(report.traces[0].completeness.driver_without_runtime, 2);
    assert_int_equal(report.traces[0].completeness.out_of_reach.count, 0);
    assert_false(report.traces[0].completeness.untracked_captures.known);
    st_report_finish(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),    cmocka_unit_test(by_capture), cmocka_unit_test(unknown),
        cmocka_unit_test(changed_inside), cmocka_unit_test(two_layers), cmocka_unit_test(losses),
        cmocka_unit_test(too_many),   cmocka_unit_test(many_graphs), cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
