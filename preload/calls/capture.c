/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open captures, and the streams and events that belong to them (capture.h). Entries are claimed by one
 * compare-and-swap and given back when their capture ends; a reader believes an entry only while the capture that it
 * names is open. Calls on one stream are ordered by the program; of calls that race with a begin or an end, either
 * answer is right. General registers only, no libc.
 */
#include "capture.h"

enum {
    MAX_CAPTURES = 64,
    MAX_STREAMS = 256,
    MAX_EVENTS = 1024,
    MAX_CHILDREN = 32,
    STREAM_LAST_SPECIAL = 2, /* CU_STREAM_PER_THREAD; 0 and 1 are the legacy stream, which can not capture */
    KEY_SHIFT = 8,
};
enum { FLAG_EXTERNAL = 1 /* CU_EVENT_RECORD_EXTERNAL, CU_EVENT_WAIT_EXTERNAL: a node of its own, nobody joins */ };
enum { ERROR_INVALIDATED = 901, ERROR_UNJOINED = 904 }; /* the capture is over, without a graph */

struct capture {
    _Atomic uint32_t id; /* 0 = free, MAX_CAPTURES × n + own index + 1, or TAKEN */
    uint32_t generation;
    uint64_t origin; /* stream key */
    uint64_t graph;  /* captured into; 0 = a new one at the end */
    _Atomic uint32_t nodes[ST_NODE_KINDS];
    _Atomic uint32_t child_count;
    _Atomic uint64_t children[MAX_CHILDREN]; /* executable graphs launched into it */
};
enum { TAKEN = UINT32_MAX }; /* being filled */

struct member { /* a stream or event of a capture */
    _Atomic uint64_t key; /* 0 = free */
    _Atomic uint32_t capture;
};
struct members {
    struct member *list;
    uint32_t size;
    _Atomic uint32_t used; /* entries beyond were never claimed */
};

_Atomic uint32_t st_captures_open;
static struct capture captures[MAX_CAPTURES];
static struct member stream_list[MAX_STREAMS], event_list[MAX_EVENTS];
static struct members streams = {stream_list, MAX_STREAMS, 0}, events = {event_list, MAX_EVENTS, 0};
static _Atomic uint64_t untracked;

/* ---- captures ---------------------------------------------------------------------------------- */

/* The open capture of this id, or NULL. */
static struct capture *capture_of(uint32_t id)
{
    struct capture *capture = id ? &captures[(id - 1) % MAX_CAPTURES] : NULL;
    return capture && atomic_load_explicit(&capture->id, memory_order_acquire) == id ? capture : NULL;
}

static struct capture *open_capture(uint64_t origin, uint64_t graph)
{
    for (uint32_t i = 0; i < MAX_CAPTURES; i++) {
        struct capture *capture = &captures[i];
        uint32_t free_id = 0;
        if (!atomic_compare_exchange_strong_explicit(&capture->id, &free_id, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed)) {
            continue;
        }
        capture->origin = origin;
        capture->graph = graph;
        for (int kind = 0; kind < ST_NODE_KINDS; kind++) {
            atomic_store_explicit(&capture->nodes[kind], 0, memory_order_relaxed);
        }
        atomic_store_explicit(&capture->child_count, 0, memory_order_relaxed);
        capture->generation = (capture->generation + 1) & (UINT32_MAX / MAX_CAPTURES >> 1);
        atomic_store_explicit(&capture->id, MAX_CAPTURES * capture->generation + i + 1, memory_order_release);
        atomic_fetch_add_explicit(&st_captures_open, 1, memory_order_relaxed);
        return capture;
    }
    return NULL;
}

static void count_node(struct capture *capture, enum st_node_kind kind)
{
    atomic_fetch_add_explicit(&capture->nodes[kind], 1, memory_order_relaxed);
}

static void count_child(struct capture *capture, uint64_t executable)
{
    uint32_t at = atomic_fetch_add_explicit(&capture->child_count, 1, memory_order_relaxed);
    if (at < MAX_CHILDREN) {
        atomic_store_explicit(&capture->children[at], executable, memory_order_relaxed);
    } else {
        count_node(capture, ST_NODE_UNKNOWN);
    }
}

/* ---- members ----------------------------------------------------------------------------------- */

/* Where the key is, or NULL. */
static struct member *find_member(struct members *set, uint64_t key)
{
    uint32_t used = atomic_load_explicit(&set->used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        if (atomic_load_explicit(&set->list[i].key, memory_order_acquire) == key) {
            return &set->list[i];
        }
    }
    return NULL;
}

/* The open capture that the key belongs to, or NULL. */
static struct capture *capture_of_member(struct members *set, uint64_t key)
{
    struct member *member = key ? find_member(set, key) : NULL;
    return member ? capture_of(atomic_load_explicit(&member->capture, memory_order_acquire)) : NULL;
}

