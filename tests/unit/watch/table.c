/* SPDX-License-Identifier: Apache-2.0 */
/* A library that exports a table of driver functions as data, as wrapper libraries do. */
#include "table.h"

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
int cuStreamSynchronize(void *stream);
void fake_executed(void);

#define EXPORT __attribute__((visibility("default")))

EXPORT struct driver_table driver_table = {.version = 2, .copy = cuMemcpyHtoD_v2, .wait = cuStreamSynchronize};
EXPORT const struct driver_table driver_constants = {.version = 3, .copy = cuMemcpyHtoD_v2};

/* The library's own, which the program's references do not reach once they were copied. */
extern struct driver_table own_table __attribute__((alias("driver_table"), visibility("hidden")));

EXPORT int table_is_copied(const struct driver_table *seen)
{
    return seen != &own_table;
}

EXPORT void table_report(void)
{
    fake_executed();
}
