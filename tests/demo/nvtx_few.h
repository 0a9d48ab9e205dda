/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a program with NVTX ranges finds its tool, in the few lines that matter: load the library that
 * NVTX_INJECTION64_PATH names, call its InitializeInjectionNvtx2 with a way to reach our table of function
 * pointers, and from then on call what the tool put there. Without a tool the functions do nothing.
 * Built instead of the real headers where there is no toolkit; the numbers are those of the public headers.
 */
#ifndef DEMO_NVTX_FEW_H
#define DEMO_NVTX_FEW_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum { FEW_TABLE_CALLBACKS = 1, FEW_MODULE_CORE = 1 };
enum { FEW_RANGE_START = 5, FEW_RANGE_END = 7, FEW_RANGE_PUSH = 9, FEW_RANGE_POP = 11, FEW_CORE_COUNT = 16 };

typedef void (*few_function)(void);
typedef uint64_t nvtxRangeId_t;

static few_function few_functions[FEW_CORE_COUNT];
static few_function *few_table[FEW_CORE_COUNT + 1];

static int few_module_table(int module, few_function ***ret_table, unsigned int *ret_size)
{
    if (module != FEW_MODULE_CORE)
        return 0;
    for (int i = 0; i < FEW_CORE_COUNT; i++)
        few_table[i] = &few_functions[i];
    *ret_table = few_table;
    *ret_size = FEW_CORE_COUNT;
    return 1;
}

static const void *few_export_table(uint32_t id)
{
    static const struct {
        size_t bytes;
        int (*module_table)(int, few_function ***, unsigned int *);
    } callbacks = {sizeof callbacks, few_module_table};

    return id == FEW_TABLE_CALLBACKS ? &callbacks : NULL;
}

static inline void few_load(void)
{
    static int loaded;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library;
    int (*entry)(const void *(*)(uint32_t)) = NULL;

    if (loaded++)
        return;
    library = path ? dlopen(path, RTLD_LAZY) : NULL;
    if (library)
        *(void **)&entry = dlsym(library, "InitializeInjectionNvtx2");
    if (entry)
        entry(few_export_table);
}

static inline void nvtxRangePushA(const char *text)
{
    few_load();
    if (few_functions[FEW_RANGE_PUSH])
        ((int (*)(const char *))few_functions[FEW_RANGE_PUSH])(text);
}

static inline void nvtxRangePop(void)
{
    if (few_functions[FEW_RANGE_POP])
        ((int (*)(void))few_functions[FEW_RANGE_POP])();
}

static inline nvtxRangeId_t nvtxRangeStartA(const char *text)
{
    few_load();
    if (!few_functions[FEW_RANGE_START])
        return 0;
    return ((uint64_t (*)(const char *))few_functions[FEW_RANGE_START])(text);
}

static inline void nvtxRangeEnd(nvtxRangeId_t range)
{
    if (few_functions[FEW_RANGE_END])
        ((void (*)(uint64_t))few_functions[FEW_RANGE_END])(range);
}

#endif
