/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CUDA function means: one row for each exported name that is watched (calls.def is the only
 * list), and the decoder that turns a call's saved argument words into CALL.a … CALL.d.
 *
 * An argument "word" is an argument in its place: the first 6 (aarch64: 8) in registers, others on the stack.
 * The thunk saves them in one array, `frame`: registers, some words of its own (the last: the return address),
 * the caller's stack arguments as they lie. A structure of up to 16 bytes by value takes one or two words like
 * arguments of its own; larger ones lie differently on each processor (ABI() in calls.def).
 * The table is constant. st_call_decode() runs on the caller's thread on the path of each call: it is
 * compiled for general registers only and calls nothing.
 */
#ifndef ST_CALLS_CALLS_H
#define ST_CALLS_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/record/record.h"

/* One watched function. */
struct st_call_row {
    const char *name; /* exported name */
    uint16_t since;   /* driver: CUDA version (1000 major + 10 minor) that introduced this variant; else 0 */
    uint8_t layer;    /* enum st_layer */
    uint8_t class_id; /* enum st_call_class */
    uint8_t words;    /* argument words; 0 = not stated: pass on ST_CALL_STACK_WORDS from the stack */
    uint8_t direction; /* enum st_direction, where the name tells */
    uint8_t mark;      /* enum st_mark that the call stands for, or 0 */
    uint8_t names;     /* enum st_name_kind of the name that it tells, or 0 */
    uint8_t does;      /* enum st_call_does: graphs and capture */
    uint8_t node;      /* enum st_node_kind of the node that it adds, where the name tells */
    uint8_t blocks : 1;    /* may wait for the device by its contract */
    uint8_t quiet : 1;     /* does not make the process one that uses CUDA (registration at start) */
    uint8_t pointer : 1;   /* *word 1 is a function pointer that it hands out */
    uint8_t init : 1;      /* cuInit */
    uint8_t no_result : 1; /* returns nothing */
    /* private to preload/calls: where the figures are (place.h) */
    uint8_t a, b, c, d;
    uint8_t key, text, alias, asked_version, asked_flags;
    uint8_t host; /* enum st_call_host | frame index of the argument */
    /* what makes a row more than four places; st_call_decode() looks at these bytes as one word */
    _Alignas(8) uint8_t decoder;
    uint8_t unit, c2, c3, kind, per_thread;
    uint8_t until; /* last major version of providers that it holds for; 0 = all later ones */
    uint8_t reserved;
};

/* An argument by which the program hands over a function that a thread of the driver will call. */
enum st_call_host {
    ST_HOST_NONE = 0,
    ST_HOST_FUNCTION = 1 << 5, /* CUhostFn: called with user data */
    ST_HOST_CALLBACK = 2 << 5, /* CUstreamCallback: stream, status, user data */
    ST_HOST_PARAMS = 3 << 5,   /* points to CUDA_HOST_NODE_PARAMS */
    ST_HOST_NODE = 4 << 5,     /* points to CUgraphNodeParams, of a node of any kind */
    ST_HOST_ANSWER = 5 << 5,   /* points to CUDA_HOST_NODE_PARAMS that the call fills */
    ST_HOST_INDEX = 31,
};

#define ST_CALL_STACK_WORDS 16
#if defined(__aarch64__)
#define ST_CALL_REGISTER_WORDS 8
#define ST_CALL_FRAME_RETURN 13 /* index of the return address in a frame (thunk_aarch64.S) */
#define ST_CALL_FRAME_STACK 14  /* … of the first word on the stack */
#else
#define ST_CALL_REGISTER_WORDS 6
#define ST_CALL_FRAME_RETURN 9 /* thunk_x86_64.S */
#define ST_CALL_FRAME_STACK 10
#endif

_Static_assert(offsetof(struct st_call_row, reserved) + 1 - offsetof(struct st_call_row, decoder) == 8, "one word");

