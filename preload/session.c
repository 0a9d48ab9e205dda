/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of a trace; see session.h. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends.h"
#include "facts.h"
#include "libc.h"
#include "options.h"
#include "preload/device/device.h"
#include "preload/record/files.h"
#include "preload/record/record.h"
#include "preload/record/syscall.h"
#include "preload/record/window.h"
#include "preload/stages/python.h"
#include "preload/stages/stages.h"
#include "preload/stages/symbols.h"
#include "preload/stages/unwind.h"
#include "preload/trace/notes.h"
#include "preload/watch/watch.h"
#include "preload/writer/family.h"
#include "preload/writer/spawn.h"
#include "preload/writer/threads.h"
#include "preload/writer/writer.h"

enum session_state { IDLE, STARTING, RUNNING, FAILED, ENDED };
static const uint64_t FINISH_DEADLINE_NS = 3000000000, START_WAIT_NS = 2000000000;

static struct {
    _Atomic int state; /* enum session_state */
    char folder[ST_SINK_PATH_BYTES]; /* "" = unknown */
    char program[128];
    uint8_t id[16], run[16], boot[16];
    struct st_sink sink; /* copied into the writer */
    bool is_stuck;       /* the writer did not settle in time: nobody waits for it again */
} session;

/* ---- who we are --------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Programs whose first argument is what people call the program. */
static bool is_interpreter(const char *name)
{
    static const char *const NAMES[] = {"python", "perl", "ruby", "bash", "sh", "dash", "node", "julia"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        size_t length = strlen(NAMES[i]);
        if (strncmp(name, NAMES[i], length) == 0 && strspn(name + length, "0123456789.") == strlen(name + length)) {
            return true;
        }
    }
    return false;
}

void st_session_prepare(int argc, char **argv)
{
    const char *program = argc > 0 && argv[0] ? base_name(argv[0]) : "unknown";
    if (is_interpreter(program)) {
        for (int i = 1; i < argc && argv[i]; i++) {
            if (argv[i][0] != '-') {
                program = base_name(argv[i]);
                break;
            }
            if (argv[i][1] == 'c' || argv[i][1] == 'm') {
                break; /* the rest is code or a module name */
            }
        }
    }
    snprintf(session.program, sizeof(session.program), "%s", program);
    st_ring_setup.capacity = st_options.buffer_slots;
    if (!getcwd(session.folder, sizeof(session.folder))) {
        session.folder[0] = '\0';
    }
}

static uint64_t process_start_realtime_ns(uint64_t start_ticks)
{
    long ticks_per_second = sysconf(_SC_CLK_TCK);
    if (!start_ticks || ticks_per_second <= 0) {
        return UINT64_MAX;
    }
    uint64_t since_boot_ns = start_ticks * (1000000000u / (uint64_t)ticks_per_second);
    return st_clock_ns(CLOCK_REALTIME) - st_clock_ns(CLOCK_BOOTTIME) + since_boot_ns;
}

static bool parse_hex(const char *text, uint8_t *ret, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned byte;
        int used = 0;
        if (sscanf(text + 2 * i, "%2x%n", &byte, &used) != 1 || used != 2) {
            return false;
        }
        ret[i] = (uint8_t)byte;
    }
    return true;
}

static void read_boot_id(uint8_t boot[16])
{
    char text[40] = "", hex[33];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC), n = 0;
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) {
        close(fd);
    }
    for (ssize_t i = 0; i < length && n < 32; i++) {
        if (text[i] != '-') {
            hex[n++] = text[i];
        }
    }
    hex[n] = '\0';
    if (n < 32 || !parse_hex(hex, boot, 16)) {
        memset(boot, 0, 16);
    }
}

static void make_ids(void)
{
    if (syscall(SYS_getrandom, session.id, sizeof(session.id), 0) != (long)sizeof(session.id)) {
        struct {
            uint64_t ticks, pid;
        } weak = {st_ticks(), (uint64_t)getpid()};
        memcpy(session.id, &weak, sizeof(session.id));
    }
    read_boot_id(session.boot);
    if (st_options.inherited_run && parse_hex(st_options.inherited_run, session.run, sizeof(session.run))) {
        return;
    }
    if (!st_family_run(session.boot, session.run)) {
        memcpy(session.run, session.id, sizeof(session.run));
    }
}

/* ---- start ------------------------------------------------------------------------------------ */

static void set_up_rings(uint64_t start_ticks, const struct st_clock_sample *now, uint64_t rate)
{
    struct st_ring_head *head = &st_ring_setup.head;
    memcpy(head->session, session.id, sizeof(head->session));
    memcpy(head->boot, session.boot, sizeof(head->boot));
    head->uid = getuid();
    head->pid = (uint32_t)getpid();
    head->pid_start = start_ticks;
    head->sample_ticks = now->ticks;
    head->sample_monotonic_ns = now->monotonic_ns;
    head->ticks_per_second = rate;
    snprintf(head->trace_path, sizeof(head->trace_path), "%s", session.sink.path);
    if (strlen(session.sink.path) < sizeof(st_ring_setup.fallback_prefix)) {
        strcpy(st_ring_setup.fallback_prefix, session.sink.path);
    }
}

