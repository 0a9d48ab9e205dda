/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a library with names like CUDA's (named.c; argument: the file) beside libcuda itself. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL, *handle = NULL, *driver;
    int result;

    if (!library)
        return printf("%s\n", dlerror()), 1;
    result = ((int (*)(void **))dlsym(library, "cudnnCreate"))(&handle);
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver)
        return 1;
    printf("create %d handle %d\n", result, handle != NULL);
    printf("init %d\n", ((int (*)(unsigned))dlsym(driver, "cuInit"))(0));
    /* the library came first: it answers for both in the global scope */
    printf("default is the driver's %d\n", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == dlsym(driver, "cuMemAlloc_v2"));
    return ((int (*)(void *))dlsym(library, "named_look"))(library);
}
