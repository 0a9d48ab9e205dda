/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages from sys.monitoring. Starts of functions are watched everywhere and switched off for each code object that no
 * rule matches; returns, yields and resumptions are asked for in matched ones only. Unwinding and throwing can not be
 * had for single code objects (3.12 to 3.14): they are watched everywhere and cost only where an exception passes.
 *
 * A suspended generator or coroutine is not entered: it is left at each yield and entered again when it is resumed.
 * Entries are kept per thread; a callback raises nothing and leaves no error set.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "preload/record/record.h"
#include "python_backends.h"
#include "python_match.h"

#define MAX_ADOPTED 64

static const int TOOL_IDS[] = {4, 3, 5}; /* 0 to 2 are for debuggers, coverage and profilers by convention */

static struct {
    st_py module; /* sys.monitoring */
    st_py disable;
    long tool;
    long start, resume, leave, yield, throw, unwind; /* event numbers, which differ between versions */
} monitoring;
static _Atomic uint64_t mismatches;

uint64_t st_python_monitoring_mismatches(void)
{
    return atomic_load_explicit(&mismatches, memory_order_relaxed);
}

/* ---- entries of this thread ---------------------------------------------------------------------- */

static void push(struct st_thread *thread, const void *code, uint64_t known)
{
    if (thread->python_count == ST_MAX_PYTHON_ENTRIES) {
        thread->python_beyond++;
        return;
    }
    struct st_python_entry *entry = &thread->python[thread->python_count];
    *entry = (struct st_python_entry){.code = code, .token = st_stage_enter(st_python_rule(known),
                                                                           st_python_name(known))};
    thread->python_count++;
}

static void enter(const void *code, uint64_t known)
{
    struct st_thread *thread = st_thread_self();
    if (!thread || !st_thread_claim(thread)) return;
    if (known & ST_PYTHON_INSTANT) {
        st_stage_instant(st_python_rule(known), st_python_name(known));
    } else {
        push(thread, code, known);
    }
    st_thread_release(thread);
}

static void pop(struct st_thread *thread, const void *code, uint64_t known, enum st_span_end how, bool is_suspended)
{
    uint32_t i = thread->python_count;
    if (thread->python_beyond) {
        thread->python_beyond--;
        return;
    }
    while (i > 0 && thread->python[i - 1].code != code) i--;
    if (i == 0) return; /* entered before we were there, or in the parent of this process */
    if (i != thread->python_count) atomic_fetch_add_explicit(&mismatches, 1, memory_order_relaxed);
    if (!is_suspended || !(known & ST_PYTHON_AT_EXIT)) st_stage_leave(thread->python[i - 1].token, how);
    thread->python_count = i - 1;
}

static void leave(const void *code, uint64_t known, enum st_span_end how, bool is_suspended)
{
    struct st_thread *thread = st_thread_current;
    if ((known & ST_PYTHON_INSTANT) || !thread || !st_thread_claim(thread)) return;
    pop(thread, code, known, how, is_suspended);
    st_thread_release(thread);
}

/* ---- callbacks ----------------------------------------------------------------------------------- */

static st_py new_reference(st_py object)
{
    st_py_api.take_reference(object);
    return object;
}

static void watch_locally(st_py code, uint64_t known)
{
    long events = monitoring.leave | monitoring.yield | monitoring.resume;
    if (known & ST_PYTHON_INSTANT) return;
    st_py done = st_py_api.call_method(monitoring.module, "set_local_events", "lOl", monitoring.tool, code, events);
    if (done) {
        st_py_api.drop(done);
    } else {
        st_py_api.clear_error();
    }
}

static st_py on_start(st_py self, st_py const *arguments, intptr_t count)
{
    uint64_t known = st_python_known(arguments[0]);
    if (known == 0) {
        known = st_python_first_sight(arguments[0], st_py_api.globals(), NULL, false);
        if (known & ST_PYTHON_MATCHED) watch_locally(arguments[0], known);
    }
    if (!(known & ST_PYTHON_MATCHED)) return new_reference(monitoring.disable);
    enter(arguments[0], known);
    return new_reference(st_py_api.none);
}

/* Into a suspended one: resumed, or an exception is thrown into it. */
static void enter_again(const void *code, uint64_t known)
{
    if ((known & ST_PYTHON_MATCHED) && !(known & ST_PYTHON_INSTANT)) enter(code, known);
}

static st_py on_resume(st_py self, st_py const *arguments, intptr_t count)
{
    enter_again(arguments[0], st_python_known(arguments[0]));
    return new_reference(st_py_api.none);
}

static st_py on_throw(st_py self, st_py const *arguments, intptr_t count)
{
    return on_resume(self, arguments, count);
}

static st_py on_leave(st_py self, st_py const *arguments, intptr_t count)
{
    leave(arguments[0], st_python_known(arguments[0]), ST_END_RETURN, false);
    return new_reference(st_py_api.none);
}

static st_py on_yield(st_py self, st_py const *arguments, intptr_t count)
{
    leave(arguments[0], st_python_known(arguments[0]), ST_END_RETURN, true);
    return new_reference(st_py_api.none);
}

static st_py on_unwind(st_py self, st_py const *arguments, intptr_t count)
{
    uint64_t known = st_python_known(arguments[0]);
    if (known & ST_PYTHON_MATCHED) leave(arguments[0], known, ST_END_THROWN, false);
    return new_reference(st_py_api.none);
}

