/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules to spans, and NVTX ranges to spans: the real stages and NVTX code over a recorder that only notes
 * what it is told, with a made-up NVTX library (its export table) and another tool chained behind us.
 */
#include <stdlib.h>

#include "preload/stages/nvtx.h"
#include "preload/stages/python.h"
#include "preload/stages/seen.h"
#include "preload/stages/stages.h"

#include "stand_ins.h"

/* ---- the map ---- */

static struct st_map_rule rules[256];
static char arena[64 << 10];
static struct st_map map;
static int requests;

static void count_request(void)
{
    requests++;
}

static int set_up(void **state)
{
    static const char text[] = "symbol make_image -> request\n"        /* 0 */
                               "symbol encode* -> encode\n"            /* 1 */
                               "symbol sample -> begin sample\n"       /* 2 */
                               "symbol sampled -> end sample\n"        /* 3 */
                               "symbol unet_* -> unet/$1\n"            /* 4 */
                               "symbol scheduler -> sample step-end\n" /* 5 */
                               "symbol step -> sample step\n"          /* 6 */
                               "symbol load_* -> load\n"               /* 7 */
                               "symbol hidden -> off\n"                /* 8 */
                               "nvtx decode* -> decode\n"              /* 9 */
                               "nvtx \"step *\" -> step\n"             /* 10 */
                               "nvtx stop -> end sample\n"             /* 11 */
                               "nvtx tick -> sample step-end\n"        /* 12 */
                               "nvtx \xc3\xa4* -> umlaut\n"            /* 13 */
                               "nvtx layer_* -> l$1\n"                 /* 14 */
                               "kernel *foo* -> decode\n"              /* 15 */
                               "symbol vae::decode*(*) -> decode\n"    /* 16 */
                               "symbol vae::*::run -> coder\n"          /* 17 */
                               "symbol \"(anonymous namespace)::*\" -> anonymous\n" /* 18 */
                               "symbol _ZN3net* -> net\n"              /* 19 */
                               "symbol net::Model::operator() -> model\n" /* 20 */
                               "symbol nowhere -> never\n"             /* 21 */
                               "symbol uncalled -> never\n"            /* 22 */
                               "symbol static_one -> never\n";         /* 23 */
    struct st_map_error error;

    map = (struct st_map){.rules = rules, .capacity = 256, .arena = arena, .arena_bytes = sizeof(arena)};
    assert_true(st_map_parse(&map, text, strlen(text), "inline", &error));
    st_stages_init(&map, false);
    st_stages_start(count_request, NULL);
    return 0;
}

static uint64_t enter(const char *symbol)
{
    uint16_t rule;
    uint32_t name;
    assert_true(matcher(symbol, &rule, &name));
    return st_stage_enter(rule, name);
}

static void test_symbols(void **state)
{
    uint16_t rule;
    uint32_t name;
    uint64_t token;

    assert_false(matcher("unknown", &rule, &name));
    assert_false(matcher("decode", &rule, &name)); /* an nvtx rule */
    last_span = 0;
    token = enter("encode_prompt");
    assert_line("+1:1:encode:1 ");
    st_stage_leave(token, ST_END_THROWN);
    assert_line("-1:1 ");
    token = enter("make_image");
    assert_int_equal(requests, 1);
    assert_line("+2:2::0 ");
    st_stage_leave(token, ST_END_RETURN);
    st_stage_leave(enter("unet_down"), ST_END_RETURN);
    st_stage_leave(enter("step"), ST_END_RETURN);
    st_stage_leave(enter("load_weights"), ST_END_RETURN);
    st_stage_leave(enter("hidden"), ST_END_RETURN);
    assert_line("-2:0 +3:1:unet/down:4 -3:0 +4:3:sample:6 -4:0 +5:4:load:7 -5:0 +6:5::8 -6:0 ");
    assert_int_equal(enter("sample"), ST_WATCH_BYPASS);
    assert_int_equal(enter("sampled"), ST_WATCH_BYPASS);
    assert_line("begin:sample:2 end:sample ");
    token = enter("scheduler");
    assert_line("");
    st_stage_leave(token, ST_END_RETURN); /* the exit closes the iteration */
    assert_line("mark:1:sample ");
    is_collapsing = true;
    assert_int_equal(enter("encode_prompt"), ST_WATCH_BYPASS);
    is_collapsing = false;
    st_suppress = 1;
    assert_int_equal(enter("encode_prompt"), ST_WATCH_BYPASS);
    st_suppress = 0;
    assert_line("");
    assert_int_equal(st_stages_matched(1), 2);
    assert_int_equal(st_stages_matched(0), 1);
    assert_int_equal(st_stages_matched(9), 0);
    assert_int_equal(st_stages_matched(UINT32_MAX), 0);
}

