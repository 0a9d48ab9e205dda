/* SPDX-License-Identifier: Apache-2.0 */
/* Own threads, by what /proc/self/task shows; see threads.h. Without /proc nothing is known and nothing is done. */
#include "threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/record/thread.h"

enum { MAX_OWN = 32, MAX_SEEN = 1024 };

static _Atomic uint32_t own[MAX_OWN];
static _Atomic uint32_t own_count;
static uint32_t seen[MAX_SEEN];
static int seen_count; /* -1: not known */
static sigset_t mask_before;

void st_threads_add_own(uint32_t tid)
{
    uint32_t place = atomic_fetch_add_explicit(&own_count, 1, memory_order_relaxed);
    if (place < MAX_OWN) {
        atomic_store_explicit(&own[place], tid, memory_order_release);
    }
}

static bool is_own(uint32_t tid)
{
    for (int i = 0; i < MAX_OWN; i++) {
        if (atomic_load_explicit(&own[i], memory_order_acquire) == tid) {
            return true;
        }
    }
    return false;
}

/* The ids of all threads; -1: not to be had, or more than there is room. */
static int list_threads(uint32_t *ret_tids, int room)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = tasks ? 0 : -1;
    for (const struct dirent *entry; count >= 0 && (entry = readdir(tasks));) {
        uint32_t tid = (uint32_t)atoi(entry->d_name);
        if (tid && count == room) {
            count = -1;
        } else if (tid) {
            ret_tids[count++] = tid;
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return count;
}

/* A thread whose calls are recorded is the program's, whenever it appeared. */
static bool records(uint32_t tid)
{
    const struct st_thread *thread = atomic_load_explicit(&st_threads, memory_order_acquire);
    while (thread && thread->tid != tid) {
        thread = thread->next;
    }
    return thread != NULL;
}

void st_threads_fork_child(void)
{
    for (int i = 0; i < MAX_OWN; i++) {
        atomic_store_explicit(&own[i], 0, memory_order_relaxed);
    }
    atomic_store_explicit(&own_count, 0, memory_order_relaxed);
}

/* The beginning of a file in /proc/self/task, as text. */
static void read_task(uint32_t tid, const char *file, char *ret_text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u/%s", tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, ret_text, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    ret_text[length > 0 ? length : 0] = '\0';
}

/* A thread has the signal mask of the one that started it, or its maker wants no signals for it. */
static bool blocks_all_signals(uint32_t tid)
{
    static const uint64_t CLASSIC = (UINT64_C(1) << 31) - 1; /* 1 … 31 */
    static const uint64_t UNBLOCKABLE = UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1);
    char text[4096];
    read_task(tid, "status", text, sizeof(text));
    const char *at = strstr(text, "\nSigBlk:");
    uint64_t blocked = at ? strtoull(at + strlen("\nSigBlk:"), NULL, 16) : 0;
    return ((blocked | UNBLOCKABLE) & CLASSIC) == CLASSIC;
}

void st_threads_before(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask_before); /* the calling thread's: the mark of what it starts */
    seen_count = list_threads(seen, MAX_SEEN);
}

void st_threads_after(void)
{
    uint32_t now[MAX_SEEN];
    int count = seen_count < 0 ? 0 : list_threads(now, MAX_SEEN);
    for (int i = 0; i < count; i++) {
        bool is_new = true;
        for (int k = 0; k < seen_count && is_new; k++) {
            is_new = seen[k] != now[i];
        }
        if (is_new && blocks_all_signals(now[i])) {
            st_threads_add_own(now[i]);
        }
    }
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

static bool has_main_thread_ended(void)
{
    char text[512];
    read_task((uint32_t)getpid(), "stat", text, sizeof(text));
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") Z", 3) == 0;
}

bool st_threads_only_ours_left(void)
{
    static uint32_t tids[MAX_SEEN];
    int count = has_main_thread_ended() ? list_threads(tids, MAX_SEEN) : 0;
    for (int i = 0; i < count; i++) {
        if (tids[i] != (uint32_t)getpid() && (!is_own(tids[i]) || records(tids[i]))) {
            return false;
        }
    }
    return count > 0;
}
