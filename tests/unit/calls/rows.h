/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the generated stand-ins for libcuda and libcudart and by the generated program that calls every
 * watched function: values that depend on a row and an argument only, and the record of what a stand-in's
 * function received. One thread.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stdint.h>
#include <string.h>

enum rows_pass {
    ROWS_GOOD, /* result 0, what pointers point to is filled in */
    ROWS_FAIL, /* a result of its own for every function; pointers are bad and left alone */
    ROWS_NULL, /* result 0, every pointer and stream is 0 */
};

enum { ROWS_MAX_BYTES = 1024, ROWS_RESULT = 20000, ROWS_ERRNO = 1000, ROWS_TEXTS = 64 };

/* What a stand-in's function received, and how it shall answer. One for each library. */
struct rows_record {
    int pass;
    int calls;            /* so far */
    int row;              /* of the last call */
    int is_private;       /* … reached through a pointer that is no export */
    uint32_t bytes;       /* of all its arguments, one after the other */
    unsigned char arguments[ROWS_MAX_BYTES];
    const char *look_up;  /* cuGetProcAddress hands out this function … */
    int wants_private;    /* … or its twin that is no export */
};

static inline uint64_t rows_value(uint32_t row, uint32_t argument, uint32_t word)
{
    uint64_t x = ((uint64_t)row << 32 | argument << 16 | word) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline void rows_fill(void *to, size_t bytes, uint32_t row, uint32_t argument)
{
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t value = rows_value(row, argument, (uint32_t)i);
        memcpy((char *)to + i, &value, bytes - i < 8 ? bytes - i : 8);
    }
}

/* What a function returns: nothing wrong, or a result that only this row has. */
static inline int rows_result(int pass, int row)
{
    return pass == ROWS_FAIL ? ROWS_RESULT + row : 0;
}

static inline int rows_errno(int row)
{
    return ROWS_ERRNO + row;
}

/* Gone from the headers of CUDA 13 (cudaLaunchParams); only for functions that are gone as well. */
struct rows_launch {
    void *func;
    unsigned int grid[3], block[3];
    void **args;
    size_t sharedMem;
    void *stream;
};
struct rows_any {
    char bytes[256];
};

#endif
