/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of threads, signal handlers and stacks; see lives.h. */
#include "lives.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static void *sample_main(void *argument)
{
    lives_join();
    lives_sample(lives_launch, argument);
    return NULL;
}

static void one_by_one(void *argument)
{
    for (long i = 0; i < (long)argument; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, sample_main, (void *)3l) != 0)
            exit(1);
        pthread_join(thread, NULL);
    }
}

/* `number` threads, one after the other, each gone with events that nobody has fetched yet. */
int lives_short_threads(int number)
{
    lives_set_up();
    lives_request(one_by_one, (void *)(long)number);
    CHECK(cuCtxSynchronize());
    return 0;
}

static void at_once(void *argument)
{
    static pthread_t threads[LIVES_MAX_THREADS];

    for (int i = 0; i < LIVES_MAX_THREADS; i++)
        if (pthread_create(&threads[i], NULL, sample_main, argument) != 0)
            exit(1);
    for (int i = 0; i < LIVES_MAX_THREADS; i++)
        pthread_join(threads[i], NULL);
}

int lives_many_threads(int number)
{
    lives_set_up();
    lives_request(at_once, (void *)(long)number);
    CHECK(cuCtxSynchronize());
    return 0;
}

/* ---- cancelled ------------------------------------------------------------------------------------------------- */

static _Atomic int waiting;

static void launch_and_pause(void *argument)
{
    lives_launch(argument);
    waiting = 1;
    for (;;)
        pause();
}

static void *pause_main(void *argument)
{
    lives_join();
    lives_request(launch_and_pause, argument);
    return NULL;
}

/* A thread that ends inside a stage: the unwinder takes it down. */
int lives_cancel(int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++) {
        pthread_t thread;
        void *result;

        waiting = 0;
        if (pthread_create(&thread, NULL, pause_main, (void *)4l) != 0)
            return 1;
        while (!waiting) {
        }
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED)
            return 1;
    }
    lives_picture(NULL);
    CHECK(cuCtxSynchronize());
    return 0;
}

/* ---- handlers and stacks --------------------------------------------------------------------------------------- */

static volatile long handled;

static void launch_in_handler(int signal_number)
{
    (void)signal_number;
    e2e_launch(lives_device.quick, NULL);
    handled++;
}

static void many_stages(void *argument)
{
    for (long i = 0; i < (long)argument; i++)
        lives_encode(lives_nothing, NULL);
}

/* A timer's handler launches; it comes at any instruction, also in the middle of a recording. The interrupted code
 * itself makes no CUDA call: a real driver would not bear that either. */
int lives_handler(int number)
{
    struct sigaction action = {.sa_handler = launch_in_handler, .sa_flags = SA_RESTART};
    struct itimerval fast = {{0, 150}, {0, 150}}, off = {{0, 0}, {0, 0}};

    lives_set_up();
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &fast, NULL);
    lives_request(many_stages, (void *)(long)number);
    setitimer(ITIMER_PROF, &off, NULL);
    CHECK(cuCtxSynchronize());
    return 0;
}

static ucontext_t fiber, outside;
static char fiber_stack[1 << 17];

static void half_and_half(void *argument)
{
    (void)argument;
    e2e_launch(lives_device.slow, NULL);
    swapcontext(&fiber, &outside);
    e2e_launch(lives_device.slow, NULL);
    CHECK(cuCtxSynchronize());
}

static void fiber_stages(void *argument)
{
    lives_encode(half_and_half, argument);
}

static void fiber_main(void)
{
    lives_request(fiber_stages, NULL);
}

/* A request on a stack of its own that is left in the middle and gone on with. */
int lives_fibers(int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++) {
        getcontext(&fiber);
        fiber.uc_stack.ss_sp = fiber_stack;
        fiber.uc_stack.ss_size = sizeof fiber_stack;
        fiber.uc_link = &outside;
        makecontext(&fiber, fiber_main, 0);
        swapcontext(&outside, &fiber);
        e2e_launch(lives_device.quick, NULL); /* from another stack, the request being open */
        swapcontext(&outside, &fiber);
    }
    CHECK(cuCtxSynchronize());
    return 0;
}

static void raise_inside(void *argument)
{
    (void)argument;
    e2e_launch(lives_device.slow, NULL);
    raise(SIGUSR1);
    e2e_launch(lives_device.slow, NULL);
    CHECK(cuCtxSynchronize());
}

static void signal_stages(void *argument)
{
    lives_encode(raise_inside, argument);
}

static void *signal_main(void *high)
{
    stack_t stack = {.ss_sp = high, .ss_size = 1 << 16}, none = {.ss_flags = SS_DISABLE};

    sigaltstack(&stack, NULL);
    lives_join();
    for (int i = 0; i < 3; i++)
        lives_request(signal_stages, NULL);
    sigaltstack(&none, NULL);
    return NULL;
}

/* A handler that launches on a stack that lies above the thread's. */
int lives_signal_stack(int number)
{
    struct sigaction action = {.sa_handler = launch_in_handler, .sa_flags = SA_ONSTACK};
    char *room = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;

    (void)number;
    lives_set_up();
    sigaction(SIGUSR1, &action, NULL);
    pthread_attr_init(&attributes);
    if (room == MAP_FAILED || pthread_attr_setstack(&attributes, room, 512 << 10) != 0 ||
        pthread_create(&thread, &attributes, signal_main, room + (768 << 10)) != 0)
        return 1;
    pthread_join(thread, NULL);
    printf("%ld in the handler\n", handled);
    return 0;
}

static jmp_buf back;

static void jump_away(void *argument)
{
    lives_launch(argument);
    longjmp(back, 1);
}

static void sample_left(void *argument)
{
    (void)argument;
    if (!setjmp(back))
        lives_sample(jump_away, (void *)2l);
    lives_decode(lives_launch_and_wait, (void *)3l);
}

int lives_longjmp(int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++)
        lives_request(sample_left, NULL);
    return 0;
}
