/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From printed text to lines, from lines to marks, and who gets them: the real log_lines.c and log.c over a recorder
 * that only notes what it is told. What libc's functions hand over is made up here. Also built with ThreadSanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "preload/record/clock.h"
#include "preload/record/record.h"
#include "preload/stages/at_call.h"
#include "preload/stages/log.h"
#include "preload/stages/log_private.h"
#include "preload/stages/seen.h"

/* ---- a recorder that writes what it is told into one line for each thread ---- */

__thread struct st_thread *st_thread_current;
__thread uint32_t st_suppress;
static __thread char told[4096];

#define assert_told(expected)                                                                                          \
    do {                                                                                                               \
        assert_string_equal(told, expected);                                                                           \
        told[0] = '\0';                                                                                                \
    } while (0)

#define TEXT                                                                                                           \
    "log \"load *\" -> load\n"                /* 0 */                                                                  \
    "log \"request *\" -> begin request\n"    /* 1 */                                                                  \
    "log done -> end request\n"               /* 2 */                                                                  \
    "log \"stage *\" -> $1\n"                 /* 3 */                                                                  \
    "log \"*| 0/*\" -> begin sample\n"        /* 4 */                                                                  \
    "log \"*| */*\" -> step\n"                /* 5 */                                                                  \
    "log \"*end of stage *\" -> end $2\n"     /* 6 */                                                                  \
    "log \"*| a.very.* |\" -> begin sample\n" /* 7 */
static struct st_map_rule rules[16];
static char arena[4096];
static struct st_map map = {.rules = rules, .capacity = 16, .arena = arena, .arena_bytes = sizeof(arena)};
static const enum st_map_role roles[] = {ST_MAP_BEGIN, ST_MAP_BEGIN_REQUEST, ST_MAP_END_REQUEST, ST_MAP_BEGIN,
                                         ST_MAP_BEGIN, ST_MAP_STEP_END,      ST_MAP_END,         ST_MAP_BEGIN};
static _Atomic uint32_t matched;
static st_at_call_fn at_call;

bool st_stages_match(enum st_map_source source, struct st_thread *thread, const char *text, struct st_stage_match *ret)
{
    struct st_map_capture captures[ST_MAP_MAX_CAPTURES];

    assert_int_equal(source, ST_MAP_LOG);
    for (uint32_t i = 0; i < map.count; i++) {
        char name[64];
        if (!st_map_glob(rules[i].pattern, text, captures)) continue;
        st_map_expand(rules[i].name, captures, name, sizeof(name));
        *ret = (struct st_stage_match){(uint16_t)i, (uint32_t)name[0]}; /* the first letter is name enough */
        return true;
    }
    return false;
}

bool st_stages_match_part(enum st_map_source source, const char *text, struct st_stage_match *ret)
{
    return st_stages_match(source, NULL, text, ret) && strchr(rules[ret->rule].name, '$') == NULL;
}

enum st_map_role st_stages_role(uint16_t rule)
{
    return roles[rule];
}

void st_stages_count(uint16_t rule)
{
    atomic_fetch_add(&matched, 1);
}

void st_stage_mark(struct st_thread *thread, uint16_t rule, uint32_t name)
{
    size_t used = strlen(told);
    const char *when = thread->edge_is_past ? thread->is_following ? "@~" : "@" : thread->is_following ? "~" : "";

    assert_ptr_equal(thread, st_thread_current);
    assert_true(thread->is_inferred);
    if (used + 32 > sizeof(told)) return;
    switch (roles[rule]) {
    case ST_MAP_BEGIN: sprintf(told + used, "+%c%s ", (int)name, when); break;
    case ST_MAP_END: sprintf(told + used, "-%c%s ", (int)name, when); break;
    case ST_MAP_STEP_END: sprintf(told + used, "step%s ", when); break;
    case ST_MAP_BEGIN_REQUEST: sprintf(told + used, "(%s ", when); break;
    default: sprintf(told + used, ")%s ", when); break;
    }
}

