/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's last stack is kept as (stack pointer, return address) of each frame. On x86_64 the word below that stack
 * pointer holds the return address: as long as it does, the frame is still there. So a call from the place of the one
 * before costs a few loads, and after a walk of some frames the rest is taken from what is known.
 *
 *     frames[0]  caller of the CUDA call    cfa 0x…40   word at 0x…38 is its address
 *     frames[1]  its caller                 cfa 0x…90
 *     …                                                  open[]: those of them that are stages, outermost first
 *
 * An invocation is told from the one before by the place of its frame or its return address, or because a walk in
 * between did not meet it. Two in a row from one place without a CUDA call in between outside of them are taken for
 * one.
 */
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "at_call.h"
#include "hidden.h"
#include "met.h"
#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "preload/watch/watch.h"
#include "stages.h"

#define MAX_FRAMES 512
#define MAX_OPEN 32
#define NOTES_PER_SECOND 1000 /* of a thread */

typedef int (*backtrace_fn)(int (*)(void *, void *), void *);
typedef uintptr_t (*get_cfa_fn)(void *);
typedef uintptr_t (*get_ip_fn)(void *, int *);

static struct {
    bool has_rules, follows_all, is_prepared;
    backtrace_fn backtrace;
    get_cfa_fn get_cfa;
    get_ip_fn get_ip;
    uint64_t start_ticks;
    _Atomic uint64_t generation; /* of the list of objects, as the files were read */
    _Atomic uint64_t walks, known, too_deep;
} unwind;

_Atomic bool st_unwind_active;

struct frame {
    uintptr_t cfa, ip;
    uint32_t hidden; /* st_hidden_find() */
    bool is_fixed;   /* the word below cfa is the return address */
};

struct open_stage {
    uintptr_t function, cfa, back; /* of its frame: where it begins, its caller's stack pointer, its return address */
    uint64_t token;
};

struct st_walk {
    uint32_t owner; /* thread->index: blocks are handed on */
    bool is_busy;   /* edges that are made here are no reason to look again */
    const struct st_hidden_table *table;
    uint64_t last_ticks, noted_ticks;
    uint32_t current; /* which of the two */
    uint32_t count[2];
    struct frame frames[2][MAX_FRAMES]; /* innermost first */
    uint32_t open_count;
    struct open_stage open[MAX_OPEN];
};

/* ---- start ---- */

static void at_call(struct st_thread *thread, const uint64_t *words);

void st_unwind_init(bool has_rules, bool follows_all)
{
    unwind.has_rules = has_rules;
    unwind.follows_all = follows_all;
    st_hidden_init(follows_all);
}

bool st_unwind_follows_all(void)
{
    return unwind.follows_all;
}

static bool is_wanted(void)
{
    const struct st_hidden_table *table = st_hidden_table();

    return unwind.follows_all || (table != NULL && table->count > 0);
}

const char *st_unwind_trouble(void)
{
    return unwind.is_prepared && unwind.backtrace == NULL && is_wanted()
               ? "libgcc_s.so.1, which unwinds stacks, could not be loaded"
               : "";
}

static void load_unwinder(void)
{
    void *library = st_watch_real_dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        st_watch_real_dlerror();
        return;
    }
    unwind.get_cfa = (get_cfa_fn)st_watch_real_dlsym(library, "_Unwind_GetCFA");
    unwind.get_ip = (get_ip_fn)st_watch_real_dlsym(library, "_Unwind_GetIPInfo");
    backtrace_fn backtrace = (backtrace_fn)st_watch_real_dlsym(library, "_Unwind_Backtrace");
    if (unwind.get_cfa != NULL && unwind.get_ip != NULL) unwind.backtrace = backtrace;
}

/* The list of objects has changed: a few loads if not. */
static void look_at_files(void)
{
    uint64_t generation = st_watch_generation();
    int saved_errno = errno;

    if (atomic_load_explicit(&unwind.generation, memory_order_relaxed) == generation) return;
    if (st_hidden_update()) atomic_store_explicit(&unwind.generation, generation, memory_order_relaxed);
    if (unwind.backtrace == NULL && is_wanted()) load_unwinder();
    st_unwind_active = unwind.backtrace != NULL && is_wanted();
    errno = saved_errno;
}

