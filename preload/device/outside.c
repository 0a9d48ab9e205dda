/* SPDX-License-Identifier: Apache-2.0 */
/* What lies outside of the window; see outside.h. */
#include "outside.h"

#include <string.h>

#include "preload/record/window.h"

enum {
    KEPT_INTERVALS = 256,
    REMEMBERED = 1 << 22, /* correlation ids back from the newest */
    MARGIN_NS = 20000000, /* of the conversion between the clocks */
    LEAST_BETWEEN_NS = 100000000,
};

struct interval {
    uint64_t first_ticks, last_ticks; /* UINT64_MAX: open */
};

static struct {
    bool is_off; /* the clocks jumped, or changes were missed: everything is kept from now on */
    bool has_first, has_rate;
    uint64_t first_ticks, first_ns, ticks, ns;
    double rate; /* ns a tick */
    struct {
        struct interval intervals[KEPT_INTERVALS]; /* a ring */
        uint64_t count;
        int open; /* windows of this kind that are */
    } kinds[ST_WINDOW_KINDS];
    uint32_t newest;
    uint64_t outside[REMEMBERED / 64];
} all;

void st_outside_note_clock(uint64_t ticks, uint64_t device_ns)
{
    if (!st_window_rule() || device_ns == 0) {
        return;
    }
    if (all.has_rate) {
        double expected = (double)(ticks - all.ticks) * all.rate, found = (double)(device_ns - all.ns);
        double error = found > expected ? found - expected : expected - found;
        all.is_off = all.is_off || error > expected / 200 + MARGIN_NS / 4;
    }
    if (!all.has_first) {
        all.has_first = true;
        all.first_ticks = ticks;
        all.first_ns = device_ns;
    }
    all.ticks = ticks;
    all.ns = device_ns;
    if (device_ns - all.first_ns >= LEAST_BETWEEN_NS && ticks > all.first_ticks) {
        all.rate = (double)(device_ns - all.first_ns) / (double)(ticks - all.first_ticks);
        all.has_rate = true;
    }
}

static void take(const struct st_window_flip *flip)
{
    int before = all.kinds[flip->kind].open;
    all.kinds[flip->kind].open += flip->step;
    struct interval *last = &all.kinds[flip->kind].intervals[(all.kinds[flip->kind].count - 1) % KEPT_INTERVALS];
    if (before <= 0 && all.kinds[flip->kind].open > 0) {
        last = &all.kinds[flip->kind].intervals[all.kinds[flip->kind].count++ % KEPT_INTERVALS];
        *last = (struct interval){flip->ticks, UINT64_MAX};
    } else if (before > 0 && all.kinds[flip->kind].open <= 0) {
        last->last_ticks = flip->ticks;
    }
}

void st_outside_look(void)
{
    struct st_window_flip flip;
    bool is_whole = true;
    while (st_window_rule() && st_window_next_flip(&flip, &is_whole)) {
        take(&flip);
        all.is_off = all.is_off || !is_whole;
    }
    all.is_off = all.is_off || !is_whole;
}

/* Does a window of this kind hold the instant, or nearly? */
static bool may_hold(enum st_window_kind kind, double at_ticks, double margin)
{
    uint64_t count = all.kinds[kind].count, kept = count < KEPT_INTERVALS ? count : KEPT_INTERVALS;
    for (uint64_t i = 0; i < kept; i++) {
        const struct interval *interval = &all.kinds[kind].intervals[(count - 1 - i) % KEPT_INTERVALS];
        if (at_ticks + margin >= (double)interval->first_ticks &&
            (interval->last_ticks == UINT64_MAX || at_ticks - margin <= (double)interval->last_ticks)) {
            return true;
        }
        if (i == KEPT_INTERVALS - 1 && at_ticks < (double)interval->first_ticks) {
            return true; /* older than what is remembered */
        }
    }
    return false;
}

static bool is_outside(uint64_t start_ns)
{
    const struct st_window_rule *rule = st_window_rule();
    if (!rule || all.is_off || !all.has_rate) {
        return false;
    }
    const bool is_used[ST_WINDOW_KINDS] = {
        [ST_WINDOW_REQUESTS_STEPS] = rule->request_count || rule->step_count,
        [ST_WINDOW_TIME] = rule->time_count > 0,
        [ST_WINDOW_PROFILER] = rule->uses_profiler,
    };
    double at_ticks = (double)all.ticks + ((double)start_ns - (double)all.ns) / all.rate;
    for (int kind = 0; kind < ST_WINDOW_KINDS; kind++) {
        if (is_used[kind] && !may_hold((enum st_window_kind)kind, at_ticks, MARGIN_NS / all.rate)) {
            return true;
        }
    }
    return false;
}

static void remember(uint32_t correlation)
{
    if (correlation > all.newest) {
        uint32_t newest = correlation / 64, fresh = newest - all.newest / 64; /* words */
        for (uint32_t i = 0; i < fresh && i < REMEMBERED / 64; i++) {
            all.outside[(newest - i) % (REMEMBERED / 64)] = 0; /* of ids that are too far back now */
        }
        all.newest = correlation;
    }
}

static bool is_remembered(uint32_t correlation)
{
    return correlation <= all.newest && all.newest / 64 - correlation / 64 < REMEMBERED / 64;
}

bool st_outside_call(uint32_t correlation, uint64_t start_ns)
{
    if (!is_outside(start_ns)) {
        return false;
    }
    remember(correlation);
    if (is_remembered(correlation)) {
        all.outside[correlation / 64 % (REMEMBERED / 64)] |= UINT64_C(1) << correlation % 64;
    }
    return true;
}

bool st_outside_operation(uint32_t correlation)
{
    uint64_t word = all.outside[correlation / 64 % (REMEMBERED / 64)];
    return is_remembered(correlation) && (word >> correlation % 64 & 1) != 0;
}

void st_outside_drop(struct st_rows *rows, unsigned column_count, unsigned correlation_column)
{
    int64_t *cells = (int64_t *)(void *)rows->cells.bytes;
    uint32_t kept = 0;
    for (uint32_t i = 0; st_window_rule() && i < rows->count; i++) {
        const int64_t *row = cells + (size_t)i * column_count;
        if (!st_outside_operation((uint32_t)row[correlation_column])) {
            memmove(cells + (size_t)kept++ * column_count, row, column_count * sizeof(*row));
        }
    }
    if (st_window_rule()) {
        rows->count = kept;
        rows->cells.length = (size_t)kept * column_count * sizeof(*cells);
    }
}
