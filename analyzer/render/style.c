/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text around the tables: everything printable, colours only where they are wanted. One thread. */
#include <stdarg.h>
#include <stdlib.h>

#include "analyzer/render/grid.h"
#include "analyzer/util/text.h"

__attribute__((format(printf, 3, 0))) static void write_line(const struct st_style *style, const char *color,
                                                             const char *format, va_list arguments)
{
    char *line = NULL, *printable = NULL;
    int length = vasprintf(&line, format, arguments);

    if (length >= 0) printable = st_text_printable(line, (size_t)length, 0);
    if (color != NULL && style->color) {
        fprintf(style->out, "\033[%sm%s\033[0m\n", color, printable != NULL ? printable : "");
    } else {
        fprintf(style->out, "%s\n", printable != NULL ? printable : "");
    }
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