void st_span_end_request(struct st_thread *thread)
{
    strcat(told, "no) ");
}

struct st_thread *st_thread_create(void)
{
    return NULL;
}

/* ---- what preload/watch and the other files of the source give ---- */

void st_at_call(st_at_call_fn fn)
{
    at_call = fn;
}

void st_watch_redirect(const struct st_watch_redirect *list, uint32_t count, const struct st_watch_redirect *words,
                       struct st_watch_redirected *ret)
{
    *ret = (struct st_watch_redirected){.symbols = 1, .words = 1};
}

const struct st_watch_redirect st_lines_fd_functions[1], st_lines_stdio_functions[1], st_lines_file_write;
const uint32_t st_lines_fd_function_count = 1, st_lines_stdio_function_count = 1;

void st_fds_start(void)
{
}

void st_stdio_end(void)
{
}

/* a launcher that copied one line */
static const char *copied;

bool st_tee_start(const char *path)
{
    return strcmp(path, "launcher") == 0;
}

void st_tee_forget(void)
{
    copied = NULL;
}

bool st_tee_has_more(void)
{
    return copied != NULL;
}

void st_tee_wait(void)
{
}

void st_tee_read(st_tee_fn fn)
{
    struct st_stage_match match;

    if (st_stages_match(ST_MAP_LOG, NULL, copied, &match)) fn(&match, 1000, 10);
    copied = NULL;
}

/* ---- a program ---- */

static void print(const char *text)
{
    st_lines_add(ST_LINES_OUT, text, strlen(text), st_ticks());
}

static void call_cuda(void)
{
    static struct st_ring_head ring;
    static _Thread_local struct st_thread thread;

    if (thread.tid == 0) {
        thread.tid = (uint32_t)gettid();
        thread.ring = &ring;
    }
    st_thread_current = &thread;
    assert_true(st_thread_claim(&thread));
    at_call(&thread, NULL);
    st_thread_release(&thread);
}

static void *in_thread(void *fn)
{
    void (*call)(void);
    memcpy(&call, &fn, sizeof(call));
    call();
    return NULL;
}

static pthread_t start(void (*fn)(void))
{
    pthread_t thread;
    void *arg;
    memcpy(&arg, &fn, sizeof(arg));
    assert_int_equal(pthread_create(&thread, NULL, in_thread, arg), 0);
    return thread;
}

static void run(void (*fn)(void))
{
    pthread_join(start(fn), NULL);
}

static int set_up(void **state)
{
    struct st_map_error error;
    if (map.count == 0) assert_true(st_map_parse(&map, TEXT, strlen(TEXT), "inline", &error));
    st_lines_forget();
    st_lines_start(NULL);
    told[0] = '\0';
    atomic_store(&matched, 0);
    return 0;
}

/* ---- lines ---- */

static void print_lines(void)
{
    call_cuda();
    print("request 1\nstage encode\r\nnothing\n\n");
    assert_told("( +e ");
    print("sta");
    print("ge de");
    assert_told(""); /* the name may go on */
    print("code\n");
    assert_told("+d ");
    print("load tex");
    assert_told("+l "); /* not finished, and seen */
    print("t encoder\n");
    assert_told(""); /* once */
    print("done");
    print(" and dusted\n");
    assert_told(") "); /* finished otherwise: it matched when it was seen */
    print("\033[1;32mstage\033[0m \033]0;title\aoutput   \033[K\n");
    assert_told("+o ");
    errno = 77;
    print("stage encode\n");
    assert_int_equal(errno, 77);
    assert_told("+e ");
    st_lines_add(ST_LINES_ERR, "stage de", 8, st_ticks()); /* a line of its own */
    told[0] = '\0';
    print("code\n");
    assert_told("");
    st_suppress++;
    print("stage encode\n"); /* ours */
    st_suppress--;
    assert_told("");
}