static void forget_member(struct members *set, uint64_t key)
{
    struct member *member = key ? find_member(set, key) : NULL;
    if (member) {
        atomic_store_explicit(&member->capture, 0, memory_order_relaxed);
        atomic_store_explicit(&member->key, 0, memory_order_release);
    }
}

static bool add_member(struct members *set, uint64_t key, uint32_t capture)
{
    struct member *member = find_member(set, key);
    for (uint32_t i = 0; !member && i < set->size; i++) {
        uint64_t free_key = 0;
        if (atomic_compare_exchange_strong_explicit(&set->list[i].key, &free_key, key, memory_order_acq_rel,
                                                    memory_order_relaxed)) {
            member = &set->list[i];
            uint32_t used = atomic_load_explicit(&set->used, memory_order_relaxed);
            while (used < i + 1 && !atomic_compare_exchange_weak_explicit(&set->used, &used, i + 1,
                                                                          memory_order_release,
                                                                          memory_order_relaxed)) {
            }
        }
    }
    if (member) {
        atomic_store_explicit(&member->capture, capture, memory_order_release);
    }
    return member != NULL;
}

static void forget_members_of(struct members *set, uint32_t capture)
{
    uint32_t used = atomic_load_explicit(&set->used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++) {
        if (atomic_load_explicit(&set->list[i].capture, memory_order_relaxed) == capture) {
            atomic_store_explicit(&set->list[i].capture, 0, memory_order_relaxed);
            atomic_store_explicit(&set->list[i].key, 0, memory_order_release);
        }
    }
}

static void close_capture(struct capture *capture)
{
    uint32_t id = atomic_load_explicit(&capture->id, memory_order_relaxed);
    forget_members_of(&streams, id);
    forget_members_of(&events, id);
    /* release: its counts were read before somebody else takes the entry */
    if (atomic_compare_exchange_strong_explicit(&capture->id, &id, 0, memory_order_release, memory_order_relaxed)) {
        atomic_fetch_sub_explicit(&st_captures_open, 1, memory_order_relaxed);
    }
}

/* ---- what calls mean --------------------------------------------------------------------------- */

/* Handle → key; the per-thread stream is one for each thread. 0: can not capture. */
static uint64_t stream_key(const struct st_thread *thread, uint64_t stream)
{
    if (stream < STREAM_LAST_SPECIAL) {
        return 0;
    }
    return stream == STREAM_LAST_SPECIAL ? (uint64_t)thread->index << KEY_SHIFT | STREAM_LAST_SPECIAL : stream;
}

/* Was the driver's call inside followed already? */
static bool is_told(const struct st_call_row *row, const struct st_call_note *note)
{
    return row->layer == ST_LAYER_RUNTIME && (note->flags & ST_CALL_HAS_INNER);
}

void st_capture_begin(struct st_thread *thread, const struct st_call_row *row, int result,
                      const struct st_call_note *note)
{
    uint64_t origin = stream_key(thread, note->a), graph = note->b;
    if (result != 0 || is_told(row, note)) {
        return;
    }
    struct capture *capture = capture_of_member(&streams, origin);
    if (capture && capture->origin == origin) {
        close_capture(capture); /* given up after an error that we did not take for its end */
    }
    capture = open_capture(origin, graph);
    if (!capture) {
        atomic_fetch_add_explicit(&untracked, 1, memory_order_relaxed);
    } else if (!add_member(&streams, origin, atomic_load_explicit(&capture->id, memory_order_relaxed))) {
        atomic_fetch_add_explicit(&untracked, 1, memory_order_relaxed);
        close_capture(capture);
    }
}

static void tell_nodes(struct st_thread *thread, struct capture *capture, uint64_t graph)
{
    if (!capture->graph) {
        st_emit_mark(thread, ST_MARK_GRAPH_NODES, graph, ST_NODE_NONE);
    }
    for (uint64_t kind = ST_NODE_KERNEL; kind < ST_NODE_KINDS; kind++) {
        uint64_t count = atomic_load_explicit(&capture->nodes[kind], memory_order_relaxed);
        if (count) {
            st_emit_mark(thread, ST_MARK_GRAPH_NODES, graph, count << ST_MARK_COUNT_SHIFT | kind);
        }
    }
    uint32_t children = atomic_load_explicit(&capture->child_count, memory_order_relaxed);
    for (uint32_t i = 0; i < children && i < MAX_CHILDREN; i++) {
        st_emit_mark(thread, ST_MARK_GRAPH_CHILD, graph,
                     atomic_load_explicit(&capture->children[i], memory_order_relaxed));
    }
}

/* Only the stream that began it can end a capture. */
static void end_capture(struct st_thread *thread, uint64_t origin, int result, uint64_t graph)
{
    struct capture *capture = capture_of_member(&streams, origin);
    if (!capture || capture->origin != origin ||
        (result != 0 && result != ERROR_INVALIDATED && result != ERROR_UNJOINED)) {
        return;
    }
    if (result == 0 && graph) {
        tell_nodes(thread, capture, graph);
    }
    close_capture(capture);
}

