/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool that wants NVTX ranges (NVTX_INJECTION64_PATH): writes what it is told to the file TOOL_LOG. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void (*function)(void);
typedef const void *(*get_table_fn)(uint32_t table);

struct callbacks {
    size_t bytes;
    int (*module_table)(int module, function ***table, unsigned int *size);
};

enum { CALLBACKS = 1, CORE = 1, PUSH = 9, POP = 11 };

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_table_fn get_table);

static FILE *file;
static int depth, tables;

static int push(const char *name)
{
    fprintf(file, "push %s %d\n", name, depth);
    return depth++;
}

static int pop(void)
{
    fprintf(file, "pop %d\n", depth - 1);
    return --depth;
}

int InitializeInjectionNvtx2(get_table_fn get_table)
{
    const struct callbacks *callbacks = get_table(CALLBACKS);
    const char *path = getenv("TOOL_LOG");
    function **table = NULL;
    unsigned int size = 0;

    file = file ? file : fopen(path ? path : "tool.log", "w");
    if (!file || !callbacks || !callbacks->module_table(CORE, &table, &size) || size <= POP)
        return 0;
    *table[PUSH] = (function)push;
    *table[POP] = (function)pop;
    fprintf(file, "table %d of %u\n", ++tables, size);
    return 1;
}
