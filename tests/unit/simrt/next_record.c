/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real libcupti as oracle: cuptiActivityGetNextRecord of both libraries on the same bytes – every kind, every
 * way a buffer can end, random damage – and the tables of names. Needs no GPU and no driver.
 *   next_record OURS REAL
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

#define BYTES 8192
#define KINDS 70
#define ROUNDS 20000

typedef int (*next_fn)(uint8_t *buffer, size_t valid_bytes, void **record);
typedef int (*name_fn)(int domain, uint32_t cbid, const char **name);
typedef int (*text_fn)(int result, const char **text);

static uint8_t *buffer;

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    return found;
}

static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Walks with both; offsets and codes must agree at every step. Returns the records found. */
static int walk(next_fn ours, next_fn real, size_t valid_bytes)
{
    void *a = NULL, *b = NULL;
    int count = 0;
    for (;;) {
        int code = ours(buffer, valid_bytes, &a), expected = real(buffer, valid_bytes, &b);
        CHECK_EQ(code, expected);
        CHECK(a == b);
        if (code != 0) {
            return count;
        }
        count++;
    }
}

static void every_kind(next_fn ours, next_fn real)
{
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < BYTES; i += 8) {
            uint32_t filler = 5;
            memcpy(buffer + i, &filler, sizeof(filler));
        }
        memcpy(buffer, &kind, sizeof(kind));
        for (size_t valid = 0; valid < 300; valid++) {
            walk(ours, real, valid);
        }
        walk(ours, real, BYTES);
    }
}

static void random_bytes(next_fn ours, next_fn real)
{
    unsigned seed = 7;
    long total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BYTES; i += 8) {
            uint32_t kind = (uint32_t)rand_r(&seed) % (KINDS - 10);
            memcpy(buffer + i, &kind, sizeof(kind));
        }
        total += walk(ours, real, (size_t)rand_r(&seed) % BYTES);
    }
    CHECK(total > ROUNDS);
    CHECK_EQ(ours(NULL, 8, &(void *){NULL}), real(NULL, 8, &(void *){NULL}));
    CHECK_EQ(ours(buffer, 8, NULL), real(buffer, 8, NULL));
}

static void names(void *our_library, void *real_library)
{
    name_fn ours = (name_fn)function(our_library, "cuptiGetCallbackName");
    name_fn real = (name_fn)function(real_library, "cuptiGetCallbackName");
    text_fn our_text = (text_fn)function(our_library, "cuptiGetResultString");
    text_fn real_text = (text_fn)function(real_library, "cuptiGetResultString");
    for (int domain = 1; domain <= 2; domain++) {
        for (uint32_t id = 0; id < 2000; id++) {
            const char *a = "", *b = "";
            CHECK_EQ(ours(domain, id, &a), real(domain, id, &b));
            CHECK(same_text(a, b));
        }
    }
    for (int result = -1; result < 1000; result++) {
        const char *a = "", *b = "";
        CHECK_EQ(our_text(result, &a), real_text(result, &b));
        CHECK(same_text(a, b));
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    void *ours = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *real = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(ours != NULL && real != NULL);
    next_fn our_next = (next_fn)function(ours, "cuptiActivityGetNextRecord");
    next_fn real_next = (next_fn)function(real, "cuptiActivityGetNextRecord");
    CHECK(our_next != real_next);
    buffer = aligned_alloc(8, BYTES + 512);
    CHECK(buffer != NULL);
    memset(buffer, 0, BYTES + 512);
    every_kind(our_next, real_next);
    random_bytes(our_next, real_next);
    names(ours, real);
    puts("same answers");
    return 0;
}