static void lines(void **state)
{
    run(print_lines);
    uint64_t count;
    enum st_map_source source;
    const char *text;
    bool has_pattern = false;
    for (uint32_t n = 0; st_seen_get(n, &source, &count, &text); n++)
        has_pattern |= source == ST_MAP_LOG && strcmp(text, "request *") == 0;
    assert_true(has_pattern); /* numbers are stars */
}

static void print_bar(void)
{
    call_cuda();
    print("\r  |>    | 0/4 - 0.00s/it\033[K");
    assert_told("+s ");
    print("\r  |=>   | 1/4 - 1.00s/it\033[K");
    print("\r  |==>  | 2/4 - 1.00s/it\033[K");
    print("\r  |===> | 3/4 - 1.00s/it\033[K\r  |====>| 4/4 - 1.00s/it\033[K");
    print("\n");
    assert_told("step step step step ");
}

static void bars(void **state)
{
    run(print_bar);
}

static void print_much(void)
{
    static char text[64 * 1024];
    uint64_t unseen = atomic_load(&st_lines_unseen);

    call_cuda();
    memset(text, 'x', sizeof(text));
    memcpy(text, "stage a\n", 8);
    memcpy(text + 32768, "\nstage b\n", 9); /* in the middle: not looked at */
    memcpy(text + 65536 - 20, "\nstage c\n", 9);
    st_lines_add(ST_LINES_OUT, text, sizeof(text), st_ticks());
    assert_told("+a +c ");
    assert_int_equal(atomic_load(&st_lines_unseen) - unseen, sizeof(text) - 8192);
    memcpy(text, "stage a\n\0\0", 10); /* binary */
    st_lines_add(ST_LINES_OUT, text, sizeof(text), st_ticks());
    print("stage d\n"); /* behind it: who knows what the line is */
    assert_told("");
    print("stage e\n");
    assert_told("+e ");
    memset(text, 'x', 5000);
    memcpy(text, "stage long", 10);
    text[5000] = '\n';
    st_lines_add(ST_LINES_OUT, text, 5001, st_ticks());
    assert_told("+l ");
}

static void much(void **state)
{
    run(print_much);
}

static uint64_t late_of(const char *text)
{
    uint64_t begin = st_ticks();
    struct st_thread *thread = st_thread_current;
    thread->late_ticks = 0;
    st_lines_add(ST_LINES_OUT, text, strlen(text), begin);
    return st_ticks() - begin;
}

static void print_late(void)
{
    call_cuda();
    print("stage a\n");
    uint64_t since = st_ticks();
    usleep(20000);
    /* two lines in one piece: they were kept, for how long is not known but for the last time anything came */
    print("stage b\nstage c\n");
    uint64_t waited = st_ticks() - since;
    (void)late_of("stage d\n");
    assert_told("+a +b +c +d ");
    assert_true(waited > 0);
}

static void late(void **state)
{
    run(print_late);
}

/* ---- who gets them ---- */

static void print_all(void)
{
    print("load unet\nrequest 1\nstage encode\nstage sample\n| 1/2\n| 2/2\nstage decode\n");
}

static void print_then_call(void)
{
    print_all();
    assert_told("");
    call_cuda();
    assert_told("+l@ (@ +e@ +s@ step@ step@ +d@ "); /* as of then */
    print("done\n");
    assert_told(") ");
    call_cuda();
    assert_told("");
}

static void before_the_first_call(void **state)
{
    run(print_then_call);
    assert_int_equal(atomic_load(&matched), 8);
}

static void call_after_printer(void)
{
    call_cuda();
    assert_told("(@ +e@ +s@ step@ step@ +d@ "); /* from the request that waits for somebody */
}

static void call_after_request(void)
{
    call_cuda();
    assert_told("+d@~ "); /* another one has the request, and the entry: only the stage */
}

static void logger(void **state)
{
    run(print_all);
    run(call_after_printer);
    run(call_after_request);
}

