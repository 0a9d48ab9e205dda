/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a thread prints to lines, and from lines to rules. A line ends with \n or \r; one that is not finished is
 * offered to the rules, too (progress bars are ended by their successor), but none takes a line twice in a row. Control
 * sequences of terminals are left out. At most 2 × HALF_BYTES of a call are looked at. No malloc, no lock.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "log_private.h"
#include "preload/record/clock.h"
#include "preload/record/syscall.h"
#include "preload/record/thread.h"
#include "seen.h"

enum { HALF_BYTES = 4096, MAX_BLOCKS = 4096, LOOKS_FOR_DEAD = 8 };

static __thread struct st_lines *own __attribute__((tls_model("initial-exec")));
static _Atomic(struct st_lines *) blocks; /* only grows */
static _Atomic uint32_t block_count;

_Atomic uint64_t st_lines_unseen;
uint64_t st_lines_start_ticks;

static void count_unseen(size_t bytes)
{
    atomic_fetch_add_explicit(&st_lines_unseen, bytes, memory_order_relaxed);
}

/* ---- blocks ---- */

static bool is_dead(uint32_t tid)
{
    return st_syscall6(SYS_tgkill, st_syscall6(SYS_getpid, 0, 0, 0, 0, 0, 0), tid, 0, 0, 0, 0) == -ESRCH;
}

/* A block whose thread ended. One with our own id is such a one: ids are given anew. */
static struct st_lines *take_block(uint32_t tid)
{
    int looks = 0;

    for (struct st_lines *block = atomic_load_explicit(&blocks, memory_order_acquire); block != NULL;
         block = block->next) {
        uint32_t owner = atomic_load_explicit(&block->owner, memory_order_relaxed);
        if (owner != tid && owner != 0 && (looks++ >= LOOKS_FOR_DEAD || !is_dead(owner))) continue;
        if (!atomic_compare_exchange_strong_explicit(&block->owner, &owner, tid, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        block->as_fd = 0;
        block->held = NULL;
        block->is_busy = block->has_posted = false;
        memset(block->channels, 0, sizeof(block->channels));
        return block;
    }
    return NULL;
}

static struct st_lines *map_block(uint32_t tid)
{
    enum { WIPE_ON_FORK = 18 /* MADV_WIPEONFORK, Linux 4.14 */ };
    struct st_lines *block;

    if (atomic_fetch_add_explicit(&block_count, 1, memory_order_relaxed) >= MAX_BLOCKS) return NULL;
    block = st_sys_mmap(sizeof(*block), MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (st_sys_mmap_failed(block)) return NULL;
    st_syscall6(SYS_madvise, (long)block, sizeof(*block), WIPE_ON_FORK, 0, 0, 0);
    atomic_store_explicit(&block->owner, tid, memory_order_relaxed);
    block->next = atomic_load_explicit(&blocks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&blocks, &block->next, block, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return block;
}

struct st_lines *st_lines_get(void)
{
    return own != NULL && atomic_load_explicit(&own->owner, memory_order_relaxed) != 0 ? own : NULL;
}

struct st_lines *st_lines_make(void)
{
    struct st_lines *block = st_lines_get();

    if (block == NULL) {
        uint32_t tid = st_sys_gettid();
        block = take_block(tid);
        own = block = block != NULL ? block : map_block(tid);
    }
    return block;
}

void st_lines_forget(void)
{
    own = NULL;
    atomic_store_explicit(&blocks, NULL, memory_order_relaxed);
    atomic_store_explicit(&block_count, 0, memory_order_relaxed);
}

/* ---- lines ---- */

/* The line as a pattern could say it: numbers are `*`. */
static void note_seen(const char *text)
{
    char name[ST_SEEN_NAME_BYTES];
    uint32_t used = 0;

    for (; *text != '\0' && used < sizeof(name) - 2; text++) {
        bool is_number = (*text >= '0' && *text <= '9') || (*text == '.' && used > 0 && name[used - 1] == '*');
        if (!is_number) {
            name[used++] = *text;
        } else if (used == 0 || name[used - 1] != '*') {
            name[used++] = '*';
        }
    }
    if (*text != '\0' && name[used - 1] != '*') name[used++] = '*';
    name[used] = '\0';
    st_seen_note(ST_MAP_LOG, name);
}

/* A line: when the call that printed the last of it was entered, and how much earlier it may have been printed. */
struct late_line {
    struct st_lines *lines;
    uint64_t at_ticks;
    uint64_t late_ticks;
};

static void match_line(void *context, struct st_line *line, bool is_whole, const char *text)
{
    const struct late_line *late = context;
    struct st_stage_match match;
    bool is_matched = is_whole ? st_stages_match(ST_MAP_LOG, NULL, text, &match)
                               : st_stages_match_part(ST_MAP_LOG, text, &match);

    if (is_matched && st_line_is_news(line, match.rule))
        st_lines_matched(late->lines, &match, late->at_ticks, late->late_ticks);
    if (is_whole) note_seen(text);
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

/* Is there text of more than one line? Then it was kept somewhere, and is late. */
static bool has_many_lines(const char *text, size_t length)
{
    const char *end = text + length;

    while (text < end && is_line_end(*text)) text++;
    while (text < end && !is_line_end(*text)) text++;
    while (text < end && is_line_end(*text)) text++;
    return text < end;
}

static void add(struct st_lines *lines, struct st_channel *channel, const char *text, size_t length,
                uint64_t begin_ticks)
{
    uint64_t since = begin_ticks;

    if (st_line_is_binary(text, length)) {
        st_line_tear(&channel->line);
        count_unseen(length);
        channel->last_ticks = st_ticks();
        return;
    }
    if (has_many_lines(text, length < HALF_BYTES ? length : HALF_BYTES))
        since = channel->last_ticks != 0 ? channel->last_ticks : st_lines_start_ticks;
    struct late_line late = {lines, begin_ticks, begin_ticks > since ? begin_ticks - since : 0};
    if (length <= 2 * HALF_BYTES) {
        st_line_add(&channel->line, text, length, match_line, &late);
    } else {
        st_line_add(&channel->line, text, HALF_BYTES, match_line, &late);
        st_line_tear(&channel->line);
        st_line_add(&channel->line, text + length - HALF_BYTES, HALF_BYTES, match_line, &late);
        count_unseen(length - 2 * HALF_BYTES);
    }
    st_line_offer(&channel->line, match_line, &late);
    channel->last_ticks = st_ticks();
}

void st_lines_add(int channel, const char *text, size_t length, uint64_t begin_ticks)
{
    int saved_errno = errno;
    struct st_lines *lines = st_suppress == 0 ? st_lines_make() : NULL;

    if (lines != NULL && !lines->is_busy) {
        lines->is_busy = true;
        atomic_signal_fence(memory_order_seq_cst);
        add(lines, &lines->channels[channel], text, length, begin_ticks);
        atomic_signal_fence(memory_order_seq_cst);
        lines->is_busy = false;
    } else if (st_suppress == 0) {
        count_unseen(length);
    }
    errno = saved_errno;
}
