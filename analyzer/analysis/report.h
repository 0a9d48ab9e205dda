/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole answer as plain C data: it mirrors the JSON document `stagetap.report/1` key by key, so that a
 * renderer never computes. Durations and instants are nanoseconds, instants count from the start of the
 * earliest trace (CLOCK_MONOTONIC monotonic_start_ns). Everything in a report, texts included, belongs to it and lives
 * until st_report_finish(); the model may go before. One thread.
 *
 * Null and zero: a figure or list with known == false was not collected (JSON null, screen "–"); a known
 * zero was measured to be zero; a known empty list means measured and none.
 */
#ifndef ST_ANALYSIS_REPORT_H
#define ST_ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/reader/status.h"

struct st_model;
struct st_arena;

struct st_figure {
    int64_t value;
    bool known;
};

/* What a request is called: its number in its process, from 1; "4711:3" beside requests of other processes. */
struct st_report_id {
    int64_t number;      /* 0 = no request */
    const char *process; /* st_report_trace.process; NULL: the report is of one process */
};

/* A text fact or a named count. */
struct st_report_text {
    const char *key;
    const char *value;
};
struct st_report_count {
    const char *key;
    int64_t value;
};
struct st_text_list {
    struct st_report_text *items;
    size_t count;
};
struct st_count_list {
    struct st_report_count *items;
    size_t count;
};
struct st_name_list {
    const char **items;
    size_t count;
};

/* ---- traces, devices, capabilities, rounds ---- */

struct st_report_missed { /* not_intercepted[] */
    const char *symbol;
    int64_t version;
    int64_t flags;
    const char *caller;
};

struct st_report_completeness { /* was every call seen? */
    int64_t runtime_without_driver; /* runtime launches with no driver call inside: the driver's was not seen */
    int64_t driver_without_runtime; /* normal for programs that call the driver themselves */
    struct st_name_list out_of_reach; /* objects whose calls were not seen, in words */
    struct st_figure untracked_captures;
};

struct st_report_checked { /* map.checked[]: what a preset was compared with, and what was found */
    const char *package, *oldest, *newest;
    const char *found; /* NULL = not recorded */
    const char *state; /* covered, outside, not recorded */
};

struct st_report_trace {
    const char *file;
    int64_t pid;
    const char *process; /* "4711"; a further image of that id "4711.2" */
    const char *program; /* NULL = not recorded */
    const char *mode;    /* trace, baseline, diagnose-sync, off; NULL = not recorded */
    const char *map;     /* stage map in force: presets, path, inline, auto; NULL = not recorded */
    const char *map_why; /* why it is that one; "" if there is nothing to say; NULL = not recorded */
    struct st_report_checked *checked;
    size_t checked_count;
    bool complete;       /* closed in order, nothing damaged */
    bool live;           /* its process still runs */
    bool misses_device_time; /* it launched work, and when the device did it is not known at all */
    int64_t end_ns;      /* last instant seen */
    struct st_count_list lost; /* always every cause; integers, never null */
    int64_t lost_events;       /* those of them that the recorder could not keep, added up */
    const char *clock_source;  /* "tsc" or "monotonic_raw" */
    struct st_figure clock_residual_ns;
    int64_t monotonic_start_ns;
    int64_t realtime_start_ns; /* ns since 1970; the renderer prints utc_start from it */
    struct st_figure own_overhead_ns;
    struct st_figure lookups_asked, lookups_found, lookups_wrapped, lookups_passed, lookups_not_found;
    struct st_report_missed *not_intercepted;
    size_t not_intercepted_count;
    struct st_report_completeness completeness;
};

struct st_report_user { /* a process that sees the device */
    const char *process;
    int64_t ordinal; /* the device's number there */
};

struct st_report_device {
    int64_t device;   /* one uuid, one number, in all processes */
    const char *uuid; /* NULL = not recorded */
    const char *name; /* NULL = not recorded */
    int64_t *pids;    /* each once */
    size_t pid_count;
    struct st_report_user *users;
    size_t user_count;
};

struct st_report_capability {
    const char *kind;
    const char *state;  /* requested, accepted, seen, degraded, not_collected */
    const char *source; /* cupti, event, host */
    const char *why;    /* "" = nothing to say */
    const char *process; /* NULL: of every process */
};

enum st_phase { ST_PHASE_NONE = 0, ST_PHASE_FIRST = 1, ST_PHASE_WARMUP = 2, ST_PHASE_STEADY = 3 };