/* An argument place: what to do with the word (high bits) and its index in the frame; 0 = not told. */
enum {
    ST_PLACE_WORD = 1 << 5,
    ST_PLACE_LOW32 = 2 << 5,
    ST_PLACE_POINTED64 = 3 << 5,
    ST_PLACE_POINTED32 = 4 << 5,
    ST_PLACE_REFERENCE = 5 << 5, /* aarch64: a copied structure's first word; 6, 7: second, third */
    ST_PLACE_INDEX = 31,
};

static inline uint64_t st_call_place(uint8_t place, const uint64_t *frame, bool ok)
{
    uint64_t word = frame[place & ST_PLACE_INDEX];
    if (__builtin_expect(place < ST_PLACE_LOW32, 1)) {
        return place ? word : 0;
    }
    if (place < ST_PLACE_POINTED64) {
        return (uint32_t)word;
    }
#if defined(__aarch64__)
    if (place >= ST_PLACE_REFERENCE) {
        return ((const uint64_t *)word)[(place >> 5) - (ST_PLACE_REFERENCE >> 5)]; /* a copy made by the caller */
    }
#endif
    if (!ok || word == 0) {
        return 0;
    }
    return place < ST_PLACE_POINTED32 ? *(const uint64_t *)word : *(const uint32_t *)word;
}

extern const struct st_call_row st_calls[]; /* CALLDEF.call is the index */
extern const uint16_t st_call_count;

/* Row of an exported name, or -1; of several the oldest. Any thread, no allocation. */
int st_call_find(const char *name);

/* The row that holds for a provider of this major version; 0 = not known, taken for the newest. */
int st_call_find_for(const char *name, int major);

/* What the driver hands out for the base name `symbol` asked with `version` (1000 major + 10 minor) and
 * the flags of cuGetProcAddress: row, or -1 where the table can not be certain (unknown, or newer than it). */
int st_call_find_version(const char *symbol, int version, uint64_t flags);

/* The figures of a row with structures, products, kinds or per-thread streams (decode.c). */
void st_call_decode_more(const struct st_call_row *row, const uint64_t *frame, bool ok, struct st_call_note *note);

/*
 * Fill *note from the argument words. Memory behind pointers is read only if `result` is 0. The direction
 * is added to note->flags; a SYNC's `d` is left 0. Inlined: a call of it costs every recorded call 2 ns.
 */
static inline __attribute__((always_inline)) void st_call_decode(const struct st_call_row *row, const uint64_t *frame,
                                                                 int result, struct st_call_note *note)
{
    uint64_t more;
    __builtin_memcpy(&more, &row->decoder, sizeof(more));
    note->a = st_call_place(row->a, frame, result == 0);
    note->b = st_call_place(row->b, frame, result == 0);
    note->c = st_call_place(row->c, frame, result == 0);
    note->d = st_call_place(row->d, frame, result == 0);
    if (__builtin_expect(more == 0, 1)) {
        note->flags |= (uint32_t)row->direction << ST_CALL_DIRECTION_SHIFT;
    } else {
        st_call_decode_more(row, frame, result == 0, note);
    }
}

/* What a pointer look-up (row->pointer) asked for. *ret_version is 0 if the call does not tell. */
void st_call_asked(const struct st_call_row *row, const uint64_t *frame, const char **ret_symbol, int *ret_version,
                   uint64_t *ret_flags);

/* ---- names (names.c) ---- */

/* A call that tells a name (row->names) was made: remember it. *ret_key gets the handle or host address,
 * *ret_text the name. False: it told none. Plain C, lock-free, no malloc. */
bool st_call_name(const struct st_call_row *row, const uint64_t *frame, int result, uint64_t *ret_key,
                  const char **ret_text);

/* The n-th remembered name, in order of arrival; false at the end. Asked when the trace begins: the host
 * functions that constructors registered before. *ret_kind is enum st_name_kind. Texts stay valid. */
bool st_call_early_name(uint32_t n, int *ret_kind, uint64_t *ret_key, const char **ret_text);

#endif
