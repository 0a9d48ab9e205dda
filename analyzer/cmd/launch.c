/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The target stays in our process group, so that a terminal treats both as one job. What the kernel sends
 * to the whole group (^C, ^Z, window size) has reached the target already; what a process sent to us alone
 * is passed on. All signals are taken synchronously with sigwaitinfo(): no handler, no race.
 */
#include "analyzer/cmd/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                                SIGUSR2, SIGWINCH, SIGALRM, SIGTSTP, SIGCONT};

enum { FIRST_LOOK_NS = 200000000, MOST_WAIT_S = 3600 };

static void make_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) sigaddset(set, forwarded[i]);
    sigaddset(set, SIGCHLD);
}

/* In the child: become the program, or tell the parent why not through the pipe. */
__attribute__((noreturn)) static void become(char *const *argv, const sigset_t *old_mask, int report)
{
    int why;

    sigprocmask(SIG_SETMASK, old_mask, NULL);
    execvp(argv[0], argv);
    why = errno;
    if (write(report, &why, sizeof(why)) != (ssize_t)sizeof(why)) _exit(126);
    _exit(why == ENOENT ? 127 : 126);
}

/* Collect the program's state changes; true = it is gone and *ret_status is its wait status. */
static bool collect(pid_t pid, int *ret_status)
{
    int status;
    pid_t got;

    while ((got = waitpid(pid, &status, WUNTRACED | WNOHANG)) == pid) {
        if (!WIFSTOPPED(status)) {
            *ret_status = status;
            return true;
        }
        raise(SIGSTOP); /* the shell must see the job stopped; SIGCONT goes on below */
    }
    if (got < 0 && errno == ECHILD) {
        *ret_status = 0;
        return true;
    }
    return false;
}

static int wait_for(pid_t pid, const sigset_t *set, const struct st_launch_watch *watch)
{
    struct timespec wait = {0, FIRST_LOOK_NS};
    int status = 0;

    while (!collect(pid, &status)) {
        siginfo_t info;
        int number = sigtimedwait(set, &info, &wait);

        if (number < 0 && errno == EAGAIN) {
            watch->look(watch->context, pid);
            wait.tv_nsec *= 2;
            wait.tv_sec = wait.tv_sec * 2 + wait.tv_nsec / 1000000000;
            wait.tv_nsec %= 1000000000;
            if (wait.tv_sec > MOST_WAIT_S) wait.tv_sec = MOST_WAIT_S;
            continue;
        }
        if (number <= 0 || number == SIGCHLD) continue;
        if (info.si_code == SI_KERNEL && number != SIGCONT) continue;
        kill(pid, number);
    }
    return status;
}

bool st_launch_run(char *const *argv, const struct st_launch_watch *watch, struct st_launch *ret)
{
    sigset_t set, old_mask;
    int report[2], status;
    struct sigaction old_child, default_child = {.sa_handler = SIG_DFL};

    if (pipe2(report, O_CLOEXEC) != 0) return false;
    make_set(&set);
    sigprocmask(SIG_BLOCK, &set, &old_mask);
    /* an ignored SIGCHLD, inherited from a careless parent, would lose the status */
    sigaction(SIGCHLD, &default_child, &old_child);
    *ret = (struct st_launch){.pid = fork()};
    if (ret->pid < 0) {
        sigprocmask(SIG_SETMASK, &old_mask, NULL);
        close(report[0]);
        close(report[1]);
        return false;
    }
    if (ret->pid == 0) {
        sigaction(SIGCHLD, &old_child, NULL);
        if (watch->in_child != NULL) watch->in_child();
        become(argv, &old_mask, report[1]);
    }
    close(report[1]);
    if (watch->in_parent != NULL) watch->in_parent();
    ret->started = read(report[0], &ret->exec_errno, sizeof(ret->exec_errno)) != (ssize_t)sizeof(ret->exec_errno);
    close(report[0]);
    /* The signals stay blocked: one that came just before the end must not kill us before the last line. */
    status = wait_for(ret->pid, &set, watch);
    ret->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}
