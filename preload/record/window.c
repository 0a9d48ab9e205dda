/* SPDX-License-Identifier: Apache-2.0 */
/* Windows; see window.h. Libc-free, general registers only. */
#include "window.h"

#include "record.h"

enum { MAX_ITERATED = 32 };

/* An open request. Its own thread writes it, threads without a request may when it is the only one. */
struct st_window_request {
    _Atomic uint32_t number; /* 0 = free; PROCESS */
    bool is_wanted;          /* by its number */
    _Atomic uint32_t steps;  /* begun steps; closed iterations */
    _Atomic bool in_steps;
    _Atomic bool is_open; /* its window */
};
static const uint32_t LEAVING = UINT32_MAX - 1, PROCESS = UINT32_MAX; /* that it is the request ends; is so */

_Atomic bool st_window_is_set;

static struct {
    const struct st_window_rule *rule;
    bool has_requests; /* the map can name some */
    uint32_t iterated[MAX_ITERATED];
    uint32_t iterated_count;
    struct st_window_request requests[ST_WINDOW_REQUESTS];
    _Atomic(struct st_window_request *) only; /* the only open one */
    _Atomic uint32_t changes;                 /* of which requests there are */
    _Atomic bool is_profiled, is_time;
    _Atomic uint64_t flip_count;
    struct flip {
        _Atomic uint64_t number; /* from 1; written last */
        uint64_t ticks;
        int step;
        enum st_window_kind kind;
    } flips[ST_WINDOW_FLIPS];
    uint64_t flips_seen; /* the writer's */
} window;

/* ---- what holds ---- */

/* Do windows depend on where a request is? */
static bool follows_requests(void)
{
    return window.rule->step_count > 0 || window.rule->request_count > 0;
}

bool st_window_holds(const struct st_thread *thread)
{
    const struct st_window_rule *rule = window.rule;
    if (follows_requests()) {
        const struct st_window_request *request = thread->window;
        if (!request) {
            request = atomic_load_explicit(&window.only, memory_order_relaxed);
        }
        if (!request || !atomic_load_explicit(&request->is_open, memory_order_relaxed)) {
            return false;
        }
    }
    return (!rule->time_count || atomic_load_explicit(&window.is_time, memory_order_relaxed)) &&
           (!rule->uses_profiler || atomic_load_explicit(&window.is_profiled, memory_order_relaxed));
}

/* ---- changes ---- */

