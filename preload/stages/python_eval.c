/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages from the frame-evaluation hook (PEP 523), Python 3.8 to 3.11. The hook stands around the evaluation of each
 * frame: a frame that returns, yields or is unwound comes back to it. Another hook that was there is called by ours,
 * and one that comes later calls ours. From 3.12 on a hook makes RecursionError come far too early: never there. On
 * 3.11 it makes each Python call use the C stack, which Python itself does not: so it goes when the program raises its
 * recursion limit beyond 10000, or when Python calls have come down to the lower half of a thread's stack.
 *
 * A frame is not touched, nor its code object read, once it was evaluated: both may be gone.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/record/record.h"
#include "preload/watch/watch.h"
#include "python_backends.h"
#include "python_match.h"

#define MAX_RECURSION_LIMIT 10000
#define LAST_INTERPRETER_WORD_3_8 (2720 / 8) /* of its PyInterpreterState */

/* CPython's structures, without debugging fields; checked by looks_right(). */
enum {
    FRAME_CODE = 32, FRAME_GLOBALS = 48,                    /* PyFrameObject, 3.8 to 3.10 */
    FRAME_LASTI_3_8 = 104, FRAME_LASTI_3_10 = 96,           /* the last one is 3.10's; int, -1 before the start */
    OBJECT_FRAME = 24,                                      /* PyFrameObject.f_frame, 3.11 */
    INNER_GLOBALS = 8, INNER_CODE = 32, INNER_LAST = 56, INNER_OWNER = 69, /* _PyInterpreterFrame, 3.11 */
    CODE_FLAGS_3_11 = 48, THREAD_RECURSION_LIMIT_3_11 = 36,
    MAKES_GENERATOR = 0x20 | 0x80 | 0x200, /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
    OWNED_BY_THREAD = 0,                   /* enum _frameowner */
    RETURN_GENERATOR = 75,                 /* opcode */
};
#define AT(type, base, offset) (*(type const *)((const char *)(base) + (offset)))

typedef st_py (*eval_fn)(void *thread, void *frame, int is_throw);
typedef st_py (*eval_3_8_fn)(void *frame, int is_throw);

static union {
    eval_fn call;
    eval_3_8_fn call_3_8;
    void *address;
} next;
static const char *_Atomic given_up;

const char *st_python_eval_given_up(void)
{
    return atomic_load_explicit(&given_up, memory_order_relaxed);
}

static inline uint64_t known_of(st_py code, st_py globals, const void *frame)
{
    uint64_t known = st_python_known(code);
    return known ? known : st_python_first_sight(code, globals, frame, true);
}

static uint64_t enter(uint64_t known, bool is_start)
{
    struct st_thread *thread = st_thread_self();
    uint64_t token = 0;
    if (!thread || !st_thread_claim(thread)) return 0;
    if (!(known & ST_PYTHON_INSTANT)) {
        token = st_stage_enter(st_python_rule(known), st_python_name(known));
    } else if (is_start) {
        st_stage_instant(st_python_rule(known), st_python_name(known));
    }
    st_thread_release(thread);
    return token;
}

static void leave(uint64_t token, const void *result)
{
    struct st_thread *thread = st_thread_current;
    if (!token || !thread || !st_thread_claim(thread)) return;
    st_stage_leave(token, result ? ST_END_RETURN : ST_END_THROWN);
    st_thread_release(thread);
}

/* ---- the hooks ----------------------------------------------------------------------------------- */

static st_py eval_3_8(void *frame, int is_throw)
{
    uint64_t known = known_of(AT(st_py, frame, FRAME_CODE), AT(st_py, frame, FRAME_GLOBALS), frame);
    if (!(known & ST_PYTHON_MATCHED)) return next.call_3_8(frame, is_throw);
    uint64_t token = enter(known, AT(int, frame, FRAME_LASTI_3_8) == -1);
    st_py result = next.call_3_8(frame, is_throw);
    leave(token, result);
    return result;
}

