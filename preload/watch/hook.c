/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when a thunk is entered and left. Argument and return vector registers of an unknown
 * function are live here: this file is compiled for general registers only and calls no libc on the
 * recorded path. Plain C is allowed around CUDA calls that are not recorded in one stroke (first call,
 * look-ups, names): no CUDA function has vector arguments or results.
 *
 * Budget: a recorded call costs at most 1.6 times its two clock readings (tests/bench).
 *
 * The shadow stack (struct st_call_frame) says what is open on this thread. Live entries have strictly
 * falling stack pointers, so one at or below the current pointer was left by longjmp: it is closed late.
 * An exception closes entries on its way (st_watch_personality).
 */
#include "frame.h"
#include "watch_private.h"

#include "preload/calls/capture.h"
#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "preload/record/window.h"

enum {
    UNWIND_CLEANUP_PHASE = 2, /* _UA_CLEANUP_PHASE */
    UNWIND_CONTINUE = 8,      /* _URC_CONTINUE_UNWIND */
    NOT_RECORDED = 1 << 16, /* beside enum st_call_flags */
    OUT_OF_WINDOW = 1 << 15, /* of a frame: its call leaves no record */
};
#define ONE_STACK_SPAN (256ul << 10) /* frames farther apart than this are taken to lie on different stacks */
#define MAIN_STACK_SPAN (64ul << 20) /* an address so far below the top is certainly on the main stack */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uintptr_t stack_pointer(const uint64_t *frame)
{
    return (uintptr_t)&frame[ST_CALL_FRAME_STACK];
}

static void count_nested(struct st_thread *thread)
{
    uint64_t nested = atomic_load_explicit(&thread->ring->nested, memory_order_relaxed);
    atomic_store_explicit(&thread->ring->nested, nested + 1, memory_order_relaxed); /* one writer */
}

/* ---- the shadow stack -------------------------------------------------------------------------- */

static void close_last(struct st_thread *thread, enum st_span_end how)
{
    const struct st_call_frame *frame = &thread->frames[--thread->frame_count];
    const struct st_watch_target *target = frame->target;
    thread->runtime_depth = frame->runtime_depth;
    thread->driver_depth = frame->driver_depth;
    if (target->kind == ST_TARGET_STAGE) {
        st_watch.hooks.stage_leave(frame->begin_ticks, how);
    }
}

/* Left by longjmp: at or below a live place of the same stack. Far away it is another stack (a fiber, a signal
 * stack), whose frames are alive. */
static inline bool is_abandoned(const struct st_call_frame *frame, uintptr_t live)
{
    return frame->stack < live && live - frame->stack < ONE_STACK_SPAN;
}

static void __attribute__((noinline)) close_abandoned(struct st_thread *thread, uintptr_t live)
{
    while (thread->frame_count && is_abandoned(&thread->frames[thread->frame_count - 1], live)) {
        close_last(thread, ST_END_ABANDONED);
        st_watch_count(&st_watch.abandoned);
    }
}

/* Room for an entry at `stack`, with what was left by longjmp closed; NULL: too deep. */
static inline struct st_call_frame *open_frame(struct st_thread *thread, uintptr_t stack)
{
    if (LIKELY(thread->frame_count)) {
        if (UNLIKELY(is_abandoned(&thread->frames[thread->frame_count - 1], stack + 1))) {
            close_abandoned(thread, stack + 1);
        }
    }
    if (UNLIKELY(thread->frame_count == ST_MAX_FRAMES)) {
        st_watch_count(&st_watch.too_deep);
        return NULL;
    }
    return &thread->frames[thread->frame_count];
}

/* Entries of other stacks (fibers) may lie above the one that returns. */
static struct st_call_frame *__attribute__((noinline)) bring_to_top(struct st_thread *thread, uintptr_t stack)
{
    for (uint32_t i = thread->frame_count; i-- > 0;) {
        if (thread->frames[i].stack == stack) {
            struct st_call_frame *top = &thread->frames[thread->frame_count - 1], found = thread->frames[i];
            thread->frames[i] = *top;
            *top = found;
            return top;
        }
    }
    return NULL;
}

