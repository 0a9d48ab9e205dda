/* SPDX-License-Identifier: Apache-2.0 */
/* See line.h. */
#include "config/line.h"

#include <string.h>

enum { LOOK_FOR_DATA_BYTES = 256 };
enum escape { NO_ESCAPE, ESCAPE_BEGUN, ESCAPE_CSI, ESCAPE_OSC };

static void start(struct st_line *line)
{
    line->used = 0;
    line->told = 0;
    line->is_torn = false;
}

static void offer(struct st_line *line, bool is_whole, st_line_fn fn, void *context)
{
    uint32_t end = line->used;

    while (end > 0 && (line->text[end - 1] == ' ' || line->text[end - 1] == '\t')) end--;
    if (end == 0 || line->is_torn) return;
    char kept = line->text[end];
    line->text[end] = '\0';
    fn(context, line, is_whole, line->text);
    line->text[end] = kept;
}

void st_line_offer(struct st_line *line, st_line_fn fn, void *context)
{
    offer(line, false, fn, context);
}

static enum escape after_escape(enum escape escape, char c)
{
    switch (escape) {
    case ESCAPE_BEGUN:
        return c == '[' ? ESCAPE_CSI : c == ']' ? ESCAPE_OSC : NO_ESCAPE;
    case ESCAPE_CSI:
        return c >= 0x40 && c <= 0x7e ? NO_ESCAPE : ESCAPE_CSI;
    default:
        return c == '\a' || c == '\\' ? NO_ESCAPE : ESCAPE_OSC;
    }
}

void st_line_add(struct st_line *line, const char *text, size_t length, st_line_fn fn, void *context)
{
    for (const char *end = text + length; text < end; text++) {
        if (*text == '\n' || *text == '\r') {
            line->escape = NO_ESCAPE;
            offer(line, true, fn, context);
            start(line);
        } else if (line->escape != NO_ESCAPE) {
            line->escape = (uint8_t)after_escape((enum escape)line->escape, *text);
        } else if (*text == '\033') {
            line->escape = ESCAPE_BEGUN;
        } else if ((*text == '\t' || (unsigned char)*text >= ' ') && line->used < sizeof(line->text) - 1) {
            line->text[line->used++] = *text;
        }
    }
}

void st_line_tear(struct st_line *line)
{
    start(line);
    line->is_torn = true;
}

bool st_line_is_binary(const char *text, size_t length)
{
    return memchr(text, '\0', length < LOOK_FOR_DATA_BYTES ? length : LOOK_FOR_DATA_BYTES) != NULL;
}

bool st_line_is_news(struct st_line *line, uint16_t rule)
{
    if (line->told == rule + 1) return false;
    line->told = (uint16_t)(rule + 1);
    return true;
}