static st_py eval_3_9(void *thread, void *frame, int is_throw)
{
    uint64_t known = known_of(AT(st_py, frame, FRAME_CODE), AT(st_py, frame, FRAME_GLOBALS), frame);
    if (!(known & ST_PYTHON_MATCHED)) return next.call(thread, frame, is_throw);
    int last = st_py_api.minor == 9 ? AT(int, frame, FRAME_LASTI_3_8) : AT(int, frame, FRAME_LASTI_3_10);
    uint64_t token = enter(known, last == -1);
    st_py result = next.call(thread, frame, is_throw);
    leave(token, result);
    return result;
}

/* ---- the C stack, on 3.11 ---- */

static int (*thread_attributes)(pthread_t, pthread_attr_t *); /* pthread_getattr_np, or NULL; not in every libc.so.6 */
static int (*attribute_stack)(const pthread_attr_t *, void **, size_t *);
static int (*attributes_destroy)(pthread_attr_t *);
static __thread uintptr_t stack_half; /* the middle of this thread's stack, 0 = not asked yet */

static void find_stack_functions(void)
{
    void *found[] = {st_watch_real_dlsym(RTLD_DEFAULT, "pthread_getattr_np"),
                     st_watch_real_dlsym(RTLD_DEFAULT, "pthread_attr_getstack"),
                     st_watch_real_dlsym(RTLD_DEFAULT, "pthread_attr_destroy")};
    if (!found[0] || !found[1] || !found[2]) return;
    memcpy(&attribute_stack, &found[1], sizeof(found[1]));
    memcpy(&attributes_destroy, &found[2], sizeof(found[2]));
    memcpy(&thread_attributes, &found[0], sizeof(found[0]));
}

static uintptr_t middle_of_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;

    if (!thread_attributes || thread_attributes(pthread_self(), &attributes) != 0) return 1;
    attribute_stack(&attributes, &low, &size);
    attributes_destroy(&attributes);
    return low ? (uintptr_t)low + size / 2 : 1;
}

/* Of a fiber, whose stack lies elsewhere, nothing is known: it has what is above the middle, or nothing. */
static bool has_stack(void)
{
    if (stack_half == 0) stack_half = middle_of_stack();
    return (uintptr_t)__builtin_frame_address(0) > stack_half;
}

static const char NO_STACK[] = "calls of Python functions have used up half of a thread's C stack, which Python 3.11 "
                               "needs for itself";
static const char RECURSION_LIMIT[] = "the recursion limit is above 10000, where Python 3.11 needs its C stack for "
                                      "itself";

static st_py eval_3_11(void *thread, void *frame, int is_throw);

/* Whoever set a hook after us calls us on: then we only stand aside. */
static void give_up(const char *why)
{
    void *interpreter = st_py_api.main_interpreter();
    eval_fn own = eval_3_11;
    if (st_python_eval_given_up()) return;
    atomic_store_explicit(&given_up, why, memory_order_relaxed);
    if (st_py_api.get_eval(interpreter) == *(void **)&own) st_py_api.set_eval(interpreter, next.address);
}

/* Calling a generator function evaluates its first instruction, which makes the generator: nothing is entered yet. */
static bool makes_generator_3_11(const void *frame)
{
    return (AT(int, AT(st_py, frame, INNER_CODE), CODE_FLAGS_3_11) & MAKES_GENERATOR) &&
           AT(char, frame, INNER_OWNER) == OWNED_BY_THREAD;
}

static bool is_start_3_11(const void *frame)
{
    if (AT(char, frame, INNER_OWNER) == OWNED_BY_THREAD) return true;
    return *AT(const unsigned char *, frame, INNER_LAST) == RETURN_GENERATOR; /* the last instruction that it ran */
}

