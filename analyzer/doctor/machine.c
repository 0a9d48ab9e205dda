/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine before any run. Whether the loader finds a library is asked of the loader, in a forked process of our
 * own, so that nothing of the driver stays here; no CUDA function is called, and cuInit least of all.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/settings.h"
#include "doctor.h"

extern char **environ;

enum { LOOK_SECONDS = 20, SMALL_SHM_MIB = 32 };

/* ---- asking the loader ---- */

struct looked_up {
    char path[PATH_MAX]; /* "" = not found */
    bool simulated;
};

/* In the child. */
static void look_up(const char *name, int out)
{
    struct looked_up answer = {.path = ""};
    struct link_map *map = NULL;
    void *handle;

    alarm(LOOK_SECONDS);
    handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != NULL) {
        char *real = realpath(map->l_name, NULL); /* its name has the driver's version */

        snprintf(answer.path, sizeof(answer.path), "%s", real != NULL ? real : map->l_name);
        answer.simulated = dlsym(handle, "simgpu_tracer_set") != NULL;
    }
    if (write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer)) _exit(1);
    _exit(0);
}

/* Run `fn` in a forked process without its output; what it writes to `out` goes to ret. Returns the bytes. */
static size_t ask(void (*fn)(const char *, int), const char *argument, void *ret, size_t size)
{
    int ends[2];
    size_t length = 0;
    ssize_t got = 1;
    pid_t child;

    if (pipe(ends) != 0) return 0;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fn(argument, ends[1]);
        _exit(1);
    }
    close(ends[1]);
    while (child > 0 && length < size && (got = read(ends[0], (char *)ret + length, size - length)) > 0) {
        length += (size_t)got;
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return length;
}

static bool find_library(const char *name, struct looked_up *ret)
{
    *ret = (struct looked_up){.path = ""};
    return ask(look_up, name, ret, sizeof(*ret)) == sizeof(*ret) && ret->path[0] != '\0';
}

/* In the child: what the loader says that it would load for this program with the library in front. */
static void list_objects(const char *library, int out)
{
    char program[] = "stagetap", *arguments[] = {program, NULL};

    alarm(LOOK_SECONDS);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    unsetenv("LD_AUDIT");
    setenv("LD_PRELOAD", library, 1);
    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    execv("/proc/self/exe", arguments);
}

/* ---- what is there ---- */

static void look_at_driver(struct st_diagnosis *diagnosis, struct looked_up *ret_driver)
{
    char line[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "re");

    if (file != NULL && fgets(line, sizeof(line), file) != NULL) line[strcspn(line, "\n")] = '\0';
    if (file != NULL) fclose(file);
    st_doctor_fact(diagnosis, "kernel driver", "%s",
                   line[0] != '\0' ? line : "none (/proc/driver/nvidia/version is not there)");
    if (find_library("libcuda.so.1", ret_driver)) {
        st_doctor_fact(diagnosis, "CUDA driver", "%s%s", ret_driver->path, ret_driver->simulated ? " (simulated)" : "");
        diagnosis->simulated = ret_driver->simulated;
    } else {
        st_doctor_fact(diagnosis, "CUDA driver", "none is found");
        st_doctor_find(diagnosis, ST_FAULT_NO_DRIVER, "the loader finds no libcuda.so.1");
    }
}

/* In the order in which the library looks; a program brings further places along (surface: libcupti). */
static void look_at_cupti(struct st_diagnosis *diagnosis, const struct looked_up *driver)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    static const char *const below[] = {"/extras/CUPTI/lib64", "/lib64", "/lib"};
    const char *named = getenv(st_settings[ST_SET_CUPTI].variable), *home = getenv("CUDA_HOME");
    const char *slash = strrchr(driver->path, '/');
    struct looked_up found = {.path = ""};
    char path[PATH_MAX + 64];

    if (named != NULL && named[0] != '\0') find_library(named, &found);
    for (size_t i = 0; found.path[0] == '\0' && slash != NULL && i < 3; i++) {
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - driver->path), driver->path, names[i]);
        if (access(path, R_OK) == 0) find_library(path, &found);
    }
    for (size_t i = 0; found.path[0] == '\0' && i < 3; i++) find_library(names[i], &found);
    for (size_t i = 0; found.path[0] == '\0' && home != NULL && i < 9; i++) {
        snprintf(path, sizeof(path), "%s%s/%s", home, below[i / 3], names[i % 3]);
        if (access(path, R_OK) == 0) find_library(path, &found);
    }
    st_doctor_fact(diagnosis, "CUPTI", "%s", found.path[0] != '\0' ? found.path : "none is found");
    st_doctor_fact(diagnosis, "would collect", "%s",
                   driver->path[0] == '\0' ? "nothing: no CUDA"
                   : found.path[0] != '\0' ? "CUDA calls with stages, device times of kernels, copies and memsets"
                                           : "CUDA calls with stages; device times where the program brings CUPTI");
    if (driver->path[0] != '\0' && found.path[0] == '\0') {
        st_doctor_find(diagnosis, ST_FAULT_NO_CUPTI, "no libcupti.so.13, .12 or .11.8");
    }
}

