/* SPDX-License-Identifier: Apache-2.0 */
/* Cases with more than one process; see lives.h. What children return is printed by their parent. */
#include "lives.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern pid_t _Fork(void); /* glibc 2.34: no fork handlers are run */

enum { STRAY_ROUNDS = 500 };

static int status_of(pid_t child)
{
    int status = -1;

    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void show(const char *what, pid_t child)
{
    int status = status_of(child);

    printf("%s %d\n", what, status);
    fflush(stdout);
}

static void show_pictures(int number)
{
    for (int i = 0; i < number; i++)
        lives_picture(NULL);
}

int lives_fork_idle(int number)
{
    lives_set_up();
    show_pictures(number);
    pid_t child = fork();
    if (child == 0) {
        void *memory = malloc(100000);

        free(memory);
        exit(memory && getpid() > 0 ? 3 : 4);
    }
    show("child", child);
    show_pictures(number);
    return 0;
}

static void save(void *argument)
{
    lives_encode(lives_nothing, argument);
    lives_decode(lives_nothing, argument);
}

/* The child makes a request without CUDA: a trace of its own, with stages that the parent had, too. */
int lives_fork_request(int number)
{
    lives_set_up();
    show_pictures(number);
    pid_t child = fork();
    if (child == 0) {
        lives_request(save, NULL);
        exit(3);
    }
    show("child", child);
    return 0;
}

/* Before cuInit a fork is allowed, and both use CUDA. */
int lives_fork_before(int number)
{
    pid_t child = fork();

    lives_set_up();
    show_pictures(child ? number : number + 1);
    if (child == 0)
        exit(6);
    show("child", child);
    return 0;
}

static pid_t inside_child;

static void fork_here(void *argument)
{
    (void)argument;
    inside_child = fork();
}

static void request_with_fork(void *argument)
{
    (void)argument;
    lives_encode(lives_launch_and_wait, (void *)3l);
    lives_decode(fork_here, NULL);
    lives_sample(inside_child ? lives_launch_and_wait : lives_nothing, (void *)2l);
}

/* The child goes on through the stages that were open, and exits in order. */
int lives_fork_inside(int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++) {
        lives_request(request_with_fork, NULL);
        if (inside_child == 0)
            exit(5);
        show("child", inside_child);
    }
    return 0;
}

static pid_t raw_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void stray_child(pid_t (*fork_it)(void), void *argument)
{
    pid_t child = fork_it();

    if (child == 0) {
        for (int i = 0; i < STRAY_ROUNDS; i++)
            lives_decode(lives_nothing, NULL);
        _exit(7);
    }
    lives_launch(argument);
    show("child", child);
    lives_launch_and_wait(argument);
}

static void bare_inside(void *argument)
{
    stray_child(_Fork, argument);
}

static void clone_inside(void *argument)
{
    stray_child(raw_clone, argument);
}

/* Children that no fork handler is told of, and that go through stages. */
static int stray(lives_work inside, int number)
{
    lives_set_up();
    for (int i = 0; i < number; i++) {
        lives_picture(NULL);
        lives_request(inside, (void *)5l);
    }
    return 0;
}

int lives_fork_bare(int number)
{
    return stray(bare_inside, number);
}

static int take_away(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct link_map *map = arg;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = UINTPTR_MAX, end = 0;

    if (info->dlpi_name != map->l_name)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        begin = from < begin ? from : begin;
        end = from + info->dlpi_phdr[i].p_memsz > end ? from + info->dlpi_phdr[i].p_memsz : end;
    }
    begin &= ~(page - 1);
    /* nothing else shall come to lie there */
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return mmap((void *)begin, end - begin, PROT_NONE, flags, -1, 0) == (void *)begin ? 1 : -1;
}

/* What the child of a fork finds where another thread is in dlclose: an object that is listed, and not mapped. */
int lives_fork_gone(int number)
{
    lives_set_up();
    lives_picture(NULL);
    CHECK(cuCtxSynchronize());
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (!library || dl_iterate_phdr(take_away, library) != 1)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(cuLaunchKernel(lives_device.quick, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0 ? 1 : 9);
    show("child", child);
    _exit(0); /* the loader would run its destructors */
}

int lives_fork_clone(int number)
{
    return stray(clone_inside, number);
}

/* `number` children while other threads launch; every third one ends by exit(), every other through a stage. */
int lives_fork_storm(int number)
{
    int good = 0;

    lives_set_up();
    lives_start_spinning(3);
    for (int i = 0; i < number; i++) {
        pid_t child = fork();

        if (child == 0) {
            if (i % 2)
                lives_encode(lives_nothing, NULL);
            if (i % 3 == 0)
                exit(9);
            _exit(9);
        }
        good += status_of(child) == 9;
    }
    lives_join_spinning();
    CHECK(cuCtxSynchronize());
    lives_note_made();
    printf("%d children\n", good);
    return 0;
}

/* ---- other images ------------------------------------------------------------------------------------------ */

static char self[] = "/proc/self/exe", name[] = "lives", verb[] = "pictures", amount[] = "2";
static char *const again[] = {name, verb, amount, NULL};

int lives_vfork_exec(int number)
{
    lives_set_up();
    show_pictures(number);
    pid_t child = vfork();
    if (child == 0) {
        execv(self, again);
        _exit(127);
    }
    show("child", child);
    show_pictures(number);
    return 0;
}

static int spawn_with(int number, char **envp)
{
    pid_t child = -1;

    lives_set_up();
    show_pictures(number);
    if (posix_spawn(&child, self, NULL, NULL, again, envp) != 0)
        return 1;
    show("child", child);
    show_pictures(number);
    return 0;
}

int lives_spawn(int number)
{
    return spawn_with(number, environ);
}

/* As `env -i`: only where libcuda lies is kept. */
int lives_spawn_cleared(int number)
{
    static char library_path[4096];
    char *kept[] = {library_path, NULL};
    const char *path = getenv("LD_LIBRARY_PATH");

    snprintf(library_path, sizeof library_path, "LD_LIBRARY_PATH=%s", path ? path : "");
    return spawn_with(number, kept);
}

/* The process becomes another image in the middle, without any end of the first one. */
int lives_exec(int number)
{
    lives_set_up();
    show_pictures(number);
    execv(self, again);
    return 127;
}
