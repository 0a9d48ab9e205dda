/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_teller CMD…: a program that nothing can be preloaded into. It starts CMD, tells of two pictures and has CMD work
 * between the lines: each byte that CMD reads from stdin is a number of launches, and it is answered. Ends like CMD.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
}

static void tell(const char *line)
{
    puts(line);
    fflush(stdout);
    pause_a_little();
}

static void order(int fd, char launches)
{
    if (write(fd, &launches, 1) != 1 || read(fd, &launches, 1) != 1)
        _exit(9);
}

int main(int argc, char **argv)
{
    int ends[2], status = 0;

    if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    close(ends[0]);
    order(ends[1], 1);
    for (int i = 0; i < 2; i++) {
        tell("picture");
        tell("encode");
        order(ends[1], 3);
        tell("decode");
        order(ends[1], 5);
        tell("saved");
    }
    close(ends[1]);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}
