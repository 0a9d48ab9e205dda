/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with many ways to live and to end: lives CASE [NUMBER]. Each case is one thing that processes,
 * threads, signals or stacks do; what it prints is the same in each run. The stage functions live in a shared
 * library, so that they are dynamic symbols; each runs what it is given.
 */
#ifndef E2E_LIVES_H
#define E2E_LIVES_H

#include "cuda_few.h"
#include "stage_log.h"

typedef void (*lives_work)(void *argument);

E2E_STAGE void lives_request(lives_work work, void *argument);
E2E_STAGE void lives_encode(lives_work work, void *argument);
E2E_STAGE void lives_sample(lives_work work, void *argument);
E2E_STAGE void lives_decode(lives_work work, void *argument);

/* What set_up() made; usable from any thread once the context is current there. */
struct lives_device {
    CUcontext context;
    CUfunction quick, slow; /* 5 µs, 100 µs */
};
extern struct lives_device lives_device;

/* Context and kernels, current on the calling thread. */
void lives_set_up(void);
/* Makes the context current: the first thing that a further thread does. */
void lives_join(void);

/* Work for stages: `argument` is a number of launches, cast. */
void lives_launch(void *argument);
void lives_launch_and_wait(void *argument);
void lives_nothing(void *argument);

/* One request with work in each stage: 4 + 6 + 5 launches. */
void lives_picture(void *argument);
enum { LIVES_PICTURE_LAUNCHES = 15 };

/* Start `count` threads that launch until lives_stop is set, each in a stage of its own; join them. */
enum { LIVES_MAX_THREADS = 64 };
extern volatile int lives_stop;
void lives_start_spinning(int count);
void lives_join_spinning(void);
/* Launches of theirs that have returned so far, into the file `made`. */
void lives_note_made(void);

/* The cases: exit status of the program. */
int lives_fork_idle(int number);
int lives_fork_request(int number);
int lives_fork_before(int number);
int lives_fork_inside(int number);
int lives_fork_bare(int number);
int lives_fork_gone(int number);
int lives_fork_clone(int number);
int lives_fork_storm(int number);
int lives_vfork_exec(int number);
int lives_spawn(int number);
int lives_spawn_cleared(int number);
int lives_exec(int number);
int lives_end(int number);
int lives_end_late(int number);
int lives_last_thread(int number);
int lives_last_worker(int number);
int lives_exit_in_handler(int number);
int lives_short_threads(int number);
int lives_many_threads(int number);
int lives_cancel(int number);
int lives_handler(int number);
int lives_fibers(int number);
int lives_signal_stack(int number);
int lives_longjmp(int number);
int lives_close_all(int number);
int lives_no_stdio(int number);
int lives_small_files(int number);
int lives_few_files(int number);
int lives_full_files(int number);
int lives_chdir(int number);
int lives_clearenv(int number);

#endif
