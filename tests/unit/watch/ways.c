/* SPDX-License-Identifier: Apache-2.0 */
/* Providers of unusual kinds, each used in the same way; the argument says which (main()). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int (*copy_fn)(uint64_t, const void *, size_t);
typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);
typedef int (*malloc_fn)(void **, size_t);
typedef void (*report_fn)(void);

static void *load(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW);
    if (!handle) {
        printf("%s: %s\n", file, dlerror());
        exit(1);
    }
    return handle;
}

static void *find(void *handle, const char *name)
{
    void *address = dlsym(handle, name);
    if (!address) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return address;
}

/* A driver under this file name: by dlsym, and by its look-up function. */
static int driver(const char *file)
{
    void *handle = load(file), *pointer = NULL;
    copy_fn copy = (copy_fn)find(handle, "cuMemcpyHtoD_v2");
    for (int i = 0; i < 3; i++) {
        printf("copy %d\n", copy(1, &handle, 8));
    }
    printf("lookup %d\n", ((lookup_fn)find(handle, "cuGetProcAddress_v2"))("cuMemcpyHtoD", &pointer, 12000, 0, NULL));
    printf("copy %d\n", ((copy_fn)pointer)(1, &handle, 8));
    ((report_fn)find(handle, "fake_executed"))();
    return 0;
}

/* Runtimes: each must be answered by itself. */
static int runtimes(const char *first, const char *second)
{
    const char *files[] = {first, second};
    void *handles[2] = {NULL, NULL};
    for (int i = 0; i < 2 && files[i]; i++) {
        handles[i] = load(files[i]);
    }
    for (int i = 0; i < 2 && files[i]; i++) {
        void *memory = NULL;
        for (int n = 0; n < 3 + i; n++) {
            ((malloc_fn)find(handles[i], "cudaMalloc"))(&memory, 64);
        }
        printf("answer %p\n", memory);
        ((report_fn)find(handles[i], "fake_runtime_executed"))();
    }
    ((report_fn)find(load("libcuda.so.1"), "fake_executed"))();
    return 0;
}

/* Pointers that no table can name: newer than it, unknown; asked twice, to be listed once. */
static int variants(void)
{
    static const struct {
        const char *symbol;
        int version;
    } asked[] = {{"cuLaunchKernel", 14000}, {"cuLaunchFromNextYear", 14000}, {"cuCtxFromNextYear", 14000}};
    lookup_fn lookup = (lookup_fn)find(load("libcuda.so.1"), "cuGetProcAddress_v2");
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
            void *pointer = NULL;
            printf("%s: %d", asked[i].symbol, lookup(asked[i].symbol, &pointer, asked[i].version, 0, NULL));
            printf(" runs %d\n", pointer ? ((int (*)(void))pointer)() : -1);
        }
    }
    return 0;
}

/* ---- the race: plugins come and go while others launch ---- */

static int is_over;

static void *plug(void *arg)
{
    uint64_t rounds = 0;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        void *handle = load("./libracer.so");
        ((report_fn)find(handle, "racer_run"))();
        dlclose(handle);
        rounds++;
    }
    return (void *)rounds;
}

static void *launch(void *arg)
{
    copy_fn copy = (copy_fn)find(arg, "cuMemcpyHtoD_v2");
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 100; i++) {
            copy(1, &arg, 8);
        }
    }
    return NULL;
}

static int race(const char *seconds)
{
    pthread_t threads[8];
    void *handle = load("libcuda.so.1"), *rounds = NULL;
    for (int i = 0; i < 8; i++) {
        if (pthread_create(&threads[i], NULL, i % 2 ? plug : launch, handle) != 0) {
            return 1;
        }
    }
    nanosleep(&(struct timespec){.tv_sec = atoi(seconds)}, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        rounds = (char *)rounds + (uintptr_t)result;
    }
    fprintf(stderr, "%zu rounds of plugins\n", (size_t)rounds);
    ((report_fn)find(handle, "fake_executed"))();
    return rounds ? 0 : 1;
}

/* The provider itself comes and goes in eight threads. */
static void *come_and_go(void *arg)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        void *handle = load("libcuda.so.1");
        ((copy_fn)find(handle, "cuMemcpyHtoD_v2"))(1, &arg, 8);
        dlclose(handle);
    }
    return NULL;
}

static int provider_race(const char *seconds)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        if (pthread_create(&threads[i], NULL, come_and_go, NULL) != 0) {
            return 1;
        }
    }
    nanosleep(&(struct timespec){.tv_sec = atoi(seconds)}, NULL);
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *first = argc > 2 ? argv[2] : NULL, *second = argc > 3 ? argv[3] : NULL;
    if (first && strcmp(what, "driver") == 0) {
        return driver(first);
    }
    if (first && strcmp(what, "runtimes") == 0) {
        return runtimes(first, second);
    }
    if (first && strcmp(what, "race") == 0) {
        return race(first);
    }
    if (first && strcmp(what, "provider-race") == 0) {
        return provider_race(first);
    }
    return strcmp(what, "variants") == 0 ? variants() : 2;
}
