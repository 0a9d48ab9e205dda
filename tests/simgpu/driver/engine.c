/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enqueueing and resolving (see engine.h). An operation's start is the latest of: the moment the device
 * may know of it, the end of everything it depends on, and a free place on its engines. Any thread.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "clock.h"
#include "effects.h"
#include "host.h"
#include "model.h"
#include "timeline.h"
#include "tracers.h"
#include "truth.h"

enum { COPY_H2D = 1, COPY_D2H = 2, COPY_P2P = 10 };

pthread_mutex_t sim_engine_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_engine_resolved = PTHREAD_COND_INITIALIZER;

static struct sim_timeline timelines[SIM_DEVICES_MAX];
static struct sim_op *spare; /* released operations, used again */
static uint64_t next_order;
static bool finished;

/* ---- operations -------------------------------------------------------------------------------------------- */

struct sim_op *sim_op_create(enum sim_op_kind kind, struct sim_stream *stream)
{
    struct sim_thread *self = sim_self();
    struct sim_op *op;

    pthread_mutex_lock(&sim_engine_lock);
    op = spare;
    if (op != NULL) {
        spare = op->next;
    }
    pthread_mutex_unlock(&sim_engine_lock);
    if (op == NULL) {
        op = malloc(sizeof(*op));
        if (op == NULL) {
            return NULL;
        }
    }
    memset(op, 0, sizeof(*op));
    op->references = 1;
    op->kind = kind;
    op->stream = stream;
    op->record = (struct simgpu_op){
        .kind = (enum simgpu_op_kind)kind, .name = "", .device = stream->context->device,
        .context = stream->context->id, .stream = stream->id, .thread = self->tid,
        .correlation = self->correlation, .launched_ns = self->call_start_ns, .peer_device = UINT32_MAX,
    };
    return op;
}

void sim_op_release_locked(struct sim_op *op)
{
    if (op != NULL && --op->references == 0) {
        free(op->dependents);
        op->next = spare;
        spare = op;
    }
}

void sim_op_release(struct sim_op *op)
{
    pthread_mutex_lock(&sim_engine_lock);
    sim_op_release_locked(op);
    pthread_mutex_unlock(&sim_engine_lock);
}

/* ---- dependencies ------------------------------------------------------------------------------------------ */

/* A marker hands on why it was late itself; a host function is the reason wherever it stands in the chain. */
static enum sim_why edge_why(const struct sim_op *before, enum sim_why why)
{
    if (before->kind == SIM_OP_HOST_FUNC) {
        return SIM_HOST_FUNCTION;
    }
    if (before->kind == SIM_OP_MARKER &&
        (before->after_why == SIM_HOST_FUNCTION || (why == SIM_SAME_STREAM && before->after_ns > 0))) {
        return before->after_why;
    }
    return why;
}

static void note_end(struct sim_op *op, const struct sim_op *before, enum sim_why why)
{
    if (before->record.end_ns > op->after_ns) {
        op->after_ns = before->record.end_ns;
        op->after_why = edge_why(before, why);
    }
}

static void depend_locked(struct sim_op *op, struct sim_op *before, enum sim_why why)
{
    if (before == NULL) {
        return;
    }
    if (before->resolved) {
        note_end(op, before, why);
        return;
    }
    if (before->dependent_count == before->dependent_capacity) {
        before->dependent_capacity = before->dependent_capacity == 0 ? 4 : 2 * before->dependent_capacity;
        before->dependents = realloc(before->dependents, before->dependent_capacity * sizeof(*before->dependents));
        if (before->dependents == NULL) {
            abort();
        }
    }
    before->dependents[before->dependent_count++] = (struct sim_edge){op, why};
    op->references++;
    op->waiting++;
}

/* The legacy default stream waits for all blocking streams of its context, and they for it. */
static void depend_on_streams_locked(struct sim_op *op)
{
    struct sim_stream *stream = op->stream;

    depend_locked(op, stream->tail, SIM_SAME_STREAM);
    if (!stream->blocking) {
        return;
    }
    if (!stream->legacy) {
        depend_locked(op, stream->context->legacy->tail, SIM_OTHER_STREAM);
        return;
    }
    for (struct sim_stream *other = stream->context->streams; other != NULL; other = other->next) {
        if (other->blocking) {
            depend_locked(op, other->tail, SIM_OTHER_STREAM);
        }
    }
}

/* ---- resolving ---------------------------------------------------------------------------------------------- */