static st_py eval_3_11(void *thread, void *frame, int is_throw)
{
    if (__builtin_expect(AT(int, thread, THREAD_RECURSION_LIMIT_3_11) > MAX_RECURSION_LIMIT, 0)) {
        give_up(RECURSION_LIMIT);
        return next.call(thread, frame, is_throw);
    }
    if (__builtin_expect(!has_stack(), 0)) {
        give_up(NO_STACK);
        return next.call(thread, frame, is_throw);
    }
    uint64_t known = known_of(AT(st_py, frame, INNER_CODE), AT(st_py, frame, INNER_GLOBALS), frame);
    if (!(known & ST_PYTHON_MATCHED) || makes_generator_3_11(frame)) return next.call(thread, frame, is_throw);
    uint64_t token = enter(known, is_start_3_11(frame));
    st_py result = next.call(thread, frame, is_throw);
    leave(token, result);
    return result;
}

/* ---- installing ---------------------------------------------------------------------------------- */

/* Are the fields of a frame where this file takes them from? */
static bool looks_right(st_py frame)
{
    st_py code = st_py_api.attribute_named(frame, "f_code"), globals = st_py_api.attribute_named(frame, "f_globals");
    bool is_right = code && globals;
    if (is_right && st_py_api.minor < 11) {
        is_right = AT(st_py, frame, FRAME_CODE) == code && AT(st_py, frame, FRAME_GLOBALS) == globals;
    } else if (is_right) {
        const void *inner = AT(void *, frame, OBJECT_FRAME);
        is_right = AT(st_py, inner, INNER_CODE) == code && AT(st_py, inner, INNER_GLOBALS) == globals &&
                   AT(int, st_py_api.this_thread(), THREAD_RECURSION_LIMIT_3_11) == st_py_api.recursion_limit();
    }
    if (code) st_py_api.drop(code);
    if (globals) st_py_api.drop(globals);
    return is_right;
}

/* 3.8 has no function for it: the place is where the interpreter's own evaluation stands. */
static void **slot_3_8(void)
{
    void **words = st_py_api.main_interpreter(), **found = NULL, *own;
    eval_fn function = st_py_api.eval_default;
    own = *(void **)&function;
    for (int i = 0; own && i < LAST_INTERPRETER_WORD_3_8; i++) {
        if (words[i] != own) continue;
        if (found) return NULL;
        found = &words[i];
    }
    return found;
}

static const char *refusal(void)
{
    bool needs_functions = st_py_api.minor > 8;
    if (st_py_api.minor > 11) return "the frame-evaluation hook harms Python 3.12 and newer";
    if (needs_functions && (!st_py_api.set_eval || !st_py_api.get_eval || !st_py_api.recursion_limit))
        return "this Python does not export its frame-evaluation hook";
    if (!needs_functions && !slot_3_8()) return "another frame-evaluation hook is set, which Python 3.8 can not chain";
    if (st_py_api.minor == 11 && st_py_api.recursion_limit() > MAX_RECURSION_LIMIT)
        return RECURSION_LIMIT;
    return NULL;
}

enum st_python_installed st_python_eval_install(const char **ret_why)
{
    st_py frame = st_py_api.frame();
    if (!frame) return ST_PYTHON_NOT_YET; /* no Python code runs: nothing to check the fields by */
    *ret_why = refusal();
    if (!*ret_why && !looks_right(frame)) *ret_why = "this Python's frames have another layout";
    if (!*ret_why && !st_python_match_init()) *ret_why = "this Python's code objects can not be marked";
    st_py_api.clear_error();
    if (*ret_why) return ST_PYTHON_REFUSED;
    if (st_py_api.minor == 8) {
        void **slot = slot_3_8();
        eval_3_8_fn function = eval_3_8;
        next.address = *slot;
        *slot = *(void **)&function;
    } else {
        find_stack_functions();
        atomic_store_explicit(&given_up, NULL, memory_order_relaxed);
        eval_fn function = st_py_api.minor == 11 ? eval_3_11 : eval_3_9;
        void *interpreter = st_py_api.main_interpreter();
        next.address = st_py_api.get_eval(interpreter);
        st_py_api.set_eval(interpreter, *(void **)&function);
    }
    return ST_PYTHON_INSTALLED;
}