void st_unwind_prepare(void)
{
    if (!unwind.has_rules && !unwind.follows_all) return;
    unwind.start_ticks = st_ticks();
    unwind.is_prepared = true;
    look_at_files();
    st_at_call(at_call);
}

/* ---- the stack ---- */

/* NULL: no memory. */
static struct st_walk *walk_of(struct st_thread *thread)
{
    struct st_walk *walk = thread->walk;

    if (walk == NULL) {
        walk = st_sys_mmap(sizeof(*walk), MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (st_sys_mmap_failed(walk)) return NULL;
        thread->walk = walk;
    }
    if (walk->owner != thread->index) {
        walk->owner = thread->index;
        walk->is_busy = false;
        walk->count[0] = walk->count[1] = walk->open_count = 0;
        walk->last_ticks = unwind.start_ticks;
    }
    return walk;
}

static bool holds(uintptr_t cfa, uintptr_t ip)
{
#if defined(__x86_64__)
    return *(const uintptr_t *)(cfa - sizeof(uintptr_t)) == ip;
#else
    return false; /* the return address has no fixed place */
#endif
}

static bool is_unchanged(const struct frame *frames, uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < count; i++)
        if (!frames[i].is_fixed || !holds(frames[i].cfa, frames[i].ip)) return false;
    return true;
}

struct taking {
    struct st_walk *walk;
    const struct st_hidden_table *table;
    uintptr_t from; /* frames below are ours */
    const struct frame *before;
    uint32_t before_count, at; /* in what is known */
    struct frame *frames;
    uint32_t count;
    bool is_too_deep;
};

/* The rest of the stack is as it was. */
static bool take_rest(struct taking *taking, uintptr_t cfa, uintptr_t ip)
{
    while (taking->at < taking->before_count && taking->before[taking->at].cfa < cfa) taking->at++;
    uint32_t at = taking->at, rest = taking->before_count - at;
    if (rest == 0 || taking->before[at].cfa != cfa || taking->before[at].ip != ip ||
        taking->walk->table != taking->table || rest > MAX_FRAMES - taking->count ||
        !is_unchanged(taking->before, at, taking->before_count))
        return false;
    memcpy(&taking->frames[taking->count], &taking->before[at], rest * sizeof(taking->frames[0]));
    taking->count += rest;
    return true;
}

/* _Unwind_Trace_Fn: 0 goes on, else the walk ends. */
static int take_frame(void *context, void *arg)
{
    struct taking *taking = arg;
    int is_exact = 0; /* a signal came here: not behind a call */
    uintptr_t ip = unwind.get_ip(context, &is_exact), cfa = unwind.get_cfa(context);

    if (ip == 0 || (taking->count == 0 && cfa < taking->from)) return 0; /* beyond the last one; ours */
    if (take_rest(taking, cfa, ip)) return 1;
    if (taking->count == MAX_FRAMES) {
        taking->is_too_deep = true;
        return 1;
    }
    struct frame *frame = &taking->frames[taking->count++];
    frame->cfa = cfa;
    frame->ip = ip;
    frame->is_fixed = !is_exact && holds(cfa, ip);
    frame->hidden = taking->table != NULL ? st_hidden_find(taking->table, ip - !is_exact) : 0;
    return 0;
}

/* Bring walk->frames up to date; false: too deep to be told. `from`: where the caller's own frame begins. */
static bool look_at_stack(struct st_walk *walk, const struct st_hidden_table *table, uintptr_t from)
{
    uint32_t current = walk->current, other = current ^ 1;
    struct taking taking = {.walk = walk, .table = table, .from = from, .before = walk->frames[current],
                            .before_count = walk->count[current], .frames = walk->frames[other]};

    unwind.backtrace(take_frame, &taking);
    atomic_fetch_add_explicit(&unwind.walks, 1, memory_order_relaxed);
    walk->current = other;
    walk->count[other] = taking.is_too_deep ? 0 : taking.count;
    walk->table = table;
    if (taking.is_too_deep) atomic_fetch_add_explicit(&unwind.too_deep, 1, memory_order_relaxed);
    return !taking.is_too_deep;
}

/* ---- stages ---- */

static void leave_down_to(struct st_walk *walk, uint32_t count)
{
    while (walk->open_count > count) st_stage_leave(walk->open[--walk->open_count].token, ST_END_RETURN);
}

