/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at once: everything SECONDS PLUGIN PLUGIN. Threads launch in stages; others load, run and unload plugins
 * that use the driver; one looks functions up; and the process forks all the time. Some children end at once, some
 * launch (an error after a fork), some become another image that launches (`everything child`) and has a trace of its
 * own. At the end `made` has the number of launches that succeeded here, `made.others` how many images there were and
 * how many children called the driver.
 */
#include "everything.h"
#include "lives.h"

#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { LAUNCHERS = 3, LOADERS = 2, IMAGE_LAUNCHES = 15, IMAGE_EVERY_NS = 900000000 };
enum { CHILD_STATUS = 7, CHILD_LIMIT_S = 20, CALLER_EVERY = 100 };

static const char image[] = PTX_HEAD PTX_ENTRY("dot_2us");
static CUcontext context;
static CUfunction dot;
static volatile int stop;
static _Atomic long made, loaded, looked_up, wrong;
static const char *plugins[LOADERS];

static void set_up(void)
{
    CUmodule module;

    context = e2e_context();
    CHECK(cuModuleLoadData(&module, image));
    dot = e2e_function(module, "dot_2us");
}

static void pause_ns(long duration_ns)
{
    nanosleep(&(struct timespec){.tv_nsec = duration_ns}, NULL);
}

static void launch_some(void *argument)
{
    for (long i = 0; i < (long)argument; i++)
        made += launch_by(cuLaunchKernel, dot);
}

static void *launcher(void *argument)
{
    CHECK(cuCtxSetCurrent(context));
    while (!stop) {
        lives_sample(launch_some, (void *)10l);
        CHECK(cuCtxSynchronize());
        pause_ns(500000);
    }
    return argument;
}

/* Both open both plugins: now and then one closes what the other uses. */
static void *loader(void *argument)
{
    static const int modes[] = {RTLD_NOW | RTLD_LOCAL, RTLD_LAZY | RTLD_GLOBAL, RTLD_NOW | RTLD_DEEPBIND};

    CHECK(cuCtxSetCurrent(context));
    for (long i = (long)argument; !stop; i++) {
        void *handle = dlopen(plugins[i % LOADERS], modes[i % 3]);
        plugin_fn run = handle ? (plugin_fn)dlsym(handle, "plugin_run") : NULL;
        int good = run ? run(dot) : 0;

        made += good;
        wrong += good != 4;
        loaded += handle && dlclose(handle) == 0;
        pause_ns(200000);
    }
    return argument;
}

/* Each look-up gives the same as ever. */
static void *looker(void *argument)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *first = NULL, *pointer = NULL;
    lookup_fn lookup = driver ? (lookup_fn)dlsym(driver, "cuGetProcAddress_v2") : NULL;
    launch_fn launch = driver ? (launch_fn)dlsym(driver, "cuLaunchKernel") : NULL;

    CHECK(cuCtxSetCurrent(context));
    if (!lookup || lookup("cuLaunchKernel", &first, 12000, 0, NULL) != 0)
        exit(1);
    while (!stop) {
        for (int i = 0; i < 50; i++) {
            wrong += lookup("cuLaunchKernel", &pointer, 12000, 0, NULL) != 0 || pointer != first;
            wrong += (launch_fn)dlsym(RTLD_DEFAULT, "cuLaunchKernel") != launch;
            wrong += (launch_fn)dlsym(driver, "cuLaunchKernel") != launch;
            wrong += dlsym(driver, "cuNoSuchFunction") != NULL;
            looked_up += 4;
        }
        made += launch_by((launch_fn)pointer, dot);
        pause_ns(1000000);
    }
    return argument;
}

static int is_good(pid_t child, int want)
{
    int status = -1;

    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == want;
}

static int fork_one(int is_caller)
{
    pid_t child = fork();

    if (child == 0) {
        alarm(CHILD_LIMIT_S); /* a child that hangs is a bad child */
        if (is_caller && cuLaunchKernel(dot, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0)
            _exit(CHILD_STATUS + 1);
        _exit(CHILD_STATUS);
    }
    return is_good(child, CHILD_STATUS);
}

static int spawn_one(void)
{
    static char self[] = "/proc/self/exe", name[] = "everything", verb[] = "child";
    char *const arguments[] = {name, verb, NULL};
    pid_t child = -1;

    return posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0 && is_good(child, 0);
}

static void fork_all_the_time(double seconds)
{
    uint64_t begin = e2e_now_ns(), next_image = begin;
    long children = 0, callers = 0, images = 0, bad = 0;
    FILE *file;

    while (e2e_now_ns() - begin < (uint64_t)(seconds * 1e9)) {
        int is_caller = ++children % CALLER_EVERY == 0;

        bad += !fork_one(is_caller);
        callers += is_caller;
        if (e2e_now_ns() >= next_image) {
            next_image += IMAGE_EVERY_NS;
            bad += !spawn_one();
            images++;
        }
        pause_ns(1000000);
    }
    stop = 1;
    printf("%ld bad children\n", bad);
    fprintf(stderr, "note: %ld children, %ld images\n", children, images);
    file = fopen("made.others", "w");
    if (!file || fprintf(file, "%ld %ld\n", images, callers) < 0 || fclose(file) != 0)
        exit(1);
}

int main(int argc, char **argv)
{
    pthread_t threads[LAUNCHERS + LOADERS + 1];
    int count = 0;
    FILE *file;

    set_up();
    if (argc == 2 && strcmp(argv[1], "child") == 0) {
        launch_some((void *)(long)IMAGE_LAUNCHES);
        return made != IMAGE_LAUNCHES;
    }
    if (argc != 4)
        return 2;
    plugins[0] = argv[2];
    plugins[1] = argv[3];
    for (long i = 0; i < LAUNCHERS; i++)
        pthread_create(&threads[count++], NULL, launcher, NULL);
    for (long i = 0; i < LOADERS; i++)
        pthread_create(&threads[count++], NULL, loader, (void *)i);
    pthread_create(&threads[count++], NULL, looker, NULL);
    fork_all_the_time(atof(argv[1]));
    while (count > 0)
        pthread_join(threads[--count], NULL);
    CHECK(cuCtxSynchronize());
    printf("%ld wrong answers\n", wrong);
    fprintf(stderr, "note: %ld launches, %ld plugins loaded, %ld look-ups\n", made, loaded, looked_up);
    file = fopen("made", "w");
    return !file || fprintf(file, "%ld\n", made) < 0 || fclose(file) != 0;
}