static bool open_sink(uint64_t start_ticks)
{
    struct st_sink_request request = {
        .pattern = st_options.values[ST_SET_OUT],
        .folder = session.folder[0] ? session.folder : "/tmp",
        .program = session.program,
        .temporary = st_options_environment("TMPDIR"),
        .limit_bytes = st_options.limit_bytes,
        .run = session.run,
        .process_start_ns = process_start_realtime_ns(start_ticks),
    };
    if (!st_sink_open(&session.sink, &request)) {
        st_log(ST_LOG_WARN, "%s: %s; no trace is written, the program runs on", session.sink.path,
               strerror(session.sink.last_errno));
        return false;
    }
    if (session.sink.is_elsewhere) {
        st_log(ST_LOG_WARN, "the output folder can not be written (%s); the trace goes to %s",
               strerror(session.sink.last_errno), session.sink.path);
    }
    return true;
}

/* On the writer's thread: everything that needs files and a stack. */
static bool prepare(struct st_writer_setup *ret_setup)
{
    for (int i = 0; i < st_options.note_count; i++) {
        st_log(ST_LOG_WARN, "%s", st_options.notes[i]);
    }
    uint64_t start_ticks = 0; /* 0: not known */
    uint32_t parent;
    st_family_stat((uint32_t)getpid(), &parent, &start_ticks);
    struct st_clock_sample first, now; /* a first idea of the clock's rate */
    st_clock_read(NULL, &first);
    make_ids();
    if (!open_sink(start_ticks)) {
        return false;
    }
    st_clock_read(NULL, &now);
    uint64_t rate = st_clock.is_tsc ? st_clock_rate(&first, &now) : 1000000000;
    set_up_rings(start_ticks, &now, rate);
    st_facts_set_program(session.program);
    *ret_setup = (struct st_writer_setup){
        .header = {.magic = ST_TRACE_MAGIC,
                   .version_major = ST_TRACE_VERSION_MAJOR,
                   .version_minor = ST_TRACE_VERSION_MINOR,
                   .header_bytes = sizeof(struct st_trace_header),
                   .pid = (uint32_t)getpid(),
                   .flags = (st_clock.is_tsc ? ST_HEADER_TSC : 0) | (st_facts_simulated() ? ST_HEADER_SIMULATED : 0),
                   .start_ticks = now.ticks,
                   .start_monotonic_ns = now.monotonic_ns,
                   .start_raw_ns = now.raw_ns,
                   .start_realtime_ns = now.realtime_ns,
                   .ticks_per_second = rate},
        .facts = {.add_start = st_facts_add_start, .add_state = st_facts_add_state},
        .flush_ns = st_options.flush_ns,
        .sink = session.sink,
    };
    memcpy(ret_setup->header.session, session.id, sizeof(session.id));
    memcpy(ret_setup->header.run, session.run, sizeof(session.run));
    memcpy(ret_setup->header.boot, session.boot, sizeof(ret_setup->header.boot));
    return true;
}

/* On the target's thread, whose stack may be tiny. */
static bool start(void)
{
    st_clock_init();
    st_spawn_find = st_watch_find_function;
    if (!st_writer_start(prepare, START_WAIT_NS)) {
        st_log(ST_LOG_WARN, "the trace could not be started; the program runs on");
        return false;
    }
    st_ring_setup.is_shared = true;
    atomic_store(&st_record_waits, st_options.waits_on_full); /* not before: there must be a writer to wait for */
    if (st_thread_current) {
        st_thread_share_ring(st_thread_current);
    }
    st_writer_may_read();
    st_log(ST_LOG_DEBUG, "trace: %s", session.sink.path);
    return true;
}

/* Another thread is starting the trace: its rings must exist before this one records. */
static bool wait_for_start(void)
{
    uint64_t until = st_clock_ns(CLOCK_MONOTONIC) + START_WAIT_NS;
    while (atomic_load_explicit(&session.state, memory_order_acquire) == STARTING &&
           st_clock_ns(CLOCK_MONOTONIC) < until) {
        st_sys_sleep_ns(100000);
    }
    return atomic_load_explicit(&session.state, memory_order_acquire) == RUNNING;
}

bool st_session_start(void)
{
    int expected = IDLE;
    if (st_options.mode == ST_MODE_OFF) {
        return false;
    }
    if (!atomic_compare_exchange_strong(&session.state, &expected, STARTING)) {
        return expected == STARTING && !st_suppress ? wait_for_start() : expected == RUNNING;
    }
    int saved_errno = errno;
    st_suppress++; /* what we call ourselves is not the program's */
    bool is_started = start();
    st_suppress--;
    atomic_store_explicit(&session.state, is_started ? RUNNING : FAILED, memory_order_release);
    errno = saved_errno;
    return is_started;
}