static void look_at_preload(struct st_diagnosis *diagnosis, const char *library)
{
    char said[16384];
    size_t length;
    const char *line;

    if (library == NULL) return;
    length = ask(list_objects, library, said, sizeof(said) - 1);
    said[length] = '\0';
    line = strstr(said, "ERROR: ld.so:");
    if (line != NULL || strstr(said, library) == NULL) {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_REFUSED, "%.*s", line != NULL ? (int)strcspn(line, "\n") : 200,
                       line != NULL ? line : said);
    }
    st_doctor_fact(diagnosis, "preload", "%s", line != NULL ? "refused" : "the loader takes it");
}

static void look_at_libc(struct st_diagnosis *diagnosis)
{
    int major = 0, minor = 0;

    sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
    st_doctor_fact(diagnosis, "glibc", "%s; --audit: %s", gnu_get_libc_version(),
                   major > 2 || minor >= 35 ? "possible" : "needs 2.35");
}

static void look_at_shm(struct st_diagnosis *diagnosis)
{
    struct statvfs room;
    unsigned long long mib = 0;
    bool can_write = access("/dev/shm", W_OK | X_OK) == 0;

    if (statvfs("/dev/shm", &room) == 0) mib = (unsigned long long)room.f_bavail * room.f_frsize >> 20;
    st_doctor_fact(diagnosis, "/dev/shm", "%llu MiB free%s", mib, can_write ? "" : ", cannot be written");
    if (!can_write || mib < SMALL_SHM_MIB) {
        st_doctor_find(diagnosis, ST_FAULT_SMALL_SHM, "/dev/shm: %llu MiB free%s", mib,
                       can_write ? "" : ", cannot be written");
    }
}

/* The folder of STAGETAP_OUT; one with a pattern in it is not known before the run. */
static void look_at_output(struct st_diagnosis *diagnosis)
{
    const char *out = getenv(st_settings[ST_SET_OUT].variable), *slash;
    char folder[PATH_MAX] = ".";

    if (out != NULL && out[0] != '\0' && strchr(out, '%') == NULL) {
        DIR *itself = opendir(out);

        slash = strrchr(out, '/');
        if (itself != NULL) {
            snprintf(folder, sizeof(folder), "%s", out);
            closedir(itself);
        } else if (slash != NULL) {
            snprintf(folder, sizeof(folder), "%.*s", slash == out ? 1 : (int)(slash - out), out);
        }
    }
    st_doctor_fact(diagnosis, "output", "%s%s", folder, access(folder, W_OK | X_OK) == 0 ? "" : ": cannot be written");
    if (access(folder, W_OK | X_OK) != 0) {
        st_doctor_find(diagnosis, ST_FAULT_OUTPUT, "%s: %s", folder, strerror(errno));
    }
}

static void look_at_environment(struct st_diagnosis *diagnosis)
{
    for (char **entry = environ; *entry != NULL; entry++) st_doctor_variable(diagnosis, *entry);
}

static void look_at_python(struct st_diagnosis *diagnosis)
{
    const char *path = getenv("PATH"), *at = path != NULL ? path : "";
    char found[PATH_MAX], *real = NULL;

    for (; *at != '\0' && real == NULL; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");

        snprintf(found, sizeof(found), "%.*s/python3", (int)length, at);
        if (access(found, X_OK) == 0) real = realpath(found, NULL);
        at += length;
    }
    st_doctor_fact(diagnosis, "python3", "%s", real != NULL ? real : "none on PATH");
    free(real);
}

void st_doctor_machine(struct st_diagnosis *diagnosis, const char *library, const char *version)
{
    struct looked_up driver;

    st_doctor_fact(diagnosis, "stagetap", "%s", version);
    st_doctor_fact(diagnosis, "library", "%s", library != NULL ? library : "not found beside this program");
    if (library == NULL) {
        st_doctor_find(diagnosis, ST_FAULT_NO_LIBRARY, "no libstagetap.so beside this program");
    }
    look_at_preload(diagnosis, library);
    look_at_libc(diagnosis);
    look_at_driver(diagnosis, &driver);
    look_at_cupti(diagnosis, &driver);
    look_at_shm(diagnosis);
    look_at_output(diagnosis);
    look_at_environment(diagnosis);
    look_at_python(diagnosis);
}
