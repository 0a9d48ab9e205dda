/* SPDX-License-Identifier: Apache-2.0 */
/* When windows open and close: by steps, by marks, by requests, by the profiler, by time; several kinds together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "preload/record/record.h"
#include "preload/record/window.h"

static struct st_window_rule rule;

static struct st_thread *set(const char *text, bool has_requests)
{
    st_window_fork_child(); /* nothing is open */
    assert_true(st_parse_window(text, &rule));
    st_window_set(&rule, has_requests);
    return st_thread_self();
}

static uint32_t name_of(const char *text)
{
    return st_row_name(st_thread_self(), text);
}

/* Window marks in the ring since the last call: how many opened and closed; fails unless they alternate. */
static void count_marks(struct st_thread *thread, int *ret_opened, int *ret_closed)
{
    static uint64_t from;
    *ret_opened = *ret_closed = 0;
    for (; from < thread->head; from++) {
        const struct st_slot *slot = &thread->slots[from & thread->slot_mask];
        if (slot->kind == ST_SLOT_NAME) {
            from += (slot->span + 63) / 64;
        } else if (slot->kind == ST_SLOT_MARK && slot->code == ST_MARK_WINDOW_OPEN) {
            assert_int_equal(*ret_opened, *ret_closed);
            ++*ret_opened;
        } else if (slot->kind == ST_SLOT_MARK && slot->code == ST_MARK_WINDOW_CLOSE) {
            ++*ret_closed;
            assert_int_equal(*ret_opened, *ret_closed);
        }
    }
}

static void expect_marks(struct st_thread *thread, int opened)
{
    int found, closed;
    count_marks(thread, &found, &closed);
    assert_int_equal(found, opened);
    assert_int_equal(closed, opened);
}

/* "1" where a step is in the window, "0" where not; behind each whether the time after it is. */
static const char *steps_of_request(struct st_thread *thread, int count)
{
    static char text[64];
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, 0, 1);
    uint32_t sample = st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 1);
    int at = 0;
    for (int i = 0; i < count; i++) {
        uint32_t step = st_span_enter(thread, ST_ROLE_STEP, 0, 1);
        text[at++] = st_window_holds(thread) ? '1' : '0';
        assert_int_equal(st_span_enter(thread, ST_ROLE_STEP, 0, 1), 0); /* collapses: the same step */
        st_span_leave(thread, step, ST_END_RETURN);
        text[at++] = st_window_holds(thread) ? '+' : '-';
    }
    st_span_leave(thread, sample, ST_END_RETURN);
    text[at++] = st_window_holds(thread) ? '!' : '.'; /* never behind the stage */
    st_span_leave(thread, request, ST_END_RETURN);
    assert_false(st_window_holds(thread));
    text[at] = '\0';
    return text;
}

static void steps_count_in_each_request(void **state)
{
    struct st_thread *thread = set("steps:2-3,steps:5", true);
    expect_marks(thread, 0);
    assert_string_equal(steps_of_request(thread, 6), "0-1+1-0-1-0-.");
    assert_string_equal(steps_of_request(thread, 2), "0-1+.");
    expect_marks(thread, 3);
}

static void requests_and_steps_must_both_hold(void **state)
{
    struct st_thread *thread = set("requests:5-6,steps:1", true);
    st_span_leave(thread, st_span_enter(thread, ST_ROLE_REQUEST, 0, 1), ST_END_RETURN); /* 3: requests count on */
    st_span_leave(thread, st_span_enter(thread, ST_ROLE_REQUEST, 0, 1), ST_END_RETURN);
    assert_string_equal(steps_of_request(thread, 2), "1-0-.");
    assert_string_equal(steps_of_request(thread, 2), "1-0-.");
    assert_string_equal(steps_of_request(thread, 2), "0-0-.");
    expect_marks(thread, 2);
}

static void *call_elsewhere(void *argument)
{
    *(bool *)argument = st_window_holds(st_thread_self());
    return NULL;
}

static bool holds_elsewhere(void)
{
    bool holds = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_elsewhere, &holds), 0);
    pthread_join(thread, NULL);
    return holds;
}

/* A thread with no request is where the only open request is. */
static void other_threads(void **state)
{
    struct st_thread *thread = set("requests:8-9", true);
    assert_false(holds_elsewhere());
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, 0, 1); /* 8 */
    assert_true(st_window_holds(thread));
    assert_true(holds_elsewhere());
    st_span_leave(thread, request, ST_END_RETURN);
    assert_false(holds_elsewhere());
    expect_marks(thread, 1);
}

