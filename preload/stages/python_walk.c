/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the frames at CUDA calls; see python_walk.h. On the path of a call: no malloc, no lock, no system call. */
#include "python_walk.h"

#include <stdatomic.h>
#include <string.h>

#include "at_call.h"
#include "preload/record/record.h"
#include "python_frames.h"
#include "python_match.h"
#include "seen.h"

#define NAMED_FRAMES 48 /* the innermost ones */
#define PATH_BYTES 512
#define PATH_PARTS 8
#define CACHE_SIZE 4096u /* a power of two */
#define NAME_PERIODS_PER_SECOND 1000
#define NAMED_CALLS 500 /* the process's first ones: a short program would show too little in its milliseconds */

static _Atomic bool finds_stages, notes_names;
static uint64_t first_ticks; /* see st_python_walk_for_stages */

/* ---- names --------------------------------------------------------------------------------------- */

static uint32_t append(char *text, uint32_t used, const char *more)
{
    uint32_t length = (uint32_t)strlen(more), room = ST_PYTHON_NAME_BYTES - 1 - used;
    length = length < room ? length : room;
    memcpy(text + used, more, length);
    text[used + length] = '\0';
    return used + length;
}

/* `*pipe` for …/studio/pipe.py, which may be studio.pipe; `*` as long as it may also be the program itself. */
static uint32_t append_guess(char *text, const char *file)
{
    char module[PATH_BYTES];
    bool is_known = st_python_frames_has_main() &&
                    (st_python_frame_module_guess(file, 1, module, sizeof(module)) ||
                     st_python_frame_module_guess(file, 2, module, sizeof(module)));
    return append(text, append(text, 0, "*"), is_known ? module : "");
}

/* As a pattern for a rule, stars for what is not known. */
static void note_name(const struct st_python_frame *frame)
{
    char file[PATH_BYTES], module[PATH_BYTES], name[PATH_BYTES], text[ST_PYTHON_NAME_BYTES];
    uint32_t used;

    st_python_frame_text(frame->file, file, sizeof(file));
    st_python_frame_text(frame->name, name, sizeof(name));
    if (file[0] == '\0' || file[0] == '<' || name[0] == '\0') return; /* of the interpreter, or made at run time */
    st_python_frame_module(file, module, sizeof(module));
    used = append(text, module[0] ? append(text, 0, module) : append_guess(text, file), ":");
    if (st_py_api.minor < 11) used = append(text, used, "*");
    append(text, used, name);
    st_seen_note(ST_MAP_PYTHON, text);
}

static void note_names(void)
{
    struct st_python_walk walk;
    struct st_python_frame frame;

    st_python_frames_begin(&walk);
    for (int i = 0; i < NAMED_FRAMES && st_python_frames_next(&walk, &frame); i++) note_name(&frame);
}

/* ---- rules --------------------------------------------------------------------------------------- */

/* Found words by code object: 40 bits of key, rule + 1, row name. One word each: no reader sees half of one. */
static _Atomic uint64_t cache[CACHE_SIZE];

static uint64_t key_of(const struct st_python_frame *frame)
{
    uint64_t key = (uintptr_t)frame->code * 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 29 ^ (uintptr_t)frame->name) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 32 ^ (uintptr_t)frame->file) * 0x94d049bb133111ebu;
    return key >> 24 | 1;
}

static bool match_named(const char *module, const char *name, struct st_stage_match *ret_match)
{
    char text[ST_PYTHON_NAME_BYTES];
    const struct st_map_rule *rule;
    uint32_t used = append(text, append(text, 0, module), ":");

    if (st_py_api.minor >= 11) {
        append(text, used, name);
        return st_stages_match(ST_MAP_PYTHON, st_thread_current, text, ret_match);
    }
    for (uint32_t n = 0; (rule = st_stages_rule(n)) != NULL; n++) { /* only the last part of the name is known */
        if (!st_python_rule_may_match(rule, module, name)) continue;
        const char *colon = strrchr(rule->pattern, ':'), *dot = colon ? strrchr(colon, '.') : NULL;
        uint32_t length = used;
        for (const char *at = colon ? colon + 1 : NULL; dot && at <= dot && length < ST_PYTHON_NAME_BYTES - 1; at++)
            text[length++] = *at;
        append(text, length, name);
        if (st_stages_match(ST_MAP_PYTHON, st_thread_current, text, ret_match)) return true;
    }
    return false;
}

/* *ret_is_final: the answer stays so. As long as it is not known which file is the program's own, it may become
 * another one. */
static bool match(const struct st_python_frame *frame, struct st_stage_match *ret_match, bool *ret_is_final)
{
    char file[PATH_BYTES], module[PATH_BYTES], name[PATH_BYTES];

    st_python_frame_text(frame->file, file, sizeof(file));
    st_python_frame_text(frame->name, name, sizeof(name));
    *ret_is_final = true;
    if (file[0] == '\0' || name[0] == '\0') return false;
    st_python_frame_module(file, module, sizeof(module));
    *ret_is_final = module[0] || st_python_frames_has_main();
    if (module[0]) return match_named(module, name, ret_match);
    for (uint32_t parts = 1; parts <= PATH_PARTS; parts++) {
        if (st_python_frame_module_guess(file, parts, module, sizeof(module)) && match_named(module, name, ret_match))
            return true;
    }
    return false;
}

