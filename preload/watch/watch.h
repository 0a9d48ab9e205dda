/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How calls are caught: providers (libcuda, libcudart) and objects with stage functions are found by
 * dl_iterate_phdr; their functions get thunks; their in-memory symbol tables name the thunks, so that the
 * loader itself binds every later caller; slots bound earlier are rewritten once. README.md tells the why.
 *
 * State changes only inside a dl_iterate_phdr callback: glibc's own recursive lock serialises scans and
 * keeps objects mapped. There is no lock of ours. Thunks and the address map are read without locks.
 */
#ifndef ST_WATCH_WATCH_H
#define ST_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct st_thread;

/* ---- start ---- */

/* Find the real dlsym/dlopen. First of all in the constructor, also in a process that is not watched: our two
 * functions are called there as well. Lock-free, no allocation. */
void st_watch_resolve(void);

/* Look at the objects present and bind what is known. Call once, from the constructor, after
 * st_watch_set_hooks() and st_watch_set_matcher(). `argv` as the constructor got it (it marks the top of the
 * main thread's stack), may be NULL. */
void st_watch_start(char **argv);

/* Look for new objects now (cheap when there are none). Any thread; not from inside a dl_iterate_phdr callback. */
void st_watch_scan(void);

/* In the child of fork(): no dl_iterate_phdr until the child's own dlopen showed that the loader's lock is
 * free, and the next watched call is a first call again. Call from the pthread_atfork child handler. */
void st_watch_fork_child(void);

/* Have `fn` called just before main(): constructors are done, environ is valid. Only patches the
 * executable's __libc_start_main slot when called; at most 4 functions. Call from the constructor, after
 * st_watch_start(). False: not possible in this program (fn will not be called). */
bool st_watch_at_main(void (*fn)(void));

/* ---- who is told ---- */

enum { ST_WATCH_BYPASS = 0 }; /* token of stage_enter: run the function, do not come back to stage_leave */

struct st_watch_hooks {
    /* An object with this soname was mapped (each time; also those found by st_watch_start()). Runs in a callback of
     * the loader's list: no dl*() call, malloc or lock. */
    void (*on_object)(const char *soname);
    /* Before the first watched CUDA call of the process runs (once; plain C allowed). */
    void (*on_first_call)(void);
    /* After the first successful cuInit returned (once; plain C allowed; no lock of ours is held). */
    void (*on_init)(void);
    /* Before each dlopen() of the target (plain C; no lock of ours is held). */
    void (*on_dlopen)(void);
    /* Before each outermost CUDA call of a thread is recorded, on that thread: may enter and leave stages. NULL where
     * nobody needs it (st_watch_set_before_call). The thread is claimed; plain C allowed, but no malloc, lock, system
     * call, stdio or CUDA call.
     * `words`: the call's frame; the caller's stack pointer is &words[ST_CALL_FRAME_STACK]. */
    void (*before_call)(struct st_thread *thread, const uint64_t *words);
    /* A matched function is entered / left. `rule` and `symbol` are what the matcher gave. Argument vector
     * registers are live: code must be compiled -mgeneral-regs-only and call no libc; what needs real C
     * goes through st_watch_call_saved(). enter returns a token ≠ 0 for leave, or ST_WATCH_BYPASS when
     * there is nothing to be closed: then nothing of ours stays on the stack (use it for nested entries
     * of the same stage, recursion included). `how` is enum st_span_end: RETURN, THROWN or ABANDONED. */
    uint64_t (*stage_enter)(uint16_t rule, uint32_t symbol);
    void (*stage_leave)(uint64_t token, int how);
};
/* Pointers may be NULL. Copied. Before st_watch_start(). */
void st_watch_set_hooks(const struct st_watch_hooks *hooks);

/* Set before_call alone, at any time. */
void st_watch_set_before_call(void (*before_call)(struct st_thread *thread, const uint64_t *words));

/* Called for each defined function symbol of each object except the loader, libc and its parts, providers
 * and ourselves; returns true if it is a stage function and fills rule and symbol (an index of the
 * matcher's own). Runs inside a dl_iterate_phdr callback: no dl*() call, no malloc. Before st_watch_start(). */
typedef bool (*st_watch_matcher)(const char *symbol, uint16_t *ret_rule, uint32_t *ret_symbol);
void st_watch_set_matcher(st_watch_matcher matcher);

/* Called in place of getenv() by objects that import getenv, dlopen and dlsym, as those with a header-only NVTX do: may
 * answer one name otherwise, and hands on what getenv() says of all others. Before st_watch_start(). */
typedef char *(*st_watch_getenv)(const char *name);
void st_watch_set_getenv(st_watch_getenv fn);

/* Run fn(arg) as plain C from a place where vector registers are live: they are saved and restored. */
void st_watch_call_saved(void (*fn)(void *), void *arg);