/* Someone else's share of the device is the first part of every period; nothing of ours starts in it. */
static uint64_t after_foreign(uint64_t when_ns)
{
    uint64_t into_ns = when_ns % SIM_FOREIGN_PERIOD_NS;
    uint64_t taken_ns = (uint64_t)SIM_FOREIGN_PERIOD_NS * sim_model.foreign_percent / 100;

    return into_ns < taken_ns ? when_ns - into_ns + taken_ns : when_ns;
}

static unsigned lanes_of(const struct sim_op *op, struct sim_lane *lanes[2])
{
    struct sim_timeline *own = &timelines[op->record.device];
    unsigned count = 0;

    switch (op->kind == SIM_OP_MEMCPY ? op->record.copy_kind : 0) {
    case COPY_H2D:
        lanes[count++] = &own->lanes[SIM_LANE_H2D];
        break;
    case COPY_D2H:
        lanes[count++] = &own->lanes[SIM_LANE_D2H];
        break;
    case COPY_P2P:
        lanes[count++] = &own->lanes[SIM_LANE_D2H];
        lanes[count++] = &timelines[op->record.peer_device].lanes[SIM_LANE_H2D];
        break;
    default:
        if (sim_model.serial) {
            lanes[count++] = &own->lanes[SIM_LANE_COMPUTE];
        }
    }
    return count;
}

/* Start and end of an operation of which everything it depends on is known. */
static void place(struct sim_op *op)
{
    uint64_t earliest_ns = op->after_ns > op->ready_ns ? op->after_ns : op->ready_ns;
    uint64_t duration_ns = sim_model_at_speed(op->duration_ns, earliest_ns);
    uint64_t start_ns = earliest_ns, before_ns, free_ns;
    struct sim_lane *lanes[2];
    unsigned lane_count = lanes_of(op, lanes);
    struct sim_activity activity;

    do {
        before_ns = start_ns;
        start_ns = after_foreign(start_ns);
        for (unsigned i = 0; i < lane_count; i++) {
            free_ns = sim_lane_fit(lanes[i], start_ns, duration_ns);
            start_ns = free_ns;
        }
    } while (start_ns != before_ns);
    for (unsigned i = 0; i < lane_count; i++) {
        sim_lane_take(lanes[i], start_ns, start_ns + duration_ns);
    }
    op->record.start_ns = start_ns;
    op->record.end_ns = start_ns + duration_ns;
    if (!sim_truth_on()) {
        return;
    }
    activity = (struct sim_activity){
        start_ns,      op->record.end_ns, op->queued_ns, op->ready_ns,
        op->after_ns,  op->ready_why,     op->after_why, start_ns > earliest_ns && sim_model.foreign_percent > 0,
    };
    sim_timeline_add(&timelines[op->record.device], &activity);
    if (op->record.peer_device != UINT32_MAX) {
        sim_timeline_add(&timelines[op->record.peer_device], &activity);
    }
}

/* The time from the first start to the last end of a graph's work on devices, told when all of it is known. */
static void note_run_locked(struct sim_op *op, const struct simgpu_tracer *observer)
{
    struct simgpu_graph *whole = &op->run->whole;
    const struct simgpu_op *record = &op->record;

    if (op->kind == SIM_OP_MARKER) {
        if (op->last_of_run) {
            if (whole->as_whole && whole->end_ns > 0 && observer != NULL && observer->graph != NULL) {
                observer->graph(whole);
            }
            free(op->run);
        }
        return;
    }
    if (op->kind == SIM_OP_HOST_FUNC) {
        return;
    }
    if (whole->end_ns == 0 || record->start_ns < whole->start_ns) {
        whole->start_ns = record->start_ns;
        whole->device = record->device;
        whole->context = record->context;
    }
    if (record->end_ns > whole->end_ns) {
        whole->end_ns = record->end_ns;
        whole->end_device = record->device;
        whole->end_context = record->context;
    }
}

/* The times of `op` are final: tells the truth file, the observer, the queue's bound and the effects. */
static void publish_locked(struct sim_op *op)
{
    const struct simgpu_tracer *observer = sim_tracer();

    op->resolved = true;
    if (op->stream->ring != NULL) {
        op->stream->ring[op->ring_slot] = op->record.end_ns;
    }
    if (op->kind != SIM_OP_MARKER) {
        sim_truth_op(&op->record);
        if (observer != NULL && observer->op != NULL) {
            observer->op(&op->record);
        }
    }
    if (op->run != NULL) {
        note_run_locked(op, observer);
    }
    if (op->effect != NULL) {
        op->references++;
        sim_effects_add_locked(op);
    }
}