/* A new or destroyed stream captures nothing; a capture whose first stream is gone can not end any more. */
static void forget_stream(uint64_t key)
{
    struct capture *capture = capture_of_member(&streams, key);
    if (capture && capture->origin == key) {
        close_capture(capture);
    } else {
        forget_member(&streams, key);
    }
}

/* A context went, and all that captured in it; which contexts the others belong to is not known. */
static void forget_all(void)
{
    for (uint32_t i = 0; i < MAX_CAPTURES; i++) {
        uint32_t id = atomic_load_explicit(&captures[i].id, memory_order_acquire);
        if (id && id != TAKEN) {
            close_capture(&captures[i]);
        }
    }
}

static void record_event(uint64_t stream, uint64_t event, uint64_t flags)
{
    struct capture *capture = capture_of_member(&streams, stream);
    if (!capture) {
        forget_member(&events, event);
    } else if (flags & FLAG_EXTERNAL) {
        count_node(capture, ST_NODE_EVENT);
    } else if (!add_member(&events, event, atomic_load_explicit(&capture->id, memory_order_relaxed))) {
        atomic_fetch_add_explicit(&untracked, 1, memory_order_relaxed);
    }
}

static void wait_for_event(uint64_t stream, uint64_t event, uint64_t flags)
{
    struct capture *own = capture_of_member(&streams, stream);
    if (flags & FLAG_EXTERNAL) {
        if (own) {
            count_node(own, ST_NODE_EVENT);
        }
        return;
    }
    struct capture *capture = capture_of_member(&events, event);
    if (capture && stream && !own &&
        !add_member(&streams, stream, atomic_load_explicit(&capture->id, memory_order_relaxed))) {
        atomic_fetch_add_explicit(&untracked, 1, memory_order_relaxed);
        count_node(capture, ST_NODE_UNKNOWN);
    }
}

/* The stream that work of this class goes to; 0: the class has none. */
static uint64_t stream_of(uint8_t class_id, const struct st_call_note *note)
{
    switch (class_id) {
    case ST_CLASS_LAUNCH:
    case ST_CLASS_GRAPH_LAUNCH:
    case ST_CLASS_HOST_FUNC:
    case ST_CLASS_EVENT_RECORD:
    case ST_CLASS_STREAM_WAIT:
        return note->b;
    case ST_CLASS_COPY:
    case ST_CLASS_MEMSET:
        return note->d;
    default:
        return 0;
    }
}

static void count_work(struct capture *capture, uint8_t class_id, const struct st_call_note *note)
{
    static const uint8_t kinds[] = {[ST_CLASS_LAUNCH] = ST_NODE_KERNEL,
                                    [ST_CLASS_COPY] = ST_NODE_COPY,
                                    [ST_CLASS_MEMSET] = ST_NODE_MEMSET,
                                    [ST_CLASS_HOST_FUNC] = ST_NODE_HOST};
    if (class_id == ST_CLASS_GRAPH_LAUNCH) {
        count_child(capture, note->a);
    } else if (class_id < sizeof(kinds) && kinds[class_id]) {
        count_node(capture, kinds[class_id]);
    }
}

/* What changes the sets; after a runtime call that had a driver call inside, that has been done. */
static void follow(struct st_thread *thread, const struct st_call_row *row, int result, const struct st_call_note *note)
{
    if (row->does == ST_DOES_END_CAPTURE) {
        end_capture(thread, stream_key(thread, note->a), result, note->b);
        return;
    }
    if (result != 0) {
        return;
    }
    if (row->class_id == ST_CLASS_EVENT_RECORD) {
        record_event(stream_key(thread, note->b), note->a, note->c);
    } else if (row->class_id == ST_CLASS_STREAM_WAIT) {
        wait_for_event(stream_key(thread, note->b), note->a, note->c);
    } else if (row->class_id == ST_CLASS_STREAM) {
        forget_stream(note->a);
    } else if (row->class_id == ST_CLASS_EVENT) {
        forget_member(&events, note->a);
    } else if (row->class_id == ST_CLASS_CONTEXT && row->blocks) {
        forget_all();
    }
}

void st_capture_after_call(struct st_thread *thread, const struct st_call_row *row, int result,
                           struct st_call_note *note)
{
    bool is_new = !is_told(row, note);
    if (is_new) {
        follow(thread, row, result, note);
    }
    struct capture *capture =
        result == 0 ? capture_of_member(&streams, stream_key(thread, stream_of(row->class_id, note))) : NULL;
    if (capture) {
        note->flags |= ST_CALL_CAPTURED;
        if (is_new) {
            count_work(capture, row->class_id, note);
        }
    }
}

uint64_t st_capture_untracked(void)
{
    return atomic_load_explicit(&untracked, memory_order_relaxed);
}

void st_capture_fork_child(void)
{
    forget_all();
    atomic_store_explicit(&untracked, 0, memory_order_relaxed);
}
