/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines from `stagetap run --tee` (config/tee.h). Whoever makes the next CUDA call reads them, so that nothing waits
 * and no thread of ours is needed. No malloc, no lock, no system call after the start.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/tee.h"
#include "log_private.h"
#include "preload/record/clock.h"
#include "preload/record/syscall.h"

static const struct st_tee *ring;
static struct st_clock_sample start;
static _Atomic uint64_t taken;
static atomic_flag is_reading = ATOMIC_FLAG_INIT;

bool st_tee_start(const char *path)
{
    int fd = (int)st_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return false;
    void *map = (void *)st_syscall6(SYS_mmap, 0, sizeof(struct st_tee), PROT_READ, MAP_SHARED, fd, 0);
    st_syscall6(SYS_close, fd, 0, 0, 0, 0, 0);
    if (st_sys_mmap_failed(map)) return false;
    ring = map;
    if (ring->magic != ST_TEE_MAGIC || ring->bytes != sizeof(struct st_tee)) ring = NULL;
    st_tee_forget();
    return ring != NULL;
}

void st_tee_forget(void)
{
    if (ring == NULL) return;
    st_clock_read(NULL, &start);
    atomic_store_explicit(&taken, atomic_load_explicit(&ring->count, memory_order_acquire), memory_order_relaxed);
    atomic_flag_clear(&is_reading);
}

bool st_tee_has_more(void)
{
    return ring != NULL && atomic_load_explicit(&ring->count, memory_order_relaxed) !=
                              atomic_load_explicit(&taken, memory_order_relaxed);
}

/* Bytes that this process printed there and the launcher has not read yet. */
static bool is_waiting(int fd)
{
    int bytes = 0;

    if (st_syscall6(SYS_ioctl, fd, TIOCOUTQ, (long)&bytes, 0, 0, 0) != 0) /* no terminal */
        st_syscall6(SYS_ioctl, fd, FIONREAD, (long)&bytes, 0, 0, 0);
    return bytes > 0;
}

void st_tee_wait(void)
{
    enum { TURNS = 50 };

    for (int i = 0; i < TURNS; i++) {
        bool is_read = !is_waiting(STDOUT_FILENO) && !is_waiting(STDERR_FILENO);
        st_sys_sleep_ns(1000000); /* also for the launcher to look at what it has read */
        if (is_read) return;
    }
}

/* False: it was overwritten. */
static bool read_line(uint64_t n, struct st_tee_line *ret)
{
    const struct st_tee_line *from = &ring->lines[n % ST_TEE_LINES];

    if (atomic_load_explicit(&from->ready, memory_order_acquire) != n + 1) return false;
    ret->raw_ns = from->raw_ns;
    ret->late_ns = from->late_ns;
    memcpy(ret->text, from->text, sizeof(ret->text));
    ret->text[sizeof(ret->text) - 1] = '\0';
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&from->ready, memory_order_relaxed) == n + 1;
}

static uint64_t to_ticks(uint64_t ns, uint64_t rate)
{
    return ns / 1000000000u * rate + ns % 1000000000u * rate / 1000000000u;
}

void st_tee_read(st_tee_fn fn)
{
    struct st_clock_sample now;
    struct st_tee_line line;
    struct st_stage_match match;

    if (atomic_flag_test_and_set_explicit(&is_reading, memory_order_acquire)) return; /* another thread does */
    uint64_t count = atomic_load_explicit(&ring->count, memory_order_acquire);
    uint64_t from = atomic_load_explicit(&taken, memory_order_relaxed);
    if (count - from > ST_TEE_LINES) from = count - ST_TEE_LINES;
    st_clock_read(NULL, &now);
    uint64_t rate = st_clock_rate(&start, &now);
    for (; rate != 0 && from < count; from++) {
        if (!read_line(from, &line) || !st_stages_match(ST_MAP_LOG, NULL, line.text, &match)) continue;
        uint64_t age_ns = now.raw_ns > line.raw_ns ? now.raw_ns - line.raw_ns : 0;
        fn(&match, now.ticks - to_ticks(age_ns, rate), to_ticks(line.late_ns, rate));
    }
    atomic_store_explicit(&taken, from, memory_order_relaxed);
    atomic_flag_clear_explicit(&is_reading, memory_order_release);
}
