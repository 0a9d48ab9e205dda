/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every watched function in every way and pass, checks what the real function received and what came
 * back, and writes what the trace must hold, one line a call in order. Argument: the file for that.
 * One thread; it must behave the same with and without a preload.
 */
#include "rows_caller.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 16, BLOCK_BYTES = 1024, CLASS_SYNC = 7 };

int rows_pass, rows_errno_seen;

static struct {
    _Alignas(64) unsigned char bytes[BLOCK_BYTES];
    char text[64];
} blocks[BLOCKS];
static FILE *expected;
static int failures, calls;
static int way;
static int calls_before, expected_result;
static uint32_t received_bytes;

static const char *const pass_names[] = {"good", "fail", "null"};
static const char *const way_names[] = {"linked", "dlsym", "export", "private"};

static struct rows_record *record_of(const struct rows_function *function)
{
    return function->layer == 1 ? rows_record_of_driver() : rows_record_of_runtime();
}

static void fail(const struct rows_function *function, const char *what)
{
    if (failures++ < 40) {
        printf("%s (%s, %s): %s\n", function->name, pass_names[rows_pass], way_names[way], what);
    }
}

/* ---- arguments ---- */

void *rows_pointer(const struct rows_function *function, uint32_t argument, bool is_text)
{
    if (rows_pass == ROWS_NULL) {
        return NULL;
    }
    if (rows_pass == ROWS_FAIL || argument >= BLOCKS) {
        return (void *)(uintptr_t)(8 + argument); /* whoever looks there dies */
    }
    rows_fill(blocks[argument].bytes, BLOCK_BYTES, (uint32_t)function->row, argument);
    snprintf(blocks[argument].text, sizeof(blocks[argument].text), "text %u of %s", argument, function->name);
    return is_text ? (void *)blocks[argument].text : (void *)blocks[argument].bytes;
}

void rows_argument(const struct rows_function *function, uint32_t argument, void *value, size_t bytes)
{
    rows_fill(value, bytes, (uint32_t)function->row, argument);
}

uint64_t rows_wide(uint32_t value)
{
    return 0xdeadbeef00000000u | value;
}

/* ---- one call ---- */

void rows_before(const struct rows_function *function)
{
    struct rows_record *record = record_of(function);
    record->pass = rows_pass;
    calls_before = record->calls;
    received_bytes = 0;
    errno = 0;
}

static const struct rows_function *current;

void rows_received(const void *argument, size_t bytes)
{
    const struct rows_record *record = record_of(current);
    if (received_bytes + bytes > record->bytes ||
        memcmp(record->arguments + received_bytes, argument, bytes) != 0) {
        char text[64];
        snprintf(text, sizeof(text), "argument bytes from %u did not arrive", received_bytes);
        fail(current, text);
    }
    received_bytes += (uint32_t)bytes;
}

static uint64_t result_of(const struct rows_function *function, enum rows_result_kind kind)
{
    switch (kind) {
    case ROWS_VOID:
        return 0;
    case ROWS_CODE:
        return (uint64_t)rows_result(rows_pass, function->row);
    case ROWS_CHAR:
        return (uint64_t)(char)rows_value((uint32_t)function->row, 200, 0);
    default:
        return rows_value((uint32_t)function->row, 200, 0);
    }
}

void rows_after(const struct rows_function *function, uint64_t result, enum rows_result_kind kind)
{
    const struct rows_record *record = record_of(function);
    calls++;
    if (record->calls != calls_before + 1 || record->row != function->row) {
        fail(function, "the real function was not called once");
    }
    if (record->is_private != (way == ROWS_PRIVATE)) {
        fail(function, "another function was called");
    }
    if (record->bytes != received_bytes) {
        fail(function, "another number of argument bytes");
    }
    if (result != result_of(function, kind)) {
        fail(function, "the result did not come back");
    }
    if (rows_errno_seen != rows_errno(function->row)) {
        fail(function, "errno did not come back");
    }
    expected_result = function->tells_result ? (int)result : 0;
}

