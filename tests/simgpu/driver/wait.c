/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for operations and streams, and asking whether they are over (see engine.h). Whoever waits or asks
 * brings the effects into memory first. Any thread.
 */
#include <stdlib.h>

#include "clock.h"
#include "effects.h"
#include "engine.h"
#include "truth.h"

enum { WORTH_FLUSHING_NS = 100000 };

/* ---- waiting ------------------------------------------------------------------------------------------------ */

void sim_wait_until(uint64_t when_ns)
{
    /* A thread that waits anyway carries out what runs meanwhile, so that host arithmetic hides in the wait. */
    for (;;) {
        uint64_t next_ns = sim_effects_apply(when_ns, true);
        uint64_t until_ns = next_ns < when_ns ? next_ns : when_ns;

        if (until_ns > sim_now_ns() + WORTH_FLUSHING_NS) {
            sim_truth_flush();
        }
        sim_sleep_until(until_ns);
        if (until_ns == when_ns) {
            break;
        }
    }
    sim_effects_apply(when_ns, false);
}

static void wait_locked(struct sim_op *op, uint64_t early_ns)
{
    uint64_t end_ns;

    while (!op->resolved) {
        pthread_cond_wait(&sim_engine_resolved, &sim_engine_lock);
    }
    end_ns = op->record.end_ns - early_ns;
    pthread_mutex_unlock(&sim_engine_lock);
    sim_wait_until(end_ns);
    pthread_mutex_lock(&sim_engine_lock);
}

void sim_wait_op_before(struct sim_op *op, uint64_t early_ns)
{
    pthread_mutex_lock(&sim_engine_lock);
    wait_locked(op, early_ns);
    pthread_mutex_unlock(&sim_engine_lock);
}

void sim_wait_op(struct sim_op *op)
{
    sim_wait_op_before(op, 0);
}

uint64_t sim_op_end_ns(struct sim_op *op)
{
    uint64_t end_ns;

    pthread_mutex_lock(&sim_engine_lock);
    end_ns = op->resolved ? op->record.end_ns : SIM_NEVER;
    pthread_mutex_unlock(&sim_engine_lock);
    return end_ns;
}

bool sim_op_done(struct sim_op *op)
{
    uint64_t now_ns = sim_now_ns();

    if (op != NULL && sim_op_end_ns(op) > now_ns) {
        return false;
    }
    sim_effects_apply(now_ns, false);
    return true;
}

/* ---- several streams at once -------------------------------------------------------------------------------- */

/* The streams that count as `only`: itself, and for a legacy stream all that it is ordered with. NULL: all. */
static bool belongs(const struct sim_stream *stream, const struct sim_stream *only)
{
    return only == NULL || stream == only || (only->legacy && stream->blocking);
}

/* Destroyed streams whose work has ended leave the list here. */
static void forget_destroyed_locked(struct sim_context *context)
{
    struct sim_stream **link = &context->streams;

    while (*link != NULL) {
        struct sim_stream *stream = *link;

        if (stream->destroyed && stream->tail == NULL) {
            *link = stream->next;
            free(stream->ring);
            sim_object_destroy(stream);
        } else {
            link = &stream->next;
        }
    }
}

/* The last operations of those streams, each with a reference; the caller frees the array. */
static struct sim_op **take_tails_locked(struct sim_context *context, const struct sim_stream *only, size_t *taken)
{
    struct sim_stream *stream;
    struct sim_op **tails;
    size_t count = 1;

    for (stream = context->streams; stream != NULL; stream = stream->next) {
        count++;
    }
    tails = calloc(count, sizeof(struct sim_op *));
    if (tails == NULL) {
        abort();
    }
    *taken = 0;
    for (stream = context->legacy; stream != NULL;
         stream = stream == context->legacy ? context->streams : stream->next) {
        if (stream->tail != NULL && belongs(stream, only)) {
            tails[*taken] = stream->tail;
            tails[(*taken)++]->references++;
        }
    }
    return tails;
}

/* Streams forget a last operation that is over: nothing enqueued from now on can start before its end. */
static void drop_tails_locked(struct sim_context *context)
{
    uint64_t now_ns = sim_now_ns();

    for (struct sim_stream *stream = context->legacy; stream != NULL;
         stream = stream == context->legacy ? context->streams : stream->next) {
        if (stream->tail != NULL && stream->tail->resolved && stream->tail->record.end_ns <= now_ns) {
            sim_op_release_locked(stream->tail);
            stream->tail = NULL;
        }
    }
    forget_destroyed_locked(context);
}

static void sync_streams(struct sim_context *context, const struct sim_stream *only)
{
    struct sim_op **tails;
    size_t count;

    pthread_mutex_lock(&sim_engine_lock);
    tails = take_tails_locked(context, only, &count);
    for (size_t i = 0; i < count; i++) {
        wait_locked(tails[i], 0);
        sim_op_release_locked(tails[i]);
    }
    drop_tails_locked(context);
    pthread_mutex_unlock(&sim_engine_lock);
    free(tails);
    if (count == 0) {
        sim_effects_apply(sim_now_ns(), false);
    }
}

void sim_sync_stream(struct sim_stream *stream)
{
    sync_streams(stream->context, stream);
}

void sim_sync_context(struct sim_context *context)
{
    sync_streams(context, NULL);
}

bool sim_stream_done(struct sim_stream *stream)
{
    uint64_t now_ns = sim_now_ns();
    struct sim_op **tails;
    size_t count;
    bool done = true;

    pthread_mutex_lock(&sim_engine_lock);
    tails = take_tails_locked(stream->context, stream, &count);
    for (size_t i = 0; i < count; i++) {
        done = done && tails[i]->resolved && tails[i]->record.end_ns <= now_ns;
        sim_op_release_locked(tails[i]);
    }
    pthread_mutex_unlock(&sim_engine_lock);
    free(tails);
    if (done) {
        sim_effects_apply(now_ns, false);
    }
    return done;
}
