/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of one thread: numbers, nesting, what collapses, names of steps, what `begin`/`end` close. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "preload/record/record.h"

/* What the ring got since the last call, as text: "+name" begin, "-name" end, "=how" where not a return. */
static char *written(struct st_thread *thread)
{
    static char text[1024];
    static uint64_t from;
    static struct {
        uint32_t span, name;
    } begun[256];
    static int begun_count;
    text[0] = '\0';
    for (; from < thread->head; from++) {
        const struct st_slot *slot = &thread->slots[from & thread->slot_mask];
        size_t length = strlen(text);
        if (slot->kind == ST_SLOT_SPAN_BEGIN) {
            begun[begun_count].span = slot->span;
            begun[begun_count++].name = slot->flags;
            snprintf(text + length, sizeof(text) - length, " +%s", st_row_name_text(slot->flags));
        } else if (slot->kind == ST_SLOT_SPAN_END) {
            uint32_t name = 0;
            for (int i = 0; i < begun_count; i++) {
                name = begun[i].span == slot->span ? begun[i].name : name;
            }
            snprintf(text + length, sizeof(text) - length, " -%s%s", st_row_name_text(name),
                     slot->code == ST_END_REPLACED ? "=replaced" : slot->code == ST_END_MARKED ? "=marked" : "");
        } else if (slot->kind == ST_SLOT_NAME) {
            from += (slot->span + 63) / 64;
        }
    }
    return text;
}

static uint32_t name_of(const char *text)
{
    return st_row_name(st_thread_self(), text);
}

static void stages_nest_and_collapse(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, name_of("request"), 1);
    uint32_t sample = st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 2);
    assert_int_equal(thread->span, sample);
    assert_int_equal(st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 2), 0); /* the same again */
    assert_int_equal(st_span_enter(thread, ST_ROLE_REQUEST, name_of("request"), 1), 0); /* one request at a time */
    uint32_t encode = st_span_enter(thread, ST_ROLE_STAGE, name_of("encode"), 3); /* another stage inside */
    uint32_t again = st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 2);  /* innermost labels */
    assert_true(again != 0 && again != sample);
    st_span_leave(thread, again, ST_END_RETURN);
    st_span_leave(thread, 0, ST_END_RETURN);
    assert_int_equal(thread->span, encode);
    st_span_leave(thread, encode, ST_END_RETURN);
    st_span_leave(thread, sample, ST_END_RETURN);
    st_span_leave(thread, request, ST_END_RETURN);
    assert_int_equal(thread->span, 0);
    assert_string_equal(written(thread), " +request +sample +encode +sample -sample -encode -sample -request");
}

static void steps_are_named_after_their_stage(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t sample = st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 2);
    uint32_t step = st_span_enter(thread, ST_ROLE_STEP, 0, 4);
    assert_int_equal(st_span_enter(thread, ST_ROLE_STEP, 0, 4), 0); /* outermost entries only */
    assert_int_equal(st_span_enter(thread, ST_ROLE_STAGE, name_of("sample"), 2), 0); /* keeps the step */
    assert_int_equal(thread->span, step);
    st_span_leave(thread, step, ST_END_RETURN);
    st_span_leave(thread, sample, ST_END_RETURN);
    uint32_t named = st_span_enter(thread, ST_ROLE_STEP, name_of("refine"), 4);
    st_span_leave(thread, named, ST_END_RETURN);
    uint32_t bare = st_span_enter(thread, ST_ROLE_STEP, 0, 4);
    st_span_leave(thread, bare, ST_END_RETURN);
    assert_string_equal(written(thread), " +sample +sample/step -sample/step -sample +refine/step -refine/step"
                                         " +step -step");
}

static void leaving_closes_what_is_inside(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t outer = st_span_enter(thread, ST_ROLE_STAGE, name_of("decode"), 2);
    uint32_t inner = st_span_enter(thread, ST_ROLE_STAGE, name_of("output"), 2);
    st_span_leave(thread, outer, ST_END_RETURN);
    st_span_leave(thread, inner, ST_END_RETURN); /* gone already: ignored */
    assert_string_equal(written(thread), " +decode +output -output=replaced -decode");
}

static void begun_stages_end_with_their_successor(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, name_of("request"), 1);
    st_span_begin(thread, name_of("encode"), 2);
    st_span_begin(thread, name_of("encode"), 2); /* goes on */
    st_span_begin(thread, name_of("sample"), 3);
    st_span_end(thread, name_of("encode")); /* not open */
    st_span_end(thread, name_of("sample"));
    st_span_begin(thread, name_of("decode"), 3);
    st_span_leave(thread, request, ST_END_RETURN);
    assert_string_equal(written(thread), " +request +encode -encode=replaced +sample -sample=marked +decode "
                                         "-decode=replaced -request");
}

