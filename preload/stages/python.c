/* SPDX-License-Identifier: Apache-2.0 */
/* Which way to follow Python, and when to install it; see python.h. */
#include "python.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "preload/record/record.h"
#include "preload/watch/watch.h"
#include "python_api.h"
#include "python_backends.h"
#include "python_facts.h"
#include "python_frames.h"
#include "python_match.h"
#include "python_walk.h"
#include "stages.h"

enum way { WAY_NONE, WAY_MONITORING, WAY_EVAL, WAY_WALK };
static const char *const WAYS[] = {"no hook", "sys.monitoring", "frame-evaluation hook",
                                   "frames read at CUDA calls"};

static struct {
    enum st_python_choice choice;
    uint64_t start_ticks;
    atomic_flag is_busy;    /* somebody looks for Python or installs */
    _Atomic bool is_found;  /* st_py_api is filled */
    _Atomic bool is_dead;   /* no Python that we can follow */
    _Atomic bool is_over;   /* for stages nothing is to be done any more: installed, or for ever impossible */
    _Atomic bool are_frames_over; /* for names neither */
    _Atomic int way;        /* enum way */
    _Atomic bool is_asked;  /* a call in the main thread is pending */
    bool knows_end;         /* we are told when the interpreter ends; while busy */
    const char *_Atomic why; /* why there is no hook */
    const char *_Atomic note, *_Atomic description;
} python = {.is_busy = ATOMIC_FLAG_INIT};

/* Are stages to be found? */
static bool is_wanted(void)
{
    return python.choice != ST_PY_OFF && st_stages_wants_python();
}

/* ---- choosing ------------------------------------------------------------------------------------ */

static void describe(enum way way)
{
    static char texts[sizeof(WAYS) / sizeof(WAYS[0])][96];
    snprintf(texts[way], sizeof(texts[way]), "%s: %s", st_py_api.version_text, WAYS[way]);
    atomic_store_explicit(&python.description, texts[way], memory_order_release);
}

static enum way best_way(void)
{
    return st_py_api.minor >= 12 ? WAY_MONITORING : WAY_EVAL;
}

/* One line for who asked for something else, or who gets less than usual. */
static void note(enum way way, const char *why)
{
    static char texts[sizeof(WAYS) / sizeof(WAYS[0])][256];
    static const char *const ASKED[] = {[ST_PY_AUTO] = "auto", [ST_PY_MONITORING] = "monitoring", [ST_PY_EVAL] = "eval",
                                        [ST_PY_WALK] = "walk", [ST_PY_OFF] = "off"};
    snprintf(texts[way], sizeof(texts[way]), "STAGETAP_PY=%s: Python %s: %s; using %s", ASKED[python.choice],
             st_py_api.version_text, why, WAYS[way]);
    atomic_store_explicit(&python.note, texts[way], memory_order_release);
}

static void settle(enum way way, const char *why)
{
    if (way == WAY_NONE) atomic_store_explicit(&python.why, why, memory_order_relaxed);
    if (why) note(way, why);
    describe(way);
    atomic_store_explicit(&python.way, way, memory_order_relaxed);
    atomic_store_explicit(&python.is_over, true, memory_order_release);
}

static enum st_python_installed install_way(enum way way, const char **ret_why)
{
    switch (way) {
    case WAY_MONITORING:
        return st_python_monitoring_install(ret_why);
    case WAY_EVAL:
        return st_python_eval_install(ret_why);
    default:
        return st_python_frames_prepare(ret_why);
    }
}

/* With the GIL. */
static void install(void)
{
    const char *why = NULL, *refused = NULL;
    enum way way = python.choice == ST_PY_WALK ? WAY_WALK : best_way();
    enum st_python_installed installed;

    if (python.choice == ST_PY_MONITORING && way != WAY_MONITORING) why = "sys.monitoring came with Python 3.12";
    if (python.choice == ST_PY_EVAL && way != WAY_EVAL)
        why = "from 3.12 on a frame-evaluation hook makes RecursionError come too early";
    installed = install_way(way, &refused);
    if (installed == ST_PYTHON_REFUSED && way != WAY_WALK) {
        way = WAY_WALK;
        why = refused;
        installed = install_way(way, &refused);
    }
    if (installed == ST_PYTHON_NOT_YET) return;
    if (installed == ST_PYTHON_REFUSED) {
        way = WAY_NONE;
        why = refused;
    }
    settle(way, why);
    if (way == WAY_MONITORING) st_python_monitoring_adopt(st_ticks() - python.start_ticks);
    if (way == WAY_WALK) st_python_walk_for_stages(python.start_ticks);
}

/* With the GIL: names of frames, which also serve where a hook is given up later. */
static void use_frames(void)
{
    const char *why;
    switch (st_python_frames_prepare(&why)) {
    case ST_PYTHON_NOT_YET:
        return;
    case ST_PYTHON_REFUSED:
        atomic_store_explicit(&python.are_frames_over, true, memory_order_relaxed);
        return;
    case ST_PYTHON_INSTALLED:
        st_python_walk_for_names();
        st_python_frames_find_main();
        if (st_python_frames_has_main())
            atomic_store_explicit(&python.are_frames_over, true, memory_order_relaxed);
    }
}

