/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our place in NVTX; see nvtx.h. Header-only NVTX keeps its function table in each object that uses it, and
 * asks the injection once for each; libnvToolsExt, the library of older programs, asks in the same way. If another
 * tool was to be injected, its initialisation is called first; what it put into the table is noted, and our functions,
 * put in its place, call it too.
 *
 * The functions get no argument that would say through which table they were called. So there are several sets of
 * them, one for each different set of functions of the other tool; mostly one is enough.
 */
#include "nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvtx_ranges.h"
#include "preload/record/thread.h"
#include "preload/watch/watch.h"
#include "stages.h"

#define INJECTION "NVTX_INJECTION64_PATH"
#define PATH_BYTES 4096
#define SETS 8
#define NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING: what push and pop return where there is no tool */
#define TABLE_ENTRIES 16

/* The other tool's functions; NULL where it did not attach. */
struct chain {
    st_nvtx_function core[TABLE_ENTRIES], core2[TABLE_ENTRIES];
};
static struct {
    bool is_used, is_chained;
    struct chain chain;
} sets[SETS];
static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;

static char own_path[PATH_BYTES]; /* set by the constructor, then constant */
static _Atomic bool is_asked;     /* an object looked for its tool */
static _Atomic uint32_t attached; /* objects that use NVTX and know us */

/* ---- the functions, with the number of their set ---- */

typedef const struct st_nvtx_attributes *attributes_t;

/* Call the other tool's function of type T, if it has one. */
#define CHAINED(set, table, id) (sets[set].chain.table[id] != NULL)
#define CALL(set, table, id, T, ...) ((T)(void *)sets[set].chain.table[id])(__VA_ARGS__)

#define MARK(suffix, type, ID, ours)                                                                                   \
    static inline void mark_##suffix(unsigned set, type text)                                                          \
    {                                                                                                                  \
        ours(text);                                                                                                    \
        if (CHAINED(set, core, ID)) CALL(set, core, ID, void (*)(type), text);                                         \
    }
MARK(ex, attributes_t, ST_NVTX_MARK_EX, st_nvtx_mark_attributes)
MARK(a, const char *, ST_NVTX_MARK_A, st_nvtx_mark)
MARK(w, const wchar_t *, ST_NVTX_MARK_W, st_nvtx_mark_wide)

#define PUSH(suffix, type, ID, ours)                                                                                   \
    static inline int push_##suffix(unsigned set, type text)                                                           \
    {                                                                                                                  \
        ours(NULL, text);                                                                                              \
        return CHAINED(set, core, ID) ? CALL(set, core, ID, int (*)(type), text) : NO_TRACKING;                        \
    }
PUSH(ex, attributes_t, ST_NVTX_RANGE_PUSH_EX, st_nvtx_push_attributes)
PUSH(a, const char *, ST_NVTX_RANGE_PUSH_A, st_nvtx_push)
PUSH(w, const wchar_t *, ST_NVTX_RANGE_PUSH_W, st_nvtx_push_wide)

static inline int pop(unsigned set)
{
    int level = NO_TRACKING;
    if (CHAINED(set, core, ST_NVTX_RANGE_POP)) level = CALL(set, core, ST_NVTX_RANGE_POP, int (*)(void));
    st_nvtx_pop(NULL);
    return level;
}

#define START(suffix, type, ID, ours)                                                                                  \
    static inline uint64_t start_##suffix(unsigned set, type text)                                                     \
    {                                                                                                                  \
        uint64_t id = CHAINED(set, core, ID) ? CALL(set, core, ID, uint64_t(*)(type), text) : 0;                       \
        return ours(text, id);                                                                                         \
    }
START(ex, attributes_t, ST_NVTX_RANGE_START_EX, st_nvtx_range_start_attributes)
START(a, const char *, ST_NVTX_RANGE_START_A, st_nvtx_range_start)
START(w, const wchar_t *, ST_NVTX_RANGE_START_W, st_nvtx_range_start_wide)

static inline void end(unsigned set, uint64_t id)
{
    st_nvtx_range_end(id);
    if (CHAINED(set, core, ST_NVTX_RANGE_END)) CALL(set, core, ST_NVTX_RANGE_END, void (*)(uint64_t), id);
}

static inline void domain_mark(unsigned set, void *domain, attributes_t attributes)
{
    st_nvtx_mark_attributes(attributes);
    if (CHAINED(set, core2, ST_NVTX_DOMAIN_MARK_EX))
        CALL(set, core2, ST_NVTX_DOMAIN_MARK_EX, void (*)(void *, attributes_t), domain, attributes);
}