static void note_flip(uint64_t ticks, int step, enum st_window_kind kind)
{
    uint64_t number = atomic_fetch_add_explicit(&window.flip_count, 1, memory_order_relaxed) + 1;
    struct flip *flip = &window.flips[number % ST_WINDOW_FLIPS];
    atomic_store_explicit(&flip->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    flip->ticks = ticks;
    flip->step = step;
    flip->kind = kind;
    atomic_store_explicit(&flip->number, number, memory_order_release); /* pairs with st_window_next_flip */
}

bool st_window_next_flip(struct st_window_flip *ret_flip, bool *ret_is_whole)
{
    uint64_t count = atomic_load_explicit(&window.flip_count, memory_order_acquire);
    *ret_is_whole = count - window.flips_seen <= ST_WINDOW_FLIPS;
    if (!*ret_is_whole) {
        window.flips_seen = count;
    }
    const struct flip *flip = &window.flips[(window.flips_seen + 1) % ST_WINDOW_FLIPS];
    if (window.flips_seen == count ||
        atomic_load_explicit(&flip->number, memory_order_acquire) != window.flips_seen + 1) {
        return false; /* or it is just being written */
    }
    *ret_flip = (struct st_window_flip){flip->ticks, flip->step, flip->kind};
    atomic_thread_fence(memory_order_acquire);
    *ret_is_whole = atomic_load_explicit(&flip->number, memory_order_relaxed) == window.flips_seen + 1;
    window.flips_seen++;
    return true;
}

static void set_open(struct st_thread *thread, struct st_window_request *request, bool is_open, uint64_t ticks)
{
    uint32_t number = atomic_load_explicit(&request->number, memory_order_relaxed);
    if (atomic_exchange_explicit(&request->is_open, is_open, memory_order_relaxed) == is_open) {
        return;
    }
    note_flip(ticks, is_open ? 1 : -1, ST_WINDOW_REQUESTS_STEPS);
    st_emit_mark_at(thread, ticks, is_open ? ST_MARK_WINDOW_OPEN : ST_MARK_WINDOW_CLOSE,
                    number >= LEAVING ? 0 : number, ST_WINDOW_OF_REQUEST);
}

static bool has_step(uint32_t step)
{
    return st_window_has(window.rule->steps, window.rule->step_count, step);
}

/* Where steps on this thread count. */
static struct st_window_request *request_of(const struct st_thread *thread)
{
    bool is_used = atomic_load_explicit(&st_window_is_set, memory_order_relaxed) && window.rule->step_count > 0;
    return !is_used          ? NULL
           : thread->window ? thread->window
                            : atomic_load_explicit(&window.only, memory_order_relaxed);
}

static void set_in_steps(struct st_thread *thread, struct st_window_request *request, bool is_in, uint64_t ticks)
{
    atomic_store_explicit(&request->in_steps, is_in, memory_order_relaxed);
    set_open(thread, request, is_in && request->is_wanted, ticks);
}

/* ---- requests ---- */

/* A request came or went. Whoever comes last has the last word. */
static void find_only(void)
{
    uint32_t changes = atomic_fetch_add(&window.changes, 1) + 1, seen;
    do {
        struct st_window_request *only = NULL;
        uint32_t count = 0;
        seen = changes;
        for (uint32_t i = 0; i < ST_WINDOW_REQUESTS; i++) {
            if (atomic_load(&window.requests[i].number)) {
                only = &window.requests[i];
                count++;
            }
        }
        atomic_store(&window.only, count == 1 ? only : NULL);
        changes = atomic_load(&window.changes);
    } while (changes != seen);
}

/* The process is the request only until there is one. */
static void drop_process(struct st_thread *thread)
{
    struct st_window_request *process = &window.requests[0];
    uint32_t number = PROCESS;
    if (atomic_compare_exchange_strong(&process->number, &number, LEAVING)) {
        set_in_steps(thread, process, false, st_ticks());
        atomic_store_explicit(&process->number, 0, memory_order_relaxed);
    }
}

void st_window_request_begin(struct st_thread *thread, uint32_t number)
{
    if (!atomic_load_explicit(&st_window_is_set, memory_order_relaxed) || !follows_requests()) {
        return;
    }
    drop_process(thread);
    for (uint32_t i = 0; i < ST_WINDOW_REQUESTS; i++) {
        struct st_window_request *request = &window.requests[i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong_explicit(&request->number, &none, number, memory_order_relaxed,
                                                     memory_order_relaxed)) {
            continue;
        }
        atomic_store_explicit(&request->steps, 0, memory_order_relaxed);
        request->is_wanted = window.rule->request_count == 0 ||
                             st_window_has(window.rule->requests, window.rule->request_count, number);
        thread->window = request;
        thread->window_depth = 0;
        find_only();
        set_in_steps(thread, request, window.rule->step_count == 0, st_ticks());
        return;
    }
}

static void give_up(struct st_thread *thread)
{
    atomic_store(&thread->window->number, 0);
    thread->window = NULL;
    find_only();
}

void st_window_request_end(struct st_thread *thread, uint64_t ticks)
{
    if (thread->window) {
        set_in_steps(thread, thread->window, false, ticks);
        give_up(thread);
    }
}

void st_window_thread_ended(struct st_thread *thread)
{
    if (thread->window) {
        if (atomic_exchange(&thread->window->is_open, false)) {
            note_flip(st_ticks(), -1, ST_WINDOW_REQUESTS_STEPS);
        }
        give_up(thread);
    }
}

/* ---- steps ---- */

void st_window_step_begin(struct st_thread *thread)
{
    struct st_window_request *request = request_of(thread);
    if (request) {
        uint32_t step = atomic_fetch_add_explicit(&request->steps, 1, memory_order_relaxed) + 1;
        thread->window_depth = thread->open_span_count;
        set_in_steps(thread, request, has_step(step), st_ticks());
    }
}

void st_window_step_end(struct st_thread *thread, uint64_t ticks)
{
    struct st_window_request *request = request_of(thread);
    if (request && !has_step(atomic_load_explicit(&request->steps, memory_order_relaxed) + 1)) {
        set_in_steps(thread, request, false, ticks);
    }
}

static bool is_iterated(uint32_t name)
{
    for (uint32_t i = 0; i < window.iterated_count; i++) {
        if (window.iterated[i] == name) {
            return true;
        }
    }
    return false;
}

void st_window_stage_begin(struct st_thread *thread, uint32_t name)
{
    struct st_window_request *request = request_of(thread);
    if (request && is_iterated(name)) {
        thread->window_depth = thread->open_span_count;
        uint32_t next = atomic_load_explicit(&request->steps, memory_order_relaxed) + 1;
        set_in_steps(thread, request, has_step(next), st_ticks());
    }
}

void st_window_before_mark(struct st_thread *thread, uint64_t ticks)
{
    struct st_window_request *request = request_of(thread);
    if (request) {
        uint32_t closed = atomic_fetch_add_explicit(&request->steps, 1, memory_order_relaxed) + 1;
        if (has_step(closed + 1)) {
            set_in_steps(thread, request, true, ticks);
        }
    }
}

void st_window_popped(struct st_thread *thread, uint64_t ticks)
{
    if (thread->window_depth > thread->open_span_count) {
        struct st_window_request *request = request_of(thread);
        thread->window_depth = 0;
        if (request) {
            set_in_steps(thread, request, false, ticks);
        }
    }
}

/* ---- the process ---- */

void st_window_profiler(bool is_on)
{
    if (atomic_load_explicit(&st_window_is_set, memory_order_relaxed) && window.rule->uses_profiler &&
        atomic_exchange_explicit(&window.is_profiled, is_on, memory_order_relaxed) != is_on) {
        note_flip(st_ticks(), is_on ? 1 : -1, ST_WINDOW_PROFILER);
    }
}

bool st_window_time(uint64_t now_ns, bool *ret_is_open)
{
    if (!atomic_load_explicit(&st_window_is_set, memory_order_relaxed) || !window.rule->time_count) {
        return false;
    }
    *ret_is_open = st_window_has(window.rule->times, window.rule->time_count, now_ns);
    if (atomic_load_explicit(&window.is_time, memory_order_relaxed) == *ret_is_open) {
        return false;
    }
    note_flip(st_ticks(), *ret_is_open ? 1 : -1, ST_WINDOW_TIME);
    atomic_store_explicit(&window.is_time, *ret_is_open, memory_order_relaxed);
    return true;
}

const struct st_window_rule *st_window_rule(void)
{
    return atomic_load_explicit(&st_window_is_set, memory_order_relaxed) ? window.rule : NULL;
}

/* The process as a request, as long as no rule names one. */
static void add_process(void)
{
    struct st_window_request *process = &window.requests[0];
    if (!follows_requests()) {
        return;
    }
    bool is_first = st_window_has(window.rule->requests, window.rule->request_count, 1);
    atomic_store_explicit(&process->number, PROCESS, memory_order_relaxed);
    process->is_wanted = window.has_requests ? window.rule->request_count == 0
                                             : window.rule->request_count == 0 || is_first;
    bool is_open = process->is_wanted && window.rule->step_count == 0;
    atomic_store_explicit(&process->is_open, is_open, memory_order_relaxed);
    if (is_open) {
        note_flip(0, 1, ST_WINDOW_REQUESTS_STEPS); /* no mark: it is open from the start */
    }
    find_only();
}

void st_window_set(const struct st_window_rule *rule, bool has_requests)
{
    window.rule = rule;
    window.has_requests = has_requests;
    add_process();
    atomic_store_explicit(&st_window_is_set, true, memory_order_release);
}

void st_window_add_iterated(uint32_t name)
{
    if (name && window.iterated_count < MAX_ITERATED && !is_iterated(name)) {
        window.iterated[window.iterated_count++] = name;
    }
}

/* The requests that were open are the parent's. */
void st_window_fork_child(void)
{
    if (atomic_load_explicit(&st_window_is_set, memory_order_relaxed)) {
        for (uint32_t i = 0; i < ST_WINDOW_REQUESTS; i++) {
            atomic_store_explicit(&window.requests[i].number, 0, memory_order_relaxed);
            atomic_store_explicit(&window.requests[i].is_open, false, memory_order_relaxed);
            atomic_store_explicit(&window.requests[i].steps, 0, memory_order_relaxed);
        }
        atomic_store_explicit(&window.is_time, false, memory_order_relaxed);
        atomic_store_explicit(&window.is_profiled, false, memory_order_relaxed);
        atomic_store_explicit(&window.flip_count, 0, memory_order_relaxed);
        window.flips_seen = 0;
        add_process();
    }
}
