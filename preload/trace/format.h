/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of the trace format: frame magics, heads, enumerations. Both programs use this file; the
 * meaning of every field is written in FORMAT.md, the tables in tables.def.
 *
 *   file := header (skippable frame) , { chunk head (skippable frame) , payload (zstd frame) } , [ index ]
 *
 * All integers are little-endian. Numbers are never reused.
 */
#ifndef ST_TRACE_FORMAT_H
#define ST_TRACE_FORMAT_H

#include <stdint.h>

#define ST_TRACE_VERSION_MAJOR 1 /* a reader refuses a greater one */
#define ST_TRACE_VERSION_MINOR 2 /* a reader takes a greater one and skips what it does not know */

#define ST_MAGIC_HEADER 0x184D2A50u /* zstd skippable frames */
#define ST_MAGIC_CHUNK 0x184D2A51u
#define ST_MAGIC_INDEX 0x184D2A52u
#define ST_TRACE_MAGIC "STAGETAP"

#define ST_MAX_CHUNK_BYTES (64u << 20) /* decompressed payload; larger is refused */
#define ST_MAX_CHUNK_ROWS (1u << 18)   /* rows of one table in one chunk */
#define ST_MAX_TEXT_BYTES (64u << 10)  /* one text */

/* Contents of the header frame, after the 8 bytes of frame magic and size. */
struct st_trace_header {
    char magic[8];
    uint16_t version_major;
    uint16_t version_minor;
    uint32_t header_bytes; /* sizeof this structure as written; later fields are appended */
    uint8_t session[16];   /* names the process run; its rings carry the same */
    uint8_t run[16];       /* shared by the processes of one run (inherited), for merging */
    uint32_t pid;
    uint32_t flags;             /* enum st_header_flags; unknown bits are ignored */
    uint64_t start_ticks;       /* the four readings were taken together */
    uint64_t start_monotonic_ns;
    uint64_t start_raw_ns;
    uint64_t start_realtime_ns;
    uint64_t ticks_per_second; /* first estimate; the CLOCK table refines it */
    uint8_t boot[16];          /* start of the machine that the clocks count from; 0 = not known */
    uint64_t check;            /* XXH64, seed 0, of the bytes before this field; header_bytes tells if it is there */
};

enum st_header_flags {
    ST_HEADER_TSC = 1 << 0,       /* ticks are the processor's counter; else nanoseconds of CLOCK_MONOTONIC_RAW */
    ST_HEADER_SIMULATED = 1 << 1, /* the driver is a simulator */
};

/* Contents of a chunk head frame; the zstd frame of `compressed_bytes` follows at once. */
struct st_chunk_head {
    uint32_t sequence;         /* 0, 1, 2 … in file order; a jump is a loss */
    uint32_t kind;             /* enum st_chunk_kind */
    uint32_t compressed_bytes; /* of the zstd frame that follows */
    uint32_t payload_bytes;    /* decompressed */
    uint32_t ring;             /* events: the ring's id; else 0 */
    uint32_t thread;           /* events: THREAD.thread; else 0 */
    uint64_t first_slot;       /* events: slots [first_slot, end_slot) of the ring are in this chunk */
    uint64_t end_slot;
    uint64_t first_ticks; /* smallest and largest time in the chunk, 0 if it has none */
    uint64_t last_ticks;
    uint64_t lost_total; /* events lost in the whole process so far, all causes */
    uint64_t check;      /* XXH64, seed 0, of the bytes before this field */
};

enum st_chunk_kind {
    ST_CHUNK_META = 1,   /* tables 32…  */
    ST_CHUNK_EVENTS = 2, /* tables 1…5 of one ring */
    ST_CHUNK_DEVICE = 3, /* tables 16…20, STRING */
};

/* Index frame: entries, then the footer; sits at the end of a file that was closed in order. */
struct st_index_entry {
    uint64_t offset; /* of the chunk head frame in the file */
    uint64_t first_ticks;
    uint64_t last_ticks;
    uint32_t kind;
    uint32_t rows;  /* of its largest table */
    uint64_t check; /* XXH64 of the whole chunk, both frames; not there in version 1 */
};
#define ST_INDEX_VERSION 2
#define ST_INDEX_ENTRY_BYTES_1 32 /* of an entry in version 1 */
struct st_index_footer {
    uint32_t entries;
    uint32_t version;
    uint64_t check; /* XXH64 of the entries and, from version 2 on, of the two fields before this one */
    char magic[8];  /* ST_TRACE_MAGIC */
};

