/* SPDX-License-Identifier: Apache-2.0 */
/* Invented process runs; see scene.h. */
#include "scene.h"

#include <string.h>

#include "analyzer/model/model.h"
#include "config/map.h"

enum { US = 1000, MOST_THREADS = 8 };

static const struct {
    const char *name;
    enum st_layer layer;
    enum st_call_class class;
    bool blocks;
} CALLS[SCENE_CALLS] = {
    [LAUNCH] = {"cuLaunchKernel", ST_LAYER_DRIVER, ST_CLASS_LAUNCH, false},
    [SYNC] = {"cuStreamSynchronize", ST_LAYER_DRIVER, ST_CLASS_SYNC, true},
    [D2H] = {"cuMemcpyDtoH_v2", ST_LAYER_DRIVER, ST_CLASS_COPY, true},
    [H2D] = {"cuMemcpyHtoDAsync_v2", ST_LAYER_DRIVER, ST_CLASS_COPY, false},
    [ALLOC] = {"cuMemAlloc_v2", ST_LAYER_DRIVER, ST_CLASS_ALLOC, false},
    [MODULE] = {"cuModuleLoadData", ST_LAYER_DRIVER, ST_CLASS_MODULE, false},
    [STREAM_WAIT] = {"cuStreamWaitEvent", ST_LAYER_DRIVER, ST_CLASS_STREAM_WAIT, false},
    [MEMSET] = {"cuMemsetD8Async", ST_LAYER_DRIVER, ST_CLASS_MEMSET, false},
    [HOST_FUNC] = {"cuLaunchHostFunc", ST_LAYER_DRIVER, ST_CLASS_HOST_FUNC, false},
    [RT_LAUNCH] = {"cudaLaunchKernel", ST_LAYER_RUNTIME, ST_CLASS_LAUNCH, false},
    [RT_SYNC] = {"cudaDeviceSynchronize", ST_LAYER_RUNTIME, ST_CLASS_SYNC, true},
    [QUERY] = {"cuStreamQuery", ST_LAYER_DRIVER, ST_CLASS_QUERY, false},
};

static int64_t direction_of(enum scene_call_id call)
{
    return call == H2D ? ST_DIR_H2D : call == D2H ? ST_DIR_D2H : ST_DIR_UNKNOWN;
}

static void add_call(struct st_builder *builder, const struct scene_call *call)
{
    struct st_raw_call raw = {.thread = call->thread,
                              .call = call->call,
                              .begin_ticks = call->begin * US,
                              .duration_ticks = (call->end - call->begin) * US,
                              .span = call->span,
                              .result = call->result,
                              .flags = call->flags | direction_of(call->call) << ST_CALL_DIRECTION_SHIFT};
    switch (CALLS[call->call].class) {
    case ST_CLASS_LAUNCH:
        raw.a = call->function ? call->function : 7777;
        raw.b = call->stream;
        break;
    case ST_CLASS_COPY:
    case ST_CLASS_MEMSET:
        raw.c = call->bytes;
        raw.d = call->stream;
        break;
    case ST_CLASS_SYNC:
        raw.d = call->cpu * US;
        break;
    default:
        raw.b = call->stream;
    }
    assert_true(st_builder_call(builder, &raw));
}

static void add_calls(struct st_builder *builder, const struct scene *scene)
{
    for (size_t i = 0; i < scene->call_count; i++) {
        const struct scene_call *call = &scene->calls[i];
        if (!scene->lose_calls) {
            add_call(builder, call);
        }
        if (call->correlation) {
            struct st_raw_api api = {.tid = 100 + call->thread, /* the device library sees it a little inside */
                                     .start_device = (call->begin + scene->api_late) * US + 100,
                                     .duration_ns = (call->end - call->begin) * US - 200,
                                     .correlation = call->correlation,
                                     .call = call->call};
            assert_true(st_builder_api(builder, &api));
        }
    }
}