/* So it is with a loop that is no function: what comes after it is one. */
static void begun_stages_end_with_the_next_function(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, 0, 1);
    st_span_begin(thread, name_of("sample"), 2);
    st_span_leave(thread, st_span_enter(thread, ST_ROLE_STEP, name_of("sample"), 3), ST_END_RETURN);
    st_span_leave(thread, st_span_enter(thread, ST_ROLE_STAGE, name_of("sample/copy"), 3), ST_END_RETURN);
    st_span_leave(thread, st_span_enter(thread, ST_ROLE_REQUEST, 0, 1), ST_END_RETURN); /* collapses: ends nothing */
    uint32_t decode = st_span_enter(thread, ST_ROLE_STAGE, name_of("decode"), 4);
    st_span_begin(thread, name_of("samples"), 2); /* inside: another level */
    uint32_t again = st_span_enter(thread, ST_ROLE_STAGE, name_of("decode"), 4);
    assert_int_equal(again, 0);
    st_span_leave(thread, decode, ST_END_RETURN);
    st_span_leave(thread, request, ST_END_RETURN);
    assert_string_equal(written(thread), " + +sample +sample/step -sample/step +sample/copy -sample/copy "
                                         "-sample=replaced +decode +samples -samples=replaced -decode -");
}

static void begun_load_ends_with_a_request(void **state)
{
    struct st_thread *thread = st_thread_self();
    st_span_begin(thread, name_of("load"), 2);
    const struct st_slot *slot = &thread->slots[(thread->head - 1) & thread->slot_mask];
    assert_int_equal(slot->code, ST_ROLE_LOAD);
    st_span_begin(thread, name_of("load"), 2);
    st_span_begin_request(thread, 1);
    st_span_begin(thread, name_of("loader"), 2);
    slot = &thread->slots[(thread->head - 1) & thread->slot_mask];
    assert_int_equal(slot->code, ST_ROLE_STAGE);
    st_span_end_request(thread);
    assert_string_equal(written(thread), " +load -load=replaced + +loader -loader=replaced -=marked");
}

static void begun_requests_end_with_their_successor(void **state)
{
    struct st_thread *thread = st_thread_self();
    st_span_end_request(thread); /* none is open */
    st_span_begin_request(thread, 1);
    st_span_begin(thread, name_of("encode"), 2);
    st_span_begin_request(thread, 1);
    st_span_begin(thread, name_of("encode"), 2); /* does not take the request's place */
    st_span_end_request(thread);
    assert_string_equal(written(thread), " + +encode -encode=replaced -=marked + +encode -encode=replaced -=marked");
    uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, 0, 1);
    st_span_begin_request(thread, 2); /* inside a function that is the request: nothing */
    st_span_end_request(thread);
    st_span_leave(thread, request, ST_END_RETURN);
    assert_string_equal(written(thread), " + -");
}

static void begun_loads_end_with_the_request(void **state)
{
    struct st_thread *thread = st_thread_self();
    st_span_begin(thread, name_of("load/unet"), 1);
    assert_int_equal(thread->open_spans[0].role, ST_ROLE_LOAD);
    st_span_begin_request(thread, 2);
    assert_int_equal(thread->open_span_count, 1);
    st_span_begin(thread, name_of("loading"), 3);
    assert_int_equal(thread->open_spans[1].role, ST_ROLE_STAGE);
    st_span_end_request(thread);
    assert_string_equal(written(thread), " +load/unet -load/unet=replaced + +loading -loading=replaced -=marked");
}

/* What a source learns late. */
static void edges_can_be_earlier(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t sample = name_of("sample"), decode = name_of("decode");
    const struct st_slot *first = &thread->slots[thread->head & thread->slot_mask];
    st_span_at(thread, 4711, true);
    uint32_t span = st_span_enter(thread, ST_ROLE_STAGE, sample, 1);
    st_span_at(thread, 4811, true);
    st_span_step_end(thread, 0);
    st_span_doubt(thread, true, 60);
    st_span_step_end(thread, decode);
    st_span_doubt(thread, false, 0);
    st_span_leave(thread, span, ST_END_MARKED);
    st_span_at(thread, 0, false);
    assert_int_equal(first[0].begin, 4711);
    assert_int_equal(first[0].end, 0); /* the CPU clock of an earlier instant is not known */
    assert_int_equal(first[1].kind, ST_SLOT_MARK);
    assert_int_equal(first[1].code, ST_MARK_STEP_END);
    assert_int_equal(first[1].begin, 4811);
    assert_string_equal(st_row_name_text((uint32_t)first[1].a), "sample"); /* of the innermost stage */
    assert_int_equal(first[1].b, 0);
    assert_string_equal(st_row_name_text((uint32_t)first[2].a), "decode");
    assert_int_equal(first[2].b, 61);
    assert_int_equal(first[3].begin, 4811);
    written(thread);
}