/* Payload: tables one after another, each a table head, its column heads, then the columns' bytes. */
struct st_table_head {
    uint16_t table; /* id in tables.def; an unknown one is skipped by its column sizes */
    uint16_t columns;
    uint32_t rows;
};
struct st_column_head {
    uint16_t column;
    uint8_t encoding; /* enum st_encoding; an unknown one makes this column unknown */
    uint8_t reserved; /* 0 */
    uint32_t bytes;
};

enum st_encoding {
    ST_ENC_CONST = 0, /* one zigzag LEB128 value, the same in all rows */
    ST_ENC_VALUE = 1, /* zigzag LEB128 of the value */
    ST_ENC_DELTA = 2, /* zigzag LEB128 of the difference to the row before (first: to 0) */
    ST_ENC_GROUP = 3, /* … to the last row with the same column 0 (first of a group: to 0) */
    ST_ENC_TEXT = 4,  /* LEB128 length of each row, then all bytes */
};

enum st_layer { ST_LAYER_DRIVER = 1, ST_LAYER_RUNTIME = 2 };

/*
 * What a call means, and what CALL.a … CALL.d hold for it. "handle" is the value passed or returned.
 * Stream 0 is the legacy default stream, 1 and 2 as in cuda.h (CU_STREAM_LEGACY, _PER_THREAD).
 */
enum st_call_class {
    ST_CLASS_OTHER = 0,
    ST_CLASS_INIT = 1,
    ST_CLASS_LOOKUP = 2,       /* pointer look-ups (cuGetProcAddress …) */
    ST_CLASS_LAUNCH = 3,       /* a function or kernel handle, b stream, [shapes: c grid, d block] */
    ST_CLASS_GRAPH_LAUNCH = 4, /* a executable graph, b stream */
    ST_CLASS_COPY = 5,         /* a target, b source, c bytes, d stream */
    ST_CLASS_MEMSET = 6,       /* a target, b value, c bytes, d stream */
    ST_CLASS_SYNC = 7,         /* a stream or event (context: 0), d CPU ns of the thread inside */
    ST_CLASS_QUERY = 8,        /* a stream or event */
    ST_CLASS_EVENT_RECORD = 9, /* a event, b stream, c flags */
    ST_CLASS_STREAM_WAIT = 10, /* a event, b stream, c flags */
    ST_CLASS_HOST_FUNC = 11,   /* a function, b stream, c its argument */
    ST_CLASS_ALLOC = 12,       /* a address returned, c bytes */
    ST_CLASS_FREE = 13,        /* a address */
    ST_CLASS_MODULE = 14,      /* a module, library or function handle returned */
    ST_CLASS_CONTEXT = 15,     /* a context or device */
    ST_CLASS_STREAM = 16,      /* a stream created or destroyed */
    ST_CLASS_EVENT = 17,       /* a event created or destroyed */
    ST_CLASS_GRAPH = 18,       /* a graph or executable graph, b second graph, c enum st_node_kind, d node */
    ST_CLASS_CAPTURE = 19,     /* a stream, b graph captured into (begin) or returned (end) */
};

/* CALLDEF.does: what a call of class GRAPH or CAPTURE changes. a, b, c, d as in CALL. */
enum st_call_does {
    ST_DOES_NOTHING = 0,
    ST_DOES_BEGIN_CAPTURE = 1,
    ST_DOES_END_CAPTURE = 2,
    ST_DOES_CREATE = 3,       /* a: new and empty */
    ST_DOES_CLONE = 4,        /* a: a copy of b */
    ST_DOES_DESTROY = 5,      /* a */
    ST_DOES_ADD_NODE = 6,     /* a gets the node d of kind c; b: what a child graph node runs */
    ST_DOES_DESTROY_NODE = 7, /* d */
    ST_DOES_INSTANTIATE = 8,  /* a: executable graph made from b */
    ST_DOES_UPDATE = 9,       /* the executable graph a made equal to b */
    ST_DOES_UPLOAD = 10,      /* a */
    ST_DOES_DESTROY_EXEC = 11, /* a */
    ST_DOES_SWITCH_NODE = 12, /* a node of the executable graph a is switched on or off */
};

/* What a node of a graph runs. */
enum st_node_kind {
    ST_NODE_NONE = 0,
    ST_NODE_KERNEL = 1,
    ST_NODE_COPY = 2,
    ST_NODE_MEMSET = 3,
    ST_NODE_HOST = 4,
    ST_NODE_CHILD = 5, /* a graph of its own */
    ST_NODE_EVENT = 6,
    ST_NODE_OTHER = 7,   /* empty, memory, semaphores */
    ST_NODE_UNKNOWN = 8, /* what it runs, or how often, can not be told beforehand (conditional) */
    ST_NODE_KINDS = 9,
};