static void *leave_open(void *argument)
{
    struct st_thread *thread = st_thread_self();
    *(struct st_thread **)argument = thread;
    assert_true(st_span_enter(thread, ST_ROLE_REQUEST, 0, 1) != 0); /* 9 */
    return NULL;
}

/* The window of a request whose thread ended is over when the writer sees that. */
static void thread_that_ends_inside(void **state)
{
    struct st_thread *gone = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, leave_open, &gone), 0);
    pthread_join(thread, NULL);
    assert_true(holds_elsewhere());
    st_window_thread_ended(gone);
    assert_false(holds_elsewhere());
    st_window_thread_ended(gone);
    uint32_t next = st_span_enter(st_thread_self(), ST_ROLE_REQUEST, 0, 1); /* 10: the only one, and not wanted */
    assert_false(holds_elsewhere());
    st_span_leave(st_thread_self(), next, ST_END_RETURN);
    expect_marks(st_thread_self(), 0);
}

/* `sample step-end`: from mark to mark, the first from the entry of the stage. */
static void marked_steps(void **state)
{
    struct st_thread *thread = set("steps:1,steps:3", true);
    uint32_t name = name_of("denoise");
    st_window_add_iterated(name);
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, 0, 1);
    st_span_step_end(thread, name); /* the stage is not open: no step */
    uint32_t stage = st_span_enter(thread, ST_ROLE_STAGE, name, 1);
    char text[16];
    for (int i = 0; i < 4; i++) {
        text[i] = st_window_holds(thread) ? '1' : '0';
        st_span_step_end(thread, name);
    }
    text[4] = st_window_holds(thread) ? '1' : '0';
    text[5] = '\0';
    assert_string_equal(text, "10100");
    st_span_leave(thread, stage, ST_END_RETURN);
    st_span_leave(thread, request, ST_END_RETURN);
    expect_marks(thread, 2);
}

/* No rule names a request: the process is it. */
static void without_requests(void **state)
{
    struct st_thread *thread = set("steps:2", false);
    for (int i = 1; i <= 3; i++) {
        uint32_t step = st_span_enter(thread, ST_ROLE_STEP, 0, 1);
        assert_int_equal(st_window_holds(thread), i == 2);
        st_span_leave(thread, step, ST_END_RETURN);
        assert_false(st_window_holds(thread));
    }
    expect_marks(thread, 1);
    thread = set("requests:1", false);
    assert_true(st_window_holds(thread));
    thread = set("requests:2", false);
    assert_false(st_window_holds(thread));
}

static void profiler_and_time(void **state)
{
    bool is_open = false;
    struct st_thread *thread = set("profiler,time:1s+1s", true);
    assert_false(st_window_holds(thread));
    st_window_profiler(true);
    assert_false(st_window_holds(thread));
    assert_false(st_window_time(999999999, &is_open));
    assert_true(st_window_time(1000000000, &is_open));
    assert_true(is_open && st_window_holds(thread));
    assert_false(st_window_time(1500000000, &is_open));
    st_window_profiler(false);
    assert_false(st_window_holds(thread));
    st_window_profiler(true);
    assert_true(st_window_time(2100000000, &is_open));
    assert_false(is_open || st_window_holds(thread));
    struct st_window_flip flip;
    bool is_whole;
    int sums[ST_WINDOW_KINDS] = {0}, count = 0;
    for (; st_window_next_flip(&flip, &is_whole); count++) {
        assert_true(is_whole);
        sums[flip.kind] += flip.step;
    }
    assert_int_equal(count, 5);
    assert_int_equal(sums[ST_WINDOW_PROFILER], 1);
    assert_int_equal(sums[ST_WINDOW_TIME], 0);
}

static void changes_that_nobody_fetched(void **state)
{
    struct st_window_flip flip;
    bool is_whole = true;
    set("profiler", true);
    for (int i = 0; i < ST_WINDOW_FLIPS + 1; i++) {
        st_window_profiler(i % 2 == 0);
    }
    assert_false(st_window_next_flip(&flip, &is_whole));
    assert_false(is_whole);
    st_window_profiler(false);
    assert_true(st_window_next_flip(&flip, &is_whole));
    assert_true(is_whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_count_in_each_request), /* requests 1, 2 */
        cmocka_unit_test(requests_and_steps_must_both_hold), /* 3 - 7 */
        cmocka_unit_test(other_threads),                     /* 8 */
        cmocka_unit_test(thread_that_ends_inside),           /* 9, 10 */
        cmocka_unit_test(marked_steps),
        cmocka_unit_test(without_requests),
        cmocka_unit_test(profiler_and_time),
        cmocka_unit_test(changes_that_nobody_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