/* ---- the real functions, for our own look-ups (never watched, no trigger) ---- */

void *st_watch_real_dlsym(void *handle, const char *name);
void *st_watch_real_dlopen(const char *file, int flags);
/* Of the two above: takes the text, so that the target does not get it. NULL: none. */
const char *st_watch_real_dlerror(void);
/* The first function of that name in our link namespace, whatever its scope, or NULL: for what only some versions of
 * libc have. */
void *st_watch_find_function(const char *name);
/* Our own file, as the loader calls it; NULL: not known. */
const char *st_watch_own_file(void);
/* The function behind one of our thunks; any other address comes back unchanged. */
void *st_watch_unwrap(void *address);

/* ---- functions of libc, for the stage source `log` ---- */

/* A function of libc that callers shall reach through another one. Constant. */
struct st_watch_redirect {
    const char *name;
    const void *ours; /* NULL: callers stay; only `real` is wanted */
    void **real;      /* gets libc's own function before any caller reaches `ours`; NULL: not wanted */
};
struct st_watch_redirected {
    uint32_t symbols, slots, words; /* written: entries of libc's symbol table, slots bound earlier, pointers in its data */
    uint32_t refused;               /* places that the system did not let us write */
};

/*
 * Have libc's symbol table name `ours` for each function of the list, under all its names, and rewrite the slots that
 * were bound before. `words`: a function whose address libc keeps in data that is read-only after relocation (tables of
 * functions): those words get `words->ours`, its symbol stays as it is. Once, from the constructor, after
 * st_watch_start(): objects that come later are bound by the loader itself. Functions that this libc has not are left
 * out: their `real` stays NULL.
 */
void st_watch_redirect(const struct st_watch_redirect *list, uint32_t count, const struct st_watch_redirect *words,
                       struct st_watch_redirected *ret);

/* ---- what was done ---- */

struct st_watch_stats {
    uint64_t scans;         /* slot passes */
    uint64_t objects;       /* objects met */
    uint64_t edits;         /* symbols edited */
    uint64_t edits_refused; /* … that the system did not let us edit */
    uint64_t slots;         /* slots rewritten */
    uint64_t slots_refused;
    uint64_t out_of_reach;  /* functions without a thunk (pool full), objects not remembered (table full),
                               libraries in other link namespaces (st_watch_get_unreached) */
    uint64_t bound_before;  /* objects that came together with a CUDA library: their constructors' calls were missed */
    uint64_t thunks;        /* in use: CUDA */
    uint64_t stage_thunks;  /* in use: stage functions */
    uint64_t thrown;        /* entries closed by an exception */
    uint64_t abandoned;     /* entries closed late, after a longjmp */
    uint64_t too_deep;      /* calls run unrecorded: shadow stack full */
    uint64_t host_untimed;  /* host functions handed over that run unseen: thunks used up */
    /* pointer look-ups (cuGetProcAddress, cudaGetDriverEntryPoint and kin); one inside another counts once */
    uint64_t lookups_asked, lookups_found, lookups_wrapped, lookups_passed, lookups_not_found;
};
void st_watch_get_stats(struct st_watch_stats *ret);

/* A pointer that was handed out and could not be watched although its name is known. */
struct st_watch_miss {
    char symbol[64];
    int version;
    uint64_t flags;
    char caller[128]; /* file of the object that asked */
};
/* The n-th one (each symbol, version, flags and caller once; at most 64 kept); false at the end. */
bool st_watch_get_miss(uint32_t n, struct st_watch_miss *ret);

/* The n-th function of the program that the driver was given to call (cuLaunchHostFunc and kin), since the process
 * began; NULL at the end. Any thread. */
const void *st_watch_host_function(uint32_t n);

struct st_watch_provider {
    char soname[48];
    char path[256];
    bool simulated; /* exports simgpu_tracer_set */
    bool mapped;    /* still */
    bool is_far;    /* in another link namespace (dlmopen) */
    uint8_t layer;  /* enum st_layer */
    uint32_t functions; /* with a thunk */
};
/* The n-th provider ever seen; false at the end. */
bool st_watch_get_provider(uint32_t n, struct st_watch_provider *ret);

/* ---- other link namespaces (dlmopen) ---- */

/* Is the LD_AUDIT shim there? Then objects of every namespace are seen before anything binds to them. */
bool st_watch_is_audited(void);

/* A CUDA library in another link namespace whose calls are not seen. */
struct st_watch_unreached {
    char soname[48];
    char path[256];
};
/* The n-th one since the start or the fork (at most 16 kept); false at the end. As of the last scan. */
bool st_watch_get_unreached(uint32_t n, struct st_watch_unreached *ret);

/* Is the only driver in another link namespace? Libraries loaded by us would bring a second one. */
bool st_watch_driver_is_far(void);

/* The first object counted by bound_before, or "". */
const char *st_watch_first_bound_before(void);

#endif
