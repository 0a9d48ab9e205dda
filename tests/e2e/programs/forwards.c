/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libraries (arguments, behind "local" or "global") that forward by RTLD_NEXT (forwarder.c), and asks each
 * of them who is next: three times, and from eight threads at once while another library comes and goes.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 4000, TIMES = 3 };

typedef void *(*next_fn)(void);

#ifdef FORWARD_LINKED
int forward_is_first(void);
int forward_is_second(void);
int forward_is_tool(void);
int (*volatile keeps_linked[])(void) = {forward_is_first, forward_is_second, forward_is_tool};
#endif

static const char *file_of(void *address)
{
    Dl_info info;
    const char *slash;

    if (!address || !dladdr(address, &info))
        return "nobody";
    slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static struct asked {
    next_fn ask;
    void *want;
    int others;
} asked[THREADS];

static void *ask_often(void *argument)
{
    struct asked *mine = argument;

    for (int i = 0; i < ROUNDS; i++)
        mine->others += mine->ask() != mine->want;
    return NULL;
}

static int ask_from_threads(next_fn ask, const char *visitor)
{
    pthread_t threads[THREADS];
    int others = 0;

    for (int i = 0; i < THREADS; i++) {
        asked[i] = (struct asked){ask, ask(), 0};
        if (pthread_create(&threads[i], NULL, ask_often, &asked[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < 50; i++) {
        void *handle = dlopen(visitor, RTLD_NOW);

        if (handle)
            dlclose(handle);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        others += asked[i].others;
    }
    return others;
}

int main(int argc, char **argv)
{
    int flags = RTLD_NOW | (argc > 1 && strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);

    for (int i = 2; i < argc; i++) {
        void *handle = dlopen(argv[i], flags);
        const char *(*start)(void) = handle ? (const char *(*)(void))dlsym(handle, "forward_start") : NULL;
        next_fn next = handle ? (next_fn)dlsym(handle, "forward_next") : NULL;

        if (!handle)
            return printf("%s\n", dlerror()), 1;
        if (!start || !next)
            continue;
        for (int time = 0; time < TIMES; time++)
            printf("%s: next in %s, ends with %s\n", file_of((void *)start), file_of(next()), start());
        printf("%s: %d other answers in threads\n", file_of((void *)start), ask_from_threads(next, argv[argc - 1]));
    }
    return 0;
}