/* ---- a made-up NVTX library ---- */

#define ENTRIES 16
struct library {
    st_nvtx_function core[ENTRIES], core2[ENTRIES];
    st_nvtx_function *core_table[ENTRIES + 1], *core2_table[ENTRIES + 1];
};
static struct library *loading; /* the one that is being initialised */

static void first_call(void)
{
    fail(); /* NVTX's own function, which would initialise once more */
}

static int get_module_table(int module, st_nvtx_function ***ret_table, unsigned *ret_count)
{
    if (module != ST_NVTX_MODULE_CORE && module != ST_NVTX_MODULE_CORE2) return 0;
    *ret_table = module == ST_NVTX_MODULE_CORE ? loading->core_table : loading->core2_table;
    *ret_count = ENTRIES;
    return 1;
}

static const void *get_table(uint32_t table)
{
    static const struct st_nvtx_callbacks callbacks = {sizeof(callbacks), get_module_table};
    return table == ST_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static int load(struct library *library)
{
    memset(library, 0, sizeof(*library));
    for (int i = 1; i < ENTRIES; i++) {
        library->core[i] = library->core2[i] = first_call;
        library->core_table[i] = &library->core[i];
        library->core2_table[i] = &library->core2[i];
    }
    loading = library;
    return InitializeInjectionNvtx2(get_table);
}

#define CORE(library, id, T) ((T)(void *)(library)->core[id])
#define CORE2(library, id, T) ((T)(void *)(library)->core2[id])
typedef int (*push_fn)(const char *);
typedef int (*push_wide_fn)(const wchar_t *);
typedef int (*push_ex_fn)(const struct st_nvtx_attributes *);
typedef int (*pop_fn)(void);
typedef void (*mark_fn)(const char *);
typedef uint64_t (*start_fn)(const char *);
typedef void (*end_fn)(uint64_t);
typedef int (*domain_push_fn)(void *, const struct st_nvtx_attributes *);
typedef int (*domain_pop_fn)(void *);
typedef void *(*register_fn)(void *, const char *);
typedef void *(*create_fn)(const char *);

static int push(struct library *library, const char *name)
{
    return CORE(library, ST_NVTX_RANGE_PUSH_A, push_fn)(name);
}

static int pop(struct library *library)
{
    return CORE(library, ST_NVTX_RANGE_POP, pop_fn)();
}

/* C++ names without parameters, template arguments and results, or the symbol as it stands. */
static void test_cxx_symbols(void **state)
{
    uint16_t rule;
    uint32_t name;

    last_span = 0;
    st_stage_leave(enter("_ZN3vae6decodeERK6Tensori"), ST_END_RETURN);
    st_stage_leave(enter("_ZN3vae12decode_tiledI6TensorEEvT_"), ST_END_RETURN);
    st_stage_leave(enter("_ZNK3vae5Coder3runIiEEvT_"), ST_END_RETURN);
    st_stage_leave(enter("_ZN12_GLOBAL__N_14workEv"), ST_END_RETURN);
    st_stage_leave(enter("_ZN3net5Model3runEv"), ST_END_RETURN);
    assert_line("+1:1:decode:16 -1:0 +2:1:decode:16 -2:0 +3:1:coder:17 -3:0 +4:1:anonymous:18 -4:0 "
                "+5:1:net:19 -5:0 ");
    st_stage_leave(enter("_ZN3net5ModelclEv"), ST_END_RETURN); /* the symbol's rule stands first */
    assert_line("+6:1:net:19 -6:0 ");
    st_stage_leave(enter("_ZThn16_N3vae5Coder3runEv"), ST_END_RETURN);
    assert_line("+7:1:coder:17 -7:0 ");
    assert_false(matcher("_ZN4vaes6decodeEv", &rule, &name));
    assert_false(matcher("_ZN3vae6encodeEv", &rule, &name));
}

/* Behind the rule and its colon; NULL: none. */
static const char *reason_of(uint32_t rule)
{
    static char text[600];

    if (!st_symbols_reason(rule, text, sizeof(text))) return NULL;
    size_t length = strlen(map.rules[rule].text);
    assert_memory_equal(text, map.rules[rule].text, length);
    return text + length + 2;
}

/* After the other symbol tests: rules 2, 3 … matched there. */
static void test_reasons(void **state)
{
    stages_there[0] = (struct st_watch_stage){.object = "/lib/libone.so", .rule = 20};
    stages_there[1] = (struct st_watch_stage){.object = "", .rule = 1, .has_slot = true};
    stages_there[2] = (struct st_watch_stage){.object = "/lib/other.so", .rule = 22};
    stages_there[3] = (struct st_watch_stage){.object = "/lib/two.so", .rule = 22, .has_slot = true};
    stages_there[4] = (struct st_watch_stage){.object = "/lib/two.so", .rule = 2, .has_slot = true, .unbounded = 2};
    stage_count = 5;
    assert_null(reason_of(20)); /* nobody has looked */
    st_symbols_look_back();
    assert_string_equal(reason_of(20),
                        "defined in libone.so, but no caller goes by its symbol (-Bsymbolic, inlined, or called inside "
                        "one object); `stagetap run --collect stacks` looks for it on the stacks");
    assert_null(reason_of(1)); /* it matched */
    assert_null(reason_of(9)); /* no symbol rule */
    assert_string_equal(reason_of(21), "no function of this name in any loaded object; inlined ones have no "
                                       "symbol, nor have static and hidden ones of stripped files");
    assert_string_equal(reason_of(23), "in the .symtab of the program only (static or hidden); it was on no stack "
                                              "at a CUDA call (inlined, or never called)");
    assert_string_equal(reason_of(22), "defined in two.so, and never called by way of its symbol");
    assert_string_equal(reason_of(2), "2 calls of it in two.so were let pass: it is not known how far their arguments "
                                      "reach on the stack; `stagetap run --collect stacks` looks for it on the stacks");
}

static void test_nvtx_alone(void **state)
{
    struct library library;
    struct st_nvtx_attributes attributes = {.version = 2, .size = sizeof(attributes), .message_type = ST_NVTX_ASCII};
    const char *why;

    assert_int_equal(st_nvtx_state(&why), ST_CAP_REQUESTED);
    assert_string_equal(why, "nothing in the process has used NVTX");
    assert_int_equal(load(&library), 1);
    assert_int_equal(st_nvtx_state(&why), ST_CAP_ACCEPTED);
    for (int i = 1; i < ENTRIES; i++) { /* complete: some programs use nothing if anything is missing */
        assert_ptr_not_equal(library.core[i], first_call);
        assert_ptr_not_equal(library.core2[i], first_call);
        assert_true(library.core[i] != NULL && library.core2[i] != NULL);
    }
    last_span = 0;
    assert_int_equal(push(&library, "decode_latents"), NO_TRACKING);
    assert_int_equal(push(&library, "something else"), NO_TRACKING);
    assert_int_equal(push(&library, "step 3"), NO_TRACKING);
    assert_int_equal(pop(&library), NO_TRACKING);
    assert_int_equal(pop(&library), NO_TRACKING);
    assert_int_equal(pop(&library), NO_TRACKING);
    assert_int_equal(pop(&library), NO_TRACKING); /* one too many */
    assert_line("+1:1:decode:9 +2:3::10 -2:4 -1:4 ");
    CORE(&library, ST_NVTX_RANGE_PUSH_W, push_wide_fn)(L"\u00e4\u20ac\U0001f600");
    pop(&library);
    assert_line("+3:1:umlaut:13 -3:4 ");
    push(&library, NULL);
    pop(&library);
    assert_line("");
    attributes.message.ascii = "decode";
    CORE(&library, ST_NVTX_RANGE_PUSH_EX, push_ex_fn)(&attributes);
    pop(&library);
    assert_line("+4:1:decode:9 -4:4 ");
    attributes.size = 40; /* an older structure without a message */
    CORE(&library, ST_NVTX_RANGE_PUSH_EX, push_ex_fn)(&attributes);
    pop(&library);
    CORE(&library, ST_NVTX_RANGE_PUSH_EX, push_ex_fn)(NULL);
    pop(&library);
    CORE(&library, ST_NVTX_MARK_A, mark_fn)("decode");
    assert_line("");
    CORE(&library, ST_NVTX_MARK_A, mark_fn)("stop");
    CORE(&library, ST_NVTX_MARK_A, mark_fn)("tick");
    assert_line("end:sample mark:1:sample ");
}

static void test_nvtx_domains(void **state)
{
    struct library library;
    struct st_nvtx_attributes attributes = {
        .version = 2, .size = sizeof(attributes), .message_type = ST_NVTX_REGISTERED};

    load(&library);
    create_fn create = CORE2(&library, ST_NVTX_DOMAIN_CREATE_A, create_fn);
    register_fn register_string = CORE2(&library, ST_NVTX_DOMAIN_REGISTER_STRING_A, register_fn);
    domain_push_fn domain_push = CORE2(&library, ST_NVTX_DOMAIN_RANGE_PUSH_EX, domain_push_fn);
    domain_pop_fn domain_pop = CORE2(&library, ST_NVTX_DOMAIN_RANGE_POP, domain_pop_fn);
    void *one = create("one"), *two = create("two");
    assert_non_null(one);
    assert_ptr_not_equal(one, two);
    void *decode = register_string(one, "decode"), *other = register_string(one, "other");
    assert_non_null(other);
    last_span = 0;
    attributes.message.registered = decode;
    assert_int_equal(domain_push(one, &attributes), NO_TRACKING);
    attributes.message.registered = other;
    assert_int_equal(domain_push(two, &attributes), NO_TRACKING);
    assert_int_equal(push(&library, "step 1"), NO_TRACKING);
    assert_int_equal(domain_pop(one), NO_TRACKING); /* not the last one pushed */
    assert_line("+1:1:decode:9 +2:3::10 -1:4 ");
    assert_int_equal(pop(&library), NO_TRACKING);
    assert_line("-2:4 ");
    assert_int_equal(domain_pop(two), NO_TRACKING);
    assert_int_equal(domain_pop(two), NO_TRACKING);
    attributes.message.registered = (void *)0x1234; /* never registered */
    domain_push(one, &attributes);
    domain_pop(one);
    assert_line("");
}

static void test_nvtx_deep(void **state)
{
    struct library library;

    load(&library);
    for (int i = 0; i < 100; i++) push(&library, "x");
    for (int i = 0; i < 100; i++) pop(&library);
    last_span = 0;
    push(&library, "decode");
    pop(&library);
    assert_line("+1:1:decode:9 -1:4 ");
}

static struct library shared;
static uint64_t shared_id;

static void *end_elsewhere(void *arg)
{
    CORE(&shared, ST_NVTX_RANGE_END, end_fn)(shared_id);
    return NULL;
}

static void test_nvtx_started(void **state)
{
    pthread_t thread;

    load(&shared);
    start_fn start = CORE(&shared, ST_NVTX_RANGE_START_A, start_fn);
    end_fn end = CORE(&shared, ST_NVTX_RANGE_END, end_fn);
    last_span = 0;
    uint64_t a = start("decode"), b = start("other"), c = start("step 1");
    assert_true(a != 0 && b != 0 && a != b && b != c && a != c);
    end(a);
    end(b);
    end(a); /* again */
    end(0);
    end(c);
    assert_line("+1:1:decode:9 +2:3::10 -1:4 -2:4 ");

    shared_id = start("decode");
    pthread_create(&thread, NULL, end_elsewhere, NULL);
    pthread_join(thread, NULL);
    assert_line("+3:1:decode:9 "); /* not closed by a thread that does not own it */
    push(&shared, "x");
    assert_line("-3:2+ "); /* but late, by its own */
    pop(&shared);
    shared_id = start("decode");
    pthread_create(&thread, NULL, end_elsewhere, NULL);
    pthread_join(thread, NULL);
    assert_line("+4:1:decode:9 ");
    before_call(st_thread_current, NULL); /* … also at its next CUDA call */
    assert_line("-4:2+ ");
    assert_int_equal(st_thread_current->late_ticks, 0); /* said again */

    uint64_t ids[300];
    for (int i = 0; i < 300; i++) ids[i] = start("decode");
    for (int i = 0; i < 300; i++) end(ids[i]);
    line[0] = '\0';
    last_span = 0;
    end(start("decode"));
    assert_line("+1:1:decode:9 -1:4 ");
}

static uint64_t times_seen(const char *text)
{
    enum st_map_source source;
    const char *name;
    uint64_t count;

    for (uint32_t n = 0; st_seen_get(n, &source, &count, &name); n++)
        if (source == ST_MAP_NVTX && strcmp(name, text) == 0) return count;
    return UINT64_MAX;
}

static void *start_here(void *arg)
{
    shared_id = CORE(&shared, ST_NVTX_RANGE_START_A, start_fn)("decode");
    st_thread_current->tid = (uint32_t)syscall(SYS_gettid);
    return st_thread_current;
}

/* Start a range on a thread of its own, and wait until that is really gone. Returns its block. */
static struct st_thread *start_and_die(void)
{
    pthread_t thread;
    void *block;

    pthread_create(&thread, NULL, start_here, NULL);
    pthread_join(thread, &block);
    while (syscall(SYS_tgkill, getpid(), ((struct st_thread *)block)->tid, 0) == 0) usleep(100);
    return block;
}

static void test_nvtx_orphans(void **state)
{
    load(&shared);
    end_fn end = CORE(&shared, ST_NVTX_RANGE_END, end_fn);
    last_span = 0;
    start_and_die();
    end(shared_id);
    assert_line("+1:1:decode:9 -1:ended ");
    end(shared_id);
    assert_line("");

    struct st_thread *next = start_and_die();
    next->index++; /* its block went to a thread that lives */
    next->tid = (uint32_t)syscall(SYS_gettid);
    struct st_thread *own = st_thread_current;
    st_thread_current = next;
    end(shared_id); /* not of the new thread's own spans */
    st_thread_current = own;
    assert_line("+2:1:decode:9 -2:ended ");

    for (int i = 0; i < 300; i++) atomic_store(&start_and_die()->state, ST_THREAD_FREE); /* nobody ends them */
    line[0] = '\0';
    last_span = 0;
    end(CORE(&shared, ST_NVTX_RANGE_START_A, start_fn)("decode"));
    assert_line("+1:1:decode:9 -1:4 ");
}

static void test_forked(void **state)
{
    load(&shared);
    last_span = 0;
    assert_true(st_stages_matched(9) > 0);
    push(&shared, "seen before the fork");
    uint64_t id = CORE(&shared, ST_NVTX_RANGE_START_A, start_fn)("decode");
    st_stages_fork_child();
    CORE(&shared, ST_NVTX_RANGE_END, end_fn)(id);
    pop(&shared);
    assert_line("+1:1:decode:9 "); /* the parent's, not ours to end */
    assert_int_equal(st_stages_matched(9), 0);
    assert_int_equal(times_seen("seen before the fork"), 0);
    push(&shared, "decode");
    pop(&shared);
    assert_int_equal(st_stages_matched(9), 1);
    line[0] = '\0';
}

/* ---- another tool ---- */

static int tool_push(const char *name)
{
    NOTE("tool:%s ", name);
    return 42;
}

static uint64_t tool_start(const char *name)
{
    return 4711;
}

static int attach_tool(st_nvtx_get_table_fn get)
{
    loading->core[ST_NVTX_RANGE_PUSH_A] = (st_nvtx_function)(void *)tool_push;
    loading->core[ST_NVTX_RANGE_START_A] = (st_nvtx_function)(void *)tool_start;
    return 1;
}

static int refuse_tool(st_nvtx_get_table_fn get)
{
    return 0;
}

static void test_nvtx_chained(void **state)
{
    struct library library, second, plain;

    setenv("NVTX_INJECTION64_PATH", "/other/tool.so", 1);
    other_tool = attach_tool;
    assert_int_equal(load(&library), 1);
    other_tool = refuse_tool;
    assert_int_equal(load(&plain), 1);
    other_tool = attach_tool;
    assert_int_equal(load(&second), 1);
    assert_ptr_equal(library.core[ST_NVTX_RANGE_PUSH_A], second.core[ST_NVTX_RANGE_PUSH_A]); /* one set serves both */
    last_span = 0;
    assert_int_equal(push(&library, "decode"), 42);
    assert_int_equal(pop(&library), NO_TRACKING); /* the tool has no pop */
    assert_line("+1:1:decode:9 tool:decode -1:4 ");
    assert_int_equal(CORE(&library, ST_NVTX_RANGE_START_A, start_fn)("decode"), 4711);
    CORE(&library, ST_NVTX_RANGE_END, end_fn)(4711);
    assert_line("+2:1:decode:9 -2:4 ");
    /* its handles are not made up for it: it would get them back */
    assert_null(CORE2(&library, ST_NVTX_DOMAIN_CREATE_A, create_fn)("d"));
    assert_null(CORE2(&library, ST_NVTX_DOMAIN_REGISTER_STRING_A, register_fn)(NULL, "decode"));
    push(&plain, "decode");
    pop(&plain);
    assert_line("+3:1:decode:9 -3:4 ");
    other_tool = InitializeInjectionNvtx2; /* a link to our own file: not once more */
    assert_int_equal(load(&plain), 1);
    other_tool = NULL;
    unsetenv("NVTX_INJECTION64_PATH");
}

static void test_many_names(void **state)
{
    struct library library;
    char name[32];

    load(&library);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "layer_%d", i);
        push(&library, name);
        pop(&library);
    }
    assert_non_null(strstr(line, ":l62:14 ")); /* unet/down was the first of 64 */
    assert_null(strstr(line, ":l63:14 "));
    assert_non_null(strstr(line, ":other:14 "));
    line[0] = '\0';
    last_span = 0;
    push(&library, "layer_5");
    pop(&library);
    assert_line("+1:1:l5:14 -1:4 ");
}

