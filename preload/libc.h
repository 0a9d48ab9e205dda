/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only glibc has. Weak: another libc (musl) that is handed this library by an inherited LD_PRELOAD binds what it
 * knows, and ends the program for any name that it does not. Everything else that the library imports musl has, too
 * (a test holds on to that); there we do nothing but hand dlsym and dlopen on.
 */
#ifndef ST_LIBC_H
#define ST_LIBC_H

#include <stdbool.h>

__attribute__((weak)) const char *gnu_get_libc_version(void);
/* What pthread_atfork() and at_quick_exit() call in glibc; they are linked into each object, and would not be weak. */
__attribute__((weak)) int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                                            void *object);
__attribute__((weak)) int __cxa_at_quick_exit(void (*fn)(void *), void *object);
extern void *__dso_handle __attribute__((visibility("hidden")));

static inline bool st_libc_is_glibc(void)
{
    return gnu_get_libc_version && __register_atfork && __cxa_at_quick_exit;
}

#endif
