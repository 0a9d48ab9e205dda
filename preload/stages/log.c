/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From matched lines to stages. A thread that makes CUDA calls applies its lines at once. Before its first CUDA call,
 * and from a thread that makes none (a logger's), lines are posted: whoever makes the next CUDA call applies them then,
 * for the instant at which they were printed. So no process that does not use CUDA gets a trace for what it prints.
 *
 *   printed by   a thread with CUDA calls   that thread, at once; other threads that print no matched line follow its
 *                                           stages, not its requests and steps, and are no entries of their own
 *                a thread without           itself at its first CUDA call, or other threads that print no matched line:
 *                                           requests, steps and entries once, whoever comes first; its stages each
 *   by several threads                      each for itself
 *
 * Posts are a ring that is written by any thread without a lock. A reader that is more than POSTS behind loses the
 * oldest.
 */
#include "log.h"

#include "log_private.h"
#include "at_call.h"
#include "preload/record/clock.h"
#include "preload/record/record.h"

enum { POSTS = 64, FIRST_POST = 1, MAX_FUNCTIONS = 64 };
enum { LAUNCHER = UINT32_MAX }; /* no thread's id */

static struct post {
    _Atomic uint64_t ready; /* its number + 1 once it is whole */
    _Atomic uint64_t at_ticks, late_ticks;
    _Atomic uint32_t name, rule, printer; /* printer: thread id */
    _Atomic bool is_applied;              /* requests and steps: by somebody, for all */
    _Atomic bool is_printers;             /* applied by the thread that printed it */
} posts[POSTS];
static _Atomic uint64_t post_count;
static _Atomic uint32_t printer_count; /* threads that posted something */

static struct st_watch_redirected redirected;
static bool is_teed; /* lines come from the launcher instead (log_tee.c) */

/* A post as it was read. */
struct read_post {
    struct post *post;
    struct st_stage_match match;
    uint64_t at_ticks, late_ticks;
    uint32_t printer;
    enum st_map_role role;
    bool is_printers;
};

/* ---- posting ---- */

/* Returns its number. */
static uint64_t post(uint32_t printer, const struct st_stage_match *match, uint64_t at_ticks, uint64_t late_ticks,
                     bool is_applied)
{
    uint64_t n = atomic_fetch_add_explicit(&post_count, 1, memory_order_relaxed);
    struct post *to = &posts[n % POSTS];

    atomic_store_explicit(&to->ready, 0, memory_order_relaxed);
    atomic_store_explicit(&to->at_ticks, at_ticks, memory_order_release);
    atomic_store_explicit(&to->late_ticks, late_ticks, memory_order_release);
    atomic_store_explicit(&to->name, match->name, memory_order_release);
    atomic_store_explicit(&to->rule, match->rule, memory_order_release);
    atomic_store_explicit(&to->printer, printer, memory_order_release);
    atomic_store_explicit(&to->is_applied, is_applied, memory_order_release);
    atomic_store_explicit(&to->is_printers, is_applied, memory_order_release);
    atomic_store_explicit(&to->ready, n + 1, memory_order_release);
    return n;
}

/* The launcher is a printer like a thread that makes no CUDA calls. */
static void post_copied(const struct st_stage_match *match, uint64_t at_ticks, uint64_t late_ticks)
{
    st_stages_count(match->rule);
    post(LAUNCHER, match, at_ticks, late_ticks, false);
}

/* False: it is being written, or was overwritten: whoever sees a later value of a field sees that `ready` has
 * changed. */
static bool read_post(uint64_t n, struct read_post *ret)
{
    struct post *from = &posts[n % POSTS];

    if (atomic_load_explicit(&from->ready, memory_order_acquire) != n + 1) return false;
    *ret = (struct read_post){
        .post = from,
        .at_ticks = atomic_load_explicit(&from->at_ticks, memory_order_acquire),
        .late_ticks = atomic_load_explicit(&from->late_ticks, memory_order_acquire),
        .match = {.rule = (uint16_t)atomic_load_explicit(&from->rule, memory_order_acquire),
                  .name = atomic_load_explicit(&from->name, memory_order_acquire)},
        .printer = atomic_load_explicit(&from->printer, memory_order_acquire),
        .is_printers = atomic_load_explicit(&from->is_printers, memory_order_acquire),
    };
    ret->role = st_stages_role(ret->match.rule);
    return atomic_load_explicit(&from->ready, memory_order_relaxed) == n + 1;
}

/* Its printer has its number, and is about to write it. */
static bool is_coming(uint64_t n)
{
    return atomic_load_explicit(&posts[n % POSTS].ready, memory_order_relaxed) < n + 1;
}

/* ---- applying ---- */

/* `at_ticks` 0: now. `is_past`: not in a call that the thread is in. The thread is claimed. */
static void apply(struct st_thread *thread, const struct st_stage_match *match, uint64_t at_ticks, bool is_past,
                  uint64_t late_ticks)
{
    st_span_doubt(thread, true, late_ticks);
    st_span_at(thread, at_ticks, is_past);
    st_stage_mark(thread, match->rule, match->name);
    st_span_at(thread, 0, false);
    st_span_doubt(thread, false, 0);
}

static bool take(const struct read_post *post)
{
    return !atomic_exchange_explicit(&post->post->is_applied, true, memory_order_relaxed);
}

/* What another thread printed: a request and a step count once, for whoever comes first, and so does the entry of a
 * stage. `at_ticks`: see apply(). */
static void follow(struct st_thread *thread, const struct read_post *post, uint64_t at_ticks)
{
    bool is_first = take(post);

    if (is_first || (post->role != ST_MAP_BEGIN_REQUEST && post->role != ST_MAP_STEP_END)) {
        st_span_following(thread, !is_first);
        apply(thread, &post->match, at_ticks, at_ticks != 0, post->late_ticks);
        st_span_following(thread, false);
    } else if (post->role == ST_MAP_BEGIN_REQUEST) {
        st_span_end_request(thread);
    }
}

/* Where a thread begins that makes its first CUDA call and printed nothing: at the request that waits for somebody,
 * else at the stage that goes on. */
static uint64_t first_to_follow(uint64_t from, uint64_t count)
{
    uint64_t request = count, stage = count;
    struct read_post post;

    for (uint64_t n = from; n < count; n++) {
        if (!read_post(n, &post)) continue;
        if (post.role == ST_MAP_BEGIN_REQUEST || post.role == ST_MAP_END_REQUEST || post.role == ST_MAP_END)
            stage = count;
        if (post.role == ST_MAP_END_REQUEST) request = count;
        if (post.role == ST_MAP_BEGIN) stage = n;
        if (post.role == ST_MAP_BEGIN_REQUEST)
            request = atomic_load_explicit(&post.post->is_applied, memory_order_relaxed) ? count : n;
    }
    return request < count ? request : stage;
}

static void __attribute__((noinline)) read_posts(struct st_thread *thread, uint64_t count)
{
    const struct st_lines *lines = st_lines_get();
    bool is_printer = lines != NULL && lines->has_posted, is_first = !thread->has_called;
    bool may_follow = !is_printer && atomic_load_explicit(&printer_count, memory_order_relaxed) == 1;
    uint64_t from = is_first && is_printer ? lines->first_post : thread->posts_seen;
    struct read_post post;

    thread->has_called = true;
    if (from < FIRST_POST) from = FIRST_POST;
    if (count - from > POSTS) from = count - POSTS;
    if (is_first && may_follow) from = first_to_follow(from, count);
    for (; from < count; from++) {
        if (!read_post(from, &post)) {
            if (is_coming(from)) break; /* the next call comes here again */
            continue;
        }
        if (post.printer == thread->tid) {
            if (take(&post)) apply(thread, &post.match, post.at_ticks, true, post.late_ticks);
        } else if (may_follow) {
            follow(thread, &post, is_first && post.is_printers ? 0 : post.at_ticks);
        }
    }
    thread->posts_seen = from;
}

/* At a CUDA call. Numbers of posts do not begin with 0, so that each thread's first call comes to read_posts(). */
static void before_call(struct st_thread *thread, const uint64_t *words)
{
    if (__builtin_expect(st_tee_has_more(), 0)) st_tee_read(post_copied);
    uint64_t count = atomic_load_explicit(&post_count, memory_order_relaxed);
    if (__builtin_expect(thread->posts_seen != count, 0)) read_posts(thread, count);
}

void st_lines_matched(struct st_lines *lines, const struct st_stage_match *match, uint64_t at_ticks,
                      uint64_t late_ticks)
{
    struct st_thread *thread = st_thread_current;
    bool has_called = thread != NULL && atomic_load_explicit(&thread->ring, memory_order_relaxed) != NULL &&
                      thread->has_called;

    st_stages_count(match->rule);
    bool is_applied = has_called && st_thread_claim(thread); /* else at the thread's next call */
    if (is_applied) {
        apply(thread, match, at_ticks, false, late_ticks);
        st_thread_release(thread);
    }
    uint32_t printer = atomic_load_explicit(&lines->owner, memory_order_relaxed);
    if (!lines->has_posted) atomic_fetch_add_explicit(&printer_count, 1, memory_order_relaxed);
    uint64_t n = post(printer, match, at_ticks, late_ticks, is_applied);
    if (!lines->has_posted) lines->first_post = n;
    lines->has_posted = true;
}

/* ---- start ---- */

static void forget_posts(void)
{
    for (uint32_t i = 0; i < POSTS; i++) atomic_store_explicit(&posts[i].ready, 0, memory_order_relaxed);
    atomic_store_explicit(&post_count, FIRST_POST, memory_order_relaxed);
    atomic_store_explicit(&printer_count, is_teed ? 1 : 0, memory_order_relaxed);
}

void st_lines_start(const char *tee)
{
    struct st_watch_redirect functions[MAX_FUNCTIONS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < st_lines_fd_function_count; i++) functions[count++] = st_lines_fd_functions[i];
    for (uint32_t i = 0; i < st_lines_stdio_function_count; i++) functions[count++] = st_lines_stdio_functions[i];
    st_clock_init();
    st_lines_start_ticks = st_ticks();
    is_teed = tee != NULL && st_tee_start(tee);
    forget_posts();
    st_at_call(before_call);
    if (is_teed) return;
    st_fds_start();
    st_watch_redirect(functions, count, &st_lines_file_write, &redirected);
}

void st_lines_fork_child(void)
{
    st_tee_forget();
    st_lines_forget();
    forget_posts();
    st_fds_start();
    st_lines_start_ticks = st_ticks();
}

/* What was printed after the thread's last CUDA call. */
static void read_last_posts(void)
{
    struct st_thread *thread = st_thread_current;

    if (thread == NULL || !thread->has_called) return;
    st_tee_wait();
    if (!st_thread_claim(thread)) return;
    before_call(thread, NULL);
    st_thread_release(thread);
}

void st_lines_end(void)
{
    if (redirected.words > 0) st_stdio_end();
    if (is_teed) read_last_posts();
}

enum st_capability_state st_lines_state(bool is_matched, const char **ret_why)
{
    if (is_teed) {
        *ret_why = is_matched ? "edges inferred from output that the launcher copied (run --tee)"
                              : "no line like this was printed";
        return is_matched ? ST_CAP_SEEN : ST_CAP_ACCEPTED;
    }
    if (redirected.refused > 0) {
        *ret_why = "not all of libc's output functions could be redirected; edges inferred from output";
        return ST_CAP_DEGRADED;
    }
    if (redirected.symbols == 0 || redirected.words == 0) {
        *ret_why = "libc's output functions were not found";
        return redirected.symbols == 0 ? ST_CAP_NOT_COLLECTED : ST_CAP_DEGRADED;
    }
    *ret_why = is_matched ? "edges inferred from output" : "no line like this was printed";
    return is_matched ? ST_CAP_SEEN : ST_CAP_ACCEPTED;
}