void st_session_on_first_call(void)
{
    bool is_started = st_session_start();
    st_python_on_first_call();
    if (is_started && st_python_note()) {
        st_log(ST_LOG_WARN, "%s", st_python_note());
    }
}

static void finish_quickly(void *unused)
{
    st_session_finish();
}

void st_session_on_init(void)
{
    static atomic_flag is_registered = ATOMIC_FLAG_INIT;
    if (atomic_load_explicit(&session.state, memory_order_acquire) != RUNNING) {
        return;
    }
    int saved_errno = errno;
    if (!atomic_flag_test_and_set(&is_registered)) {
        __cxa_at_quick_exit(finish_quickly, &__dso_handle); /* no destructors follow */
        atexit(st_session_settle); /* after the driver's own handlers were registered: runs before them */
    }
    if (st_options.mode == ST_MODE_TRACE || st_options.mode == ST_MODE_DIAGNOSE) {
        st_suppress++;
        if (st_options.device == ST_DEVICE_CHOICE_NONE) {
            st_device_refuse("STAGETAP_DEVICE=none");
        } else if (st_watch_driver_is_far()) {
            st_device_refuse("the driver is in a link namespace of its own (dlmopen), where no CUPTI can be loaded");
        } else {
            st_threads_before();
            st_device_start(st_options.values[ST_SET_CUPTI], st_options_environment("CUDA_HOME"));
            st_threads_after();
        }
        st_suppress--;
        st_writer_set_device(&st_device_source);
    }
    errno = saved_errno;
}

/* ---- end -------------------------------------------------------------------------------------- */

/* Not in a child that no fork handler told us of: the trace is its parent's. */
static bool is_own_trace(void)
{
    return !st_ring_setup.head.pid || st_ring_setup.head.pid == (uint32_t)getpid();
}

void st_session_settle(void)
{
    if (!is_own_trace() || atomic_load_explicit(&session.state, memory_order_acquire) != RUNNING) {
        return;
    }
    st_unwind_at_exit();
    st_suppress++;
    session.is_stuck = !st_writer_settle(FINISH_DEADLINE_NS);
    st_suppress--;
}

void st_session_finish(void)
{
    int expected = RUNNING;
    if (!is_own_trace()) {
        return;
    }
    if (!atomic_compare_exchange_strong(&session.state, &expected, ENDED)) {
        return;
    }
    st_suppress++;
    st_watch_scan(); /* the last look at what is out of reach */
    st_symbols_look_back();
    if (!st_writer_finish(session.is_stuck ? 0 : FINISH_DEADLINE_NS)) {
        st_log(ST_LOG_WARN, "%s: not closed in order (the device library or the disk did not come back in time, or "
               "exit() was called from a signal handler)", session.sink.path);
    }
    st_suppress--;
}

void st_session_tell_unreached(void)
{
    struct st_watch_unreached unreached;
    bool is_watching = session.program[0] != '\0'; /* not in a privileged program */
    if (!is_watching || atomic_load_explicit(&session.state, memory_order_acquire) != IDLE) {
        return;
    }
    st_watch_scan();
    if (st_watch_get_unreached(0, &unreached)) {
        st_session_start();
    }
}

/* See preload/trace/notes.h. */
void st_session_tell_run(void)
{
    char path[sizeof(ST_NOTES_PATH) + 33], line[ST_NOTE_BYTES];
    uint8_t run[16];
    struct st_watch_provider provider;
    struct st_backend backend;
    struct stat status;
    bool is_silent = session.program[0] == '\0' || /* privileged, or off */
                     atomic_load_explicit(&session.state, memory_order_acquire) != IDLE;
    if (is_silent || !st_options.inherited_run || !parse_hex(st_options.inherited_run, run, sizeof(run))) {
        return;
    }
    snprintf(path, sizeof(path), "%s%.32s", ST_NOTES_PATH, st_options.inherited_run);
    int fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    size_t length = (size_t)snprintf(line, sizeof(line), "%d\t%.127s\t%s\t", (int)getpid(), session.program,
                                     st_watch_get_provider(0, &provider) ? provider.soname : "-");
    for (uint32_t n = 0; st_backend_get(n, &backend); n++) {
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%s%s", n ? ", " : "", backend.name);
    }
    length += (size_t)snprintf(line + length, sizeof(line) - length, "%s\n", st_backend_get(0, &backend) ? "" : "-");
    bool has_room = st_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == getuid() &&
                    status.st_size < ST_NOTES_BYTES;
    if (has_room && write(fd, line, length) < 0) {
        /* then `run` knows less */
    }
    close(fd);
}

void st_session_fork_child(void)
{
    bool had_trace = atomic_load(&session.state) == RUNNING || atomic_load(&session.state) == STARTING;
    st_watch_fork_child();
    atomic_store(&st_record_waits, false);
    st_thread_fork_child();
    st_stages_fork_child();
    st_window_fork_child();
    if (had_trace) {
        st_device_fork_child();
        st_writer_fork_child();
        st_threads_fork_child();
    }
    atomic_store(&session.state, IDLE);
}