enum st_call_flags {
    ST_CALL_INNER = 1 << 0,    /* driver: called inside a runtime call of this thread */
    ST_CALL_HAS_INNER = 1 << 1, /* runtime: at least one driver call was seen inside */
    ST_CALL_CAPTURED = 1 << 2,  /* recorded into a graph, did not run */
};
#define ST_CALL_DIRECTION_SHIFT 8 /* CALL.flags: enum st_direction of a copy where the name or argument tells */

enum st_direction {
    ST_DIR_UNKNOWN = 0,
    ST_DIR_H2D = 1,
    ST_DIR_D2H = 2,
    ST_DIR_D2D = 3,
    ST_DIR_P2P = 4,
    ST_DIR_H2H = 5,
};
enum st_memory {
    ST_MEM_UNKNOWN = 0,
    ST_MEM_PAGEABLE = 1,
    ST_MEM_PINNED = 2,
    ST_MEM_DEVICE = 3,
    ST_MEM_ARRAY = 4,
    ST_MEM_MANAGED = 5,
};

enum st_span_role { ST_ROLE_STAGE = 1, ST_ROLE_REQUEST = 2, ST_ROLE_STEP = 3, ST_ROLE_LOAD = 4, ST_ROLE_OFF = 5 };

/* How the edge of a span is known. */
enum st_edge {
    ST_EDGE_SEEN = 0,
    ST_EDGE_INFERRED = 1,
    ST_EDGE_FOLLOWING = 2, /* inferred; an entry of another thread, for which this one works */
};

enum st_span_end {
    ST_END_RETURN = 0,
    ST_END_THROWN = 1,    /* an exception passed through */
    ST_END_ABANDONED = 2, /* left by longjmp, seen later: the time is late */
    ST_END_REPLACED = 3,  /* closed by the next stage or its request's end (`begin NAME`) */
    ST_END_MARKED = 4,    /* `end NAME`, range pop */
};

enum st_mark {
    ST_MARK_STEP_END = 1,
    ST_MARK_PROFILER_START = 2,
    ST_MARK_PROFILER_STOP = 3,
    ST_MARK_GRAPH_NODES = 4, /* a capture ended: graph a got (b >> 8) nodes of kind b & 255; kind 0: a is new */
    ST_MARK_GRAPH_CHILD = 5, /* … and a node that runs what the executable graph b runs */
};
#define ST_MARK_COUNT_SHIFT 8

enum st_name_kind {
    ST_NAME_ROW = 1,      /* key: SPAN_BEGIN.name */
    ST_NAME_FUNCTION = 2, /* key: function or kernel handle of the driver */
    ST_NAME_HOST = 3,     /* key: host address registered with the runtime */
    ST_NAME_HOST_FUNCTION = 4, /* key: HOST_RUN.function */
};

enum st_key_group { ST_KEY_DECLARED = 1, ST_KEY_FOUND = 2, ST_KEY_SETTING = 3, ST_KEY_NOTE = 4 };

enum st_capability_state {
    ST_CAP_NOT_COLLECTED = 0,
    ST_CAP_REQUESTED = 1,
    ST_CAP_ACCEPTED = 2,
    ST_CAP_SEEN = 3,
    ST_CAP_DEGRADED = 4,
};

/* Causes of loss; each is also a counter "lost.<name>". */
enum st_lost {
    ST_LOST_RING_FULL = 1,       /* ring_full */
    ST_LOST_NO_THREAD = 2,       /* no_thread: no memory for a thread's ring */
    ST_LOST_DEVICE_DROPPED = 3,  /* cupti_dropped: the device library said so */
    ST_LOST_DEVICE_INVALID = 4,  /* device_invalid: times 0, or end before start */
    ST_LOST_DISK = 5,            /* disk: could not be written */
    ST_LOST_LIMIT = 6,           /* limit: STAGETAP_LIMIT reached */
    ST_LOST_DEVICE_UNREAD = 7,   /* device_unread: tail of a buffer that could not be walked */
    ST_LOST_CAUSES = 8,
};

_Static_assert(sizeof(struct st_trace_header) == 120, "header layout");
_Static_assert(sizeof(struct st_chunk_head) == 72, "chunk head layout");
_Static_assert(sizeof(struct st_index_entry) == 40, "index entry layout");
_Static_assert(sizeof(struct st_index_footer) == 24, "index footer layout");
_Static_assert(sizeof(struct st_table_head) == 8 && sizeof(struct st_column_head) == 8, "table layout");

#endif
