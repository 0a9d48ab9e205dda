/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI as the source of device times; see device.h for who calls what when.
 *
 * Nothing is believed without evidence: a kind that the library accepted is only `seen` once it delivered a
 * record, and a library that answers is only used after its own record walker agreed to our layouts. We
 * subscribe once, only to learn whether another tool holds the subscription, and never call cuptiFinalize.
 */
#include "device.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "buffers.h"
#include "cupti_load.h"
#include "outside.h"
#include "preload/calls/calls.h"
#include "preload/record/clock.h"
#include "preload/record/thread.h"
#include "preload/record/window.h"
#include "preload/writer/spawn.h"

#define FINISH_SECONDS 2

enum phase {
    PHASE_IDLE = 0,    /* cuInit has not succeeded yet */
    PHASE_REFUSED = 1, /* no device times; the capabilities say why */
    PHASE_RUNNING = 2,
    PHASE_DRAINED = 3, /* flushed for the last time: only the clock is still read */
    PHASE_GONE = 4,    /* the flush hangs, this is a forked child, or another client took over: hands off */
};

enum capability { CAP_KERNEL, CAP_MEMCPY, CAP_MEMSET, CAP_DRIVER_API, CAP_DEVICE, CAP_LOSS, CAP_COUNT };

struct capability_state {
    uint8_t state; /* enum st_capability_state */
    char why[ST_CUPTI_WHY_BYTES];
};

static const char *const capability_names[CAP_COUNT] = {
    [CAP_KERNEL] = "kernel",         [CAP_MEMCPY] = "memcpy", [CAP_MEMSET] = "memset",
    [CAP_DRIVER_API] = "driver_api", [CAP_DEVICE] = "device", [CAP_LOSS] = "device_loss",
};

static struct {
    _Atomic int phase; /* enum phase; release, pairs with the acquire of the writer thread */
    struct st_cupti_library library;
    struct capability_state capabilities[CAP_COUNT];
    uint64_t dropped; /* as the library counts them */
    struct st_cupti_reader reader;
} cupti;

static void set_capability(enum capability which, enum st_capability_state state, const char *why)
{
    struct capability_state *capability = &cupti.capabilities[which];

    capability->state = (uint8_t)state;
    snprintf(capability->why, sizeof(capability->why), "%s", why);
}

/* ---- enabling ---- */

static int enable_kind(enum capability which, uint32_t kind, size_t needed_bytes)
{
    char why[ST_CUPTI_WHY_BYTES];
    int result;

    if (cupti.reader.sizes.bytes[kind] < needed_bytes) {
        snprintf(why, sizeof(why), "records of %u bytes, %zu are needed", cupti.reader.sizes.bytes[kind], needed_bytes);
        set_capability(which, ST_CAP_NOT_COLLECTED, why);
        return -1;
    }
    if (kind == ST_CUPTI_DEVICE && cupti.library.f.ActivityEnableAndDump != NULL) {
        result = cupti.library.f.ActivityEnableAndDump(kind); /* the devices are there already */
    } else {
        result = cupti.library.f.ActivityEnable(kind);
    }
    if (result == ST_CUPTI_SUCCESS) {
        set_capability(which, ST_CAP_ACCEPTED, "");
    } else {
        set_capability(which, ST_CAP_NOT_COLLECTED, st_cupti_error(&cupti.library, result));
    }
    return result;
}

