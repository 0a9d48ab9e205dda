/* SPDX-License-Identifier: Apache-2.0 */
/* For the generated program (gen_rows.py): how it makes arguments, checks a call and says what it expects. */
#ifndef ROWS_CALLER_H
#define ROWS_CALLER_H

#include <stdbool.h>
#include <stddef.h>

#include "rows.h"

enum rows_way {
    ROWS_LINKED,  /* called by name */
    ROWS_DLSYM,   /* pointer from dlsym, called with garbage in the upper halves of 32-bit arguments */
    ROWS_EXPORT,  /* pointer from cuGetProcAddress_v2, to the export … */
    ROWS_PRIVATE, /* … or to a function that is no export, as a driver may give */
    ROWS_WAYS,
};

enum rows_result_kind { ROWS_VOID, ROWS_CODE, ROWS_CHAR, ROWS_POINTER };

struct rows_function {
    const char *name;
    int row;          /* number in calls.def: its values come from that */
    int layer;        /* enum st_layer */
    int class_id;     /* enum st_call_class */
    int tells_result; /* what it returns is an error code … */
    int returns_code; /* … or at least a number */
    void (*call)(const struct rows_function *function, void *address);
    const char *base; /* driver: what to ask cuGetProcAddress_v2 for, or NULL */
    int version;
    uint64_t flags;
};

/* ---- in the generated source ---- */
extern const struct rows_function rows_functions[];
extern const int rows_function_count;
extern int (*const rows_get_address)(const char *symbol, void **pointer, int version, uint64_t flags, int *status);
struct rows_record *rows_record_of_driver(void); /* NULL: none */
struct rows_record *rows_record_of_runtime(void);

/* ---- used by it ---- */
extern int rows_pass;       /* enum rows_pass */
extern int rows_errno_seen; /* right after the call */

/* Memory that this argument may point to; by pass good, bad, NULL. */
void *rows_pointer(const struct rows_function *function, uint32_t argument, bool is_text);
/* Bytes that only this argument has. */
void rows_argument(const struct rows_function *function, uint32_t argument, void *value, size_t bytes);
/* A 32-bit argument as callers may pass it: garbage above. */
uint64_t rows_wide(uint32_t value);
void rows_before(const struct rows_function *function);
/* The next argument must have reached the real function byte by byte. */
void rows_received(const void *argument, size_t bytes);
void rows_after(const struct rows_function *function, uint64_t result, enum rows_result_kind kind);
/* One line of what the trace must hold. */
void rows_expect(const struct rows_function *function, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                 uint32_t direction);

/* ---- meanings that several rows share ---- */

static inline uint64_t rows_per_thread(uint64_t stream)
{
    return stream ? stream : 2;
}
uint32_t rows_direction_of_kind(int kind);
uint32_t rows_direction_of_memory(int source, int target);
uint32_t rows_kind_of_node(int type);

#define ROWS_VOLUME(extent) ((uint64_t)(extent).width * (extent).height * (extent).depth)
#define ROWS_END(which, copy)                                                                      \
    ((copy)->which##MemoryType == 1 ? (uint64_t)(uintptr_t)(copy)->which##Host                     \
     : (copy)->which##MemoryType == 3 ? (uint64_t)(uintptr_t)(copy)->which##Array                  \
                                      : (uint64_t)(copy)->which##Device)

#endif
