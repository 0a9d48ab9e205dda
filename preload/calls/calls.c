/* SPDX-License-Identifier: Apache-2.0 */
/* The table made from calls.def, and finding rows by name. Constant data; any thread. */
#include "calls.h"

#include <stdatomic.h>
#include <string.h>

#include "place.h"

/* ---- the words of calls.def ---- */

#define FRAME_INDEX(n) ((n) < ST_CALL_REGISTER_WORDS ? (n) : (n) - ST_CALL_REGISTER_WORDS + ST_CALL_FRAME_STACK)
#define PLACE(how, n) ((how) | FRAME_INDEX(n))
#define W0 PLACE(ST_PLACE_WORD, 0)
#define W1 PLACE(ST_PLACE_WORD, 1)
#define W2 PLACE(ST_PLACE_WORD, 2)
#define W3 PLACE(ST_PLACE_WORD, 3)
#define W4 PLACE(ST_PLACE_WORD, 4)
#define W5 PLACE(ST_PLACE_WORD, 5)
#define W6 PLACE(ST_PLACE_WORD, 6)
#define W7 PLACE(ST_PLACE_WORD, 7)
#define W8 PLACE(ST_PLACE_WORD, 8)
#define W10 PLACE(ST_PLACE_WORD, 10)
#define W11 PLACE(ST_PLACE_WORD, 11)
#define W12 PLACE(ST_PLACE_WORD, 12)
#define I0 PLACE(ST_PLACE_LOW32, 0)
#define I1 PLACE(ST_PLACE_LOW32, 1)
#define I2 PLACE(ST_PLACE_LOW32, 2)
#define I3 PLACE(ST_PLACE_LOW32, 3)
#define I4 PLACE(ST_PLACE_LOW32, 4)
#define I5 PLACE(ST_PLACE_LOW32, 5)
#define I6 PLACE(ST_PLACE_LOW32, 6)
#define I7 PLACE(ST_PLACE_LOW32, 7)
#define I8 PLACE(ST_PLACE_LOW32, 8)
#define O0 PLACE(ST_PLACE_POINTED64, 0)
#define O1 PLACE(ST_PLACE_POINTED64, 1)
#define O3 PLACE(ST_PLACE_POINTED64, 3)
#define J0 PLACE(ST_PLACE_POINTED32, 0)
#define J1 PLACE(ST_PLACE_POINTED32, 1)
#if defined(__aarch64__)
#define ABI(on_stack, by_reference) by_reference
#define REFERRED(n, word) PLACE(ST_PLACE_REFERENCE + ((word) << 5), n)
#define V0 REFERRED(0, 0)
#define V1 REFERRED(1, 0)
#define V1_1 REFERRED(1, 1)
#define V1_2 REFERRED(1, 2)
#define V2 REFERRED(2, 0)
#define V2_1 REFERRED(2, 1)
#define V2_2 REFERRED(2, 2)
#else
#define ABI(on_stack, by_reference) on_stack
#endif

#define A(place) .a = place,
#define B(place) .b = place,
#define C(place) .c = place,
#define D(place) .d = place,
#define C2(place) .c2 = place,
#define C3(place) .c3 = place,
#define KIND(place) .kind = place,
#define KEY(place) .key = place,
#define TEXT(place) .text = place,
#define ALIAS(place) .alias = place,
#define VERSION(place) .asked_version = place,
#define FLAGS(place) .asked_flags = place,
#define HOST(how, n) .host = ST_HOST_##how | FRAME_INDEX(n),
#define UNIT(n) .unit = n,
#define N(n) .words = n,
#define TO(dir) .direction = ST_DIR_##dir,
#define NAME(what) .names = ST_NAME_##what,
#define MARK(what) .mark = ST_MARK_##what,
#define DOES(what) .does = ST_DOES_##what,
#define NODE(what) .decoder = DECODE_NODE, .node = ST_NODE_##what,
#define BLOCKS .blocks = 1,
#define PER_THREAD .per_thread = 1,
#define QUIET .quiet = 1,
#define POINTER .pointer = 1,
#define INIT_CALL .init = 1,
#define NO_RESULT .no_result = 1,
#define LAUNCH_EX .decoder = DECODE_LAUNCH_EX,
#define COPY_2D .decoder = DECODE_COPY_2D,
#define COPY_3D .decoder = DECODE_COPY_3D,
#define COPY_RT3D .decoder = DECODE_COPY_RT3D,
#define COPY_RT3D_PEER .decoder = DECODE_COPY_RT3D_PEER,
#define COPY_BATCH .decoder = DECODE_COPY_BATCH,
#define COPY_3D_BATCH .decoder = DECODE_COPY_3D_BATCH,
#define COPY_2D_32 .decoder = DECODE_COPY_2D_32,
#define COPY_3D_32 .decoder = DECODE_COPY_3D_32,
#define LAUNCH_MULTI .decoder = DECODE_LAUNCH_MULTI,
#define LAUNCH_RT_MULTI .decoder = DECODE_LAUNCH_RT_MULTI,
#define UNTIL(major) .until = major,

