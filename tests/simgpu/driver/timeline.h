/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One device's time: its engines (each runs one operation at a time) and, for the truth file, why it was idle.
 * All under the engine's lock.
 */
#ifndef SIMGPU_TIMELINE_H
#define SIMGPU_TIMELINE_H

#include "engine.h"

enum sim_lane_kind { SIM_LANE_COMPUTE, SIM_LANE_H2D, SIM_LANE_D2H, SIM_LANE_COUNT };

struct sim_span {
    uint64_t start_ns, end_ns;
};

/* Busy intervals of an engine that are not over yet, in order. */
struct sim_lane {
    struct sim_span *spans;
    size_t count, capacity;
};

/* What the idle account needs to know of an operation. */
struct sim_activity {
    uint64_t start_ns, end_ns, queued_ns, ready_ns, after_ns;
    enum sim_why ready_why, after_why;
    bool foreign;
};

struct sim_timeline {
    struct sim_lane lanes[SIM_LANE_COUNT];
    struct sim_activity *coming; /* operations not yet accounted for, by start */
    size_t coming_count, coming_capacity;
    uint64_t busy_until_ns; /* everything before this is accounted for */
};

/* Earliest start at or after `earliest_ns` of an interval that the lane has free. */
uint64_t sim_lane_fit(const struct sim_lane *lane, uint64_t earliest_ns, uint64_t duration_ns);
void sim_lane_take(struct sim_lane *lane, uint64_t start_ns, uint64_t end_ns);

/* Notes an operation of the device and writes the idle lines up to now. */
void sim_timeline_add(struct sim_timeline *timeline, const struct sim_activity *activity);
void sim_timeline_account(struct sim_timeline *timeline, uint32_t device, uint64_t now_ns);

#endif
