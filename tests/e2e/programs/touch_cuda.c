/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest process that uses CUDA: one call, then optionally something else.
 *   touch_cuda              cuInit
 *   touch_cuda exec CMD…    … then becomes CMD
 *   touch_cuda sleep MS     … then sleeps
 *   touch_cuda exit N | kill N | fds
 */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_few.h"

static int print_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        char link[300], target[400];
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        length = readlink(link, target, sizeof target - 1);
        if (length > 0 && atoi(entry->d_name) != dirfd(folder))
            printf("%s %.*s\n", entry->d_name, (int)length, target);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    int number = argc > 2 ? atoi(argv[2]) : 0;

    if (cuInit(0) != 0)
        fputs("cuInit failed\n", stderr);
    if (strcmp(verb, "exec") == 0 && argc > 2) {
        execvp(argv[2], argv + 2);
        return 127;
    }
    if (strcmp(verb, "sleep") == 0) {
        struct timespec pause = {number / 1000, number % 1000 * 1000000L};

        puts("ready");
        fflush(stdout);
        nanosleep(&pause, NULL);
    } else if (strcmp(verb, "exit") == 0) {
        return number;
    } else if (strcmp(verb, "kill") == 0) {
        raise(number);
    } else if (strcmp(verb, "fds") == 0) {
        return print_descriptors();
    }
    return 0;
}
