/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines and idle time of a device. An engine takes the first gap that is long enough: a copy that waits for a
 * kernel does not hold up a copy of another stream enqueued later. Under the engine's lock.
 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "truth.h"

uint64_t sim_lane_fit(const struct sim_lane *lane, uint64_t earliest_ns, uint64_t duration_ns)
{
    uint64_t start_ns = earliest_ns;

    if (lane->count == 0 || lane->spans[lane->count - 1].end_ns <= earliest_ns) {
        return earliest_ns;
    }
    for (size_t i = 0; i < lane->count; i++) {
        if (start_ns + duration_ns <= lane->spans[i].start_ns) {
            return start_ns;
        }
        if (lane->spans[i].end_ns > start_ns) {
            start_ns = lane->spans[i].end_ns;
        }
    }
    return start_ns;
}

/* Makes room for one more element; aborts without memory (a simulator cannot go on half-right). */
static void *grown(void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = *capacity == 0 ? 64 : 2 * *capacity;
    array = realloc(array, *capacity * element_bytes);
    if (array == NULL) {
        abort();
    }
    return array;
}

void sim_lane_take(struct sim_lane *lane, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t now_ns = sim_now_ns();
    size_t over = 0, at;

    while (over < lane->count && lane->spans[over].end_ns < now_ns) {
        over++;
    }
    if (over > 0 && (over == lane->count || over >= 64)) {
        lane->count -= over;
        memmove(lane->spans, lane->spans + over, lane->count * sizeof(*lane->spans));
    }
    lane->spans = grown(lane->spans, lane->count, &lane->capacity, sizeof(*lane->spans));
    for (at = lane->count; at > 0 && lane->spans[at - 1].start_ns > start_ns; at--) {
        lane->spans[at] = lane->spans[at - 1];
    }
    lane->spans[at] = (struct sim_span){start_ns, end_ns};
    lane->count++;
}

void sim_timeline_add(struct sim_timeline *timeline, const struct sim_activity *activity)
{
    size_t at;

    timeline->coming =
        grown(timeline->coming, timeline->coming_count, &timeline->coming_capacity, sizeof(*timeline->coming));
    for (at = timeline->coming_count; at > 0 && timeline->coming[at - 1].start_ns > activity->start_ns; at--) {
        timeline->coming[at] = timeline->coming[at - 1];
    }
    timeline->coming[at] = *activity;
    timeline->coming_count++;
}

static const char *why_name(enum sim_why why)
{
    static const char *const names[] = {
        [SIM_NOT_ENQUEUED] = "not_enqueued", [SIM_LAUNCH_LATENCY] = "launch_latency",
        [SIM_STAGING] = "staging",           [SIM_EVENT_WAIT] = "event_wait",
        [SIM_OTHER_STREAM] = "other_stream", [SIM_HOST_FUNCTION] = "host_function",
        [SIM_FOREIGN] = "foreign",           [SIM_SAME_STREAM] = "other_stream",
    };

    return names[why];
}

/* One piece of a gap: from *from_ns to `to_ns` (at most `end_ns`), if there is anything between. */
static void idle_piece(uint32_t device, uint64_t *from_ns, uint64_t to_ns, uint64_t end_ns, enum sim_why why)
{
    uint64_t stop_ns = to_ns < end_ns ? to_ns : end_ns;

    if (stop_ns > *from_ns) {
        sim_truth_idle(device, *from_ns, stop_ns, why_name(why));
        *from_ns = stop_ns;
    }
}

/*
 * The gap before `next`, cut where the reason changes:
 *   gap start ... queued     nothing was there to run
 *   queued    ... ready      the device was told, but cannot start yet (latency, first staged chunk)
 *   ready     ... after      what it depends on was not over
 *   after     ... start      an engine, or the whole device, belonged to someone else
 */
static void account_gap(uint32_t device, uint64_t from_ns, const struct sim_activity *next)
{
    idle_piece(device, &from_ns, next->queued_ns, next->start_ns, SIM_NOT_ENQUEUED);
    idle_piece(device, &from_ns, next->ready_ns, next->start_ns, next->ready_why);
    idle_piece(device, &from_ns, next->after_ns, next->start_ns, next->after_why);
    idle_piece(device, &from_ns, next->start_ns, next->start_ns, next->foreign ? SIM_FOREIGN : SIM_OTHER_STREAM);
}

void sim_timeline_account(struct sim_timeline *timeline, uint32_t device, uint64_t now_ns)
{
    size_t done = 0;

    /* Whatever is enqueued from now on starts later than now: what started before is final. */
    while (done < timeline->coming_count && timeline->coming[done].start_ns <= now_ns) {
        const struct sim_activity *next = &timeline->coming[done++];

        if (next->start_ns > timeline->busy_until_ns && timeline->busy_until_ns > 0) {
            account_gap(device, timeline->busy_until_ns, next);
        }
        if (next->end_ns > timeline->busy_until_ns) {
            timeline->busy_until_ns = next->end_ns;
        }
    }
    if (done > 0) {
        timeline->coming_count -= done;
        memmove(timeline->coming, timeline->coming + done, timeline->coming_count * sizeof(*timeline->coming));
    }
}
