/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 checks and terminal-safe copies. The decoder is strict (no overlong form, no surrogate); it does
 * not depend on the locale. Column widths come from wcwidth(), main() has chosen a UTF-8 locale.
 */
#include "analyzer/util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

size_t st_utf8_decode(const char *text, size_t length, uint32_t *ret_code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    size_t need;
    uint32_t code;

    if (length == 0) return 0;
    if (bytes[0] < 0x80) {
        *ret_code = bytes[0];
        return 1;
    }
    if (bytes[0] < 0xC2 || bytes[0] > 0xF4) return 0;
    need = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    if (length < need) return 0;
    code = bytes[0] & (0x7Fu >> need);
    for (size_t i = 1; i < need; i++) {
        if ((bytes[i] & 0xC0) != 0x80) return 0;
        code = code << 6 | (bytes[i] & 0x3Fu);
    }
    if (code < smallest[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
    *ret_code = code;
    return need;
}

bool st_code_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code <= 0x9F) || (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

static size_t code_columns(uint32_t code)
{
    int width = wcwidth((wchar_t)code);

    return width < 0 ? 1 : (size_t)width;
}

/* Write the next character of `text` to `cell` (at most 12 bytes); returns the bytes taken from `text`. */
static size_t next_cell(const char *text, size_t length, char cell[16], size_t *ret_columns)
{
    uint32_t code;
    size_t taken = st_utf8_decode(text, length, &code);

    if (taken == 0 || code < 0x80) {
        unsigned char byte = (unsigned char)text[0];
        bool plain = taken == 1 && !st_code_is_unsafe(code);
        snprintf(cell, 16, plain ? "%c" : "\\x%02x", byte);
        *ret_columns = strlen(cell);
        return 1;
    }
    if (st_code_is_unsafe(code)) {
        snprintf(cell, 16, "\\u{%x}", code);
        *ret_columns = strlen(cell);
        return taken;
    }
    memcpy(cell, text, taken);
    cell[taken] = '\0';
    *ret_columns = code_columns(code);
    return taken;
}

char *st_text_printable(const char *text, size_t length, size_t max_columns)
{
    /* an escaped byte grows to at most 4 characters, a 3-byte character to at most 10 */
    char *copy = malloc(length * 4 + 16);
    size_t used = 0, columns = 0, cut_at = 0;

    if (copy == NULL) return NULL;
    while (length > 0) {
        char cell[16];
        size_t width, taken = next_cell(text, length, cell, &width);

        if (max_columns != 0 && columns + width > max_columns) {
            strcpy(copy + cut_at, "\xe2\x80\xa6");
            return copy;
        }
        memcpy(copy + used, cell, strlen(cell));
        used += strlen(cell);
        columns += width;
        if (max_columns != 0 && columns < max_columns) cut_at = used;
        text += taken;
        length -= taken;
    }
    copy[used] = '\0';
    return copy;
}

size_t st_text_columns(const char *text)
{
    size_t columns = 0, length = strlen(text), taken;
    uint32_t code;

    for (; length > 0; text += taken, length -= taken) {
        taken = st_utf8_decode(text, length, &code);
        columns += taken == 0 ? 1 : code_columns(code);
        if (taken == 0) taken = 1;
    }
    return columns;
}
