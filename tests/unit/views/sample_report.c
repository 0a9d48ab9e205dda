/* SPDX-License-Identifier: Apache-2.0 */
/* The sample report; see sample_report.h. The figures are made up but fit together: the identity holds. */
#include "sample_report.h"

#include <string.h>

#define KNOWN(v)                                                                                                       \
    {                                                                                                                  \
        (v), true                                                                                                      \
    }
#define MS 1000000

static struct st_report_row_device encode_device[] = {{0, 12 * MS, 11 * MS, 1 * MS, 10 * MS}};
static struct st_report_row_device sample_device[] = {{0, 80 * MS, 80 * MS, 0, 78 * MS}};
static struct st_report_row_device unattributed_device[] = {{0, 0, 0, 0, 0}};

static struct st_report_row rows[] = {
    {.name = "encode",
     .calls = 1,
     .wall_share_ns = KNOWN(12 * MS),
     .host_inclusive_ns = KNOWN(3 * MS),
     .host_self_ns = KNOWN(3 * MS),
     .own_cpu_ns = KNOWN(1 * MS),
     .off_cpu_ns = KNOWN(0),
     .in_cuda_ns = KNOWN(2 * MS),
     .waiting_ns = KNOWN(0),
     .device_known = true,
     .devices = encode_device,
     .device_count = 1,
     .launches = KNOWN(4),
     .launches_self = KNOWN(4),
     .graph_launches = KNOWN(0),
     .captured = KNOWN(0),
     .failed = KNOWN(0),
     .memsets = {KNOWN(1), KNOWN(64), KNOWN(1000)},
     .copies = {[ST_COPY_H2D] = {KNOWN(2), KNOWN(1500000), KNOWN(1 * MS)},
                [ST_COPY_D2H] = {KNOWN(0), KNOWN(0), KNOWN(0)},
                [ST_COPY_D2D] = {KNOWN(0), KNOWN(0), KNOWN(0)},
                [ST_COPY_P2P] = {KNOWN(0), KNOWN(0), KNOWN(0)}},
     .edges = "exact",
     .device_time = "measured",
     .depth = 0},
    {.name = "sample",
     .calls = 1,
     .wall_share_ns = KNOWN(86 * MS),
     .host_inclusive_ns = KNOWN(95 * MS),
     .host_self_ns = KNOWN(5 * MS),
     .own_cpu_ns = KNOWN(10 * MS),
     .off_cpu_ns = KNOWN(1 * MS),
     .in_cuda_ns = KNOWN(14 * MS),
     .waiting_ns = KNOWN(70 * MS),
     .device_known = true,
     .devices = sample_device,
     .device_count = 1,
     .launches = KNOWN(200),
     .launches_self = KNOWN(0),
     .edges = "exact",
     .device_time = "measured"},
    {.name = "sample/step",
     .calls = 20,
     .host_inclusive_ns = KNOWN(90 * MS),
     .host_self_ns = KNOWN(90 * MS),
     .device_known = true,
     .devices = sample_device,
     .device_count = 1,
     .launches = KNOWN(200),
     .launches_self = KNOWN(200),
     .edges = "inferred",
     .edges_doubt_ns = KNOWN(MS / 20),
     .device_time = "measured",
     .depth = 1},
    {.name = "unattributed",
     .calls = 0,
     .wall_share_ns = KNOWN(2 * MS),
     .device_known = true,
     .devices = unattributed_device,
     .device_count = 1,
     .device_time = "measured"},
};
static struct st_report_row after_rows[] = {
    {.name = "output", .calls = 1, .host_inclusive_ns = KNOWN(20 * MS), .edges = "exact", .device_time = "measured"}};

static struct st_report_cause idle[] = {{"host_late.after_sync", 9 * MS}, {"after_last", 2 * MS}, {"unknown", 1 * MS}};
static struct st_report_request_device request_device[] = {{.device = 0,
                                                            .busy_ns = 88 * MS,
                                                            .stages_self_ns = 88 * MS,
                                                            .idle_ns = 12 * MS,
                                                            .idle_by_cause = idle,
                                                            .cause_count = 3}};
static struct st_report_request requests[] = {{.id = {2},
                                               .complete = true,
                                               .thread = "generate",
                                               .shape = "a1b2",
                                               .phase = ST_PHASE_STEADY,
                                               .begin_ns = 500 * MS,
                                               .wall_ns = KNOWN(100 * MS),
                                               .host_return_ns = KNOWN(98 * MS),
                                               .device_done_ns = KNOWN(100 * MS),
                                               .wall_with_tail_ns = KNOWN(120 * MS),
                                               .steps = 20,
                                               .devices_known = true,
                                               .devices = request_device,
                                               .device_count = 1,
                                               .stages = rows,
                                               .stage_count = 4,
                                               .after = after_rows,
                                               .after_count = 1}};

static struct st_report_cause parts[] = {{"host_late.after_sync", 6 * MS}, {"unknown", 1 * MS}};
static struct st_report_gap gaps[] = {{.request = {2},
                                       .device = 0,
                                       .start_ns = 520 * MS,
                                       .duration_ns = 7 * MS,
                                       .before = "encode",
                                       .after = "sample",
                                       .cause = "host_late.after_sync",
                                       .parts = parts,
                                       .part_count = 2,
                                       .drained_why = "wait",
                                       .drained_call = "cuStreamSynchronize",
                                       .drained_stage = "encode"},
                                      {.request = {2},
                                       .device = 0,
                                       .start_ns = 590 * MS,
                                       .duration_ns = 2 * MS,
                                       .before = "sample/step",
                                       .after = NULL,
                                       .cause = "after_last",
                                       .parts = NULL,
                                       .part_count = 0,
                                       .drained_why = "nothing more to do"}};