static void add_ops(struct st_builder *builder, const struct scene *scene)
{
    for (size_t i = 0; i < scene->op_count; i++) {
        const struct scene_op *op = &scene->ops[i];
        const char *name = op->name ? op->name : "kernel";
        int64_t id = (int64_t)(i + 1);
        for (size_t k = i; k-- > 0;) { /* the same name has the same id */
            if (strcmp(scene->ops[k].name ? scene->ops[k].name : "kernel", name) == 0) {
                id = (int64_t)(k + 1);
            }
        }
        assert_true(st_builder_string(builder, id, name, strlen(name)));
        assert_true(st_builder_op(builder, &(struct st_raw_op){.kind = op->kind,
                                                               .start_device = op->start * US,
                                                               .duration_ns = (op->end - op->start) * US,
                                                               .correlation = op->correlation,
                                                               .device = op->device,
                                                               .name = id,
                                                               .bytes = op->bytes,
                                                               .direction = op->direction,
                                                               .source_memory = op->source_memory,
                                                               .target_memory = op->target_memory,
                                                               .peer_device = op->peer,
                                                               .graph = op->graph}));
    }
}

static void add_spans(struct st_builder *builder, const struct scene *scene)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < scene->span_count; i++) {
        const struct scene_span *span = &scene->spans[i];
        size_t name = 0;
        while (name < count && strcmp(names[name], span->name) != 0) {
            name++;
        }
        if (name == count) {
            names[count++] = span->name;
            assert_true(st_builder_row_name(builder, (int64_t)name + 1, span->name, strlen(span->name)));
        }
        assert_true(st_builder_span_begin(builder, &(struct st_raw_begin){.thread = span->thread,
                                                                          .role = span->role,
                                                                          .at_ticks = span->begin * US,
                                                                          .span = span->id,
                                                                          .parent = span->parent,
                                                                          .name = (int64_t)name + 1,
                                                                          .request = span->request,
                                                                          .rule = span->rule,
                                                                          .cpu_ns = span->begin_cpu * US}));
        if (span->end != OPEN) {
            assert_true(st_builder_span_end(builder, &(struct st_raw_end){.at_ticks = span->end * US,
                                                                          .span = span->id,
                                                                          .cpu_ns = span->end_cpu * US}));
        }
    }
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct scene_mark *mark = &scene->marks[i];
        size_t name = 0;
        while (name < count && strcmp(names[name], mark->name) != 0) {
            name++;
        }
        assert_true(name < count);
        assert_true(st_builder_mark(builder, &(struct st_raw_mark){.kind = ST_MARK_STEP_END,
                                                                   .at_ticks = mark->at * US,
                                                                   .span = mark->span,
                                                                   .a = (int64_t)name + 1,
                                                                   .b = mark->late ? mark->late * US + 1 : 0}));
    }
}

struct st_model *scene_model(const struct scene *scene)
{
    const struct st_trace_header header = {.pid = scene->pid,
                                           .start_monotonic_ns = (uint64_t)(scene->start * US),
                                           .ticks_per_second = 1000000000};
    struct st_builder *builder = st_builder_create(scene->pid ? &header : NULL);
    struct st_model *model = NULL;
    assert_non_null(builder);
    for (uint32_t i = 1; i <= MOST_THREADS; i++) {
        char name[] = {'t', (char)('0' + i)};
        assert_true(st_builder_thread(builder, i, 100 + i, name, sizeof(name)));
    }
    for (int i = 1; i < SCENE_CALLS; i++) {
        assert_true(st_builder_calldef(builder, i, CALLS[i].layer, CALLS[i].class, CALLS[i].blocks, CALLS[i].name,
                                       strlen(CALLS[i].name)));
    }
    if (scene->kernel_rule_pattern) {
        assert_true(st_builder_rule(builder, &(struct st_model_rule){.source = ST_MAP_KERNEL,
                                                                     .role = ST_MAP_STAGE,
                                                                     .pattern = scene->kernel_rule_pattern,
                                                                     .name = scene->kernel_rule_name,
                                                                     .line = "the rule"}));
    }
    for (size_t i = 0; i < scene->rule_count; i++) {
        assert_true(st_builder_rule(builder, &scene->rules[i]));
    }
    if (scene->rounds) {
        assert_true(st_builder_key(builder, ST_KEY_SETTING, "rounds", scene->rounds));
    }
    for (int i = 0; i < 4 && scene->uuids[i]; i++) {
        assert_true(st_builder_device(builder, &(struct st_model_device){i, 0, "SimGPU", scene->uuids[i]}));
    }
    add_spans(builder, scene);
    add_calls(builder, scene);
    add_ops(builder, scene);
    const struct st_reader_summary summary = {.has_end = !scene->is_cut};
    assert_int_equal(st_builder_finish(builder, &summary, "a scene", &model), ST_OK);
    return model;
}

