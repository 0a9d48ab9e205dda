/* SPDX-License-Identifier: Apache-2.0 */
/* As idle, and looks functions up by name: the answers must be those of its own libc. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    void *self = dlopen(NULL, RTLD_NOW);
    int (*say)(const char *) = self != NULL ? (int (*)(const char *))dlsym(self, "puts") : NULL;

    if (say == NULL || dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc) return 1;
    if (dlopen("/no/such/library.so", RTLD_NOW) != NULL || strstr(dlerror(), "/no/such/library.so") == NULL) return 2;
    say("ready");
    return 3;
}
