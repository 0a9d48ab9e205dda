/* SPDX-License-Identifier: Apache-2.0 */
/* What is searched for: copies of it lie in several folders, and it says in which one it was found. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) const char *search_home(void);

const char *search_home(void)
{
    static char folder[300];
    Dl_info info;
    char *slash;

    if (!dladdr((void *)search_home, &info))
        return "nowhere";
    snprintf(folder, sizeof folder, "%s", info.dli_fname);
    if ((slash = strrchr(folder, '/')) != NULL)
        *slash = 0;
    return (slash = strrchr(folder, '/')) ? slash + 1 : folder;
}