static void test_environment(void **state)
{
    setenv("NVTX_INJECTION64_PATH", "/other/tool.so", 1);
    setenv("NVTX_INJECTION64", "x", 1);
    assert_string_equal(answer("NVTX_INJECTION64_PATH"), "/ours/lib.so");
    assert_string_equal(getenv("NVTX_INJECTION64_PATH"), "/other/tool.so"); /* nobody else is told */
    assert_string_equal(answer("NVTX_INJECTION64"), "x");
    assert_null(answer("no such variable"));
    unsetenv("NVTX_INJECTION64_PATH");
}

static void test_names_are_seen(void **state)
{
    struct library library;
    struct st_nvtx_attributes attributes = {.version = 2, .size = sizeof(attributes)};

    load(&library);
    register_fn register_string = CORE2(&library, ST_NVTX_DOMAIN_REGISTER_STRING_A, register_fn);
    push(&library, "seen once");
    push(&library, "seen twice");
    push(&library, "seen twice");
    for (int i = 0; i < 3; i++) pop(&library);
    CORE(&library, ST_NVTX_RANGE_END, end_fn)(CORE(&library, ST_NVTX_RANGE_START_A, start_fn)("seen started"));
    CORE(&library, ST_NVTX_MARK_A, mark_fn)("seen mark");
    attributes.message_type = ST_NVTX_REGISTERED;
    attributes.message.registered = register_string(NULL, "seen registered");
    assert_int_equal(times_seen("seen registered"), 0);
    CORE(&library, ST_NVTX_RANGE_PUSH_EX, push_ex_fn)(&attributes);
    pop(&library);
    assert_int_equal(times_seen("seen registered"), 1);
    assert_int_equal(times_seen("seen once"), 1);
    assert_int_equal(times_seen("seen twice"), 2);
    assert_int_equal(times_seen("seen started"), 1);
    assert_int_equal(times_seen("seen mark"), 1);
    assert_int_equal(times_seen("seen never"), UINT64_MAX);
    line[0] = '\0';
}

