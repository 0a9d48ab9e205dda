/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of our own: without a thread library there is none, with one they get no signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <semaphore.h>
#include <signal.h>

#include "preload/writer/spawn.h"

static sem_t is_run;
static int is_blocked;
static size_t asked_stack_bytes;

static void *run(void *unused)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    is_blocked = sigismember(&blocked, SIGUSR1);
    sem_post(&is_run);
    return unused;
}

static int set_stack_size(pthread_attr_t *attributes, size_t bytes)
{
    asked_stack_bytes = bytes;
    return pthread_attr_setstacksize(attributes, bytes);
}

static void *find_nothing(const char *name)
{
    return NULL;
}

static void *find(const char *name)
{
    return strcmp(name, "pthread_create") == 0 ? (void *)pthread_create : (void *)set_stack_size;
}

static void test_without_threads(void **state)
{
    pthread_t thread;
    st_spawn_find = find_nothing;
    assert_false(st_spawn(run, 0, &thread));
}

static void test_with_threads(void **state)
{
    pthread_t thread;
    sigset_t blocked;
    st_spawn_find = find;
    assert_true(st_spawn(run, 0, &thread));
    sem_wait(&is_run);
    assert_int_equal(is_blocked, 1);
    assert_int_equal(asked_stack_bytes, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_int_equal(sigismember(&blocked, SIGUSR1), 0); /* the caller's mask is as it was */
    assert_true(st_spawn(run, 512 << 10, &thread));
    sem_wait(&is_run);
    assert_int_equal(asked_stack_bytes, 512 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_threads), cmocka_unit_test(test_with_threads)};
    sem_init(&is_run, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