static inline uint64_t domain_start(unsigned set, void *domain, attributes_t attributes)
{
    uint64_t id = 0;
    if (CHAINED(set, core2, ST_NVTX_DOMAIN_RANGE_START_EX))
        id = CALL(set, core2, ST_NVTX_DOMAIN_RANGE_START_EX, uint64_t(*)(void *, attributes_t), domain, attributes);
    return st_nvtx_range_start_attributes(attributes, id);
}

static inline void domain_end(unsigned set, void *domain, uint64_t id)
{
    st_nvtx_range_end(id);
    if (CHAINED(set, core2, ST_NVTX_DOMAIN_RANGE_END))
        CALL(set, core2, ST_NVTX_DOMAIN_RANGE_END, void (*)(void *, uint64_t), domain, id);
}

static inline int domain_push(unsigned set, void *domain, attributes_t attributes)
{
    st_nvtx_push_attributes(domain, attributes);
    if (!CHAINED(set, core2, ST_NVTX_DOMAIN_RANGE_PUSH_EX)) return NO_TRACKING;
    return CALL(set, core2, ST_NVTX_DOMAIN_RANGE_PUSH_EX, int (*)(void *, attributes_t), domain, attributes);
}

static inline int domain_pop(unsigned set, void *domain)
{
    st_nvtx_pop(domain);
    if (!CHAINED(set, core2, ST_NVTX_DOMAIN_RANGE_POP)) return NO_TRACKING;
    return CALL(set, core2, ST_NVTX_DOMAIN_RANGE_POP, int (*)(void *), domain);
}

/* Handles are the other tool's where there is one: it gets them back and may follow them. */
#define REGISTER(suffix, type, ID, ours)                                                                               \
    static inline void *register_##suffix(unsigned set, void *domain, type text)                                       \
    {                                                                                                                  \
        if (!sets[set].is_chained) return ours(text, NULL);                                                            \
        if (!CHAINED(set, core2, ID)) return NULL;                                                                     \
        void *handle = CALL(set, core2, ID, void *(*)(void *, type), domain, text);                                    \
        return handle != NULL ? ours(text, handle) : NULL;                                                             \
    }
REGISTER(a, const char *, ST_NVTX_DOMAIN_REGISTER_STRING_A, st_nvtx_register)
REGISTER(w, const wchar_t *, ST_NVTX_DOMAIN_REGISTER_STRING_W, st_nvtx_register_wide)

#define CREATE(suffix, type, ID)                                                                                       \
    static inline void *create_##suffix(unsigned set, type name)                                                       \
    {                                                                                                                  \
        if (CHAINED(set, core2, ID)) return CALL(set, core2, ID, void *(*)(type), name);                               \
        return sets[set].is_chained ? NULL : st_nvtx_new_domain();                                                     \
    }
CREATE(a, const char *, ST_NVTX_DOMAIN_CREATE_A)
CREATE(w, const wchar_t *, ST_NVTX_DOMAIN_CREATE_W)

/* ---- one copy of each for each set ---- */

/* clang-format off */
#define FUNCTIONS_OF(n)                                                                                                \
    static void mark_ex_##n(attributes_t text) { mark_ex(n, text); }                                                   \
    static void mark_a_##n(const char *text) { mark_a(n, text); }                                                      \
    static void mark_w_##n(const wchar_t *text) { mark_w(n, text); }                                                   \
    static uint64_t start_ex_##n(attributes_t text) { return start_ex(n, text); }                                      \
    static uint64_t start_a_##n(const char *text) { return start_a(n, text); }                                         \
    static uint64_t start_w_##n(const wchar_t *text) { return start_w(n, text); }                                      \
    static void end_##n(uint64_t id) { end(n, id); }                                                                   \
    static int push_ex_##n(attributes_t text) { return push_ex(n, text); }                                             \
    static int push_a_##n(const char *text) { return push_a(n, text); }                                                \
    static int push_w_##n(const wchar_t *text) { return push_w(n, text); }                                             \
    static int pop_##n(void) { return pop(n); }                                                                        \
    static void domain_mark_##n(void *domain, attributes_t text) { domain_mark(n, domain, text); }                     \
    static uint64_t domain_start_##n(void *domain, attributes_t text) { return domain_start(n, domain, text); }        \
    static void domain_end_##n(void *domain, uint64_t id) { domain_end(n, domain, id); }                               \
    static int domain_push_##n(void *domain, attributes_t text) { return domain_push(n, domain, text); }               \
    static int domain_pop_##n(void *domain) { return domain_pop(n, domain); }                                          \
    static void *register_a_##n(void *domain, const char *text) { return register_a(n, domain, text); }                \
    static void *register_w_##n(void *domain, const wchar_t *text) { return register_w(n, domain, text); }             \
    static void *create_a_##n(const char *name) { return create_a(n, name); }                                          \
    static void *create_w_##n(const wchar_t *name) { return create_w(n, name); }