/* As st_python_pack(), or 0. */
static uint64_t known_of(const struct st_python_frame *frame)
{
    struct st_stage_match found = {0};
    uint64_t key = key_of(frame), word;
    _Atomic uint64_t *place = &cache[key & (CACHE_SIZE - 1)];

    word = atomic_load_explicit(place, memory_order_relaxed);
    if (word >> 24 != key) {
        bool is_final;
        uint64_t rule = match(frame, &found, &is_final) ? found.rule + 1u : 0;
        word = key << 24 | rule << 12 | (found.name & 0xfff);
        if (is_final) atomic_store_explicit(place, word, memory_order_relaxed);
    }
    if (((word >> 12) & 0xfff) == 0) return 0;
    found = (struct st_stage_match){.rule = (uint16_t)(((word >> 12) & 0xfff) - 1), .name = word & 0xfff};
    return st_python_pack(&found);
}

/* ---- stages -------------------------------------------------------------------------------------- */

struct found {
    const void *frame, *code;
    uint64_t known;
};

/* The matched ones among the frames of this thread, outermost last. */
static uint32_t find_matched(struct found *ret)
{
    struct st_python_walk walk;
    struct st_python_frame frame;
    uint32_t found = 0;

    st_python_frames_begin(&walk);
    while (found < ST_MAX_PYTHON_ENTRIES && st_python_frames_next(&walk, &frame)) {
        uint64_t known = known_of(&frame);
        if (known) ret[found++] = (struct found){frame.frame, frame.code, known};
    }
    return found;
}

static void enter(struct st_thread *thread, const struct found *found)
{
    struct st_python_entry *entry = &thread->python[thread->python_count++];
    *entry = (struct st_python_entry){.code = found->code, .frame = found->frame};
    if (found->known & ST_PYTHON_INSTANT) {
        st_stage_instant(st_python_rule(found->known), st_python_name(found->known));
    } else {
        entry->token = st_stage_enter(st_python_rule(found->known), st_python_name(found->known));
    }
}

static void leave_down_to(struct st_thread *thread, uint32_t keep)
{
    while (thread->python_count > keep) st_stage_leave(thread->python[--thread->python_count].token, ST_END_RETURN);
}

/* `before`: when this thread made its last call on this level, 0 = never. */
static void follow(struct st_thread *thread, uint64_t before)
{
    struct found found[ST_MAX_PYTHON_ENTRIES];
    uint32_t count = find_matched(found), keep = 0;

    while (keep < count && keep < thread->python_count &&
           thread->python[keep].frame == found[count - 1 - keep].frame &&
           thread->python[keep].code == found[count - 1 - keep].code)
        keep++;
    if (keep == count && keep == thread->python_count) return;
    uint64_t now = st_ticks(), since = before && before < now ? before : first_ticks;
    st_span_doubt(thread, true, now - since);
    leave_down_to(thread, keep);
    for (; keep < count; keep++) enter(thread, &found[count - 1 - keep]);
    st_span_doubt(thread, false, 0);
}

/* ---- at a CUDA call ------------------------------------------------------------------------------ */

static bool is_name_due(const struct st_thread *thread, uint64_t before)
{
    static _Atomic uint32_t calls;
    if (atomic_load_explicit(&calls, memory_order_relaxed) >= NAMED_CALLS) return before >= thread->python_names_due;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return true;
}

static void at_call(struct st_thread *thread, const uint64_t *words)
{
    /* what the last call on this level left behind: when it began (of a stage function: a token, always smaller) */
    uint64_t before = thread->frames[thread->frame_count].begin_ticks;

    if (atomic_load_explicit(&finds_stages, memory_order_acquire) || st_python_eval_given_up()) follow(thread, before);
    if (is_name_due(thread, before) && atomic_load_explicit(&notes_names, memory_order_acquire)) {
        thread->python_names_due = before + st_ring_setup.head.ticks_per_second / NAME_PERIODS_PER_SECOND;
        note_names();
    }
}

void st_python_walk_for_names(void)
{
    if (atomic_exchange_explicit(&notes_names, true, memory_order_release)) return;
    st_at_call(at_call);
}

void st_python_walk_for_stages(uint64_t start_ticks)
{
    first_ticks = start_ticks;
    if (atomic_exchange_explicit(&finds_stages, true, memory_order_release)) return;
    st_at_call(at_call);
}

void st_python_walk_end(void)
{
    struct st_thread *thread = st_thread_current;
    if (!thread || !thread->ring || !atomic_load_explicit(&finds_stages, memory_order_relaxed)) return;
    if (thread->frame_count == ST_MAX_FRAMES || !st_thread_claim(thread)) return;
    uint64_t before = thread->frames[thread->frame_count].begin_ticks, now = st_ticks();
    st_span_doubt(thread, true, before && before < now ? now - before : now - first_ticks);
    leave_down_to(thread, 0);
    st_span_doubt(thread, false, 0);
    st_thread_release(thread);
}