/* ---- moments ------------------------------------------------------------------------------------- */

static bool find(void)
{
    const char *why = NULL;
    if (atomic_load_explicit(&python.is_found, memory_order_relaxed)) return true;
    if (!st_py_find(&why)) {
        if (why) {
            atomic_store_explicit(&python.why, why, memory_order_relaxed);
            atomic_store_explicit(&python.is_dead, true, memory_order_release);
        }
        return false;
    }
    st_stages_add_python();
    describe(WAY_NONE);
    atomic_store_explicit(&python.is_found, true, memory_order_release);
    return true;
}

/* Py_Finalize() is done: what was installed is gone. A program that embeds Python may initialise it again. */
static void when_finalized(void)
{
    python.knows_end = false;
    st_python_match_forget();
    st_python_facts_forget();
    st_python_frames_forget_main();
    atomic_store_explicit(&python.are_frames_over, false, memory_order_relaxed);
    atomic_store_explicit(&python.is_over, false, memory_order_release);
}

/* The calling thread holds the GIL: do what waits for that. */
static void use_moment(void)
{
    struct st_watch_provider provider;
    st_py type, value, traceback;
    st_py_api.fetch_error(&type, &value, &traceback);
    if (!python.knows_end) python.knows_end = st_py_api.at_exit(when_finalized) == 0;
    if (is_wanted() && !atomic_load_explicit(&python.is_over, memory_order_relaxed)) install();
    if (!atomic_load_explicit(&python.are_frames_over, memory_order_relaxed)) use_frames();
    if (st_watch_get_provider(0, &provider)) st_python_facts_look();
    st_py_api.restore_error(type, value, traceback);
}

static int when_asked(void *unused)
{
    st_python_on_dlopen();
    return 0;
}

/* Is a moment of use? Names and facts only matter where CUDA is, and facts are never complete. */
static bool waits(void)
{
    struct st_watch_provider provider;
    if (python.choice == ST_PY_OFF || atomic_load_explicit(&python.is_dead, memory_order_relaxed)) return false;
    if (is_wanted() && !atomic_load_explicit(&python.is_over, memory_order_relaxed)) return true;
    return st_watch_get_provider(0, &provider);
}

/* Look for Python, and use the moment if it is one. False: a thread without the GIL. */
static bool look(void)
{
    int saved_errno = errno;
    bool has_gil = true;

    if (!waits() || atomic_flag_test_and_set_explicit(&python.is_busy, memory_order_acquire)) return true;
    if (find() && st_py_api.is_initialized()) {
        has_gil = st_py_has_gil();
        if (has_gil) use_moment();
    }
    atomic_flag_clear_explicit(&python.is_busy, memory_order_release);
    errno = saved_errno;
    return has_gil;
}

void st_python_on_dlopen(void)
{
    look();
}

void st_python_on_first_call(void)
{
    if (!look() && !atomic_exchange_explicit(&python.is_asked, true, memory_order_relaxed))
        st_py_api.add_pending(when_asked, NULL);
}

void st_python_end(void)
{
    st_python_walk_end();
}

void st_python_start(enum st_python_choice choice)
{
    python.choice = choice;
    if (!is_wanted()) return; /* the clock is for stages only */
    st_clock_init();
    python.start_ticks = st_ticks();
}

/* ---- facts --------------------------------------------------------------------------------------- */

void st_python_get_stats(struct st_python_stats *ret)
{
    *ret = (struct st_python_stats){.codes = st_python_matched_codes(),
                                    .mismatches = st_python_monitoring_mismatches()};
}

const char *st_python_description(void)
{
    if (st_python_eval_given_up()) describe(WAY_WALK);
    return atomic_load_explicit(&python.description, memory_order_acquire);
}

const char *st_python_note(void)
{
    if (st_python_eval_given_up()) note(WAY_WALK, st_python_eval_given_up());
    return atomic_load_explicit(&python.note, memory_order_acquire);
}

enum st_capability_state st_python_state(const char **ret_why)
{
    const char *why = atomic_load_explicit(&python.why, memory_order_relaxed);
    *ret_why = why ? why : "there is no CPython in the process";
    if (python.choice == ST_PY_OFF) *ret_why = "STAGETAP_PY=off";
    if (why || python.choice == ST_PY_OFF || !atomic_load_explicit(&python.is_found, memory_order_relaxed))
        return ST_CAP_NOT_COLLECTED;
    if (atomic_load_explicit(&python.way, memory_order_relaxed) == WAY_NONE) {
        *ret_why = "there was no moment to install a hook";
        return ST_CAP_REQUESTED;
    }
    *ret_why = st_python_matched_codes() ? "no call of a matched function" : "no function of that name was called";
    return ST_CAP_ACCEPTED;
}