/* The entry made at `stack`, now the last one; NULL: it is not there (a forked child, closed by an exception). */
static inline struct st_call_frame *returning_frame(struct st_thread *thread, uintptr_t stack)
{
    if (UNLIKELY(!thread || !thread->frame_count)) {
        return NULL;
    }
    if (UNLIKELY(thread->frames[thread->frame_count - 1].stack != stack)) {
        close_abandoned(thread, stack);
        return bring_to_top(thread, stack);
    }
    return &thread->frames[thread->frame_count - 1];
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* Nothing was recorded so far. False: nothing shall be recorded of this call either. */
static bool __attribute__((noinline)) first_call(const struct st_watch_target *target, const uint64_t *frame)
{
    if (target->row->quiet) {
        uint64_t key;
        const char *text;
        st_call_name(target->row, frame, 0, &key, &text);
        return false;
    }
    if (!atomic_exchange_explicit(&st_watch.is_first_done, true, memory_order_acq_rel)) {
        st_watch_scan();
        if (st_watch.hooks.on_first_call) {
            st_watch.hooks.on_first_call();
        }
    }
    return true;
}

/* The outermost runtime call in progress learns that a driver call was seen inside. */
static void mark_runtime_call(struct st_thread *thread)
{
    for (uint32_t i = thread->frame_count; i-- > 0;) {
        struct st_call_frame *frame = &thread->frames[i];
        const struct st_watch_target *target = frame->target;
        if (target->kind == ST_TARGET_CALL && target->row->layer == ST_LAYER_RUNTIME && frame->runtime_depth == 0) {
            frame->flags |= ST_CALL_HAS_INNER;
            return;
        }
    }
}

/* Words to pass on, or ST_WATCH_JUMP. The thread is claimed. */
static inline int64_t open_call(struct st_thread *thread, const struct st_watch_target *target, uint64_t *words)
{
    const struct st_call_row *row = target->row;
    bool is_driver = row->layer == ST_LAYER_DRIVER;
    struct st_call_frame *frame = open_frame(thread, stack_pointer(words));
    bool is_nested = (is_driver ? thread->driver_depth : thread->runtime_depth) != 0;
    if (UNLIKELY(!frame || is_nested)) {
        count_nested(thread);
        if (!frame || !target->comes_back) {
            return ST_WATCH_JUMP;
        }
    }
    void (*before_call)(struct st_thread *, const uint64_t *);
    before_call = __atomic_load_n(&st_watch.hooks.before_call, __ATOMIC_RELAXED);
    if (UNLIKELY(before_call != NULL) && (thread->runtime_depth | thread->driver_depth) == 0) {
        before_call(thread, words);
    }
    frame->flags = 0;
    if (is_driver && thread->runtime_depth) {
        frame->flags = ST_CALL_INNER;
        if (row->class_id != ST_CLASS_LOOKUP) {
            mark_runtime_call(thread);
        }
    }
    if (UNLIKELY(atomic_load_explicit(&st_window_is_set, memory_order_relaxed)) && !st_window_holds(thread)) {
        frame->flags |= OUT_OF_WINDOW;
    }
    frame->target = target;
    frame->stack = stack_pointer(words);
    frame->span = thread->span;
    frame->runtime_depth = thread->runtime_depth;
    frame->driver_depth = thread->driver_depth;
    thread->frame_count++;
    thread->driver_depth += is_driver;
    thread->runtime_depth += !is_driver;
    if (UNLIKELY(target->is_around)) {
        if (row->class_id == ST_CLASS_SYNC) {
            frame->cpu_ns = st_sys_thread_cpu_ns();
        } else if (!is_nested) {
            st_host_pass(thread, row, words);
        }
    }
    frame->begin_ticks = st_ticks();
    return target->stack_words;
}

static inline int64_t enter_call(const struct st_watch_target *target, uint64_t *words)
{
    if (UNLIKELY(st_suppress)) {
        return ST_WATCH_JUMP;
    }
    if (UNLIKELY(!atomic_load_explicit(&st_watch.is_first_done, memory_order_relaxed)) && !first_call(target, words)) {
        return ST_WATCH_JUMP;
    }
    struct st_thread *thread = st_thread_self();
    if (UNLIKELY(!thread)) {
        return ST_WATCH_JUMP;
    }
    if (UNLIKELY(!st_thread_claim(thread))) {
        return ST_WATCH_JUMP;
    }
    int64_t count = open_call(thread, target, words);
    st_thread_release(thread);
    return count;
}

static bool is_in_lookup(const struct st_thread *thread)
{
    for (uint32_t i = thread->frame_count; i-- > 0;) {
        const struct st_watch_target *target = thread->frames[i].target;
        if (target->kind == ST_TARGET_CALL && target->row->pointer) {
            return true;
        }
    }
    return false;
}

/* What a call means beyond its record; its own entry is popped. `flags`: enum st_call_flags of its record. */
static void __attribute__((noinline)) after_special_call(struct st_thread *thread, const struct st_watch_target *target,
                                                         const uint64_t *words, int result, uint32_t flags)
{
    const struct st_call_row *row = target->row;
    if (row->does == ST_DOES_BEGIN_CAPTURE && flags != NOT_RECORDED) {
        struct st_call_note note = {.flags = flags};
        st_call_decode(row, words, result, &note);
        st_capture_begin(thread, row, result, &note);
    }
    if (row->pointer) {
        st_watch_after_lookup(target, words, result, is_in_lookup(thread));
    }
    if (row->names) {
        uint64_t key;
        const char *text;
        if (st_call_name(row, words, result, &key, &text)) {
            st_emit_name(thread, row->names, key, text);
        }
    }
    if (row->mark) {
        st_emit_mark(thread, row->mark, 0, 0);
        st_window_profiler(row->mark == ST_MARK_PROFILER_START);
    }
    if (row->host && result == 0) {
        st_host_answer(row, words);
    }
    if (row->init && result == 0 && !atomic_exchange_explicit(&st_watch.is_init_told, true, memory_order_acq_rel) &&
        st_watch.hooks.on_init) {
        st_watch.hooks.on_init();
    }
}

static inline void close_call(struct st_thread *thread, const struct st_watch_target *target, const uint64_t *words,
                              uint64_t value, uint64_t end_ticks)
{
    struct st_call_frame *frame = returning_frame(thread, stack_pointer(words));
    if (UNLIKELY(!frame)) {
        return;
    }
    const struct st_call_row *row = target->row;
    thread->frame_count--; /* the entry stays readable until something else is entered */
    thread->runtime_depth = frame->runtime_depth;
    thread->driver_depth = frame->driver_depth;
    int result = row->no_result ? 0 : (int)value;
    bool is_outermost = (row->layer == ST_LAYER_DRIVER ? frame->driver_depth : frame->runtime_depth) == 0;
    if (LIKELY(is_outermost)) {
        bool is_recorded = !(frame->flags & OUT_OF_WINDOW);
        struct st_call_note note = {.flags = frame->flags & ~(uint32_t)OUT_OF_WINDOW};
        st_call_decode(row, words, result, &note);
        if (UNLIKELY(target->is_around)) {
            if (row->class_id == ST_CLASS_SYNC) {
                note.d = st_sys_thread_cpu_ns() - frame->cpu_ns;
            } else if (row->class_id == ST_CLASS_HOST_FUNC) {
                note.a = st_host_unwrap(note.a);
            }
        }
        if (UNLIKELY(atomic_load_explicit(&st_captures_open, memory_order_relaxed) != 0)) {
            st_capture_after_call(thread, row, result, &note);
        }
        if (LIKELY(is_recorded)) {
            st_emit_call(thread, target->call, frame->begin_ticks, end_ticks, frame->span, result, &note);
        }
    }
    if (UNLIKELY(target->is_special)) {
        after_special_call(thread, target, words, result,
                           is_outermost ? frame->flags & ~(uint32_t)OUT_OF_WINDOW : NOT_RECORDED);
    }
}

static inline void leave_call(const struct st_watch_target *target, const uint64_t *words, uint64_t value)
{
    uint64_t end_ticks = st_ticks();
    struct st_thread *thread = st_thread_current;
    if (LIKELY(thread != NULL) && LIKELY(st_thread_claim(thread))) { /* wiped by a fork: no frame is found */
        close_call(thread, target, words, value, end_ticks);
        st_thread_release(thread);
    }
}

/* ---- stages ------------------------------------------------------------------------------------ */

/* How many of the wanted words above `stack` exist: a thread's first frames lie close to its stack's end. */
static int64_t readable_words(uintptr_t stack, uint32_t wanted)
{
    uintptr_t end = stack + 8ul * wanted, top = st_watch.main_stack_top;
    if (stack < top && top - stack < MAIN_STACK_SPAN) {
        return end <= top ? wanted : (int64_t)((top - stack) / 8);
    }
    for (uintptr_t page = (stack | (ST_SMALLEST_PAGE - 1)) + 1; page < end; page += ST_SMALLEST_PAGE) {
        if (!st_sys_is_readable(page)) {
            return (int64_t)((page - stack) / 8);
        }
    }
    return wanted;
}

/* Words that hold all arguments of the call that are on the stack, or ST_WATCH_JUMP: nobody knows where they end. */
static int64_t argument_words(struct st_watch_target *target, const uint64_t *words)
{
    struct st_frame_call call = {.stack = stack_pointer(words),
                                 .return_address = words[ST_CALL_FRAME_STACK - 1],
                                 .frame_pointer = words[ST_CALL_FRAME_STACK - 2]};
    st_watch_call_saved(st_frame_measure, &call);
    if (call.ret_words <= ST_STAGE_FRAME_WORDS) {
        return (int64_t)call.ret_words;
    }
    if (target->has_small_arguments || call.ret_is_libc) {
        return readable_words(call.stack, ST_STAGE_STACK_WORDS);
    }
    st_watch_count(&st_watch.unbounded);
    atomic_fetch_add_explicit(&target->unbounded, 1, memory_order_relaxed);
    return ST_WATCH_JUMP;
}

/* `thread` may be NULL: the stage's first event makes its block. */
static int64_t open_stage(struct st_thread *thread, struct st_watch_target *target, const uint64_t *words)
{
    uintptr_t stack = stack_pointer(words);
    if (thread && !open_frame(thread, stack)) {
        return ST_WATCH_JUMP;
    }
    int64_t count = argument_words(target, words);
    if (count == ST_WATCH_JUMP) {
        return ST_WATCH_JUMP;
    }
    uint64_t token = st_watch.hooks.stage_enter(target->rule, target->symbol);
    if (token == ST_WATCH_BYPASS) {
        return ST_WATCH_JUMP;
    }
    thread = st_thread_self();
    struct st_call_frame *frame = thread ? open_frame(thread, stack) : NULL;
    if (!frame) {
        st_watch.hooks.stage_leave(token, ST_END_RETURN);
        return ST_WATCH_JUMP;
    }
    frame->target = target;
    frame->stack = stack;
    frame->begin_ticks = token;
    frame->span = thread->span;
    frame->flags = 0;
    frame->runtime_depth = thread->runtime_depth;
    frame->driver_depth = thread->driver_depth;
    thread->frame_count++;
    return count;
}

static int64_t __attribute__((noinline)) enter_stage(struct st_watch_target *target, const uint64_t *words)
{
    struct st_thread *thread = st_thread_current;
    thread = thread && thread->ring ? thread : NULL;
    if (st_suppress || !st_watch.hooks.stage_enter || !st_watch.hooks.stage_leave ||
        (thread && !st_thread_claim(thread))) {
        return ST_WATCH_JUMP;
    }
    int64_t count = open_stage(thread, target, words);
    if (thread) {
        st_thread_release(thread);
    }
    return count;
}

static void __attribute__((noinline)) leave_stage(const uint64_t *words)
{
    struct st_thread *thread = st_thread_current;
    if (thread && st_thread_claim(thread)) {
        if (returning_frame(thread, stack_pointer(words))) {
            close_last(thread, ST_END_RETURN);
        }
        st_thread_release(thread);
    }
}

/* ---- host functions, on a thread of the driver -------------------------------------------------- */

static int64_t __attribute__((noinline)) enter_host(const struct st_watch_target *target, const uint64_t *words)
{
    struct st_thread *thread = st_thread_self();
    if (!thread || !st_thread_claim(thread)) {
        return ST_WATCH_JUMP;
    }
    struct st_call_frame *frame = open_frame(thread, stack_pointer(words));
    if (frame) {
        *frame = (struct st_call_frame){.target = target,
                                        .stack = stack_pointer(words),
                                        .span = thread->span,
                                        .runtime_depth = thread->runtime_depth,
                                        .driver_depth = thread->driver_depth};
        thread->frame_count++;
        frame->begin_ticks = st_ticks();
    }
    st_thread_release(thread);
    return frame ? 0 : ST_WATCH_JUMP;
}

static void __attribute__((noinline)) leave_host(const struct st_watch_target *target, const uint64_t *words)
{
    uint64_t end_ticks = st_ticks();
    struct st_thread *thread = st_thread_current;
    if (thread && st_thread_claim(thread)) {
        struct st_call_frame *frame = returning_frame(thread, stack_pointer(words));
        if (frame) {
            close_last(thread, ST_END_RETURN);
            st_emit_host_run(thread, (uintptr_t)target->real, words[target->argument], frame->begin_ticks, end_ticks);
        }
        st_thread_release(thread);
    }
}

/* ---- called by the thunk ------------------------------------------------------------------------ */

int64_t st_watch_enter(struct st_watch_target *target, uint64_t *frame)
{
    if (LIKELY(target->kind == ST_TARGET_CALL)) {
        return enter_call(target, frame);
    }
    return target->kind == ST_TARGET_STAGE ? enter_stage(target, frame) : enter_host(target, frame);
}

void st_watch_leave(struct st_watch_target *target, const uint64_t *frame, uint64_t result)
{
    if (LIKELY(target->kind == ST_TARGET_CALL)) {
        leave_call(target, frame, result);
    } else if (target->kind == ST_TARGET_STAGE) {
        leave_stage(frame);
    } else {
        leave_host(target, frame);
    }
}

/* Phase 2 of unwinding passes each thunk's frame once, innermost first: close its entry and let it go on.
 * No landing pad, and no symbol of the unwinder is needed. */
int st_watch_personality(int version, int actions, uint64_t exception_class, void *exception, void *context)
{
    struct st_thread *thread = st_thread_current;
    if ((actions & UNWIND_CLEANUP_PHASE) && thread && thread->frame_count) {
        close_last(thread, ST_END_THROWN);
        st_watch_count(&st_watch.thrown);
    }
    return UNWIND_CONTINUE;
}
