/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printer_threads WAY: lines and launches on several threads.
 *
 *   each     two threads print and launch: "picture", "encode" and 3 launches, "decode" and 5, "saved", 20 times each
 *   logger   one thread launches, another prints its lines for it, each before the launches that it tells of
 *   helper   the printing thread launches 3 in "encode" and 5 in "decode", another one 7 in each
 *   cancel   a thread is cancelled while it waits in printf for a pipe that is full; then the main thread prints
 *   worker   the main thread prints "picture" and "encode", then a new thread makes all 3 launches; 2 times
 */
#include "printer.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EACH_PICTURES = 20 };

static pthread_barrier_t barrier;
static const char *message;

static void meet(void)
{
    pthread_barrier_wait(&barrier);
}

static void *one_of_each(void *arg)
{
    pthread_setname_np(pthread_self(), arg);
    for (int i = 0; i < EACH_PICTURES; i++) {
        printf("picture ");
        printf("%d of %s\n", i, (const char *)arg);
        printf("enc");
        meet(); /* the other one is within its line, too */
        printf("ode\n");
        printer_launch(3);
        printf("decode\n");
        printer_launch(5);
        printf("saved\n");
    }
    return NULL;
}

static void *logger(void *arg)
{
    for (;;) {
        meet();
        if (!message)
            return NULL;
        puts(message);
        meet();
    }
}

static void log_it(const char *text)
{
    message = text;
    meet();
    if (text)
        meet();
}

static void launch_beside_logger(void)
{
    for (int i = 0; i < 2; i++) {
        log_it("picture");
        log_it("encode");
        printer_launch(3);
        log_it("decode");
        printer_launch(5);
        log_it("saved");
        printer_launch(1);
    }
    log_it(NULL);
}

static void *helper(void *arg)
{
    printer_launch(1);
    meet();
    for (int i = 0; i < 4; i++) {
        meet();
        printer_launch(7);
        meet();
    }
    return NULL;
}

static void print_beside_helper(void)
{
    meet();
    for (int i = 0; i < 2; i++) {
        puts("picture");
        puts("encode");
        meet();
        printer_launch(3);
        meet();
        puts("decode");
        meet();
        printer_launch(5);
        meet();
        puts("saved");
    }
}

static void *fill(void *arg)
{
    while (printf("%0500d\n", 0) > 0)
        continue;
    return NULL;
}

static int cancel(void)
{
    pthread_t thread;
    void *result;
    char text[4096];
    int kept = dup(STDOUT_FILENO), ends[2];

    if (pipe2(ends, O_NONBLOCK) != 0 || fcntl(ends[1], F_SETFL, 0) != 0 || dup2(ends[1], STDOUT_FILENO) < 0)
        return 2;
    pthread_create(&thread, NULL, fill, NULL);
    while (poll(&(struct pollfd){ends[1], POLLOUT, 0}, 1, 0) > 0)
        usleep(1000);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    while (read(ends[0], text, sizeof(text)) > 0)
        continue;
    dup2(kept, STDOUT_FILENO);
    printf("\n%s\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    return fflush(stdout) != 0;
}

static void *work(void *arg)
{
    printer_launch(3);
    return NULL;
}

static void print_for_workers(void)
{
    for (int i = 0; i < 2; i++) {
        pthread_t thread;

        puts("picture");
        puts("encode");
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    static char names[2][8] = {"one", "other"};
    pthread_t threads[2];

    pthread_barrier_init(&barrier, NULL, 2);
    setvbuf(stdout, NULL, _IOFBF, 65536);
    if (strcmp(way, "worker") == 0) {
        print_for_workers();
        return 0;
    }
    printer_launch(1);
    if (strcmp(way, "cancel") == 0)
        return cancel();
    if (strcmp(way, "each") == 0) {
        pthread_create(&threads[0], NULL, one_of_each, names[0]);
        pthread_create(&threads[1], NULL, one_of_each, names[1]);
        pthread_join(threads[1], NULL);
    } else if (strcmp(way, "logger") == 0) {
        pthread_create(&threads[0], NULL, logger, NULL);
        launch_beside_logger();
    } else if (strcmp(way, "helper") == 0) {
        pthread_create(&threads[0], NULL, helper, NULL);
        print_beside_helper();
    } else {
        return 2;
    }
    return pthread_join(threads[0], NULL);
}
