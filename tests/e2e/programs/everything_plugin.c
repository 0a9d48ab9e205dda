/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin linked with libcuda: calls in its constructor and destructor, by its slot, and by three look-ups. */
#include "everything.h"

#include <dlfcn.h>

__attribute__((constructor)) static void start(void)
{
    cuInit(0);
}

__attribute__((destructor)) static void end(void)
{
    cuInit(0);
}

int plugin_run(CUfunction function)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *pointer = NULL;
    int good = launch_by(cuLaunchKernel, function);

    good += launch_by((launch_fn)dlsym(RTLD_DEFAULT, "cuLaunchKernel"), function);
    if (driver) {
        lookup_fn lookup = (lookup_fn)dlsym(driver, "cuGetProcAddress_v2");

        good += launch_by((launch_fn)dlsym(driver, "cuLaunchKernel"), function);
        if (lookup && lookup("cuLaunchKernel", &pointer, 12000, 0, NULL) == 0)
            good += launch_by((launch_fn)pointer, function);
        dlclose(driver);
    }
    return good;
}
