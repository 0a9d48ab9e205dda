/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who finds what by name: the program, a plugin, that plugin's plugin, and a library without a path of its own
 * each load siblings that only their own DT_RUNPATH (DT_RPATH) leads to. searches PLUGIN GRANDCHILD PLAIN STARTER
 * [cuda]: each library is loaded by the one before; the last one searches in its constructor. `cuda`: the
 * grandchild then loads libcuda, which is called, and all search again.
 */
#include "search_node.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 4 };
typedef void *(*load_fn)(const char *file);

static const char *const files[] = {
    "libsearch_sister.so", /* a copy in each of the three folders */
    "libsearch_of_main.so",
    "libsearch_of_plugin.so",
    "libsearch_of_grandchild.so",
    "$ORIGIN/of_main/libsearch_sister.so",
    "$ORIGIN/of_plugin/libsearch_sister.so",
    "${ORIGIN}/of_grandchild/libsearch_sister.so",
    "$ORIGIN/../of_main/libsearch_sister.so",
    "libsearch_nowhere.so",
};

static void *symbol(void *handle, const char *name)
{
    void *found = handle ? dlsym(handle, name) : NULL;

    if (!found) {
        printf("no %s\n", name);
        exit(1);
    }
    return found;
}

/* Without a context the second call fails, alone as beside us. */
static void use_cuda(load_fn load)
{
    void *driver = load("libcuda.so.1");
    int result = ((int (*)(unsigned))symbol(driver, "cuInit"))(0);

    printf("result %d, then %d\n", result, ((int (*)(void))symbol(driver, "cuCtxSynchronize"))());
}

int main(int argc, char **argv)
{
    const char *const names[CALLERS] = {"main", "plugin", "grandchild", "plain"};
    search_fn callers[CALLERS] = {search_node};
    load_fn load[CALLERS] = {search_load};

    if (argc < 5)
        return 2;
    for (int i = 1; i < CALLERS; i++) {
        void *handle = load[i - 1](argv[i]);

        load[i] = (load_fn)symbol(handle, "search_load");
        callers[i] = (search_fn)symbol(handle, "search_node");
    }
    for (int caller = 0; caller < CALLERS; caller++)
        for (size_t file = 0; file < sizeof files / sizeof files[0]; file++)
            for (int way = 0; way < SEARCH_WAYS; way++)
                printf("%s %d %s: %s\n", names[caller], way, files[file], callers[caller](files[file], way));
    if (argc > 5 && strcmp(argv[5], "cuda") == 0) {
        use_cuda(load[2]);
        for (int caller = 0; caller < CALLERS; caller++)
            printf("%s after CUDA: %s\n", names[caller], callers[caller](files[0], SEARCH_DLOPEN));
    }
    printf("in a constructor: %s\n", ((const char *(*)(void))symbol(load[3](argv[4]), "search_first"))());
    return 0;
}
