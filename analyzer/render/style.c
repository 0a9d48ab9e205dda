/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text around the tables: everything printable, colours only where they are wanted. One thread. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/render/grid.h"
#include "analyzer/util/text.h"

#define INDENT 2 /* of the second and later lines of a broken one */

/* A number stays with its unit, and "·" and "×" with what is in front of them. */
static bool may_break(const char *text, const char *blank)
{
    if (blank == text || blank[1] == '\0') return false;
    if (strncmp(blank + 1, "\xc2\xb7", 2) == 0 || strncmp(blank + 1, "\xc3\x97", 2) == 0) return false;
    return blank[-1] < '0' || blank[-1] > '9' || strchr("munsxkMGTB", blank[1]) == NULL;
}

/* A good place: behind a separator, or in front of a sign or a bracket. */
static bool is_joint(const char *text, const char *blank)
{
    if (strchr("+=(", blank[1]) != NULL || strchr(",;:", blank[-1]) != NULL) return true;
    return blank - text >= 2 && memcmp(blank - 2, "\xc2\xb7", 2) == 0;
}

/* How many bytes of `text` go on a line of `width` columns: all that fits; else up to a blank, a good one if there
 * is one in the right half; up to the first blank if the first word is too long. */
static size_t break_at(const char *text, size_t width)
{
    size_t found = 0, joint = 0, columns = 0, at;

    for (at = 0; text[at] != '\0'; at++) {
        if (text[at] == ' ' && may_break(text, text + at)) {
            if (columns > width && found == 0) return at;
            if (columns > width) break;
            found = at;
            if (is_joint(text, text + at) && columns >= width / 2) joint = at;
        }
        columns += ((unsigned char)text[at] & 0xC0) != 0x80;
    }
    if (columns <= width || found == 0) return at;
    return joint != 0 ? joint : found;
}

static void write_broken(const struct st_style *style, const char *text)
{
    size_t width = style->terminal && style->width > 2 * INDENT ? (size_t)style->width : SIZE_MAX;
    size_t length = break_at(text, width);

    fwrite(text, 1, length, style->out);
    for (text += length; *text != '\0'; text += length) {
        text += strspn(text, " ");
        length = break_at(text, width - INDENT);
        fprintf(style->out, "\n%*s%.*s", INDENT, "", (int)length, text);
    }
}

__attribute__((format(printf, 3, 0))) static void write_line(const struct st_style *style, const char *color,
                                                             const char *format, va_list arguments)
{
    char *line = NULL, *printable = NULL;
    int length = vasprintf(&line, format, arguments);
    bool is_colored = color != NULL && style->color;

    if (length >= 0) printable = st_text_printable(line, (size_t)length, 0);
    if (is_colored) fprintf(style->out, "\033[%sm", color);
    if (printable != NULL) write_broken(style, printable);
    fputs(is_colored ? "\033[0m\n" : "\n", style->out);
    if (length >= 0) free(line);
    free(printable);
}

void st_style_line(const struct st_style *style, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(style, NULL, format, arguments);
    va_end(arguments);
}

void st_style_head(const struct st_style *style, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(style, "1", format, arguments);
    va_end(arguments);
}

void st_style_alarm(const struct st_style *style, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_line(style, "1;31", format, arguments);
    va_end(arguments);
}