#define ST_CALL(layer_name, export, since_version, class_name, ...) \
    {.name = #export, .since = since_version, .layer = ST_LAYER_##layer_name, .class_id = ST_CLASS_##class_name, \
     __VA_ARGS__},

const struct st_call_row st_calls[] = {
#include "calls.def"
};
const uint16_t st_call_count = sizeof(st_calls) / sizeof(st_calls[0]);

/* ---- finding a row: open addressing, filled at the first search ---- */

enum { INDEX_SIZE = 2048, NEWEST_KNOWN_VERSION = 13000, FLAG_PER_THREAD = 2 };
_Static_assert(sizeof(st_calls) / sizeof(st_calls[0]) < INDEX_SIZE / 2, "index too full");

static _Atomic uint16_t index_of[INDEX_SIZE]; /* row + 1 */
static _Atomic bool index_ready;

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++) {
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    }
    return hash;
}

/* Threads that fill at the same time store the same values in the same places. */
static void fill_index(void)
{
    for (uint16_t row = 0; row < st_call_count; row++) {
        uint32_t at = hash_name(st_calls[row].name) % INDEX_SIZE;
        uint16_t there;
        while ((there = atomic_load_explicit(&index_of[at], memory_order_relaxed)) != 0 && there != row + 1) {
            at = (at + 1) % INDEX_SIZE;
        }
        atomic_store_explicit(&index_of[at], (uint16_t)(row + 1), memory_order_relaxed);
    }
    atomic_store_explicit(&index_ready, true, memory_order_release);
}

int st_call_find(const char *name)
{
    if (name[0] != 'c' && name[0] != '_') {
        return -1;
    }
    if (!atomic_load_explicit(&index_ready, memory_order_acquire)) {
        fill_index();
    }
    for (uint32_t at = hash_name(name) % INDEX_SIZE;; at = (at + 1) % INDEX_SIZE) {
        uint16_t row = atomic_load_explicit(&index_of[at], memory_order_relaxed);
        if (row == 0) {
            return -1;
        }
        if (strcmp(st_calls[row - 1].name, name) == 0) {
            return row - 1; /* rows are put in by number: the first of its name */
        }
    }
}

int st_call_find_for(const char *name, int major)
{
    int row = st_call_find(name), newest = row;
    if (row < 0 || st_calls[row].until == 0) {
        return row;
    }
    for (int other = row; other < st_call_count; other++) {
        if (strcmp(st_calls[other].name, name) == 0) {
            newest = other;
            if (major > 0 && major <= st_calls[other].until) {
                break;
            }
        }
    }
    return newest;
}

/* Is `export` the base name itself or one of its numbered variants, without a stream suffix? */
static bool is_variant(const char *export, const char *base, size_t length)
{
    if (strncmp(export, base, length) != 0) {
        return false;
    }
    const char *rest = export + length;
    return rest[0] == '\0' || (rest[0] == '_' && rest[1] == 'v' && rest[2] >= '0' && rest[2] <= '9' && rest[3] == '\0');
}

/* The per-thread-stream variant of a row, or the row itself if there is none. */
static int per_thread_variant(int row)
{
    int next = row + 1; /* calls.def lists it right behind */
    if (next < st_call_count && st_calls[next].per_thread && st_calls[next].since <= NEWEST_KNOWN_VERSION) {
        size_t length = strlen(st_calls[row].name);
        const char *rest = st_calls[next].name + length;
        if (strncmp(st_calls[next].name, st_calls[row].name, length) == 0 &&
            (strcmp(rest, "_ptsz") == 0 || strcmp(rest, "_ptds") == 0)) {
            return next;
        }
    }
    return row;
}

int st_call_find_version(const char *symbol, int version, uint64_t flags)
{
    if (version <= 0 || version > NEWEST_KNOWN_VERSION || st_call_find(symbol) < 0) {
        return -1;
    }
    size_t length = strlen(symbol);
    int best = -1;
    for (int row = 0; row < st_call_count; row++) {
        const struct st_call_row *candidate = &st_calls[row];
        if (candidate->layer == ST_LAYER_DRIVER && !candidate->per_thread && candidate->since <= version &&
            is_variant(candidate->name, symbol, length) && (best < 0 || candidate->since > st_calls[best].since)) {
            best = row;
        }
    }
    if (best >= 0 && (flags & FLAG_PER_THREAD)) {
        int variant = per_thread_variant(best);
        return st_calls[variant].since <= version ? variant : best;
    }
    return best;
}

void st_call_asked(const struct st_call_row *row, const uint64_t *frame, const char **ret_symbol, int *ret_version,
                   uint64_t *ret_flags)
{
    *ret_symbol = (const char *)frame[0];
    *ret_version = (int)st_call_place(row->asked_version, frame, false);
    *ret_flags = st_call_place(row->asked_flags, frame, false);
}
