/* SPDX-License-Identifier: Apache-2.0 */
/* A running process: is the library in it, does it use CUDA, and what does its trace say so far? */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/reader/rings.h"
#include "config/surroundings.h"
#include "doctor.h"
#include "proc.h"
#include "program.h"

#define LIBRARY "libstagetap.so"

/* ---- the library ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Our entry of a list as LD_PRELOAD holds it; false: it has none. */
static bool find_entry(const char *list, char ret[PATH_MAX])
{
    for (const char *at = list; *at != '\0'; at += strspn(at, " :")) {
        size_t length = strcspn(at, " :");

        snprintf(ret, PATH_MAX, "%.*s", length < PATH_MAX ? (int)length : PATH_MAX - 1, at);
        if (strncmp(base_name(ret), LIBRARY, strlen(LIBRARY)) == 0) return true;
        at += length;
    }
    return false;
}

/* The entry names a file that the process can see. What the loader looks up itself ($LIB, no slash) is not judged. */
static bool can_see(const struct st_proc *proc, const char *entry)
{
    char path[PATH_MAX + 64];
    struct stat status;

    if (strchr(entry, '/') == NULL || strchr(entry, '$') != NULL) return true;
    st_proc_path(proc, entry, path, sizeof(path));
    return stat(path, &status) == 0;
}

/* Why is it not mapped? */
static void look_for_reason(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    const char *preload = st_proc_variable(proc, "LD_PRELOAD");
    char entry[PATH_MAX], seen[ST_SEEN_BYTES];
    enum st_fault fault;

    /* the file first: of a program of another kind the auxiliary vector is another one, too */
    if (st_program_refuses(proc->exe_link, proc->exe, &fault, seen) && fault != ST_FAULT_SECURE) {
        st_doctor_find(diagnosis, fault, "%s", seen);
    } else if (proc->is_secure) {
        st_doctor_find(diagnosis, ST_FAULT_SECURE, "AT_SECURE is set for %s", proc->exe);
    } else if (preload == NULL || preload[0] == '\0') {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_MISSING, "LD_PRELOAD is not in its environment%s",
                       proc->is_other_root ? "; it lives in a container or file tree of its own" : "");
    } else if (!find_entry(preload, entry)) {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_REPLACED, "LD_PRELOAD=%s", preload);
    } else if (!can_see(proc, entry)) {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_PATH, "%s is not there for the process%s", entry,
                       proc->is_other_root ? ", which lives in a container or file tree of its own" : "");
    } else {
        st_doctor_find(diagnosis, ST_FAULT_PRELOAD_IGNORED, "LD_PRELOAD=%s", preload);
    }
}

bool st_doctor_lacks_library(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    if (st_proc_mapped(proc, LIBRARY) != NULL) return false;
    look_for_reason(diagnosis, proc);
    return true;
}

static void look_at_library(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    const char *library = st_proc_mapped(proc, LIBRARY), *mode = st_proc_variable(proc, "STAGETAP_MODE");
    char seen[ST_SEEN_BYTES];
    enum st_fault fault;

    st_doctor_fact(diagnosis, "library", "%s", library != NULL ? library : "not in the process");
    if (st_doctor_lacks_library(diagnosis, proc)) return;
    if (st_program_refuses(proc->exe_link, proc->exe, &fault, seen) && fault != ST_FAULT_SECURE) {
        st_doctor_find(diagnosis, fault, "%s", seen); /* musl's loader maps it all the same */
    } else if (proc->is_secure) {
        st_doctor_find(diagnosis, ST_FAULT_SECURE, "AT_SECURE is set for %s", proc->exe);
    } else if (mode != NULL && strcmp(mode, "off") == 0) {
        st_doctor_find(diagnosis, ST_FAULT_MODE_OFF, "STAGETAP_MODE=off");
    }
}

/* ---- its surroundings ---- */

static bool is_simulated(const struct st_proc *proc, const char *driver)
{
    static const char MARK[] = "simgpu_tracer_set";
    char path[PATH_MAX + 64], block[65536 + sizeof(MARK)];
    size_t kept = 0, got;
    bool found = false;
    FILE *file;

    st_proc_path(proc, driver, path, sizeof(path));
    file = fopen(path, "re");
    while (file != NULL && !found && (got = fread(block + kept, 1, sizeof(block) - kept, file)) > 0) {
        size_t length = kept + got;

        found = memmem(block, length, MARK, sizeof(MARK) - 1) != NULL;
        kept = length < sizeof(MARK) ? length : sizeof(MARK);
        memmove(block, block + length - kept, kept);
    }
    if (file != NULL) fclose(file);
    return found;
}

