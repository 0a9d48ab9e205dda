/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request, stage and step a thread is in: a small stack per thread. Opening and closing writes one
 * slot each, with one read of the thread's CPU clock (the only system call here). Libc-free.
 *
 *   request ──────────────────────────────────────┐
 *     encode ───┐ sample ──────────────┐ decode ──┤      stack at the arrow: request, sample, sample/step
 *                    step ──┐ step ──┐            │      thread->span = the step: launches carry it
 *                        ↑
 */
#include "record.h"

#include "syscall.h"
#include "window.h"

static _Atomic uint32_t last_span, last_request;

static uint64_t edge_ticks(const struct st_thread *thread)
{
    return thread->edge_ticks ? thread->edge_ticks : st_ticks();
}

static uint64_t edge_cpu_ns(const struct st_thread *thread)
{
    return thread->edge_is_past ? 0 : st_sys_thread_cpu_ns();
}

static void emit_begin(struct st_thread *thread, const struct st_open_span *open, uint32_t parent, uint32_t rule)
{
    struct st_slot *slot = st_ring_reserve(thread, 1);
    if (slot) {
        slot->kind = ST_SLOT_SPAN_BEGIN;
        slot->code = open->role;
        slot->span = open->span;
        slot->end = edge_cpu_ns(thread);
        slot->begin = edge_ticks(thread);
        slot->result = (int32_t)rule;
        slot->flags = open->name;
        slot->a = parent;
        slot->b = open->request;
        slot->c = thread->late_ticks;
        slot->d = thread->is_following ? ST_EDGE_FOLLOWING : thread->is_inferred ? ST_EDGE_INFERRED : ST_EDGE_SEEN;
        st_ring_commit(thread, 1);
    }
}

/* `cpu_ns` 0: not known. */
static void emit_end_at(struct st_thread *thread, uint32_t span, enum st_span_end how, uint64_t at, uint64_t cpu_ns)
{
    struct st_slot *slot = st_ring_reserve(thread, 1);
    if (slot) {
        slot->kind = ST_SLOT_SPAN_END;
        slot->code = (uint16_t)how;
        slot->span = span;
        slot->begin = at;
        slot->end = cpu_ns;
        slot->c = thread->late_ticks;
        slot->d = thread->is_inferred;
        st_ring_commit(thread, 1);
    }
}

static struct st_open_span *innermost(struct st_thread *thread)
{
    return thread->open_span_count ? &thread->open_spans[thread->open_span_count - 1] : NULL;
}

/* Open spans that this entry only repeats. */
static bool collapses(struct st_thread *thread, enum st_span_role role, uint32_t name)
{
    for (uint32_t i = thread->open_span_count; i-- > 0;) {
        const struct st_open_span *open = &thread->open_spans[i];
        if (open->role == ST_ROLE_OFF) {
            return true;
        }
        if (role == ST_ROLE_REQUEST || role == ST_ROLE_STEP) {
            if (open->role == role) {
                return true;
            }
            continue; /* a step inside a stage inside a step is still that step */
        }
        if (open->role == ST_ROLE_STEP) {
            continue; /* the stage again inside its own step: keeps the step */
        }
        return open->role != ST_ROLE_REQUEST && open->name == name;
    }
    return false;
}

/* "<stage>/step" for the stage `name`. */
static uint32_t step_row(struct st_thread *thread, uint32_t name)
{
    const char *stage = st_row_name_text(name), *suffix = "/step";
    char text[ST_MAX_ROW_NAME_BYTES];
    unsigned n = 0;
    for (; stage[n] && n < sizeof(text) - 6; n++) {
        text[n] = stage[n];
    }
    const char *from = n ? suffix : suffix + 1; /* no stage around it: the row is called "step" */
    while (*from) {
        text[n++] = *from++;
    }
    text[n] = '\0';
    return st_row_name(thread, text);
}

static uint32_t innermost_stage_name(struct st_thread *thread)
{
    for (uint32_t i = thread->open_span_count; i-- > 0;) {
        if (thread->open_spans[i].role == ST_ROLE_STAGE || thread->open_spans[i].role == ST_ROLE_LOAD) {
            return thread->open_spans[i].name;
        }
    }
    return 0;
}

static void pop(struct st_thread *thread, enum st_span_end how)
{
    enum st_span_role role = (enum st_span_role)innermost(thread)->role;
    uint64_t at = edge_ticks(thread);
    emit_end_at(thread, innermost(thread)->span, how, at, edge_cpu_ns(thread));
    thread->open_span_count--;
    struct st_open_span *outer = innermost(thread);
    thread->span = outer ? outer->span : 0;
    if (role == ST_ROLE_REQUEST) {
        st_window_request_end(thread, at);
    } else if (role == ST_ROLE_STEP) {
        st_window_step_end(thread, at);
    }
    st_window_popped(thread, at);
}

/* Is the row `name` called "<stage>/…"? */
static bool is_part(uint32_t stage, uint32_t name)
{
    const char *whole = st_row_name_text(stage), *part = st_row_name_text(name);
    while (*whole && *whole == *part) {
        whole++;
        part++;
    }
    return !*whole && *part == '/';
}