struct st_report_rounds {
    const char *rule;    /* "warmup=1", "stable=2%/3" */
    bool chosen_afterwards; /* given only at analysis */
    bool several_shapes; /* the steady requests are not all of one shape: steady_* then cover the most frequent one */
    int64_t *load_ns;    /* one duration for each load outside requests */
    const char **load_processes; /* … and whose it is; NULL: the report is of one */
    size_t load_count;
    struct st_report_id *first, *warmup, *steady;
    size_t first_count, warmup_count, steady_count;
    /* over the complete steady requests; known == false with fewer than 1 (spread: fewer than 2) */
    int64_t steady_n;
    struct st_figure steady_median_ns, steady_min_ns, steady_max_ns;
    struct st_figure steady_spread_ppm; /* IQR / median in millionths; JSON "spread" is this / 1e6 */
    struct st_figure steady_host_return_median_ns, steady_device_done_median_ns;
};

/* ---- rows and requests ---- */

struct st_report_row_device {
    int64_t device;
    int64_t busy_ns, compute_ns, copy_only_ns, self_ns;
};

struct st_report_transfer_sum { /* copies.h2d … and memsets */
    struct st_figure count, bytes, busy_ns;
};

enum { ST_COPY_H2D, ST_COPY_D2H, ST_COPY_D2D, ST_COPY_P2P, ST_COPY_KINDS }; /* order of st_report_row.copies */

struct st_report_row {
    const char *name; /* full path; "unattributed" is a row */
    int64_t calls;
    struct st_figure wall_share_ns; /* each instant to the deepest row, so that the column sums to the wall */
    struct st_figure host_inclusive_ns, host_self_ns, own_cpu_ns, off_cpu_ns, in_cuda_ns, waiting_ns;
    bool device_known; /* false: JSON "device": null */
    struct st_report_row_device *devices;
    size_t device_count;
    struct st_figure launches, launches_self, graph_launches, graph_nodes, captured, failed;
    struct st_report_transfer_sum memsets;
    struct st_report_transfer_sum copies[ST_COPY_KINDS];
    const char *edges;       /* exact, inferred; NULL for "unattributed" */
    struct st_figure edges_doubt_ns; /* inferred ones: the true instants are at most so much earlier */
    const char *device_time; /* measured, event, not_collected */
    int depth;               /* 0 = top level, 1 = "a/b" … for indenting */
};

struct st_report_cause { /* idle_by_cause, parts[] */
    const char *cause;
    int64_t duration_ns;
};

struct st_report_request_device {
    int64_t device;
    int64_t busy_ns, stages_self_ns, shared_ns, unattributed_ns, other_ns, overlap_other_ns, idle_ns;
    struct st_report_cause *idle_by_cause; /* largest first; sums to idle_ns */
    size_t cause_count;
    struct st_report_cause *shared_by_set; /* cause = "decode+sample": which stages shared */
    size_t shared_count;
    int64_t residual_ns; /* anything but 0 is a defect of the analyzer */
};

struct st_report_request {
    struct st_report_id id;
    bool complete;
    const char *thread; /* thread name or "tid N" */
    const char *shape;  /* short digest; equal text = same shape */
    enum st_phase phase; /* NONE: incomplete, enters no figure (JSON null) */
    bool selected;       /* gaps, syncs, kernels … cover it */
    int64_t begin_ns;
    struct st_figure wall_ns, host_return_ns, device_done_ns, wall_with_tail_ns;
    int64_t steps;
    bool devices_known; /* false: no device time in this trace (JSON null) */
    struct st_report_request_device *devices;
    size_t device_count;
    struct st_report_row *stages; /* parents before children, in order of first entry; then "shared" where there is
                                     any (only its wall share is known) and "unattributed" */
    size_t stage_count;
    struct st_report_row *after;
    size_t after_count;
};

/* ---- lists ---- */

struct st_report_gap {
    struct st_report_id request; /* 0: none, the lists cover the process (JSON null) */
    int64_t device, start_ns, duration_ns;
    const char *before, *after; /* row, "unattributed", "other"; NULL at the edge */
    const char *cause;
    struct st_report_cause *parts; /* in order of time; sum to duration_ns */
    size_t part_count;
    const char *drained_why;   /* a wait (then call and stage tell), "host slower than device", … ; NULL unknown */
    const char *drained_call;  /* NULL = none */
    const char *drained_stage; /* NULL = none */
};

struct st_report_sync {
    const char *call;
    int64_t count, wait_ns;
    const char *blocked_stage;              /* row the host was in */
    struct st_report_cause *awaited_stages; /* cause = row that launched the work waited for */
    size_t awaited_count;
    bool awaited_known;
};

struct st_report_kernel {
    const char *name, *stage;
    int64_t count, total_ns, min_ns, median_ns, max_ns;
    struct st_figure per_step_milli; /* launches a step in thousandths */
};

struct st_report_host_function {
    const char *function;
    const char *stage; /* whose call handed it over; NULL: a graph ran it, or that call is not known */
    int64_t count, total_ns, min_ns, median_ns, max_ns; /* executions, by the driver's threads */
};

