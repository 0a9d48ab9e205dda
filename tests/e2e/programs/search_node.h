/* SPDX-License-Identifier: Apache-2.0 */
/* Something that loads others and so is "the caller" for the loader: the program itself, a plugin, its plugin. */
#ifndef E2E_SEARCH_NODE_H
#define E2E_SEARCH_NODE_H

enum search_way {
    SEARCH_DLOPEN,
    SEARCH_GLOBAL,   /* … with RTLD_GLOBAL */
    SEARCH_DEEPBIND, /* … with RTLD_DEEPBIND */
    SEARCH_POINTER,  /* dlopen() through a pointer that dlsym() gave */
    SEARCH_DLMOPEN,  /* into a namespace of its own */
    SEARCH_WAYS
};

/* Loads the file, asks it for the folder it lies in, unloads it: that folder, or what dlerror() says. */
typedef const char *(*search_fn)(const char *file, enum search_way way);

__attribute__((visibility("default"))) const char *search_node(const char *file, enum search_way way);
/* dlopen() from there. */
__attribute__((visibility("default"))) void *search_load(const char *file);
/* What the constructor found, in builds with one. */
__attribute__((visibility("default"))) const char *search_first(void);

#endif
