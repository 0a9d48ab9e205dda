/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructor. It is the first code of the process after the loader (-z initfirst): libc's environ is
 * not set yet, so everything comes from its arguments. (Before glibc 2.34 it may be the last code before the program's
 * own instead: watch/README.md, "Not reached".) It notes settings and binds what is loaded; files,
 * threads and messages wait until the process uses CUDA.
 */
#include <stddef.h>
#include <sys/auxv.h>

#include "backends.h"
#include "libc.h"
#include "options.h"
#include "preload/stages/python.h"
#include "preload/stages/stages.h"
#include "preload/watch/watch.h"
#include "session.h"

static void on_request(void)
{
    st_session_start();
}

static void fork_child(void)
{
    st_session_fork_child();
    st_stages_fork_child();
}

static void start(int argc, char **argv, char **envp)
{
    if (!st_libc_is_glibc()) {
        return; /* not even the arguments are there */
    }
    st_watch_resolve();
    if (getauxval(AT_SECURE)) {
        return; /* a privileged program: stay out */
    }
    st_options_read(envp, argc > 0 ? argv[0] : NULL);
    if (st_options.mode == ST_MODE_OFF) {
        return;
    }
    st_session_prepare(argc, argv);
    st_stages_init(&st_options.map, st_options.map_is_automatic);
    st_python_start(st_options.py);
    st_watch_set_hooks(&(struct st_watch_hooks){.on_object = st_backend_note,
                                                .on_first_call = st_session_on_first_call,
                                                .on_init = st_session_on_init,
                                                .on_dlopen = st_python_on_dlopen,
                                                .stage_enter = st_stage_enter,
                                                .stage_leave = st_stage_leave});
    __register_atfork(NULL, NULL, fork_child, &__dso_handle);
    st_watch_start(argv);
    st_stages_start(on_request, st_options.inherited_tee);
}

__attribute__((section(".init_array"), used)) static void (*const constructor)(int, char **, char **) = start;

__attribute__((destructor)) static void end(void)
{
    st_stages_end();
    st_session_tell_unreached();
    st_python_end();
    st_session_tell_run();
    st_session_finish();
}
