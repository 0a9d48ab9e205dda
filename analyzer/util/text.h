/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts from a trace are bytes that a stranger chose (kernel, range and thread names). These functions
 * make them fit for a terminal: valid UTF-8, no control or direction-changing character. Any thread.
 */
#ifndef ST_UTIL_TEXT_H
#define ST_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length (1–4) of the valid UTF-8 sequence at the start of `text`, and its code point; 0 = not valid. */
size_t st_utf8_decode(const char *text, size_t length, uint32_t *ret_code);

/* May this code point change more than its own cell: controls, line separators, direction marks? */
bool st_code_is_unsafe(uint32_t code);

/* A copy of `text` with unsafe characters and bytes that are no UTF-8 written as \xNN or \u{N}, cut to
 * `max_columns` with "…" (0 = uncut). Caller frees; NULL = no memory. */
char *st_text_printable(const char *text, size_t length, size_t max_columns);

/* Columns that `text` (valid UTF-8) takes on a terminal. */
size_t st_text_columns(const char *text);

#endif