FUNCTIONS_OF(0)
FUNCTIONS_OF(1)
FUNCTIONS_OF(2)
FUNCTIONS_OF(3)
FUNCTIONS_OF(4)
FUNCTIONS_OF(5)
FUNCTIONS_OF(6)
FUNCTIONS_OF(7)

#define F(function) ((st_nvtx_function)(void *)(function))
#define CHAIN_OF(n)                                                                                                    \
    {                                                                                                                  \
        .core = {[ST_NVTX_MARK_EX] = F(mark_ex_##n), [ST_NVTX_MARK_A] = F(mark_a_##n),                                 \
                 [ST_NVTX_MARK_W] = F(mark_w_##n), [ST_NVTX_RANGE_START_EX] = F(start_ex_##n),                         \
                 [ST_NVTX_RANGE_START_A] = F(start_a_##n), [ST_NVTX_RANGE_START_W] = F(start_w_##n),                   \
                 [ST_NVTX_RANGE_END] = F(end_##n), [ST_NVTX_RANGE_PUSH_EX] = F(push_ex_##n),                           \
                 [ST_NVTX_RANGE_PUSH_A] = F(push_a_##n), [ST_NVTX_RANGE_PUSH_W] = F(push_w_##n),                       \
                 [ST_NVTX_RANGE_POP] = F(pop_##n)},                                                                    \
        .core2 = {[ST_NVTX_DOMAIN_MARK_EX] = F(domain_mark_##n),                                                       \
                  [ST_NVTX_DOMAIN_RANGE_START_EX] = F(domain_start_##n),                                               \
                  [ST_NVTX_DOMAIN_RANGE_END] = F(domain_end_##n), [ST_NVTX_DOMAIN_RANGE_PUSH_EX] = F(domain_push_##n), \
                  [ST_NVTX_DOMAIN_RANGE_POP] = F(domain_pop_##n),                                                      \
                  [ST_NVTX_DOMAIN_REGISTER_STRING_A] = F(register_a_##n),                                              \
                  [ST_NVTX_DOMAIN_REGISTER_STRING_W] = F(register_w_##n),                                              \
                  [ST_NVTX_DOMAIN_CREATE_A] = F(create_a_##n), [ST_NVTX_DOMAIN_CREATE_W] = F(create_w_##n)},           \
    }
/* clang-format on */
static const struct chain own_functions[SETS] = {CHAIN_OF(0), CHAIN_OF(1), CHAIN_OF(2), CHAIN_OF(3),
                                                 CHAIN_OF(4), CHAIN_OF(5), CHAIN_OF(6), CHAIN_OF(7)};

/* ---- attaching ---- */

struct tables {
    st_nvtx_function **core, **core2; /* NULL: no such module */
    unsigned core_count, core2_count;
};

static bool get_tables(st_nvtx_get_table_fn get_table, struct tables *ret)
{
    const struct st_nvtx_callbacks *callbacks = get_table(ST_NVTX_TABLE_CALLBACKS);

    *ret = (struct tables){0};
    if (callbacks == NULL || callbacks->struct_bytes < sizeof(*callbacks)) return false;
    if (!callbacks->get_module_table(ST_NVTX_MODULE_CORE, &ret->core, &ret->core_count)) return false;
    if (!callbacks->get_module_table(ST_NVTX_MODULE_CORE2, &ret->core2, &ret->core2_count)) ret->core2_count = 0;
    return ret->core != NULL;
}

static void read_table(st_nvtx_function **table, unsigned count, st_nvtx_function *ret)
{
    for (unsigned i = 0; i < TABLE_ENTRIES; i++) ret[i] = i < count && table[i] != NULL ? *table[i] : NULL;
}

static void *nothing(void)
{
    return NULL;
}

/* What neither of us wants does nothing: some programs use NVTX only if every function is there. `before`: the table as
 * NVTX made it. */
static void write_table(st_nvtx_function **table, unsigned count, const st_nvtx_function *functions,
                        const st_nvtx_function *before)
{
    for (unsigned i = 0; i < TABLE_ENTRIES && i < count; i++) {
        if (table[i] == NULL) continue;
        if (functions[i] != NULL)
            *table[i] = functions[i];
        else if (*table[i] == before[i])
            *table[i] = F(nothing);
    }
}

/* Let the tool that the environment names attach. Returns what its initialisation returned. */
static int attach_other(st_nvtx_get_table_fn get_table)
{
    const char *path = getenv(INJECTION);
    void *handle = path != NULL && path[0] != '\0' ? st_watch_real_dlopen(path, RTLD_LAZY) : NULL;
    void *address = handle != NULL ? st_watch_real_dlsym(handle, "InitializeInjectionNvtx2") : NULL;
    st_nvtx_init_fn init;

    if (address == NULL || address == (void *)InitializeInjectionNvtx2) return 0; /* nobody, or ourselves */
    memcpy(&init, &address, sizeof(init));
    return init(get_table);
}

/* The set that chains to exactly these functions, or -1 when there are too many different ones. */
static int choose_set(const struct chain *chain)
{
    static const struct chain nothing;
    int chosen = -1;

    pthread_mutex_lock(&sets_lock);
    for (int i = 0; i < SETS && chosen < 0; i++)
        if (!sets[i].is_used || memcmp(&sets[i].chain, chain, sizeof(*chain)) == 0) chosen = i;
    if (chosen >= 0 && !sets[chosen].is_used) {
        sets[chosen].chain = *chain;
        sets[chosen].is_chained = memcmp(chain, &nothing, sizeof(nothing)) != 0;
        sets[chosen].is_used = true;
    }
    pthread_mutex_unlock(&sets_lock);
    return chosen;
}

int InitializeInjectionNvtx2(st_nvtx_get_table_fn get_table)
{
    struct tables tables;
    struct chain before, chain;
    int other, set;

    if (!get_tables(get_table, &tables)) return attach_other(get_table);
    read_table(tables.core, tables.core_count, before.core);
    read_table(tables.core2, tables.core2_count, before.core2);
    other = attach_other(get_table);
    read_table(tables.core, tables.core_count, chain.core);
    read_table(tables.core2, tables.core2_count, chain.core2);
    for (unsigned i = 0; i < TABLE_ENTRIES; i++) {
        /* not touched: still NVTX's own first-call function, which would come back to us */
        if (chain.core[i] == before.core[i] || own_functions[0].core[i] == NULL) chain.core[i] = NULL;
        if (chain.core2[i] == before.core2[i] || own_functions[0].core2[i] == NULL) chain.core2[i] = NULL;
    }
    set = choose_set(&chain);
    if (set < 0) return other;
    write_table(tables.core, tables.core_count, own_functions[set].core, before.core);
    write_table(tables.core2, tables.core2_count, own_functions[set].core2, before.core2);
    atomic_fetch_add_explicit(&attached, 1, memory_order_relaxed);
    return 1;
}

/* ---- the answer to getenv(NVTX_INJECTION64_PATH) ---- */

static void find_own_path(void)
{
    const char *file = st_watch_own_file();
    size_t used = 0;

    if (file == NULL) return;
    if (file[0] != '/') { /* as written in LD_PRELOAD: relative to the folder we were started in */
        if (getcwd(own_path, sizeof(own_path)) == NULL) return;
        used = strlen(own_path);
    }
    if ((size_t)snprintf(own_path + used, sizeof(own_path) - used, "%s%s", used > 0 ? "/" : "", file) >=
        sizeof(own_path) - used)
        own_path[0] = '\0';
}

static char *answer_getenv(const char *name)
{
    if (strcmp(name, INJECTION) != 0) return getenv(name);
    atomic_store_explicit(&is_asked, true, memory_order_relaxed);
    return own_path;
}

void st_nvtx_init(void)
{
    find_own_path();
    if (own_path[0] != '\0') st_watch_set_getenv(answer_getenv);
}

enum st_capability_state st_nvtx_state(const char **ret_why)
{
    if (atomic_load_explicit(&attached, memory_order_relaxed) > 0) {
        *ret_why = "no range of that name";
        return ST_CAP_ACCEPTED;
    }
    *ret_why = atomic_load_explicit(&is_asked, memory_order_relaxed) ? "NVTX asked for its tool and does not know us"
                                                                     : "nothing in the process has used NVTX";
    return ST_CAP_REQUESTED;
}
