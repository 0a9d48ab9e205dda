/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the stand-in driver of strict_cuda.c: strict LIBRARY. Captures 5 launches, a copy and a memset, on two
 * streams, and replays the graph 10 times. Prints every result and the driver's own list of calls.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*four_words)(void *, void *, void *, void *);
typedef int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **);

static void *library;

static void *find(const char *name)
{
    void *address = dlsym(library, name);

    if (!address) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return address;
}

static int call(const char *name, size_t a, size_t b, size_t c, size_t d)
{
    int result = ((four_words)find(name))((void *)a, (void *)b, (void *)c, (void *)d);

    printf("%s %d\n", name, result);
    return result;
}

int main(int argc, char **argv)
{
    enum { FIRST = 0x1000, SECOND = 0x2000, EVENT = 0x3000, JOIN = 0x4000, KERNEL = 0x5000 };
    void *graph = NULL, *made = NULL;
    const char *calls;
    int failed = 0;

    library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "usage: strict LIBRARY\n%s\n", argc == 2 ? dlerror() : "");
        return 2;
    }
    failed |= call("cuInit", 0, 0, 0, 0);
    failed |= call("cuStreamBeginCapture_v2", FIRST, 0, 0, 0);
    for (int i = 0; i < 5; i++) {
        int result = ((launch)find("cuLaunchKernel"))((void *)KERNEL, 1, 1, 1, 1, 1, 1, 0,
                                                      (void *)(size_t)(i < 3 ? FIRST : SECOND), NULL, NULL);

        printf("cuLaunchKernel %d\n", result);
        failed |= result;
        if (i == 2) {
            failed |= call("cuEventRecord", EVENT, FIRST, 0, 0);
            failed |= call("cuStreamWaitEvent", SECOND, EVENT, 0, 0);
        }
    }
    failed |= call("cuMemcpyAsync", 0x8000, 0x9000, 16, SECOND);
    failed |= call("cuMemsetD8Async", 0x8000, 0, 16, SECOND);
    failed |= call("cuEventRecord", JOIN, SECOND, 0, 0);
    failed |= call("cuStreamWaitEvent", FIRST, JOIN, 0, 0);
    failed |= call("cuStreamEndCapture", FIRST, (size_t)&graph, 0, 0);
    failed |= call("cuGraphInstantiateWithFlags", (size_t)&made, (size_t)graph, 0, 0);
    for (int i = 0; i < 10; i++)
        failed |= call("cuGraphLaunch", (size_t)made, FIRST, 0, 0);
    failed |= call("cuStreamSynchronize", FIRST, 0, 0, 0);
    calls = ((const char *(*)(void))find("strict_calls"))();
    fputs(calls, stdout);
    return failed != 0;
}