void rows_expect(const struct rows_function *function, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                 uint32_t direction)
{
    fprintf(expected, "%s %d %d %d %llu %llu %llu ", function->name, function->layer, function->class_id,
            expected_result, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
    if (function->class_id == CLASS_SYNC) {
        fprintf(expected, "- "); /* CPU time */
    } else {
        fprintf(expected, "%llu ", (unsigned long long)d);
    }
    fprintf(expected, "%u %s/%s\n", direction, pass_names[rows_pass], way_names[way]);
}

/* ---- meanings ---- */

uint32_t rows_direction_of_kind(int kind)
{
    static const uint32_t directions[] = {5, 1, 2, 3, 0}; /* H2H H2D D2H D2D, not told */
    return kind >= 0 && kind < 5 ? directions[kind] : 0;
}

uint32_t rows_direction_of_memory(int source, int target)
{
    bool from_host = source == 1, to_host = target == 1;
    if (source == 4 || target == 4) {
        return 0;
    }
    return from_host && to_host ? 5 : from_host ? 1 : to_host ? 2 : 3;
}

uint32_t rows_kind_of_node(int type)
{
    switch (type) {
    case 0: /* kernel */
    case 1: /* memcpy */
    case 2: /* memset */
    case 3: /* host */
    case 4: /* graph */
        return (uint32_t)type + 1;
    case 6: /* wait for an event */
    case 7: /* record it */
        return 6;
    default: /* conditional, and what is yet to come: not known */
        return type < 13 ? 7 : 8;
    }
}

/* ---- ways ---- */

/* Ask for the function as a program would; the look-up is a watched call as well. */
static void *look_up(const struct rows_function *function, bool wants_private)
{
    static const struct rows_function *look_up_function;
    for (int i = 0; !look_up_function; i++) {
        if (strcmp(rows_functions[i].name, "cuGetProcAddress_v2") == 0) {
            look_up_function = &rows_functions[i];
        }
    }
    struct rows_record *record = rows_record_of_driver();
    void *pointer = NULL;
    record->pass = rows_pass;
    record->look_up = function->name;
    record->wants_private = wants_private;
    int result = rows_get_address(function->base, &pointer, function->version, function->flags, NULL);
    record->look_up = NULL;
    if (result != 0 || !pointer) {
        fail(function, "look-up failed");
    }
    expected_result = 0;
    rows_expect(look_up_function, 0, 0, 0, 0, 0);
    calls++;
    return pointer;
}

static void run(const struct rows_function *function)
{
    void *address = NULL;
    if (rows_pass == ROWS_FAIL && !function->returns_code) {
        return; /* it can not fail: registration */
    }
    if (way == ROWS_DLSYM) {
        static void *handles[3];
        void **handle = &handles[function->layer];
        if (!*handle) {
            *handle = dlopen(NULL, RTLD_NOW);
        }
        address = dlsym(*handle, function->name);
    } else if (way != ROWS_LINKED) {
        if (!function->base || !rows_get_address) {
            return;
        }
        address = look_up(function, way == ROWS_PRIVATE);
    }
    if (way != ROWS_LINKED && !address) {
        fail(function, "not found");
        return;
    }
    current = function;
    function->call(function, address);
}

int main(int argc, char **argv)
{
    expected = argc == 2 ? fopen(argv[1], "w") : NULL;
    if (!expected) {
        fprintf(stderr, "usage: rows_caller FILE\n");
        return 2;
    }
    for (rows_pass = ROWS_GOOD; rows_pass <= ROWS_NULL; rows_pass++) {
        for (way = ROWS_LINKED; way < (rows_pass == ROWS_GOOD ? ROWS_WAYS : ROWS_DLSYM); way++) {
            for (int i = 0; i < rows_function_count; i++) {
                run(&rows_functions[i]);
            }
        }
    }
    if (fclose(expected) != 0) {
        return 2;
    }
    printf("%d functions, %d calls, %d failures\n", rows_function_count, calls, failures);
    return failures != 0;
}