static pthread_barrier_t barrier;

static void follow(void)
{
    call_cuda();
    assert_told("");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* printed */
    call_cuda();
    assert_told("no) +e@~ +s@~ -s@~ "); /* request and step are the printer's */
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* another thread printed, too */
    call_cuda();
    assert_told("");
    print("stage own\n");
    assert_told("+o ");
}

static void print_stages(void)
{
    call_cuda();
    print("request 1\nstage encode\nstage sample\n| 1/2\nthe end of stage sample\n");
    assert_told("( +e +s step -s ");
}

static void helpers(void **state)
{
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t helper = start(follow);
    pthread_barrier_wait(&barrier);
    run(print_stages);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    run(print_stages);
    pthread_barrier_wait(&barrier);
    pthread_join(helper, NULL);
}

static void call_late(void)
{
    call_cuda();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    call_cuda(); /* more came than is kept */
    assert_int_equal(strlen(told) / strlen("+x@ "), 64);
}

static void print_many(void)
{
    for (int i = 0; i < 1000; i++) print("stage x\n");
}

static void overrun(void **state)
{
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t helper = start(call_late);
    pthread_barrier_wait(&barrier);
    run(print_many);
    pthread_barrier_wait(&barrier);
    pthread_join(helper, NULL);
}

/* ---- lines from a launcher ---- */

static void call_beside_launcher(void)
{
    call_cuda();
    copied = "request 1";
    call_cuda();
    assert_told("(@ ");
    copied = "stage encode";
    call_cuda();
    call_cuda();
    assert_told("+e@ ");
    copied = "done";
    call_cuda();
    assert_told(")@ ");
}

static void launcher(void **state)
{
    const char *why;

    st_lines_forget();
    st_lines_start("launcher");
    uint32_t before = atomic_load(&matched);
    run(call_beside_launcher);
    assert_int_equal(atomic_load(&matched) - before, 3);
    assert_int_equal(st_lines_state(true, &why), ST_CAP_SEEN);
    assert_non_null(strstr(why, "run --tee"));
    st_lines_start("a launcher that is gone"); /* as without */
    assert_int_equal(st_lines_state(true, &why), ST_CAP_SEEN);
    assert_string_equal(why, "edges inferred from output");
}

/* ---- many at once ---- */

static _Atomic bool is_over;

static void call_all_the_time(void)
{
    while (!atomic_load(&is_over)) {
        call_cuda();
        told[0] = '\0';
    }
}

static void print_and_call(void)
{
    for (int i = 0; i < 2000; i++) {
        print("request 1\nstage enc");
        print("ode\ndone\n");
        if (i % 3 == 0) call_cuda();
        told[0] = '\0';
    }
}

static void many(void **state)
{
    pthread_t printers[4], callers[2];

    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) callers[i] = start(call_all_the_time);
    for (int i = 0; i < 4; i++) printers[i] = start(print_and_call);
    for (int i = 0; i < 4; i++) pthread_join(printers[i], NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(callers[i], NULL);
    assert_int_equal(atomic_load(&matched), 4 * 2000 * 3);
}

static void states(void **state)
{
    const char *why;
    assert_int_equal(st_lines_state(false, &why), ST_CAP_ACCEPTED);
    assert_int_equal(st_lines_state(true, &why), ST_CAP_SEEN);
    assert_string_equal(why, "edges inferred from output");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lines, set_up),  cmocka_unit_test_setup(bars, set_up),
        cmocka_unit_test_setup(much, set_up),   cmocka_unit_test_setup(late, set_up),
        cmocka_unit_test_setup(before_the_first_call, set_up),
        cmocka_unit_test_setup(logger, set_up), cmocka_unit_test_setup(helpers, set_up),
        cmocka_unit_test_setup(overrun, set_up), cmocka_unit_test_setup(many, set_up),
        cmocka_unit_test_setup(states, set_up), cmocka_unit_test_setup(launcher, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