struct st_report_transfer {
    const char *direction; /* h2d, d2h, d2d, p2p, h2h, unknown */
    const char *kind;      /* pageable, pinned, device, managed, unknown */
    const char *stage;
    int64_t count, bytes, busy_ns;
    struct st_figure rate_bytes_per_s, exposed_ns, repeats, round_trips;
};

struct st_report_finding {
    const char *id, *state, *stage, *text, *next_check;
    struct st_count_list figures;
};

struct st_report_api_error {
    const char *call;
    int64_t code, count;
    const char *stage;
    const char *process; /* NULL: the report is of one */
};

#define ST_REPORT_MAX_LIST 10000 /* JSON lists hold the longest so many; the totals count all */

struct st_report {
    bool simulated;
    bool live;
    int64_t open_requests;
    bool cuda_work_seen;            /* false: the first line is "no CUDA work seen" */
    struct st_name_list other_backends; /* compute back-ends in the process that are not collected: "Vulkan" */
    struct st_name_list distortions;    /* settings that change what is measured: "CUDA_LAUNCH_BLOCKING=1 (…)" */
    const char *device_time;        /* measured, event, not_collected */
    const char *device_time_source; /* e.g. "CUPTI 13.0"; NULL = none */
    const char *device_time_why;    /* measured, or not collected, but …; NULL = nothing to say */
    int64_t selected_requests;      /* how many the lists below cover */
    const char *lists_cover;        /* "requests" (the selected ones), or "process": a trace without requests */
    struct st_figure device_known_until_ns; /* a trace that just ends: work launched until then has its records */
    int64_t requests_without_device_time;   /* … and so many returned requests launched some after it */
    int64_t request_total;          /* all of the trace, incomplete ones too */
    const char *selection;          /* "steady", "first", "all", "request 3": what is selected … */
    const char *selection_note;     /* … and why it differs from what was asked; NULL = it does not */
    int64_t typical;                /* index in requests[] of the selected one with the median wall: the screen's
                                       table (a real request, so that its identity holds); -1 = none */

    struct st_report_trace *traces;
    size_t trace_count;
    struct st_report_device *devices;
    size_t device_count;
    struct st_report_capability *capabilities;
    size_t capability_count;
    struct st_text_list declared, found; /* manifest */
    struct st_report_rounds rounds;
    struct st_report_request *requests; /* no selection asked for: all; else the selected ones */
    size_t request_count;
    struct st_report_row *before_first, *between, *after_last; /* outside */
    size_t before_first_count, between_count, after_last_count;

    bool gaps_known;
    struct st_report_gap *gaps; /* longest first, at least min_gap_ns long, at most ST_REPORT_MAX_LIST */
    size_t gap_count;
    int64_t gaps_total_count, gaps_total_ns; /* all gaps of the selected requests, short ones too */
    bool syncs_known;
    struct st_report_sync *syncs;
    size_t sync_count;
    bool kernels_known;
    struct st_report_kernel *kernels;
    size_t kernel_count;
    struct st_report_host_function *host_functions; /* longest total first */
    size_t host_function_count;
    int64_t host_handed_count, host_captured_count; /* calls that handed one over: to run, or recorded into a graph */
    int64_t host_run_count;
    bool transfers_known;
    struct st_report_transfer *transfers;
    size_t transfer_count;
    bool findings_known;
    struct st_report_finding *findings;
    size_t finding_count;

    struct st_report_api_error *api_errors;
    size_t api_error_count;
    struct st_name_list left_out; /* files of the run that could not be read, and why */
    struct st_name_list unmatched_rules;
    struct st_name_list notes;
    struct st_name_list remarks; /* notes about keys of the JSON document: of no use on the screen */
    struct st_name_list not_collected; /* for the screen's last line: "device time (no CUPTI)", "file I/O (off)" */

    struct st_arena *arena;       /* owns all of the above … */
    struct st_arena *model_texts; /* … but for names, which it shares with the model */
};

struct st_report_options {
    const char *request; /* "steady", "first", "all" or an id as "3" or "4711:3"; NULL = steady, else what there is */
    int64_t device;      /* ordinal; -1 = all */
    int64_t min_gap_ns;  /* shortest gap listed; sums keep all */
    const char *rounds;  /* rule given only now ("warmup=2"): marked chosen afterwards; NULL = the trace's */
    const char *const *left_out; /* files of the run that could not be read, and why */
    size_t left_out_count;
};

/* Answer everything about `model`. `options` may be NULL (defaults). On failure *ret is untouched: ST_NO_MEMORY, or
 * ST_USAGE for a request id or rule that is none (err->what says which). */
enum st_status st_report_build(const struct st_model *model, const struct st_report_options *options,
                               struct st_report *ret, struct st_err *err);

/* Free everything. A zeroed or finished report is a no-op. */
void st_report_finish(struct st_report *report);

#endif
