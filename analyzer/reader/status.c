/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a struct st_err; see status.h. Any thread. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>

enum st_status st_fail(struct st_err *err, enum st_status status, const char *file, int64_t offset, const char *hint,
                       const char *what_format, ...)
{
    if (err) {
        va_list arguments;
        va_start(arguments, what_format);
        vsnprintf(err->what, sizeof(err->what), what_format, arguments);
        va_end(arguments);
        snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
        snprintf(err->hint, sizeof(err->hint), "%s", hint ? hint : "");
        err->offset = offset;
    }
    return status;
}