/* A begun stage ends where the next stage on its level begins; a part of it belongs inside. */
static void end_begun(struct st_thread *thread, uint32_t name)
{
    struct st_open_span *open = innermost(thread);
    if (open && open->by_mark && open->role != ST_ROLE_REQUEST && open->name != name && !is_part(open->name, name)) {
        pop(thread, ST_END_REPLACED);
    }
}

uint32_t st_span_enter(struct st_thread *thread, enum st_span_role role, uint32_t name, uint32_t rule)
{
    if (role == ST_ROLE_STAGE || role == ST_ROLE_LOAD) {
        end_begun(thread, name);
    }
    if (thread->open_span_count == ST_MAX_OPEN_SPANS || collapses(thread, role, name)) {
        return 0;
    }
    if (role == ST_ROLE_REQUEST) {
        end_begun(thread, 0);
    }
    struct st_open_span *outer = innermost(thread);
    struct st_open_span *open = &thread->open_spans[thread->open_span_count];
    open->span = atomic_fetch_add_explicit(&last_span, 1, memory_order_relaxed) + 1;
    open->role = (uint8_t)role;
    open->by_mark = 0;
    open->request = outer ? outer->request : 0;
    open->name = name;
    if (role == ST_ROLE_REQUEST) {
        open->request = atomic_fetch_add_explicit(&last_request, 1, memory_order_relaxed) + 1;
        st_window_request_begin(thread, open->request);
    } else if (role == ST_ROLE_STEP) {
        open->name = step_row(thread, name ? name : innermost_stage_name(thread));
        st_window_step_begin(thread);
    }
    emit_begin(thread, open, outer ? outer->span : 0, rule);
    thread->open_span_count++;
    thread->span = open->span;
    if (role == ST_ROLE_STAGE) {
        st_window_stage_begin(thread, name);
    }
    return open->span;
}

static void pop_through(struct st_thread *thread, uint32_t index, enum st_span_end how)
{
    while (thread->open_span_count > index + 1) {
        pop(thread, ST_END_REPLACED);
    }
    pop(thread, how);
}

void st_span_leave(struct st_thread *thread, uint32_t span, enum st_span_end how)
{
    for (uint32_t i = thread->open_span_count; span && i-- > 0;) {
        if (thread->open_spans[i].span == span) {
            pop_through(thread, i, how);
            return;
        }
    }
}

void st_span_leave_for_ended(struct st_thread *thread, uint32_t span, uint64_t at_ticks)
{
    emit_end_at(thread, span, ST_END_MARKED, at_ticks, 0);
}

/* `load` and its parts are kept apart from requests, however they were opened (config/map.c says so of rules). */
static bool is_load(uint32_t name)
{
    const char *text = st_row_name_text(name), *load = "load";
    while (*load && *load == *text) {
        load++;
        text++;
    }
    return !*load && (!*text || *text == '/');
}

void st_span_step_end(struct st_thread *thread, uint32_t name)
{
    uint32_t stage = name ? name : innermost_stage_name(thread);
    bool is_open = false; /* else it closes nothing */
    for (uint32_t i = 0; i < thread->open_span_count; i++) {
        is_open = is_open || (thread->open_spans[i].role == ST_ROLE_STAGE && thread->open_spans[i].name == stage);
    }
    uint64_t ticks = edge_ticks(thread); /* of the window's edge, too */
    if (is_open) {
        st_window_before_mark(thread, ticks);
    }
    st_emit_mark_at(thread, ticks, ST_MARK_STEP_END, stage, thread->is_inferred ? thread->late_ticks + 1 : 0);
    if (is_open) {
        st_window_step_end(thread, ticks);
    }
}

void st_span_begin(struct st_thread *thread, uint32_t name, uint32_t rule)
{
    uint32_t span = st_span_enter(thread, is_load(name) ? ST_ROLE_LOAD : ST_ROLE_STAGE, name, rule);
    if (span) {
        innermost(thread)->by_mark = 1;
    }
}

void st_span_end(struct st_thread *thread, uint32_t name)
{
    for (uint32_t i = thread->open_span_count; i-- > 0;) {
        if (thread->open_spans[i].role == ST_ROLE_REQUEST) {
            return;
        }
        if (thread->open_spans[i].by_mark && thread->open_spans[i].name == name) {
            pop_through(thread, i, ST_END_MARKED);
            return;
        }
    }
}

void st_span_begin_request(struct st_thread *thread, uint32_t rule)
{
    st_span_end_request(thread);
    while (thread->open_span_count && innermost(thread)->by_mark && innermost(thread)->request == 0) {
        pop(thread, ST_END_REPLACED);
    }
    if (st_span_enter(thread, ST_ROLE_REQUEST, 0, rule)) {
        innermost(thread)->by_mark = 1;
    }
}

void st_span_end_request(struct st_thread *thread)
{
    for (uint32_t i = thread->open_span_count; i-- > 0;) {
        if (thread->open_spans[i].role == ST_ROLE_REQUEST && thread->open_spans[i].by_mark) {
            pop_through(thread, i, ST_END_MARKED);
            return;
        }
    }
}
