/* SPDX-License-Identifier: Apache-2.0 */
/* Errors to stderr, one line each, safe for a terminal. Main thread. */
#include "analyzer/cmd/cmd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/reader/status.h"
#include "analyzer/util/text.h"

void st_say_error(const char *format, ...)
{
    va_list arguments;
    char *line = NULL, *printable = NULL;
    int length;

    va_start(arguments, format);
    length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length >= 0) printable = st_text_printable(line, (size_t)length, 0);
    fprintf(stderr, "stagetap: %s\n", printable != NULL ? printable : "out of memory");
    if (length >= 0) free(line);
    free(printable);
}

void st_say_err(const struct st_err *err)
{
    char place[48] = "";

    if (err->offset >= 0) snprintf(place, sizeof(place), " (at byte %" PRId64 ")", err->offset);
    st_say_error("%s%s%s%s%s%s", err->file, err->file[0] != '\0' ? ": " : "", err->what, place,
                 err->hint[0] != '\0' ? "; " : "", err->hint);
}
