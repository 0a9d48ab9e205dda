/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks to nanoseconds where readings are few, near, or begin late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/model/build.h"
#include "analyzer/model/clock.h"

/*
 * The first two readings lie 0.2 ms apart, the given rate is 1 % off: an event 20 ms before them still lands within
 * 1 us of where the readings, taken over 200 ms, put it.
 */
static void before_the_first_reading(void **state)
{
    struct st_clock clock = {.rate = 1.01};
    assert_true(st_clock_add(&clock, 100000000, 200000000, 100));
    assert_true(st_clock_add(&clock, 100200000, 200200100, 100)); /* 100 ns off: no rate can be told from these two */
    assert_true(st_clock_add(&clock, 300000000, 400000000, 100));
    assert_true(st_clock_prepare(&clock));
    int64_t missed = llabs(st_clock_convert(&clock, 80000000) - 180000000);
    assert_true(missed < 1000);
    assert_true(llabs(st_clock_convert(&clock, 320000000) - 420000000) < 1000);
    st_clock_finish(&clock);
}

/* The trace's header is a reading, too: what came before the first CLOCK row lies between the two. */
static void header_counts(void **state)
{
    const struct st_trace_header header = {
        .start_ticks = 1000000, .start_monotonic_ns = 500, .ticks_per_second = 2000000000};
    struct st_builder *builder = st_builder_create(&header);
    struct st_model *model;
    assert_non_null(builder);
    assert_true(st_builder_thread(builder, 1, 101, "t1", 2));
    assert_true(st_builder_calldef(builder, 1, ST_LAYER_DRIVER, ST_CLASS_LAUNCH, 0, "launch", 6));
    /* 4 ms are 4 million ticks: one a nanosecond, not two */
    assert_true(st_builder_clock(builder, &(struct st_raw_clock){.ticks = 5000000, .monotonic_ns = 4000500}));
    assert_true(st_builder_call(builder, &(struct st_raw_call){.thread = 1, .call = 1, .begin_ticks = 2000000,
                                                               .duration_ticks = 1000}));
    assert_int_equal(st_builder_finish(builder, NULL, NULL, &model), ST_OK);
    assert_int_equal(model->calls[0].begin_ns, 1000000);
    assert_int_equal(model->calls[0].end_ns, 1001000);
    st_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_first_reading),
        cmocka_unit_test(header_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
