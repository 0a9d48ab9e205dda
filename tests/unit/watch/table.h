/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of table.c. */
#ifndef WATCH_TABLE_H
#define WATCH_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct driver_table {
    int version;
    int (*copy)(uint64_t target, const void *source, size_t bytes);
    int (*wait)(void *stream);
    int (*unused)(void);
};
extern struct driver_table driver_table;
extern const struct driver_table driver_constants;

int table_is_copied(const struct driver_table *seen);
void table_report(void);

#endif