static void look_at_cuda(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    const char *driver = st_proc_mapped(proc, "libcuda.so"), *runtime = st_proc_mapped(proc, "libcudart");
    const char *cupti = st_proc_mapped(proc, "libcupti.so");

    diagnosis->simulated = driver != NULL && is_simulated(proc, driver);
    st_doctor_fact(diagnosis, "CUDA driver", "%s%s", driver != NULL ? driver : "none is mapped",
                   diagnosis->simulated ? " (simulated)" : "");
    st_doctor_fact(diagnosis, "CUDA runtime", "%s",
                   runtime != NULL  ? runtime
                   : driver != NULL ? "none is mapped: linked statically, or not used; either is normal"
                                    : "none is mapped");
    st_doctor_fact(diagnosis, "CUPTI", "%s", cupti != NULL ? cupti : "none is mapped");
    if (driver == NULL) {
        st_doctor_find(diagnosis, ST_FAULT_NO_CUDA_LIBRARY, "%zu files are mapped, no libcuda.so", proc->file_count);
    }
    for (size_t i = 0; i < proc->file_count; i++) {
        const char *name = base_name(proc->files[i]), *backend = st_backend_of(name);

        if (backend != NULL) st_doctor_find(diagnosis, ST_FAULT_OTHER_BACKEND, "%s (%s)", backend, proc->files[i]);
    }
}

static void look_at_profilers(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    static const char *const variables[] = {"CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID",
                                            "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};
    static const char *const libraries[] = {"libToolsInjection", "libcuinj64", "libnsys", "libTreeLauncher"};
    const char *found;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        found = st_proc_variable(proc, variables[i]);
        if (found != NULL && found[0] != '\0') {
            st_doctor_find(diagnosis, ST_FAULT_OTHER_PROFILER, "%s=%s", variables[i], found);
        }
    }
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        found = st_proc_mapped(proc, libraries[i]);
        if (found != NULL) st_doctor_find(diagnosis, ST_FAULT_OTHER_PROFILER, "%s is mapped", found);
    }
}

static void look_at_environment(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    for (size_t at = 0; at < proc->environment_bytes; at += strlen(proc->environment + at) + 1) {
        st_doctor_variable(diagnosis, proc->environment + at);
    }
}

/* ---- its trace ---- */

static void look_at_trace(struct st_diagnosis *diagnosis, const struct st_proc *proc)
{
    char path[PATH_MAX], there[PATH_MAX + 64], *item = path;
    struct st_run_files files = {.paths = {&item, 1}};
    struct st_err err = {.offset = -1};
    const char *driver = st_proc_mapped(proc, "libcuda.so");

    if (!st_rings_trace_of(proc->pid, path, sizeof(path))) {
        bool has_library = st_proc_mapped(proc, LIBRARY) != NULL;

        st_doctor_fact(diagnosis, "trace", "none%s",
                       proc->is_other_pid_names && has_library ? " that can be found from outside its container" : "");
        if (driver != NULL && has_library && !proc->is_other_pid_names &&
            !st_doctor_has(diagnosis, ST_FAULT_MODE_OFF) && !st_doctor_has(diagnosis, ST_FAULT_SECURE)) {
            st_doctor_find(diagnosis, ST_FAULT_NO_CUDA_CALL, "%s is mapped", driver);
        }
        return;
    }
    if (proc->is_other_root) {
        st_proc_path(proc, path, there, sizeof(there));
        item = there;
    }
    if (st_doctor_traces(diagnosis, &files, &err) != ST_OK) {
        st_doctor_fact(diagnosis, "trace", "%s: %s", err.file[0] != '\0' ? err.file : path, err.what);
    }
}

enum st_status st_doctor_process(struct st_diagnosis *diagnosis, pid_t pid, struct st_err *err)
{
    struct st_proc proc;

    switch (st_proc_read(pid, diagnosis->arena, &proc)) {
    case ST_PROC_OK:
        break;
    case ST_PROC_REFUSED:
        return st_fail(err, ST_IO, NULL, -1, "ask as that user, or as root",
                       "process %d belongs to another user: /proc/%d cannot be read", (int)pid, (int)pid);
    case ST_PROC_NO_MEMORY:
        return st_fail(err, ST_NO_MEMORY, NULL, -1, NULL, "out of memory");
    case ST_PROC_GONE:
        return st_fail(err, ST_NOT_FOUND, NULL, -1, "name its trace instead",
                       "process %d does not run any more", (int)pid);
    }
    st_doctor_fact(diagnosis, "program", "%s (%s)", proc.exe, proc.name);
    look_at_library(diagnosis, &proc);
    look_at_cuda(diagnosis, &proc);
    look_at_profilers(diagnosis, &proc);
    look_at_environment(diagnosis, &proc);
    look_at_trace(diagnosis, &proc);
    return ST_OK;
}
