/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose driver lives in a link namespace of its own (dlmopen): loaded there by name, by a plugin with
 * its own loader, and by a plugin that is linked to it. Reached by a profiler only with an LD_AUDIT shim.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*copy_fn)(uint64_t, const void *, size_t);
typedef int (*lookup_fn)(const char *, void **, int, uint64_t, int *);
typedef void (*report_fn)(void);

static void *load(Lmid_t space, const char *file)
{
    void *handle = dlmopen(space, file, RTLD_NOW);
    if (!handle) {
        printf("%s: %s\n", file, dlerror());
        exit(1);
    }
    return handle;
}

/* One namespace: the driver's functions by dlsym and by a look-up; then a plugin that loads it by itself, and keeps
 * it loaded. */
static void use(bool with_plugin)
{
    void *driver = load(LM_ID_NEWLM, "libcuda.so.1"), *pointer = NULL;
    Lmid_t space;
    copy_fn copy = (copy_fn)dlsym(driver, "cuMemcpyHtoD_v2");
    lookup_fn lookup = (lookup_fn)dlsym(driver, "cuGetProcAddress_v2");
    for (int i = 0; i < 4; i++) {
        copy(1, &pointer, 8);
    }
    printf("lookup %d\n", lookup("cuMemcpyHtoD", &pointer, 12000, 0, NULL));
    ((copy_fn)pointer)(1, &pointer, 8);
    if (!with_plugin) {
        dlclose(driver);
        return;
    }
    if (dlinfo(driver, RTLD_DI_LMID, &space) != 0) {
        printf("no namespace: %s\n", dlerror());
        exit(1);
    }
    void *plugin = load(space, "./libown_loader.so");
    printf("own loader %d\n", ((int (*)(void))dlsym(plugin, "own_loader_run"))());
    dlclose(plugin);
    dlclose(driver);
}

int main(void)
{
    use(false); /* unloaded: what follows may lie at the same place */
    use(true);
    return 0;
}
