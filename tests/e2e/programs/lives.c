/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases share, and the table of them; see lives.h. */
#include "lives.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

struct lives_device lives_device;
volatile int lives_stop;

static const char image[] = PTX_HEAD PTX_ENTRY("dot_5us") PTX_ENTRY("dot_100us");
static pthread_t spinning[LIVES_MAX_THREADS];
static _Atomic long made[LIVES_MAX_THREADS];
static int spinning_count;

void lives_set_up(void)
{
    CUmodule module;

    lives_device.context = e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    lives_device.quick = e2e_function(module, "dot_5us");
    lives_device.slow = e2e_function(module, "dot_100us");
}

void lives_join(void)
{
    CHECK(cuCtxSetCurrent(lives_device.context));
}

void lives_nothing(void *argument)
{
    (void)argument;
}

void lives_launch(void *argument)
{
    for (long i = 0; i < (long)argument; i++)
        e2e_launch(lives_device.quick, NULL);
}

void lives_launch_and_wait(void *argument)
{
    lives_launch(argument);
    CHECK(cuCtxSynchronize());
}

static void picture_stages(void *argument)
{
    (void)argument;
    lives_encode(lives_launch, (void *)4l);
    lives_sample(lives_launch, (void *)6l);
    lives_decode(lives_launch_and_wait, (void *)5l);
}

void lives_picture(void *argument)
{
    lives_request(picture_stages, argument);
}

/* ---- threads that launch all the time ------------------------------------------------------------------ */

static void spin(void *argument)
{
    while (!lives_stop) {
        e2e_launch(lives_device.quick, NULL);
        if (++made[(long)argument] % 20 == 0) /* else traces of minutes become too large */
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static void *spin_main(void *argument)
{
    lives_join();
    lives_sample(spin, argument);
    return NULL;
}

void lives_start_spinning(int count)
{
    for (long i = 0; i < count; i++)
        if (pthread_create(&spinning[i], NULL, spin_main, (void *)i) != 0)
            exit(1);
    spinning_count = count;
    for (int i = 0; i < count; i++)
        while (!made[i]) {
        }
}

void lives_join_spinning(void)
{
    lives_stop = 1;
    for (int i = 0; i < spinning_count; i++)
        pthread_join(spinning[i], NULL);
}

void lives_note_made(void)
{
    FILE *file = fopen("made", "w");
    long sum = 0;

    for (int i = 0; i < spinning_count; i++)
        sum += made[i];
    if (!file || fprintf(file, "%ld\n", sum) < 0 || fclose(file) != 0)
        exit(1);
}

/* ---- the table ------------------------------------------------------------------------------------------ */

static int pictures(int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int number);
} cases[] = {
    {"pictures", pictures},
    {"fork_idle", lives_fork_idle},
    {"fork_request", lives_fork_request},
    {"fork_before", lives_fork_before},
    {"fork_inside", lives_fork_inside},
    {"fork_bare", lives_fork_bare},
    {"fork_gone", lives_fork_gone},
    {"fork_clone", lives_fork_clone},
    {"fork_storm", lives_fork_storm},
    {"vfork_exec", lives_vfork_exec},
    {"spawn", lives_spawn},
    {"spawn_cleared", lives_spawn_cleared},
    {"exec", lives_exec},
    {"end", lives_end},
    {"end_late", lives_end_late},
    {"last_thread", lives_last_thread},
    {"last_worker", lives_last_worker},
    {"exit_in_handler", lives_exit_in_handler},
    {"short_threads", lives_short_threads},
    {"many_threads", lives_many_threads},
    {"cancel", lives_cancel},
    {"handler", lives_handler},
    {"fibers", lives_fibers},
    {"signal_stack", lives_signal_stack},
    {"longjmp", lives_longjmp},
    {"close_all", lives_close_all},
    {"no_stdio", lives_no_stdio},
    {"small_files", lives_small_files},
    {"few_files", lives_few_files},
    {"full_files", lives_full_files},
    {"chdir", lives_chdir},
    {"clearenv", lives_clearenv},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return cases[i].run(argc > 2 ? atoi(argv[2]) : 0);
    fprintf(stderr, "usage: %s CASE [NUMBER]; the cases stand at the end of lives.c\n", argv[0]);
    return 2;
}
