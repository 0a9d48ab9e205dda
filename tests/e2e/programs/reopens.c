/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that come and go: reopens ROUNDS STAGES_LIBRARY [keep]. Each round loads libcuda and the library
 * with the stages, makes a request, and unloads the stages – and libcuda, too, unless it is kept.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*work_fn)(void *argument);
typedef void (*stage_fn)(work_fn work, void *argument);

static int (*device_count)(int *count);

static void *symbol(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;

    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(1);
    }
    return found;
}

static void ask(void *ret_count)
{
    for (int i = 0; i < 20; i++)
        device_count(ret_count);
}

static void request(void *encode)
{
    int count = -1;

    ((stage_fn)(uintptr_t)encode)(ask, &count);
    printf("%d devices\n", count);
}

int main(int argc, char **argv)
{
    int keeps = argc > 3 && strcmp(argv[3], "keep") == 0;

    for (int round = 0; argc > 2 && round < atoi(argv[1]); round++) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW), *stages = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        int (*init)(unsigned) = (int (*)(unsigned))symbol(driver, "cuInit");
        stage_fn run = (stage_fn)symbol(stages, "lives_request");

        device_count = (int (*)(int *))symbol(driver, "cuDeviceGetCount");
        if (init(0) != 0)
            return 1;
        run(request, symbol(stages, "lives_encode"));
        if (dlsym(driver, "cuNoSuchFunction") || !dlerror() || dlerror())
            return 3;
        dlclose(stages);
        if (!keeps)
            dlclose(driver);
    }
    return 0;
}