static struct st_stage_match match_python(const char *text)
{
    struct st_stage_match match;
    assert_true(st_stages_match(ST_MAP_PYTHON, NULL, text, &match));
    return match;
}

/* The rules of presets are there once Python is, and count once their preset is recognised; an answer may be kept. */
static void test_recognised(void **state)
{
    const char *const encode = "diffusers.pipelines.sd.pipeline:SDPipeline.encode_prompt";
    struct st_stage_match save, match;

    assert_false(st_stages_wants_python());
    assert_false(st_stages_add_python()); /* this map is as set */
    st_stages_init(&map, true);
    assert_true(st_stages_wants_python());
    assert_false(st_stages_match(ST_MAP_PYTHON, NULL, encode, &match));
    assert_true(st_stages_add_python());
    assert_non_null(st_stages_rule(16));
    assert_true(st_stages_rule_counts(0));
    save = match_python("PIL.Image:Image.save");
    assert_false(st_stages_rule_counts(save.rule));
    assert_int_equal(st_stage_enter(save.rule, save.name), ST_WATCH_BYPASS);
    assert_int_equal(st_stages_matched(save.rule), 0);
    match = match_python(encode);
    assert_true(st_stages_rule_counts(match.rule));
    assert_string_equal(map.rules[match.rule].origin, "diffusers");
    last_span = 0;
    line[0] = '\0';
    st_stage_leave(st_stage_enter(match.rule, match.name), ST_END_RETURN);
    st_stage_leave(st_stage_enter(save.rule, save.name), ST_END_RETURN);
    assert_int_equal(st_stages_matched(save.rule), 1);
    assert_non_null(strstr(line, "+1:1:encode:"));
    assert_non_null(strstr(line, "+2:1:output:"));
    assert_true(st_stages_add_python()); /* again: nothing more */
    assert_non_null(st_stages_rule(map.count - 1));
    assert_null(st_stages_rule(map.count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbols),      cmocka_unit_test(test_cxx_symbols), cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_nvtx_alone),   cmocka_unit_test(test_nvtx_domains),
        cmocka_unit_test(test_nvtx_deep),    cmocka_unit_test(test_nvtx_started), cmocka_unit_test(test_nvtx_orphans),
        cmocka_unit_test(test_nvtx_chained), cmocka_unit_test(test_forked),
        cmocka_unit_test(test_many_names), cmocka_unit_test(test_environment), cmocka_unit_test(test_names_are_seen),
        cmocka_unit_test(test_recognised),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