static struct st_report_kernel kernels[] = {
    {"unet_300us", "sample/step", 200, 60 * MS, 290000, 300000, 310000, KNOWN(10000)},
    {"\033[31mbad\xff", "encode", 4, 11 * MS, 2 * MS, 3 * MS, 4 * MS, {0, false}}};
static struct st_report_transfer transfers[] = {
    {"h2d", "pageable", "encode", 2, 1500000, 1 * MS, KNOWN(1500000000), {0, false}, {0, false}, {0, false}}};
static struct st_report_cause awaited[] = {{"encode", 3 * MS}};
static struct st_report_sync syncs[] = {{"cuStreamSynchronize", 20, 70 * MS, "sample/step", awaited, 1, true}};

static struct st_report_count lost[] = {{"ring_full", 0}, {"cupti_dropped", 0}};
static struct st_report_missed missed[] = {{"cuFooBar", 13000, 0, "libcudart.so.13"}};
static struct st_report_trace traces[] = {{.file = "stagetap-generate-4711.stap",
                                           .pid = 4711,
                                           .process = "4711",
                                           .program = "generate",
                                           .mode = "trace",
                                           .complete = true,
                                           .end_ns = 900 * MS,
                                           .lost = {lost, 2},
                                           .clock_source = "tsc",
                                           .clock_residual_ns = KNOWN(120),
                                           .monotonic_start_ns = 123456789,
                                           .realtime_start_ns = 1700000000123456789,
                                           .lookups_asked = KNOWN(10),
                                           .lookups_found = KNOWN(9),
                                           .lookups_wrapped = KNOWN(8),
                                           .lookups_passed = KNOWN(1),
                                           .lookups_not_found = KNOWN(1),
                                           .not_intercepted = missed,
                                           .not_intercepted_count = 1}};
static int64_t pids[] = {4711}, loads[] = {40 * MS};
static struct st_report_id first[] = {{1}}, steady[] = {{2}};
static struct st_report_user users[] = {{"4711", 0}};
static struct st_report_device devices[] = {{0, NULL, "SimGPU", pids, 1, users, 1}};
static struct st_report_capability capabilities[] = {{"kernel", "seen", "cupti", ""}};
static struct st_report_text found[] = {{"cuda.driver", "13000"}};
static const char *unmatched[] = {"symbol vae_decode*"}, *notes[] = {"setting: STAGETAP_FLUSH=often: not allowed"},
                  *remarks[] = {"findings: not made by this version"}, *not_collected[] = {"file I/O (off)"};

struct st_report sample_report(void)
{
    return (struct st_report){.simulated = true,
                              .cuda_work_seen = true,
                              .device_time = "measured",
                              .device_time_source = "CUPTI 13.0",
                              .selected_requests = 1,
                              .request_total = 2,
                              .selection = "steady",
                              .typical = 0,
                              .traces = traces,
                              .trace_count = 1,
                              .devices = devices,
                              .device_count = 1,
                              .capabilities = capabilities,
                              .capability_count = 1,
                              .found = {found, 1},
                              .requests = requests,
                              .request_count = 1,
                              .rounds = {.rule = "warmup=1",
                                         .load_ns = loads,
                                         .load_count = 1,
                                         .first = first,
                                         .first_count = 1,
                                         .steady = steady,
                                         .steady_count = 1,
                                         .steady_n = 1,
                                         .steady_median_ns = KNOWN(100 * MS),
                                         .steady_min_ns = KNOWN(100 * MS),
                                         .steady_max_ns = KNOWN(100 * MS),
                                         .steady_host_return_median_ns = KNOWN(98 * MS),
                                         .steady_device_done_median_ns = KNOWN(100 * MS)},
                              .gaps_known = true,
                              .gaps = gaps,
                              .gap_count = 2,
                              .gaps_total_count = 7,
                              .gaps_total_ns = 12 * MS,
                              .syncs_known = true,
                              .syncs = syncs,
                              .sync_count = 1,
                              .kernels_known = true,
                              .kernels = kernels,
                              .kernel_count = 2,
                              .transfers_known = true,
                              .transfers = transfers,
                              .transfer_count = 1,
                              .unmatched_rules = {unmatched, 1},
                              .notes = {notes, 1},
                              .remarks = {remarks, 1},
                              .not_collected = {not_collected, 1}};
}

struct st_report sample_report_without_devices(void)
{
    static struct st_report_row bare_rows[2];
    static struct st_report_request bare;
    struct st_report report = sample_report();

    memcpy(bare_rows, rows, sizeof(bare_rows));
    for (int i = 0; i < 2; i++) {
        bare_rows[i].device_known = false;
        bare_rows[i].device_count = 0;
        bare_rows[i].device_time = "not_collected";
        bare_rows[i].wall_share_ns.known = false;
    }
    bare = requests[0];
    bare.stages = bare_rows;
    bare.stage_count = 2;
    bare.devices_known = false;
    bare.device_count = 0;
    bare.device_done_ns.known = false;
    report.requests = &bare;
    report.device_time = "not_collected";
    report.device_time_source = NULL;
    report.gaps_known = report.syncs_known = report.kernels_known = report.transfers_known = false;
    report.gap_count = report.sync_count = report.kernel_count = report.transfer_count = 0;
    return report;
}
