/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that watches dlopen() as people write it: it becomes the caller, and the real caller's path is lost. */
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) void *dlopen(const char *file, int flags)
{
    void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    void *handle = real ? real(file, flags) : NULL;

    __asm__ volatile("" : "+r"(handle)); /* no tail call */
    return handle;
}
