/* SPDX-License-Identifier: Apache-2.0 */
/* See search_node.h. Built into the program and as plugins that differ in their DT_RUNPATH or DT_RPATH. */
#include "search_node.h"

#include <dlfcn.h>
#include <stdio.h>

static char first[300];

const char *search_node(const char *file, enum search_way way)
{
    static char answer[300];
    const char *(*home)(void);
    void *(*by_pointer)(const char *, int);
    void *handle;

    switch (way) {
    case SEARCH_POINTER:
        by_pointer = (void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");
        handle = by_pointer(file, RTLD_NOW);
        break;
    case SEARCH_DLMOPEN:
        handle = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
        break;
    default:
        handle = dlopen(file, RTLD_NOW | (way == SEARCH_GLOBAL ? RTLD_GLOBAL : 0) |
                                  (way == SEARCH_DEEPBIND ? RTLD_DEEPBIND : 0));
    }
    home = handle ? (const char *(*)(void))dlsym(handle, "search_home") : NULL;
    snprintf(answer, sizeof answer, "%s", home ? home() : dlerror());
    if (handle)
        dlclose(handle);
    return answer;
}

void *search_load(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW);

    if (!handle)
        printf("%s\n", dlerror());
    return handle;
}

const char *search_first(void)
{
    return first;
}

#ifdef SEARCH_AT_START
__attribute__((constructor)) static void start(void)
{
    snprintf(first, sizeof first, "%s", search_node("libsearch_sister.so", SEARCH_DLOPEN));
}
#endif