/* ---- installing ---------------------------------------------------------------------------------- */

static struct event {
    const char *name;
    long *number;
    struct st_py_method method;
} EVENTS[] = {
    {"PY_START", &monitoring.start, {"stagetap_start", on_start, ST_PY_FASTCALL, NULL}},
    {"PY_RESUME", &monitoring.resume, {"stagetap_resume", on_resume, ST_PY_FASTCALL, NULL}},
    {"PY_RETURN", &monitoring.leave, {"stagetap_return", on_leave, ST_PY_FASTCALL, NULL}},
    {"PY_YIELD", &monitoring.yield, {"stagetap_yield", on_yield, ST_PY_FASTCALL, NULL}},
    {"PY_THROW", &monitoring.throw, {"stagetap_throw", on_throw, ST_PY_FASTCALL, NULL}},
    {"PY_UNWIND", &monitoring.unwind, {"stagetap_unwind", on_unwind, ST_PY_FASTCALL, NULL}},
};
enum { EVENT_COUNT = sizeof(EVENTS) / sizeof(EVENTS[0]) };

/* The result is not wanted, but whether there is one. */
static bool is_done(st_py result)
{
    if (!result) {
        st_py_api.clear_error();
        return false;
    }
    st_py_api.drop(result);
    return true;
}

static bool take_tool_id(void)
{
    for (size_t i = 0; i < sizeof(TOOL_IDS) / sizeof(TOOL_IDS[0]); i++) {
        if (is_done(st_py_api.call_method(monitoring.module, "use_tool_id", "is", TOOL_IDS[i], "stagetap"))) {
            monitoring.tool = TOOL_IDS[i];
            return true;
        }
    }
    return false;
}

static bool read_event_numbers(void)
{
    st_py events = st_py_api.attribute_named(monitoring.module, "events");
    monitoring.disable = st_py_api.attribute_named(monitoring.module, "DISABLE");
    for (int i = 0; events && i < EVENT_COUNT; i++) {
        st_py number = st_py_api.attribute_named(events, EVENTS[i].name);
        *EVENTS[i].number = number ? st_py_api.number(number) : 0;
        if (!is_done(number)) return false;
    }
    return is_done(events) && monitoring.disable;
}

static bool register_callbacks(void)
{
    for (int i = 0; i < EVENT_COUNT; i++) {
        st_py function = st_py_api.new_function(&EVENTS[i].method, NULL, NULL);
        st_py done = function ? st_py_api.call_method(monitoring.module, "register_callback", "llO", monitoring.tool,
                                                      *EVENTS[i].number, function)
                              : NULL;
        if (function) st_py_api.drop(function);
        if (!is_done(done)) return false;
    }
    return is_done(st_py_api.call_method(monitoring.module, "set_events", "ll", monitoring.tool,
                                         monitoring.start | monitoring.throw | monitoring.unwind));
}

enum st_python_installed st_python_monitoring_install(const char **ret_why)
{
    monitoring.module = st_py_api.sys_object("monitoring");
    if (!monitoring.module) {
        *ret_why = "there is no sys.monitoring";
        return ST_PYTHON_REFUSED;
    }
    st_py_api.take_reference(monitoring.module);
    if (!st_python_match_init() || !read_event_numbers()) {
        *ret_why = "sys.monitoring is not as expected";
    } else if (!take_tool_id()) {
        *ret_why = "the tool ids 3, 4 and 5 of sys.monitoring are taken";
    } else if (!register_callbacks()) {
        *ret_why = "sys.monitoring refused our callbacks";
    } else {
        return ST_PYTHON_INSTALLED;
    }
    st_py_api.clear_error();
    return ST_PYTHON_REFUSED;
}

/* ---- functions that run already ------------------------------------------------------------------ */

static void adopt(st_py frame, uint64_t late_ticks)
{
    st_py code = st_py_api.attribute_named(frame, "f_code"), globals = st_py_api.attribute_named(frame, "f_globals");
    struct st_thread *thread = st_thread_self();
    uint64_t known = code ? st_python_known(code) : 0;

    if (code && globals && known == 0) {
        known = st_python_first_sight(code, globals, st_python_inner_frame(frame), false);
        if (known & ST_PYTHON_MATCHED) watch_locally(code, known);
    }
    if ((known & ST_PYTHON_MATCHED) && !(known & ST_PYTHON_INSTANT) && thread && st_thread_claim(thread)) {
        st_span_doubt(thread, true, late_ticks);
        push(thread, code, known);
        st_span_doubt(thread, false, 0);
        st_thread_release(thread);
    }
    if (code) st_py_api.drop(code);
    if (globals) st_py_api.drop(globals);
}

void st_python_monitoring_adopt(uint64_t late_ticks)
{
    st_py frames[MAX_ADOPTED], frame = st_py_api.frame(); /* innermost first */
    uint32_t count = 0;

    if (!frame || !st_py_api.previous_frame) return;
    for (st_py_api.take_reference(frame); frame && count < MAX_ADOPTED; count++) {
        frames[count] = frame;
        frame = st_py_api.previous_frame(frame);
    }
    if (frame) st_py_api.drop(frame);
    while (count-- > 0) {
        adopt(frames[count], late_ticks);
        st_py_api.drop(frames[count]);
    }
    st_py_api.clear_error();
}
