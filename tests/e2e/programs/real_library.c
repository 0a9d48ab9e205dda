/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library (first argument) by dlopen, with RTLD_DEEPBIND or into a namespace of its own, and calls its
 * function of one pointer argument (third). On a driver that can not start it fails; says how. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *handle, *made = NULL;
    int (*create)(void **);

    if (argc != 4) {
        fprintf(stderr, "usage: real_library FILE plain|deepbind|dlmopen FUNCTION\n");
        return 2;
    }
    if (strcmp(argv[2], "dlmopen") == 0) {
        handle = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    } else {
        handle = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "deepbind") == 0 ? RTLD_DEEPBIND : 0));
    }
    create = handle ? (int (*)(void **))dlsym(handle, argv[3]) : NULL;
    if (!create) {
        printf("%s\n", dlerror());
        return 1;
    }
    printf("create %d\n", create(&made));
    return 0;
}
