/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one background thread: drains every thread's ring, asks the device side for its records, encodes
 * chunks and appends them to the trace file. It is the only consumer of the rings and the only user of the
 * sink. It blocks all signals and makes no CUDA call.
 */
#ifndef ST_WRITER_WRITER_H
#define ST_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/trace/table.h"
#include "sink.h"

/* Rows that the device side fills, one struct st_rows a table. */
struct st_device_rows {
    struct st_rows kernel, copy, memset, driver_api, device, string;
};

/* Who knows when the device worked. All functions are called by the writer thread. Any may be NULL. */
struct st_device_source {
    /* Add what became known since the last call. `is_final`: the process ends, everything that can be had. */
    void (*collect)(struct st_device_rows *rows, bool is_final);
    /* Is so much waiting that it should be taken now, without asking the library for more? Cheap. */
    bool (*is_pressed)(void);
    void (*collect_waiting)(struct st_device_rows *rows);
    /* The device library's clock now, ns; 0 = not to be had. */
    uint64_t (*clock)(void);
    /* Current CAPABILITY rows; called at each flush, written when they changed. */
    void (*capabilities)(struct st_rows *rows);
    /* Records lost so far, by cause (enum st_lost). */
    void (*losses)(uint64_t losses[ST_LOST_CAUSES]);
};

/* Facts about the process for META chunks, from the session. Called by the writer thread. */
struct st_writer_facts {
    /* KEY, CALLDEF, RULE … written once at the start. */
    void (*add_start)(struct st_buffer *payload);
    /* COUNTER, RULE, NOT_INTERCEPTED … as they are now; written at each flush where they changed, and at the end. */
    void (*add_state)(struct st_buffer *payload, bool is_final);
};

struct st_writer_setup {
    struct st_trace_header header;
    struct st_writer_facts facts;
    uint64_t flush_ns;
    struct st_sink sink; /* open; the writer owns it from now on */
};

/*
 * Start the thread; it calls `prepare` first, which opens the file and fills the setup, and then writes header and
 * start facts. All of that happens on the writer's own stack and with its own signal mask, since the target's
 * thread may have a tiny stack and a limit on file sizes means a signal. Returns when the trace has begun; false:
 * it could not (nothing is left behind), or it took longer than `deadline_ns` (it is given up).
 */
bool st_writer_start(bool (*prepare)(struct st_writer_setup *ret_setup), uint64_t deadline_ns);

/* The starting thread has its final ring: the writer looks at rings from now on, and not before. After
 * st_writer_start() returned true. */
void st_writer_may_read(void);

/* From now on ask this source, too. Any thread; the structure must live on. */
void st_writer_set_device(const struct st_device_source *source);

/* Write everything that there is and ask the device library for the last time; what is recorded later is written
 * later. Called at the beginning of exit(), while the driver is still whole. Waits at most `deadline_ns`; false: it did
 * not come back in time. */
bool st_writer_settle(uint64_t deadline_ns);

/* Write everything, close the file in order and end the thread. Waits at most `deadline_ns`; false: it did
 * not come back in time (the file then ends with its last whole frame). Called once, at exit. */
bool st_writer_finish(uint64_t deadline_ns);

/* In a forked child: there is no writer any more. */
void st_writer_fork_child(void);

#endif