/* The functions of the table that are on the stack, outermost first, against those that are open. */
static void compare_stages(struct st_walk *walk, const struct st_thread *thread)
{
    const struct frame *frames = walk->frames[walk->current];
    uint32_t count = walk->count[walk->current], depth = 0;
    bool is_same = true; /* so far */

    for (uint32_t i = count; i-- > 0 && depth < MAX_OPEN;) {
        if (frames[i].hidden == 0) continue;
        const struct st_hidden *hidden = &walk->table->functions[frames[i].hidden - 1];
        struct open_stage stage = {.function = hidden->begin,
                                   .cfa = i + 1 < count ? frames[i + 1].cfa : 0,
                                   .back = i + 1 < count ? frames[i + 1].ip : 0};
        const struct open_stage *open = &walk->open[depth];
        bool is_open = is_same && depth < walk->open_count && open->function == stage.function &&
                       open->cfa == stage.cfa && open->back == stage.back;
        if (!is_open) {
            if (st_watch_is_inside(thread, hidden->rule, hidden->name)) continue; /* its thunk knows better */
            is_same = false;
            leave_down_to(walk, depth);
            stage.token = st_stage_enter(hidden->rule, hidden->name);
            walk->open[depth] = stage;
            walk->open_count = depth + 1;
        }
        depth++;
    }
    leave_down_to(walk, depth);
}

static void note_names(struct st_walk *walk, uint64_t now)
{
    if (now - walk->noted_ticks < st_ring_setup.head.ticks_per_second / NOTES_PER_SECOND) return;
    walk->noted_ticks = now;
    for (uint32_t i = 0; i < walk->count[walk->current]; i++) st_met_note(walk->frames[walk->current][i].ip);
}

static void conclude(struct st_thread *thread, struct st_walk *walk, bool is_changed)
{
    uint64_t now = st_ticks();

    if (is_changed) {
        st_span_doubt(thread, true, now - walk->last_ticks);
        compare_stages(walk, thread);
        st_span_doubt(thread, false, 0);
    }
    if (unwind.follows_all) note_names(walk, now);
    walk->last_ticks = now;
}

/* `from`, `back`: stack pointer and return address of the first frame that counts; `back` 0: not known. */
static void look(struct st_thread *thread, uintptr_t from, uintptr_t back)
{
    const struct st_hidden_table *table = st_hidden_table();

    if (!st_unwind_active || st_watch_is_blocked()) return;
    struct st_walk *walk = walk_of(thread);
    if (walk == NULL || walk->is_busy) return;
    walk->is_busy = true;
    const struct frame *first = walk->frames[walk->current];
    uint32_t count = walk->count[walk->current];
    if (back != 0 && count > 0 && walk->table == table && first->cfa == from && first->ip == back &&
        is_unchanged(first, 0, count)) {
        atomic_fetch_add_explicit(&unwind.known, 1, memory_order_relaxed);
        conclude(thread, walk, false);
    } else if (look_at_stack(walk, table, from)) {
        conclude(thread, walk, true);
    }
    walk->is_busy = false;
}

static void at_call(struct st_thread *thread, const uint64_t *words)
{
    uintptr_t from = st_watch_caller_stack(words);

    st_suppress++;
    look_at_files();
    st_suppress--;
    look(thread, from, *(const uintptr_t *)(from - sizeof(uintptr_t)));
}

void st_unwind_before_edge(void *unused)
{
    struct st_thread *thread = st_thread_current;

    if (thread != NULL && thread->ring != NULL) look(thread, (uintptr_t)__builtin_frame_address(0), 0);
}

void st_unwind_at_exit(void)
{
    struct st_thread *thread = st_thread_current;

    if (!st_unwind_active || thread == NULL || thread->ring == NULL || !st_thread_claim(thread)) return;
    st_unwind_before_edge(NULL);
    st_thread_release(thread);
}

/* ---- facts ---- */

void st_unwind_tell_seen(void)
{
    if (unwind.follows_all) st_met_tell();
}

void st_unwind_get_stats(struct st_unwind_stats *ret)
{
    ret->walks = atomic_load_explicit(&unwind.walks, memory_order_relaxed);
    ret->known = atomic_load_explicit(&unwind.known, memory_order_relaxed);
    ret->too_deep = atomic_load_explicit(&unwind.too_deep, memory_order_relaxed);
}