/* Resolves `first` and, one after the other, all that waited for nothing but it. */
static void resolve_locked(struct sim_op *first)
{
    struct sim_op *head = first, *tail = first;

    first->next = NULL;
    first->references++;
    while (head != NULL) {
        struct sim_op *op = head;
        uint64_t earliest_ns = op->after_ns > op->ready_ns ? op->after_ns : op->ready_ns;

        if (op->kind == SIM_OP_HOST_FUNC && op->record.end_ns == 0) {
            head = op->next; /* the link serves the host thread's queue from here on */
            sim_host_add_locked(op, earliest_ns);
            sim_op_release_locked(op);
            continue;
        }
        if (op->kind == SIM_OP_MARKER) {
            op->record.start_ns = op->record.end_ns = earliest_ns;
        } else if (op->kind != SIM_OP_HOST_FUNC) {
            place(op);
        }
        publish_locked(op);
        for (unsigned i = 0; i < op->dependent_count; i++) {
            struct sim_op *next = op->dependents[i].op;

            note_end(next, op, op->dependents[i].why);
            if (--next->waiting == 0) {
                next->next = NULL;
                tail->next = next; /* the edge's reference goes with it */
                tail = next;
            } else {
                sim_op_release_locked(next);
            }
        }
        op->dependent_count = 0;
        head = op->next;
        sim_op_release_locked(op);
    }
}

void sim_host_func_ran(struct sim_op *op, uint64_t start_ns)
{
    pthread_mutex_lock(&sim_engine_lock);
    op->record.start_ns = start_ns;
    op->record.end_ns = sim_now_ns(); /* read under the lock: what depends on it must not start in the past */
    resolve_locked(op);
    sim_op_release_locked(op); /* that of sim_host_add_locked */
    pthread_cond_broadcast(&sim_engine_resolved);
    pthread_mutex_unlock(&sim_engine_lock);
}

/* ---- enqueueing --------------------------------------------------------------------------------------------- */

/* Waits until the stream's queue has a place, and takes it. Called and left with the lock held. */
static void take_queue_place_locked(struct sim_op *op)
{
    struct sim_stream *stream = op->stream;

    for (;;) {
        uint64_t end_ns = stream->ring[stream->ring_next];

        if (end_ns == SIM_NEVER) {
            pthread_cond_wait(&sim_engine_resolved, &sim_engine_lock);
        } else if (end_ns > sim_now_ns()) {
            pthread_mutex_unlock(&sim_engine_lock);
            sim_wait_until(end_ns);
            pthread_mutex_lock(&sim_engine_lock);
        } else {
            break;
        }
    }
    op->ring_slot = stream->ring_next;
    stream->ring[op->ring_slot] = SIM_NEVER;
    stream->ring_next = (stream->ring_next + 1) % stream->ring_size;
}

/* From here on the device knows of it. */
static void set_times(struct sim_op *op, uint64_t now_ns)
{
    op->order = next_order++;
    if (op->queued_ns == 0) {
        op->queued_ns = now_ns;
    }
    if (op->kind == SIM_OP_MARKER || op->kind == SIM_OP_HOST_FUNC) {
        op->ready_ns = now_ns;
    } else if (op->ready_ns < now_ns + SIM_LATENCY_NS) {
        op->ready_ns = now_ns + SIM_LATENCY_NS;
        op->ready_why = op->ready_why == SIM_STAGING ? SIM_STAGING : SIM_LAUNCH_LATENCY;
    }
}

static void become_tail_locked(struct sim_op *op)
{
    sim_op_release_locked(op->stream->tail);
    op->stream->tail = op;
    op->references++;
}

/* What every enqueueing ends with; gives the lock back. */
static void finish_enqueueing(uint64_t now_ns)
{
    bool many;

    if (sim_truth_on()) {
        for (uint32_t device = 0; device < sim_model.devices; device++) {
            sim_timeline_account(&timelines[device], device, now_ns);
        }
    }
    many = sim_effects_many_locked();
    pthread_mutex_unlock(&sim_engine_lock);
    if (many) {
        sim_effects_apply(sim_now_ns(), false);
    }
}

