/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the plug-in by this library's own path and keeps its table. */
#include "kernels_plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct simgpu_kernel *table;

void sim_kernels_plugin_load(void)
{
    Dl_info self;
    char path[PATH_MAX];
    const char *slash;
    void *plugin;

    if (dladdr((void *)&table, &self) == 0 || (slash = strrchr(self.dli_fname, '/')) == NULL) {
        return;
    }
    if (snprintf(path, sizeof(path), "%.*s/simgpu-kernels.so", (int)(slash - self.dli_fname), self.dli_fname) >=
        (int)sizeof(path) || access(path, R_OK) != 0) {
        return;
    }
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin != NULL) {
        table = dlsym(plugin, "simgpu_kernels");
    }
    if (table == NULL) {
        fprintf(stderr, "simgpu: %s: %s; its kernels do nothing\n", path, dlerror());
    }
}

const struct simgpu_kernel *sim_kernels_find(const char *name)
{
    for (const struct simgpu_kernel *kernel = table; kernel != NULL && kernel->name != NULL; kernel++) {
        if (strcmp(kernel->name, name) == 0) {
            return kernel;
        }
    }
    return NULL;
}
