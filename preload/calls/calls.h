/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CUDA function means: one row for each exported name that is watched (calls.def is the only
 * list), and the decoder that turns a call's saved argument words into CALL.a … CALL.d.
 *
 * An argument "word" is an argument in its place: 0–5 in registers, 6 and up on the stack. The thunk saves
 * them in one array, `frame`: registers, four words of its own (the last: the return address), the caller's
 * stack arguments as they lie.
 * The table is constant. st_call_decode() runs on the caller's thread on the path of each call: it is
 * compiled for general registers only and calls nothing.
 */
#ifndef ST_CALLS_CALLS_H
#define ST_CALLS_CALLS_H

#include <stdbool.h>
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
    uint8_t blocks : 1;     /* may wait for the device by its contract */
    uint8_t per_thread : 1; /* stream 0 means the per-thread default stream (_ptsz, _ptds) */
    uint8_t quiet : 1;      /* does not make the process one that uses CUDA (registration at start) */
    uint8_t pointer : 1;    /* *word 1 is a function pointer that it hands out */
    uint8_t init : 1;       /* cuInit */
    uint8_t no_result : 1;  /* returns nothing */
    /* private to preload/calls: where the figures are */
    uint8_t decoder, unit;
    uint8_t a, b, c, d, c2, c3, kind, key, text, alias, asked_version, asked_flags;
};

#define ST_CALL_STACK_WORDS 16
#define ST_CALL_REGISTER_WORDS 6
#define ST_CALL_FRAME_RETURN 9 /* index of the return address in a frame */
#define ST_CALL_FRAME_STACK 10 /* … of word 6 */

extern const struct st_call_row st_calls[]; /* CALLDEF.call is the index */
extern const uint16_t st_call_count;

/* Row of an exported name, or -1. Any thread, no allocation. */
int st_call_find(const char *name);

/* What the driver hands out for the base name `symbol` asked with `version` (1000 major + 10 minor) and
 * the flags of cuGetProcAddress: row, or -1 where the table can not be certain (unknown, or newer than it). */
int st_call_find_version(const char *symbol, int version, uint64_t flags);

/* Fill *ret from the argument words. Memory behind pointers is read only if `result` is 0. The direction
 * is added to note->flags; a SYNC's `d` is left 0. */
void st_call_decode(const struct st_call_row *row, const uint64_t *frame, int result, struct st_call_note *note);

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
