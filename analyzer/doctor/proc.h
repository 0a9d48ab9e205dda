/* SPDX-License-Identifier: Apache-2.0 */
/* A running process as /proc shows it. One thread. */
#ifndef ST_DOCTOR_PROC_H
#define ST_DOCTOR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "analyzer/model/arena.h"

struct st_proc {
    pid_t pid;
    char name[32];      /* as the kernel calls it */
    const char *exe;    /* path of its program, in its own mount namespace; "" = not known */
    char exe_link[64];  /* opens that file, whatever its namespace: /proc/PID/exe */
    const char **files; /* of the mapped files, each once (deleted ones with " (deleted)") */
    size_t file_count;
    const char *environment; /* NAME=VALUE, each ended by NUL; as it was at the start */
    size_t environment_bytes;
    bool is_secure;            /* AT_SECURE */
    bool is_other_root;        /* its file tree is not ours: another mount namespace, or chroot */
    bool is_other_pid_names;   /* its process ids are not ours */
};

enum st_proc_status { ST_PROC_OK, ST_PROC_GONE, ST_PROC_REFUSED, ST_PROC_NO_MEMORY };

/* Look once. Texts live in `arena`. GONE: no such process, or it has ended (a zombie); REFUSED: not this user's. */
enum st_proc_status st_proc_read(pid_t pid, struct st_arena *arena, struct st_proc *ret);
/* Its variable, or NULL. */
const char *st_proc_variable(const struct st_proc *proc, const char *name);
/* The first mapped file whose name (without folder) begins so, or NULL. */
const char *st_proc_mapped(const struct st_proc *proc, const char *prefix);
/* Path by which this process can open the other one's `path`. */
void st_proc_path(const struct st_proc *proc, const char *path, char *ret, size_t size);

/* Process ids of the children of `pid` into ret[0 … most); returns how many there are room for. */
size_t st_proc_children(pid_t pid, pid_t *ret, size_t most);

#endif
