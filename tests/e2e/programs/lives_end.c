/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of how a process ends, and of what it does with its files, folder and environment; see lives.h. */
#include "lives.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* 2 pictures, then the end while 4 threads launch. 0 exit, 1 _exit, 2 quick_exit, 3 abort, 4 SIGKILL, 5 return. */
int lives_end(int number)
{
    struct rlimit no_core = {0, 0};

    setrlimit(RLIMIT_CORE, &no_core);
    lives_set_up();
    lives_picture(NULL);
    lives_picture(NULL);
    puts("2 pictures");
    fflush(stdout);
    lives_start_spinning(4);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    lives_note_made();
    switch (number) {
    case 0:
        exit(10);
    case 1:
        _exit(11);
    case 2:
        quick_exit(12);
    case 3:
        abort();
    case 4:
        raise(SIGKILL);
    }
    return 15;
}

/* Launches when main() is over: from a handler that was registered before cuInit, so that it runs after those of
 * everybody who was set up by it, and from the program's destructor, which runs after all handlers. */
static int is_late;

static void launch_late(void)
{
    lives_launch_and_wait((void *)5l);
}

__attribute__((destructor)) static void launch_last(void)
{
    if (is_late)
        lives_launch_and_wait((void *)3l);
}

int lives_end_late(int number)
{
    if (atexit(launch_late) != 0)
        return 1;
    lives_set_up();
    is_late = 1;
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
    return 0;
}

static void *last_main(void *argument)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    lives_request(lives_nothing, argument);
    puts("the last thread is done");
    return NULL;
}

/* main() is left by pthread_exit(): the process ends with its last thread. No CUDA: the threads of a driver would
 * keep it alive, with and without us. */
int lives_last_thread(int number)
{
    pthread_t thread;

    (void)number;
    lives_request(lives_nothing, NULL);
    if (pthread_create(&thread, NULL, last_main, NULL) != 0)
        return 1;
    pthread_detach(thread);
    pthread_exit(NULL);
}

static void *uses_cuda(void *argument)
{
    lives_set_up();
    lives_launch_and_wait((void *)5l);
    return argument;
}

static void *works_on(void *argument)
{
    nanosleep(&(struct timespec){.tv_nsec = 350000000}, NULL);
    puts("the last thread is done");
    return argument;
}

/* main() is left, one thread uses CUDA and ends, and another – started while CUDA comes up – works on without it. */
int lives_last_worker(int number)
{
    pthread_t user, worker;

    if (pthread_create(&user, NULL, uses_cuda, NULL) != 0)
        return 1;
    nanosleep(&(struct timespec){.tv_nsec = number * 1000l}, NULL);
    if (pthread_create(&worker, NULL, works_on, NULL) != 0)
        return 1;
    pthread_detach(user);
    pthread_detach(worker);
    pthread_exit(NULL);
}

static void exit_here(int signal)
{
    (void)signal;
    exit(16);
}

/* exit() in a signal handler that comes in the middle of malloc(): no program should, many do. Not of dlopen(): there
 * glibc itself may hang, between taking its lock and noting who has it. */
int lives_exit_in_handler(int number)
{
    (void)number;
    void *blocks[64] = {NULL};

    lives_set_up();
    lives_picture(NULL);
    signal(SIGALRM, exit_here);
    ualarm(30000, 0);
    for (unsigned int i = 0;; i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(2000 + (i * 7919) % 60000);
    }
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static const char text[] = "the program's own line\n";

static int write_text(int descriptor)
{
    return write(descriptor, text, sizeof text - 1) == (ssize_t)sizeof text - 1;
}

static int own_file(int number)
{
    char path[32];

    snprintf(path, sizeof path, "own-%d.txt", number);
    return open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
}

/* As a daemon: all descriptors are closed in the middle of the trace, then the numbers are used again. */
int lives_close_all(int number)
{
    int files[8];

    lives_set_up();
    lives_picture(NULL);
    for (int descriptor = 3; descriptor < 256; descriptor++)
        close(descriptor);
    for (int i = 0; i < 8; i++)
        files[i] = own_file(i);
    for (int i = 0; i < number; i++) {
        lives_picture(NULL);
        for (int k = 0; k < 8; k++)
            if (!write_text(files[k]))
                return 1;
        nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL);
    }
    return 0;
}

/* Started with or without 0, 1 and 2: the program's next files get the lowest numbers there are. */
int lives_no_stdio(int number)
{
    int before = own_file(0), after;

    lives_set_up();
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
    after = own_file(1);
    return write_text(before) && write_text(after) ? before : 100;
}

/* No file may be larger than `number` bytes: a program that stays below never hears of it. */
int lives_small_files(int number)
{
    struct rlimit limit = {(rlim_t)number, (rlim_t)number};

    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    lives_set_up();
    for (int i = 0; i < 240; i++)
        lives_request(lives_launch_and_wait, (void *)200l);
    return write_text(own_file(0)) ? 0 : 1;
}

/* Opens files until there are no more descriptors; how many there were. */
static int use_up(void)
{
    int count = 0;

    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    return count;
}

static int limit_files(int number)
{
    struct rlimit limit = {(rlim_t)number, (rlim_t)number};

    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* All descriptors are in use before the first CUDA call … */
int lives_few_files(int number)
{
    if (!limit_files(number) || use_up() < 1)
        return 1;
    lives_set_up();
    lives_picture(NULL);
    puts("done");
    return 0;
}

/* … or in the middle; the program gets as many as without us, but for the trace's own one. */
int lives_full_files(int number)
{
    pthread_t thread;

    lives_set_up();
    lives_picture(NULL);
    if (!limit_files(number) || use_up() < number - 32)
        return 1;
    lives_picture(NULL);
    lives_start_spinning(2);
    lives_stop = 1;
    if (pthread_create(&thread, NULL, last_main, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}

/* ---- folder and environment ---------------------------------------------------------------------------------- */

/* Another working folder before the first CUDA call; back again for the program's own file. */
int lives_chdir(int number)
{
    if (mkdir("below", 0755) != 0 || chdir("below") != 0)
        return 1;
    lives_set_up();
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
    return write_text(own_file(0)) ? 0 : 1;
}

int lives_clearenv(int number)
{
    clearenv();
    lives_set_up();
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
    puts(getenv("LD_PRELOAD") ? "there is an environment" : "no environment");
    return 0;
}
