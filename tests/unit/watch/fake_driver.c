/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in libcuda.so.1 for the tests of preload/watch: functions that only count their calls and check
 * their arguments. Signatures as in the public API, from own declarations. fake_executed() prints the counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_FOUND = 500, WRONG_ARGUMENT = 1 };

static struct {
    const char *name;
    int count;
} executed[32];

static int count(const char *name)
{
    for (unsigned i = 0; i < sizeof(executed) / sizeof(executed[0]); i++) {
        if (!executed[i].name || strcmp(executed[i].name, name) == 0) {
            executed[i].name = name;
            __atomic_fetch_add(&executed[i].count, 1, __ATOMIC_RELAXED);
            return 0;
        }
    }
    return WRONG_ARGUMENT;
}

EXPORT void fake_executed(void);
EXPORT int cuInit(unsigned flags);
EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
EXPORT int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *stream);
EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **params, void **extra);
EXPORT int cuLaunchKernel_ptsz(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, void *stream, void **params, void **extra);
EXPORT int cuGetProcAddress(const char *symbol, void **pointer, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *symbol, void **pointer, int version, uint64_t flags, int *status);

void fake_executed(void)
{
    for (unsigned i = 0; i < sizeof(executed) / sizeof(executed[0]) && executed[i].name; i++) {
        printf("executed %s %d\n", executed[i].name, executed[i].count);
    }
}

int cuInit(unsigned flags)
{
    return count(__func__);
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    *pointer = 0x7000;
    return count(__func__);
}

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes)
{
    return count(__func__);
}

int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *stream)
{
    return count(__func__);
}

int cuStreamSynchronize(void *stream)
{
    return count(__func__);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = (void *)0xf00;
    return count(__func__);
}

static int check_launch(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **params, void **extra)
{
    int ok = gx == 1 && gy == 2 && gz == 3 && bx == 4 && by == 5 && bz == 6 && shared == 7 && stream == (void *)8 &&
             params == (void **)9 && extra == (void **)10;
    return ok ? 0 : WRONG_ARGUMENT;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **params, void **extra)
{
    count(__func__);
    return check_launch(gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

int cuLaunchKernel_ptsz(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra)
{
    count(__func__);
    return check_launch(gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

/* No export: the driver hands out an inner address for this one. */
static int inner_event_record(void *event, void *stream)
{
    return count("cuEventRecord");
}

static int inner_stream_query(void *stream)
{
    return count("cuStreamQuery");
}

/* What a driver newer than any table might hand out. */
static int inner_novelty(void)
{
    return 14;
}

static const struct {
    const char *symbol;
    void *function, *per_thread;
} table[] = {
    {"cuLaunchFromNextYear", (void *)inner_novelty, NULL},
    {"cuCtxFromNextYear", (void *)inner_novelty, NULL},
    {"cuInit", (void *)cuInit, NULL},
    {"cuMemAlloc", (void *)cuMemAlloc_v2, NULL},
    {"cuMemcpyHtoD", (void *)cuMemcpyHtoD_v2, NULL},
    {"cuMemcpyHtoDAsync", (void *)cuMemcpyHtoDAsync_v2, NULL},
    {"cuStreamSynchronize", (void *)cuStreamSynchronize, NULL},
    {"cuModuleGetFunction", (void *)cuModuleGetFunction, NULL},
    {"cuLaunchKernel", (void *)cuLaunchKernel, (void *)cuLaunchKernel_ptsz},
    {"cuGetProcAddress", (void *)cuGetProcAddress_v2, NULL},
    {"cuEventRecord", (void *)inner_event_record, NULL},
    {"cuStreamQuery", (void *)inner_stream_query, NULL},
    {"fakeNothing", (void *)fake_executed, NULL},
};

int cuGetProcAddress_v2(const char *symbol, void **pointer, int version, uint64_t flags, int *status)
{
    count(__func__);
    *pointer = NULL;
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].symbol, symbol) == 0) {
            *pointer = (flags & 2) && table[i].per_thread ? table[i].per_thread : table[i].function;
            if (strcmp(symbol, "cuGetProcAddress") == 0 && version < 12000) {
                *pointer = (void *)cuGetProcAddress;
            }
            if (strcmp(symbol, "cuLaunchKernel") == 0 && version >= 14000) {
                *pointer = (void *)inner_novelty;
            }
        }
    }
    if (status) {
        *status = *pointer ? 0 : 1;
    }
    return *pointer ? 0 : NOT_FOUND;
}

int cuGetProcAddress(const char *symbol, void **pointer, int version, uint64_t flags)
{
    count(__func__);
    return cuGetProcAddress_v2(symbol, pointer, version, flags, NULL);
}