void sim_enqueue(struct sim_op *op, struct sim_event *event)
{
    uint64_t now_ns;

    pthread_mutex_lock(&sim_engine_lock);
    op->ring_slot = op->stream->ring_size; /* markers take no place: the last element is a spare one */
    if (op->kind != SIM_OP_MARKER) {
        take_queue_place_locked(op);
    }
    now_ns = sim_now_ns();
    set_times(op, now_ns);
    depend_on_streams_locked(op);
    if (event != NULL) {
        depend_locked(op, event->op, SIM_EVENT_WAIT);
    }
    become_tail_locked(op);
    if (op->waiting == 0) {
        resolve_locked(op);
    }
    finish_enqueueing(now_ns);
}

static void enqueue_item_locked(const struct sim_batch_item *items, size_t number, struct sim_op *gate,
                                uint64_t now_ns)
{
    const struct sim_batch_item *item = &items[number];
    struct sim_op *op = item->op, *replaced;

    op->ring_slot = op->stream->ring_size; /* the launch as a whole takes the place */
    set_times(op, now_ns);
    for (unsigned i = 0; i < item->before_count; i++) {
        depend_locked(op, items[item->before[i]].op, SIM_OTHER_STREAM);
    }
    if (item->before_count == 0) {
        depend_locked(op, gate, SIM_SAME_STREAM);
    }
    if (item->waits_for != NULL) {
        depend_locked(op, item->waits_for->op, SIM_EVENT_WAIT);
    }
    if (op->waiting == 0) {
        resolve_locked(op);
    }
    if (item->records != NULL) {
        replaced = item->records->op;
        item->records->op = op;
        op->references++;
        sim_op_release_locked(replaced);
    }
}

struct sim_op *sim_enqueue_batch(struct sim_stream *stream, const struct sim_batch_item *items, size_t count,
                                 struct sim_op **last, struct sim_run *run)
{
    struct sim_op *gate = sim_op_create(SIM_OP_MARKER, stream), *done = sim_op_create(SIM_OP_MARKER, stream);
    uint64_t now_ns;

    if (gate == NULL || done == NULL) {
        return NULL;
    }
    done->run = run;
    done->last_of_run = true;
    pthread_mutex_lock(&sim_engine_lock);
    gate->ring_slot = stream->ring_size;
    take_queue_place_locked(done);
    now_ns = sim_now_ns();
    set_times(gate, now_ns);
    depend_on_streams_locked(gate);
    depend_locked(gate, *last, SIM_OTHER_STREAM);
    if (gate->waiting == 0) {
        resolve_locked(gate);
    }
    for (size_t i = 0; i < count; i++) {
        enqueue_item_locked(items, i, gate, now_ns);
    }
    set_times(done, now_ns);
    depend_locked(done, gate, SIM_SAME_STREAM);
    for (size_t i = 0; i < count; i++) {
        if (!items[i].has_after) {
            depend_locked(done, items[i].op, SIM_SAME_STREAM);
        }
    }
    become_tail_locked(done);
    if (done->waiting == 0) {
        resolve_locked(done);
    }
    for (size_t i = 0; i < count; i++) {
        sim_op_release_locked(items[i].op); /* after the last dependency on it was noted */
    }
    sim_op_release_locked(gate);
    sim_op_release_locked(*last);
    *last = done;
    done->references++;
    finish_enqueueing(now_ns);
    return done;
}

/* ---- the process ---------------------------------------------------------------------------------------------- */

void sim_engine_start_device(uint32_t device, uint64_t now_ns)
{
    pthread_mutex_lock(&sim_engine_lock);
    timelines[device].busy_until_ns = now_ns;
    pthread_mutex_unlock(&sim_engine_lock);
}

void sim_engine_finish(void)
{
    uint64_t now_ns = sim_now_ns();

    pthread_mutex_lock(&sim_engine_lock);
    for (uint32_t device = 0; !finished && sim_truth_on() && device < sim_model.devices; device++) {
        sim_timeline_account(&timelines[device], device, now_ns);
    }
    pthread_mutex_unlock(&sim_engine_lock);
}

void sim_engine_fork(enum sim_fork side)
{
    if (side == SIM_FORK_BEFORE) {
        sim_effects_fork(side);
        pthread_mutex_lock(&sim_engine_lock);
        return;
    }
    if (side == SIM_FORK_CHILD) {
        finished = next_order > 0; /* the parent's operations are not this process's */
    }
    pthread_mutex_unlock(&sim_engine_lock);
    sim_effects_fork(side);
}