/* Driver calls that put work on a device, or wait for it. A family is named by its common beginning. */
static bool is_wanted_call(const char *name)
{
    static const char *const beginnings[] = {"cuLaunch",        "cuGraphLaunch",       "cuMemcpy",
                                             "cuMemset",        "cuStreamSynchronize", "cuEventSynchronize",
                                             "cuCtxSynchronize"};

    if (strncmp(name, "cuLaunchHostFunc", 16) == 0) return false;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

/* Which callback id is which call: asked by name, so that no table of numbers is needed. */
static void map_callback_ids(void)
{
    for (uint32_t cbid = 0; cbid < ST_CUPTI_CBIDS; cbid++) {
        const char *name = NULL;
        cupti.reader.call_of_cbid[cbid] = ST_CBID_IGNORED;
        if (cupti.library.f.GetCallbackName(ST_CUPTI_DOMAIN_DRIVER_API, cbid, &name) != ST_CUPTI_SUCCESS ||
            name == NULL)
            continue;
        if (is_wanted_call(name)) cupti.reader.call_of_cbid[cbid] = (int16_t)st_call_find(name);
    }
}

/* Records of the wanted calls only, where the library can choose (12.5 and later). A kind-level enable afterwards
 * would undo the choice, so it is one or the other. */
static bool enable_driver_calls_one_by_one(void)
{
    bool any = false;

    if (cupti.library.f.ActivityEnableDriverApi == NULL) return false;
    for (uint32_t cbid = 0; cbid < ST_CUPTI_CBIDS; cbid++) {
        if (cupti.reader.call_of_cbid[cbid] == ST_CBID_IGNORED) continue;
        if (cupti.library.f.ActivityEnableDriverApi(cbid, 1) == ST_CUPTI_SUCCESS) any = true;
    }
    return any;
}

static void enable_driver_calls(void)
{
    int thread_ids =
        cupti.library.f.SetThreadIdType != NULL ? cupti.library.f.SetThreadIdType(ST_CUPTI_THREAD_ID_SYSTEM) : -1;

    map_callback_ids();
    if (cupti.reader.sizes.bytes[ST_CUPTI_DRIVER] >= sizeof(struct st_cupti_api) && enable_driver_calls_one_by_one()) {
        set_capability(CAP_DRIVER_API, ST_CAP_ACCEPTED, "");
    } else {
        enable_kind(CAP_DRIVER_API, ST_CUPTI_DRIVER, sizeof(struct st_cupti_api));
    }
    if (thread_ids != ST_CUPTI_SUCCESS && cupti.capabilities[CAP_DRIVER_API].state == ST_CAP_ACCEPTED)
        set_capability(CAP_DRIVER_API, ST_CAP_DEGRADED, "this libcupti cannot tell Linux thread ids");
}

static bool enable_all(void)
{
    int result;

    cupti.reader.sizes = cupti.library.sizes;
    st_buffers_init(&cupti.reader.sizes);
    result = cupti.library.f.ActivityRegisterCallbacks(st_buffers_request, st_buffers_complete);
    if (result != ST_CUPTI_SUCCESS) {
        snprintf(cupti.library.refusal, sizeof(cupti.library.refusal), "no activity buffers: %s",
                 st_cupti_error(&cupti.library, result));
        return false;
    }
    set_capability(CAP_LOSS, ST_CAP_ACCEPTED, "");
    /* calls before operations, so that no operation comes without its call */
    enable_driver_calls();
    enable_kind(CAP_DEVICE, ST_CUPTI_DEVICE, sizeof(struct st_cupti_device));
    enable_kind(CAP_KERNEL, ST_CUPTI_CONCURRENT_KERNEL, ST_CUPTI_KERNEL_BYTES);
    enable_kind(CAP_MEMSET, ST_CUPTI_MEMSET, ST_CUPTI_MEMSET_BYTES);
    if (enable_kind(CAP_MEMCPY, ST_CUPTI_MEMCPY2, ST_CUPTI_MEMCPY_PEER_BYTES) == ST_CUPTI_SUCCESS) {
        enable_kind(CAP_MEMCPY, ST_CUPTI_MEMCPY, ST_CUPTI_MEMCPY_BYTES);
    } else if (enable_kind(CAP_MEMCPY, ST_CUPTI_MEMCPY, ST_CUPTI_MEMCPY_BYTES) == ST_CUPTI_SUCCESS) {
        set_capability(CAP_MEMCPY, ST_CAP_DEGRADED, "copies between devices are refused");
    }
    return true;
}

/* ---- the last flush ---- */

/*
 * The forced flush may hang when the driver is on its way out: it runs on a thread that is left behind. That thread is
 * there from the start: at the end nobody could make one without a lock of the loader or of malloc, which exit() from
 * a signal handler may have left taken.
 */
enum flush_stage { FLUSH_NONE, FLUSH_WANTED, FLUSH_DONE };
static _Atomic uint32_t flush_stage;
static bool has_flush_thread;

/* False: it is still `stage` when the time is up. `end_ns` 0: for ever. */
static bool wait_past(uint32_t stage, uint64_t end_ns)
{
    while (atomic_load_explicit(&flush_stage, memory_order_acquire) == stage) {
        uint64_t now_ns = end_ns ? st_clock_ns(CLOCK_MONOTONIC) : 0;
        if (end_ns && now_ns >= end_ns) return false;
        struct timespec left = {(time_t)((end_ns - now_ns) / 1000000000), (long)((end_ns - now_ns) % 1000000000)};
        syscall(SYS_futex, &flush_stage, FUTEX_WAIT_PRIVATE, stage, end_ns ? &left : NULL, NULL, 0);
    }
    return true;
}

static void reach(enum flush_stage stage)
{
    atomic_store_explicit(&flush_stage, stage, memory_order_release); /* pairs with wait_past */
    syscall(SYS_futex, &flush_stage, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *flush_thread(void *arg)
{
    prctl(PR_SET_NAME, "stagetap-flush");
    st_suppress++;
    wait_past(FLUSH_NONE, 0);
    cupti.library.f.ActivityFlushAll(0); /* what is complete is safe before the risky part */
    cupti.library.f.ActivityFlushAll(ST_CUPTI_FLUSH_FORCED);
    reach(FLUSH_DONE);
    return NULL;
}

/* For windows: the library's clock beside ours, the closest of a few readings. */
static void note_clock(void)
{
    uint64_t best_ticks = 0, best_ns = 0, least = UINT64_MAX;

    for (int i = 0; i < 4 && st_window_rule(); i++) {
        uint64_t ns = 0, before = st_ticks();
        int result = cupti.library.f.GetTimestamp(&ns);
        uint64_t width = st_ticks() - before;
        if (result != ST_CUPTI_SUCCESS || width >= least) continue;
        least = width;
        best_ticks = before + width / 2;
        best_ns = ns;
    }
    if (least != UINT64_MAX) st_outside_note_clock(best_ticks, best_ns);
}

static void finish_start(bool is_running)
{
    if (!is_running)
        for (int i = 0; i < CAP_COUNT; i++) set_capability(i, ST_CAP_NOT_COLLECTED, cupti.library.refusal);
    atomic_store_explicit(&cupti.phase, is_running ? PHASE_RUNNING : PHASE_REFUSED, memory_order_release);
}

void st_device_start(const char *cupti_path, const char *cuda_home)
{
    if (atomic_load_explicit(&cupti.phase, memory_order_acquire) != PHASE_IDLE) return;
    st_suppress++;
    pthread_t thread;
    bool is_running = st_cupti_load(cupti_path, cuda_home, &cupti.library) && enable_all();
    if (is_running) note_clock();
    has_flush_thread = is_running && st_spawn(flush_thread, 0, &thread);
    finish_start(is_running);
    st_suppress--;
}

void st_device_refuse(const char *why)
{
    if (atomic_load_explicit(&cupti.phase, memory_order_acquire) != PHASE_IDLE) return;
    snprintf(cupti.library.refusal, sizeof(cupti.library.refusal), "%s", why);
    finish_start(false);
}

/* ---- collecting ---- */

static void note_seen(enum capability which, uint64_t records)
{
    if (records > 0 && cupti.capabilities[which].state == ST_CAP_ACCEPTED) set_capability(which, ST_CAP_SEEN, "");
}

/* What the library lost itself; it forgets the number when asked. */
static void count_dropped(void)
{
    size_t dropped = 0;
    int result = cupti.library.f.ActivityGetNumDroppedRecords(NULL, 0, &dropped);

    if (result == ST_CUPTI_SUCCESS) {
        cupti.dropped += dropped;
        note_seen(CAP_LOSS, 1);
    } else if (cupti.capabilities[CAP_LOSS].state != ST_CAP_DEGRADED) {
        set_capability(CAP_LOSS, ST_CAP_DEGRADED, st_cupti_error(&cupti.library, result)); /* unknown is not 0 */
    }
}

static void read_buffer(void *arg, const uint8_t *buffer, size_t valid_bytes)
{
    st_cupti_read(&cupti.reader, buffer, valid_bytes, arg);
}

static uint64_t read_clock(void)
{
    int phase = atomic_load_explicit(&cupti.phase, memory_order_acquire);
    uint64_t now = 0;

    if (phase != PHASE_RUNNING && phase != PHASE_DRAINED) return 0;
    st_suppress++;
    if (cupti.library.f.GetTimestamp(&now) != ST_CUPTI_SUCCESS) now = 0;
    st_suppress--;
    return now;
}

static void add_capabilities(struct st_rows *rows)
{
    bool is_idle = atomic_load_explicit(&cupti.phase, memory_order_acquire) == PHASE_IDLE;

    for (int i = 0; i < CAP_COUNT; i++) {
        const struct capability_state *capability = &cupti.capabilities[i];
        const char *why = is_idle ? "cuInit has not succeeded in this process" : capability->why;
        const struct st_text texts[] = {
            {capability_names[i], (uint32_t)strlen(capability_names[i])},
            {"cupti", 5},
            {why, (uint32_t)strlen(why)},
        };
        int64_t state = is_idle ? ST_CAP_NOT_COLLECTED : capability->state;
        st_rows_add(rows, (const int64_t[ST_COUNT_C_CAPABILITY]){[ST_CAPABILITY_C_state] = state}, texts);
    }
}

static void tell_losses(uint64_t losses[ST_LOST_CAUSES])
{
    losses[ST_LOST_DEVICE_DROPPED] = cupti.dropped + cupti.reader.no_memory + st_buffers_discarded();
    losses[ST_LOST_DEVICE_INVALID] = cupti.reader.invalid;
    losses[ST_LOST_DEVICE_UNREAD] = cupti.reader.unread;
}

static void add_fact(struct st_rows *rows, enum st_key_group group, const char *key, const char *value)
{
    const struct st_text texts[] = {{key, (uint32_t)strlen(key)}, {value, (uint32_t)strlen(value)}};

    if (value[0] == '\0') return;
    st_rows_add(rows, (const int64_t[ST_COUNT_C_KEY]){[ST_KEY_C_group] = group}, texts);
}

void st_device_facts(struct st_rows *rows)
{
    int phase = atomic_load_explicit(&cupti.phase, memory_order_acquire);
    char release[32];

    if (phase == PHASE_IDLE) return;
    if (phase != PHASE_REFUSED) {
        add_fact(rows, ST_KEY_FOUND, "cupti.path", cupti.library.path);
        st_cupti_release(cupti.library.version, release, sizeof(release));
        add_fact(rows, ST_KEY_FOUND, "cupti.version", release);
    }
    add_fact(rows, ST_KEY_NOTE, "cupti.tried", cupti.library.tried);
}

/* ---- the end ---- */

static void flush_last(void)
{
    enum phase phase = PHASE_GONE;

    reach(FLUSH_WANTED);
    if (!has_flush_thread) {
        set_capability(CAP_KERNEL, ST_CAP_DEGRADED, "no thread for the last flush: the last records are missing");
    } else if (!wait_past(FLUSH_WANTED, st_clock_ns(CLOCK_MONOTONIC) + FINISH_SECONDS * UINT64_C(1000000000))) {
        set_capability(CAP_KERNEL, ST_CAP_DEGRADED, "the last flush did not come back: the last records are missing");
    } else {
        st_suppress++;
        count_dropped();
        st_suppress--;
        phase = PHASE_DRAINED;
    }
    atomic_store_explicit(&cupti.phase, phase, memory_order_release);
}

static void take(struct st_device_rows *rows)
{
    const uint64_t *records = cupti.reader.records;

    st_names_next_round(&cupti.reader.names);
    st_outside_look();
    st_buffers_take(read_buffer, rows);
    st_outside_drop(&rows->kernel, ST_COUNT_C_KERNEL, ST_KERNEL_C_correlation);
    st_outside_drop(&rows->copy, ST_COUNT_C_COPY, ST_COPY_C_correlation);
    st_outside_drop(&rows->memset, ST_COUNT_C_MEMSET, ST_MEMSET_C_correlation);
    note_seen(CAP_KERNEL, records[ST_CUPTI_CONCURRENT_KERNEL]);
    note_seen(CAP_MEMCPY, records[ST_CUPTI_MEMCPY] + records[ST_CUPTI_MEMCPY2]);
    note_seen(CAP_MEMSET, records[ST_CUPTI_MEMSET]);
    note_seen(CAP_DRIVER_API, records[ST_CUPTI_DRIVER]);
    note_seen(CAP_DEVICE, records[ST_CUPTI_DEVICE]);
}

/*
 * A client that comes after us (PyTorch's profiler) sets a timestamp callback of its own and takes the buffers over:
 * the library's clock is then another one, for all clients and for good. Its records would be nonsense to us, and
 * flushing is its business.
 */
static bool is_taken_over(void)
{
    static const char why[] = "another client of CUPTI set a clock of its own: no device times from then on";
    static uint64_t last_ns, last_read_ns;
    uint64_t now_ns = st_clock_ns(CLOCK_MONOTONIC), read_ns = read_clock();
    bool is_taken = last_ns != 0 && read_ns != 0 && st_cupti_is_far(read_ns, last_read_ns + (now_ns - last_ns));

    if (is_taken) {
        for (int i = 0; i < CAP_COUNT; i++)
            if (cupti.capabilities[i].state != ST_CAP_NOT_COLLECTED) set_capability(i, ST_CAP_DEGRADED, why);
        atomic_store_explicit(&cupti.phase, PHASE_GONE, memory_order_release);
    } else if (read_ns != 0) {
        last_ns = now_ns;
        last_read_ns = cupti.reader.clock_ns = read_ns;
        note_clock();
    }
    return is_taken;
}

static void collect_waiting(struct st_device_rows *rows)
{
    if (atomic_load_explicit(&cupti.phase, memory_order_acquire) == PHASE_RUNNING) take(rows);
}

static void collect(struct st_device_rows *rows, bool is_final)
{
    if (atomic_load_explicit(&cupti.phase, memory_order_acquire) != PHASE_RUNNING || is_taken_over()) return;
    if (is_final) {
        flush_last();
    } else {
        st_suppress++;
        cupti.library.f.ActivityFlushAll(0);
        count_dropped();
        st_suppress--;
    }
    take(rows);
}

const struct st_device_source st_device_source = {
    .collect = collect,
    .is_pressed = st_buffers_waiting,
    .collect_waiting = collect_waiting,
    .clock = read_clock,
    .capabilities = add_capabilities,
    .losses = tell_losses,
};

void st_device_fork_child(void)
{
    int phase = atomic_load_explicit(&cupti.phase, memory_order_relaxed);

    if (phase >= PHASE_RUNNING) {
        for (int i = 0; i < CAP_COUNT; i++)
            set_capability(i, ST_CAP_NOT_COLLECTED, "forked from a process that used the device");
        phase = PHASE_GONE;
    } else if (phase == PHASE_REFUSED) {
        memset(&cupti.library, 0, sizeof(cupti.library)); /* this process may fare better */
        phase = PHASE_IDLE;
    }
    atomic_store_explicit(&cupti.phase, phase, memory_order_release);
}
