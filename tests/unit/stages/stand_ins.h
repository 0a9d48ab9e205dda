/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What test_stages.c has in place of the recorder, of the source log and of preload/watch: what they are told is
 * written into one line. Definitions, for that file alone.
 */
#ifndef ST_TEST_STAND_INS_H
#define ST_TEST_STAND_INS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/record/record.h"
#include "preload/record/window.h"
#include "preload/stages/hidden.h"
#include "preload/stages/log.h"
#include "preload/stages/nvtx.h"
#include "preload/stages/symbols.h"
#include "preload/stages/unwind.h"
#include "preload/watch/watch.h"

/* ---- a recorder that writes what it is told into one line ---- */

static char line[4096];

#define NOTE(...) snprintf(line + strlen(line), sizeof(line) - strlen(line), __VA_ARGS__)
#define assert_line(expected)                                                                                          \
    do {                                                                                                               \
        assert_string_equal(line, expected);                                                                           \
        line[0] = '\0';                                                                                                \
    } while (0)

#define NO_TRACKING (-2) /* what push and pop return without us, too */

__thread struct st_thread *st_thread_current;
__thread uint32_t st_suppress;
static char row_names[1200][ST_MAX_ROW_NAME_BYTES];
static uint32_t row_count;
static uint32_t last_span;
static bool is_collapsing;
static st_watch_matcher matcher;

struct st_thread *st_thread_create(void)
{
    static struct st_ring_head ring; /* a block without a ring counts as none */
    st_thread_current = calloc(1, sizeof(struct st_thread));
    st_thread_current->ring = &ring;
    return st_thread_current;
}

uint32_t st_row_name(struct st_thread *thread, const char *text)
{
    for (uint32_t i = 0; i < row_count; i++)
        if (strcmp(row_names[i], text) == 0) return i + 1;
    strcpy(row_names[row_count], text);
    return ++row_count;
}

const char *st_row_name_text(uint32_t name)
{
    return name > 0 ? row_names[name - 1] : "";
}

uint32_t st_span_enter(struct st_thread *thread, enum st_span_role role, uint32_t name, uint32_t rule)
{
    assert_non_null(thread);
    if (is_collapsing) return 0;
    NOTE("+%u:%d:%s:%u ", ++last_span, role, st_row_name_text(name), rule);
    return last_span;
}

void st_span_leave(struct st_thread *thread, uint32_t span, enum st_span_end how)
{
    NOTE("-%u:%d%s ", span, how, thread->late_ticks > 0 ? "+" : "");
}

void st_span_leave_for_ended(struct st_thread *thread, uint32_t span, uint64_t at_ticks)
{
    NOTE("-%u:ended%s ", span, at_ticks <= st_ticks() ? "" : " in the future");
}

void st_span_begin(struct st_thread *thread, uint32_t name, uint32_t rule)
{
    NOTE("begin:%s:%u ", st_row_name_text(name), rule);
}

void st_span_end(struct st_thread *thread, uint32_t name)
{
    NOTE("end:%s ", st_row_name_text(name));
}

void st_span_begin_request(struct st_thread *thread, uint32_t rule)
{
    NOTE("begin-request:%u ", rule);
}

void st_span_end_request(struct st_thread *thread)
{
    NOTE("end-request ");
}

void st_span_step_end(struct st_thread *thread, uint32_t name)
{
    NOTE("mark:%d:%s ", ST_MARK_STEP_END, st_row_name_text(name));
}

void st_window_add_iterated(uint32_t name)
{
}

/* ---- no log rule here ---- */

void st_lines_start(const char *tee)
{
    fail();
}

void st_lines_end(void)
{
    fail();
}

void st_lines_fork_child(void)
{
    fail();
}

enum st_capability_state st_lines_state(bool is_matched, const char **ret_why)
{
    fail();
    return ST_CAP_NOT_COLLECTED;
}

/* ---- what preload/watch gives ---- */

static st_nvtx_init_fn other_tool; /* "loaded" as the chained injection */

void st_watch_set_matcher(st_watch_matcher fn)
{
    matcher = fn;
}

void st_watch_call_saved(void (*fn)(void *), void *arg)
{
    fn(arg);
}

static st_watch_getenv answer;

void st_watch_set_getenv(st_watch_getenv fn)
{
    answer = fn;
}

static void (*before_call)(struct st_thread *, const uint64_t *);

void st_watch_set_before_call(void (*fn)(struct st_thread *, const uint64_t *))
{
    before_call = fn;
}

void *st_watch_real_dlopen(const char *file, int flags)
{
    assert_string_equal(file, "/other/tool.so");
    return other_tool != NULL ? (void *)1 : NULL;
}

void *st_watch_real_dlsym(void *handle, const char *name)
{
    void *address;
    assert_string_equal(name, "InitializeInjectionNvtx2");
    memcpy(&address, &other_tool, sizeof(address));
    return address;
}

enum st_capability_state st_python_state(const char **ret_why)
{
    *ret_why = "there is no CPython in the process";
    return ST_CAP_NOT_COLLECTED;
}

const char *st_python_description(void)
{
    return "3.11.7: frame-evaluation hook";
}

const char *st_watch_own_file(void)
{
    return "/ours/lib.so";
}

/* ---- what functions there are, for the reasons ---- */

static struct st_watch_stage stages_there[5];
static int stage_count;
static bool sees_stacks;
_Atomic bool st_unwind_active;

bool st_watch_each_stage(bool want_slots, void (*each)(void *, const struct st_watch_stage *), void *context)
{
    assert_true(want_slots);
    for (int i = 0; i < stage_count; i++) each(context, &stages_there[i]);
    return true;
}

void st_watch_get_stats(struct st_watch_stats *ret)
{
    *ret = (struct st_watch_stats){.unbounded = 2};
}

bool st_hidden_update(void)
{
    return true;
}

const char *st_hidden_where(uint16_t rule)
{
    return rule == 23 ? "" : rule == 22 ? "/lib/libhidden.so" : NULL;
}

uint32_t st_hidden_stripped_count(void)
{
    return 3;
}

bool st_unwind_follows_all(void)
{
    return sees_stacks;
}

const char *st_unwind_trouble(void)
{
    return "";
}

void st_unwind_before_edge(void *unused)
{
    fail();
}

void st_unwind_get_stats(struct st_unwind_stats *ret)
{
    *ret = (struct st_unwind_stats){.walks = sees_stacks};
}

#endif