/* The parts of host time sum to it, and a row holds what the rows below it hold: summed up for counts; of times, which
 * rows beside each other may share, each. */
static void check_rows(const struct st_report_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct st_report_row *row = &rows[i];
        int64_t launches = 0, copies = 0;
        if (row->own_cpu_ns.known) {
            assert_int_equal(row->own_cpu_ns.value + row->off_cpu_ns.value + row->in_cuda_ns.value +
                                 row->waiting_ns.value,
                             row->host_inclusive_ns.value);
        }
        for (size_t k = i + 1; k < count && rows[k].depth > row->depth; k++) {
            const struct st_report_row *below = &rows[k];
            const struct st_figure pairs[][2] = {
                {row->host_inclusive_ns, below->host_inclusive_ns}, {row->own_cpu_ns, below->own_cpu_ns},
                {row->off_cpu_ns, below->off_cpu_ns},               {row->in_cuda_ns, below->in_cuda_ns},
                {row->waiting_ns, below->waiting_ns},
            };
            for (size_t p = 0; p < sizeof(pairs) / sizeof(pairs[0]); p++) {
                assert_true(!pairs[p][0].known || !pairs[p][1].known || pairs[p][0].value >= pairs[p][1].value);
            }
            launches += rows[k].depth == row->depth + 1 ? below->launches.value : 0;
            copies += rows[k].depth == row->depth + 1 ? below->copies[ST_COPY_D2H].count.value : 0;
        }
        assert_true(row->launches.value >= launches);
        assert_true(row->copies[ST_COPY_D2H].count.value >= copies);
    }
}

/* Every identity of a report, added up here once more from its parts. */
static void check_identities(const struct st_report *report)
{
    for (size_t i = 0; i < report->request_count; i++) {
        const struct st_report_request *request = &report->requests[i];
        int64_t share = 0;
        for (size_t d = 0; d < request->device_count; d++) {
            const struct st_report_request_device *device = &request->devices[d];
            int64_t idle = 0, self = 0;
            for (size_t c = 0; c < device->cause_count; c++) {
                idle += device->idle_by_cause[c].duration_ns;
            }
            for (size_t r = 0; r < request->stage_count; r++) {
                self += request->stages[r].device_count > d ? request->stages[r].devices[d].self_ns : 0;
            }
            assert_int_equal(device->residual_ns, 0);
            assert_int_equal(self, device->stages_self_ns + device->unattributed_ns);
            assert_int_equal(self + device->shared_ns + device->other_ns + idle, request->wall_ns.value);
        }
        for (size_t r = 0; r < request->stage_count; r++) {
            share += request->stages[r].wall_share_ns.value;
        }
        assert_true(!request->devices_known || share == request->wall_ns.value);
        check_rows(request->stages, request->stage_count);
        check_rows(request->after, request->after_count);
    }
    check_rows(report->before_first, report->before_first_count);
    for (size_t i = 0; i < report->notes.count; i++) {
        assert_null(strstr(report->notes.items[i], "do not add up"));
    }
}

