/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads things; its argument says what (main()). The driver is
 * linked only in the build for `plugin`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*copy_fn)(uint64_t, const void *, size_t);
typedef void (*report_fn)(void);
typedef void (*callback_fn)(void);

__attribute__((visibility("default"))) callback_fn registered_callback;

#ifdef WITH_DRIVER
int cuStreamSynchronize(void *stream);
int (*volatile keeps_driver_linked)(void *) = cuStreamSynchronize;
#endif

static void *load(const char *file, int flags)
{
    void *handle = dlopen(file, flags);
    if (!handle) {
        printf("%s: %s\n", file, dlerror());
        exit(1);
    }
    return handle;
}

static int plugin(int deep)
{
    void *handle = load("./libplugin.so", RTLD_NOW | (deep ? RTLD_DEEPBIND : 0));
    registered_callback();
    ((void (*)(void))dlsym(handle, "plugin_run"))();
    ((report_fn)dlsym(load("libcuda.so.1", RTLD_NOW), "fake_executed"))();
    return 0;
}

static int own_loader(void)
{
    void *handle = load("./libown_loader.so", RTLD_NOW | RTLD_DEEPBIND);
    printf("own loader %d\n", ((int (*)(void))dlsym(handle, "own_loader_run"))());
    return 0;
}

/* Each round the provider lies elsewhere: something else takes its place. */
static int reload(void)
{
    for (int round = 0; round < 6; round++) {
        void *handle = load("libcuda.so.1", RTLD_NOW);
        copy_fn copy = (copy_fn)dlsym(handle, "cuMemcpyHtoD_v2");
        for (int i = 0; i < 16; i++) {
            copy(1, &handle, 8);
        }
        ((report_fn)dlsym(handle, "fake_executed"))();
        dlclose(handle);
        if (round % 2) {
            mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        }
    }
    return 0;
}

static int use_driver(void)
{
    void *handle = load("libcuda.so.1", RTLD_NOW);
    copy_fn copy = (copy_fn)dlsym(handle, "cuMemcpyHtoD_v2");
    int result = copy(1, &handle, 8);
    ((report_fn)dlsym(handle, "fake_executed"))();
    return result;
}

static int forked(void)
{
    use_driver();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        use_driver();
        load("./libown_loader.so", RTLD_NOW);
        exit(use_driver());
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    return 0;
}

/* The system refuses to make pages writable: symbol tables stay as they are, look-ups still work. */
static int refused(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        return 77;
    }
    use_driver();
    copy_fn copy = (copy_fn)dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2");
    printf("in the global scope %d\n", copy != NULL);
    void *handle = load("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    copy = (copy_fn)dlsym(RTLD_DEFAULT, "cuMemcpyHtoD_v2");
    printf("now %d\n", copy ? copy(1, &handle, 8) : -1);
    ((report_fn)dlsym(handle, "fake_executed"))();
    return 0;
}

static void *stop;

static void *open_and_close(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        dlclose(load("./libown_loader.so", RTLD_NOW));
    }
    return NULL;
}

/* Children of a process whose other thread is in the loader: dlsym must work in them, not hang. */
static int fork_busy(int rounds)
{
    pthread_t thread;
    void *handle = load("libcuda.so.1", RTLD_NOW);
    pthread_create(&thread, NULL, open_and_close, NULL);
    int bad = 0;
    for (int i = 0; i < rounds; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            _exit(dlsym(handle, "cuMemcpyHtoD_v2") == NULL);
        }
        int status = -1;
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    __atomic_store_n(&stop, &thread, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("bad children %d\n", bad);
    return 0;
}

static void *copy_many(void *arg)
{
    void *handle = load("libcuda.so.1", RTLD_NOW);
    copy_fn copy = (copy_fn)dlsym(handle, "cuMemcpyHtoD_v2");
    for (int i = 0; i < 2000; i++) {
        copy(1, &handle, 8);
        if (i % 50 == 0) {
            dlclose(load("./libown_loader.so", RTLD_NOW));
        }
    }
    dlclose(handle);
    return NULL;
}

static int threads(void)
{
    pthread_t thread[4];
    void *keep = load("libcuda.so.1", RTLD_NOW);
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread[i], NULL, copy_many, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
    }
    ((report_fn)dlsym(keep, "fake_executed"))();
    return 0;
}

extern int cuMemAlloc_v2(uint64_t *, size_t) __attribute__((weak));

/* Without a driver nothing may look as if there were one. */
static int weak(void)
{
    printf("weak %d default %d own %d", cuMemAlloc_v2 != NULL, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != NULL,
           dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernel") != NULL);
    printf(" message %d next %d\n", dlerror() != NULL, dlsym(RTLD_NEXT, "cuInit") != NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "plugin") == 0 || strcmp(what, "plugin-deep") == 0) {
        return plugin(strcmp(what, "plugin-deep") == 0);
    }
    return strcmp(what, "own-loader") == 0  ? own_loader()
           : strcmp(what, "reload") == 0    ? reload()
           : strcmp(what, "fork") == 0      ? forked()
           : strcmp(what, "fork-busy") == 0 ? fork_busy(argc > 2 ? atoi(argv[2]) : 300)
           : strcmp(what, "threads") == 0   ? threads()
           : strcmp(what, "refused") == 0   ? refused()
           : strcmp(what, "weak") == 0      ? weak()
                                            : 2;
}
