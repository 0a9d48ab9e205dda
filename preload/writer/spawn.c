/* SPDX-License-Identifier: Apache-2.0 */
/* Starting threads; see spawn.h. */
#include "spawn.h"

#include <signal.h>

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*set_stack_fn)(pthread_attr_t *, size_t);

void *(*st_spawn_find)(const char *name);

bool st_spawn(void *(*run)(void *), size_t stack_bytes, pthread_t *ret_thread)
{
    create_fn create = (create_fn)st_spawn_find("pthread_create");
    set_stack_fn set_stack_size = (set_stack_fn)st_spawn_find("pthread_attr_setstacksize");
    if (!create || !set_stack_size) {
        return false;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes) {
        set_stack_size(&attributes, stack_bytes);
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* the calling thread's, as pthread_sigmask(): in libc since 2.32 only */
    bool is_started = create(ret_thread, &attributes, run, NULL) == 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return is_started;
}