static struct st_report report_of(struct st_model *model, const struct st_report_options *options)
{
    struct st_report report;
    struct st_err err;
    assert_int_equal(st_report_build(model, options, &report, &err), ST_OK);
    st_model_destroy(model);
    check_identities(&report);
    return report;
}

struct st_report scene_report(const struct scene *scene, const struct st_report_options *options)
{
    return report_of(scene_model(scene), options);
}

struct st_report scene_report_of_run(const struct scene *const *scenes, size_t count,
                                     const struct st_report_options *options)
{
    enum { MOST = 8 };
    struct st_model *models[MOST], *merged = NULL;
    struct st_err err;
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        models[i] = scene_model(scenes[i]);
    }
    assert_int_equal(st_model_merge(models, count, &merged, &err), ST_OK);
    return report_of(merged, options);
}

const struct st_report_row *scene_row(const struct st_report_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void expect_figure(const char *row, const char *what, struct st_figure figure, int64_t expected_us)
{
    if (figure.known != (expected_us != NOT) || (figure.known && figure.value != expected_us * US)) {
        fail_msg("%s %s: %s%lld ns, expected %lld us", row, what, figure.known ? "" : "unknown, ",
                 (long long)figure.value, expected_us == NOT ? -1LL : (long long)expected_us);
    }
}

void scene_expect_rows(const struct st_report_request *request, int64_t device,
                       const struct scene_expected_row *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct st_report_row *row = &request->stages[i];
        struct st_report_row_device figures = {0};
        assert_true(i < request->stage_count);
        assert_string_equal(row->name, expected[i].name);
        for (size_t d = 0; d < row->device_count; d++) {
            figures = row->devices[d].device == device ? row->devices[d] : figures;
        }
        if (row->calls != expected[i].calls) {
            fail_msg("%s calls: %lld, expected %lld", row->name, (long long)row->calls, (long long)expected[i].calls);
        }
        expect_figure(row->name, "wall share", row->wall_share_ns, expected[i].share);
        expect_figure(row->name, "host inclusive", row->host_inclusive_ns, expected[i].host);
        expect_figure(row->name, "host self", row->host_self_ns, expected[i].self);
        expect_figure(row->name, "busy", (struct st_figure){figures.busy_ns, true}, expected[i].busy);
        expect_figure(row->name, "kernels", (struct st_figure){figures.compute_ns, true}, expected[i].kernels);
        expect_figure(row->name, "copies alone", (struct st_figure){figures.copy_only_ns, true}, expected[i].copies);
        expect_figure(row->name, "device self", (struct st_figure){figures.self_ns, true}, expected[i].device_self);
        expect_figure(row->name, "launches",
                      (struct st_figure){row->launches.value * US, row->launches.known}, expected[i].launches);
    }
    assert_int_equal(request->stage_count, count);
}

void scene_expect_device(const struct st_report_request *request, const struct scene_expected_device *expected)
{
    for (size_t i = 0; i < request->device_count; i++) {
        const struct st_report_request_device *device = &request->devices[i];
        if (device->device != expected->device) {
            continue;
        }
        expect_figure("device", "busy", (struct st_figure){device->busy_ns, true}, expected->busy);
        expect_figure("device", "stages self", (struct st_figure){device->stages_self_ns, true}, expected->self);
        expect_figure("device", "shared", (struct st_figure){device->shared_ns, true}, expected->shared);
        expect_figure("device", "unattributed", (struct st_figure){device->unattributed_ns, true},
                      expected->unattributed);
        expect_figure("device", "other", (struct st_figure){device->other_ns, true}, expected->other);
        expect_figure("device", "overlap other", (struct st_figure){device->overlap_other_ns, true},
                      expected->overlap);
        expect_figure("device", "idle", (struct st_figure){device->idle_ns, true}, expected->idle);
        return;
    }
    fail_msg("no device %lld", (long long)expected->device);
}