static void doubt_is_written(void **state)
{
    struct st_thread *thread = st_thread_self();
    st_span_doubt(thread, true, 700);
    uint32_t span = st_span_enter(thread, ST_ROLE_STAGE, name_of("encode"), 1);
    const struct st_slot *slot = &thread->slots[(thread->head - 1) & thread->slot_mask];
    assert_int_equal(slot->c, 700);
    assert_int_equal(slot->d, 1);
    st_span_doubt(thread, false, 0);
    st_span_leave(thread, span, ST_END_RETURN);
    slot = &thread->slots[(thread->head - 1) & thread->slot_mask];
    assert_int_equal(slot->c + slot->d, 0);
    written(thread);
}

static void requests_are_numbered(void **state)
{
    struct st_thread *thread = st_thread_self();
    for (uint64_t i = 0, first = 0; i < 3; i++) {
        uint32_t request = st_span_enter(thread, ST_ROLE_REQUEST, name_of("request"), 1);
        uint32_t stage = st_span_enter(thread, ST_ROLE_STAGE, name_of("encode"), 1);
        const struct st_slot *slot = &thread->slots[(thread->head - 1) & thread->slot_mask];
        first = i == 0 ? slot->b : first;
        assert_int_equal(slot->b, first + i);
        assert_int_equal(slot->a, request);
        st_span_leave(thread, stage, ST_END_RETURN);
        st_span_leave(thread, request, ST_END_RETURN);
    }
    written(thread);
}

/* Deeper than there is room: the entry is not recorded, the depth stays right. */
static void too_deep_is_refused(void **state)
{
    struct st_thread *thread = st_thread_self();
    uint32_t spans[ST_MAX_OPEN_SPANS + 4];
    char name[32];
    for (int i = 0; i < ST_MAX_OPEN_SPANS + 4; i++) {
        snprintf(name, sizeof(name), "deep%d", i);
        spans[i] = st_span_enter(thread, ST_ROLE_STAGE, name_of(name), 1);
        assert_int_equal(spans[i] == 0, i >= ST_MAX_OPEN_SPANS);
    }
    for (int i = ST_MAX_OPEN_SPANS + 3; i >= 0; i--) {
        st_span_leave(thread, spans[i], ST_END_RETURN);
    }
    assert_int_equal(thread->open_span_count, 0);
    written(thread);
}

static void names_are_numbers(void **state)
{
    uint32_t name = name_of("output/d2h");
    assert_int_equal(name_of("output/d2h"), name);
    assert_int_not_equal(name_of("output"), name);
    assert_string_equal(st_row_name_text(name), "output/d2h");
    assert_string_equal(st_row_name_text(0), "");
    char text[32];
    for (int i = 0; i < ST_MAX_ROW_NAMES + 10; i++) {
        snprintf(text, sizeof(text), "name%d", i);
        uint32_t n = st_row_name(NULL, text);
        assert_true(n == 0 || strcmp(st_row_name_text(n), text) == 0);
    }
    assert_int_equal(st_row_name(NULL, "one more"), 0); /* full: refused, not wrong */
    assert_int_equal(name_of("output/d2h"), name);
    assert_int_equal(st_row_name_count(), ST_MAX_ROW_NAMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_nest_and_collapse),
        cmocka_unit_test(steps_are_named_after_their_stage),
        cmocka_unit_test(leaving_closes_what_is_inside),
        cmocka_unit_test(begun_stages_end_with_their_successor),
        cmocka_unit_test(begun_stages_end_with_the_next_function),
        cmocka_unit_test(begun_load_ends_with_a_request),
        cmocka_unit_test(begun_requests_end_with_their_successor),
        cmocka_unit_test(begun_loads_end_with_the_request),
        cmocka_unit_test(edges_can_be_earlier),
        cmocka_unit_test(doubt_is_written),
        cmocka_unit_test(requests_are_numbered),
        cmocka_unit_test(too_deep_is_refused),
        cmocka_unit_test(names_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
