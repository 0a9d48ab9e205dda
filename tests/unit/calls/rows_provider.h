/* SPDX-License-Identifier: Apache-2.0 */
/* For the generated stand-ins for libcuda and libcudart (gen_rows.py). */
#ifndef ROWS_PROVIDER_H
#define ROWS_PROVIDER_H

#include <stddef.h>

#include "rows.h"

#define ROWS_EXPORT __attribute__((visibility("default")))

struct rows_export {
    const char *name;
    void *exported, *private;
};

static inline void rows_begin(struct rows_record *record, int row, int is_private)
{
    record->calls++;
    record->row = row;
    record->is_private = is_private;
    record->bytes = 0;
}

static inline void rows_put(struct rows_record *record, const void *argument, size_t bytes)
{
    if (record->bytes + bytes <= ROWS_MAX_BYTES) {
        memcpy(record->arguments + record->bytes, argument, bytes);
    }
    record->bytes += (uint32_t)bytes;
}

static inline void *rows_find(const struct rows_export *exports, const char *name, int wants_private)
{
    for (; exports->name; exports++) {
        if (strcmp(exports->name, name) == 0) {
            return wants_private ? exports->private : exports->exported;
        }
    }
    return NULL;
}

#endif
