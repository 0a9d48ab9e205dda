/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI activity records -> rows; see records.h. Runs in the writer thread (st_cupti_count: anywhere).
 *
 * Times that the library could not find out are 0 (and end may lie before start after a forced flush);
 * such records are counted, never turned into rows: a duration made from them would be an invention.
 */
#include "records.h"

#include <string.h>

#include "outside.h"
#include "preload/trace/format.h"

/*
 * A first record of the kind in question, and behind it nothing but 8-byte steps that each begin a known
 * kind: wherever the second record begins, it is found.
 */
bool st_cupti_measure(st_cupti_next_record_fn next_record, struct st_cupti_sizes *ret_sizes)
{
    static _Alignas(8) uint8_t buffer[8192];
    bool any = false;

    memset(ret_sizes, 0, sizeof(*ret_sizes));
    for (uint32_t kind = 1; kind < ST_CUPTI_KINDS; kind++) {
        void *first = NULL;
        void *second;
        uint32_t filler = ST_CUPTI_RUNTIME;

        memset(buffer, 0, sizeof(buffer));
        for (size_t at = 0; at < sizeof(buffer); at += 8) memcpy(buffer + at, &filler, sizeof(filler));
        memcpy(buffer, &kind, sizeof(kind));
        if (next_record(buffer, sizeof(buffer), &first) != 0 || first != buffer) continue;
        second = first;
        if (next_record(buffer, sizeof(buffer), &second) != 0) continue;
        ptrdiff_t bytes = (uint8_t *)second - buffer;
        if (bytes < 8 || bytes > 4096 || bytes % 8 != 0) continue;
        ret_sizes->bytes[kind] = (uint16_t)bytes;
        any = true;
    }
    return any;
}

/* Bytes of the record at `at`, or 0 if it is of no known kind or not whole. */
static size_t record_bytes(const struct st_cupti_sizes *sizes, const uint8_t *at, size_t left, uint32_t *ret_kind)
{
    if (left < sizeof(*ret_kind)) return 0;
    memcpy(ret_kind, at, sizeof(*ret_kind));
    if (*ret_kind >= ST_CUPTI_KINDS || sizes->bytes[*ret_kind] > left) return 0;
    return sizes->bytes[*ret_kind];
}

uint64_t st_cupti_count(const struct st_cupti_sizes *sizes, const uint8_t *buffer, size_t valid_bytes)
{
    uint64_t count = 0;
    uint32_t kind;
    for (size_t at = 0, step; (step = record_bytes(sizes, buffer + at, valid_bytes - at, &kind)) != 0; at += step)
        count++;
    return count;
}

static bool has_times(struct st_cupti_reader *reader, uint64_t start, uint64_t end)
{
    bool is_other_clock = reader->clock_ns != 0 && st_cupti_is_far(start, reader->clock_ns);
    if (start != 0 && end >= start && !is_other_clock) return true;
    reader->invalid++;
    return false;
}

static void add_row(struct st_cupti_reader *reader, struct st_rows *rows, const int64_t *values,
                    const struct st_text *texts, uint32_t kind)
{
    if (st_rows_add(rows, values, texts)) {
        reader->records[kind]++;
    } else {
        reader->no_memory++;
    }
}

/*
 * The record is copied, for it may be shorter than the structure (then the rest is 0) and need not be
 * aligned for it. Evaluates to nothing if the library's record is too short for what we cannot do without.
 */
#define LOAD(record, at, bytes, minimum)                                                                               \
    do {                                                                                                               \
        if ((bytes) < (minimum)) return;                                                                               \
        memcpy(&(record), (at), (bytes) < sizeof(record) ? (bytes) : sizeof(record));                                  \
    } while (0)

static void read_kernel(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes, struct st_device_rows *rows)
{
    struct st_cupti_kernel record = {0};

    LOAD(record, at, bytes, ST_CUPTI_KERNEL_BYTES);
    if (!has_times(reader, record.start, record.end)) return;
    bool has_graph = bytes >= ST_CUPTI_KERNEL_GRAPH_BYTES;
    const int64_t values[ST_COUNT_C_KERNEL] = {
        [ST_KERNEL_C_stream] = record.stream,
        [ST_KERNEL_C_start_device] = (int64_t)record.start,
        [ST_KERNEL_C_duration_ns] = (int64_t)(record.end - record.start),
        [ST_KERNEL_C_correlation] = record.correlation,
        [ST_KERNEL_C_name] = st_names_intern_pointer(&reader->names, record.name, &rows->string),
        [ST_KERNEL_C_device] = record.device,
        [ST_KERNEL_C_context] = record.context,
        [ST_KERNEL_C_graph] = has_graph ? record.graph : 0,
        [ST_KERNEL_C_graph_node] = has_graph ? (int64_t)record.graph_node : 0,
    };
    add_row(reader, &rows->kernel, values, NULL, ST_CUPTI_CONCURRENT_KERNEL);
}

/* CUpti_ActivityMemcpyKind; arrays live on the device. */
static enum st_direction direction_of(uint8_t copy_kind)
{
    static const uint8_t directions[] = {
        [0] = ST_DIR_UNKNOWN, [1] = ST_DIR_H2D, [2] = ST_DIR_D2H, [3] = ST_DIR_H2D, [4] = ST_DIR_D2H,  [5] = ST_DIR_D2D,
        [6] = ST_DIR_D2D,     [7] = ST_DIR_D2D, [8] = ST_DIR_D2D, [9] = ST_DIR_H2H, [10] = ST_DIR_P2P,
    };
    return copy_kind < sizeof(directions) ? directions[copy_kind] : ST_DIR_UNKNOWN;
}

/* CUpti_ActivityMemoryKind; the static ones are variables of a module. */
static enum st_memory memory_of(uint32_t memory_kind)
{
    static const uint8_t memories[] = {
        [0] = ST_MEM_UNKNOWN, [1] = ST_MEM_PAGEABLE, [2] = ST_MEM_PINNED, [3] = ST_MEM_DEVICE,
        [4] = ST_MEM_ARRAY,   [5] = ST_MEM_MANAGED,  [6] = ST_MEM_DEVICE, [7] = ST_MEM_MANAGED,
    };
    return memory_kind < sizeof(memories) ? memories[memory_kind] : ST_MEM_UNKNOWN;
}

static void read_memcpy(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes, struct st_device_rows *rows)
{
    struct st_cupti_memcpy record = {0};

    LOAD(record, at, bytes, ST_CUPTI_MEMCPY_BYTES);
    if (!has_times(reader, record.start, record.end)) return;
    bool has_graph = bytes >= ST_CUPTI_MEMCPY_GRAPH_BYTES;
    const int64_t values[ST_COUNT_C_COPY] = {
        [ST_COPY_C_stream] = record.stream,
        [ST_COPY_C_start_device] = (int64_t)record.start,
        [ST_COPY_C_duration_ns] = (int64_t)(record.end - record.start),
        [ST_COPY_C_correlation] = record.correlation,
        [ST_COPY_C_bytes] = (int64_t)record.bytes,
        [ST_COPY_C_direction] = direction_of(record.copy_kind),
        [ST_COPY_C_source_memory] = memory_of(record.source_kind),
        [ST_COPY_C_target_memory] = memory_of(record.target_kind),
        [ST_COPY_C_device] = record.device,
        [ST_COPY_C_context] = record.context,
        [ST_COPY_C_peer_device] = -1,
        [ST_COPY_C_graph] = has_graph ? record.graph : 0,
        [ST_COPY_C_graph_node] = has_graph ? (int64_t)record.graph_node : 0,
    };
    add_row(reader, &rows->copy, values, NULL, ST_CUPTI_MEMCPY);
}

static void read_memcpy_peer(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes,
                             struct st_device_rows *rows)
{
    struct st_cupti_memcpy_peer record = {0};

    LOAD(record, at, bytes, ST_CUPTI_MEMCPY_PEER_BYTES);
    if (!has_times(reader, record.start, record.end)) return;
    bool has_graph = bytes >= ST_CUPTI_MEMCPY_PEER_GRAPH_BYTES;
    const int64_t values[ST_COUNT_C_COPY] = {
        [ST_COPY_C_stream] = record.stream,
        [ST_COPY_C_start_device] = (int64_t)record.start,
        [ST_COPY_C_duration_ns] = (int64_t)(record.end - record.start),
        [ST_COPY_C_correlation] = record.correlation,
        [ST_COPY_C_bytes] = (int64_t)record.bytes,
        [ST_COPY_C_direction] = ST_DIR_P2P,
        [ST_COPY_C_source_memory] = memory_of(record.source_kind),
        [ST_COPY_C_target_memory] = memory_of(record.target_kind),
        [ST_COPY_C_device] = record.source_device,
        [ST_COPY_C_context] = record.context,
        [ST_COPY_C_peer_device] = record.target_device,
        [ST_COPY_C_graph] = has_graph ? record.graph : 0,
        [ST_COPY_C_graph_node] = has_graph ? (int64_t)record.graph_node : 0,
    };
    add_row(reader, &rows->copy, values, NULL, ST_CUPTI_MEMCPY2);
}

static void read_memset(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes, struct st_device_rows *rows)
{
    struct st_cupti_memset record = {0};

    LOAD(record, at, bytes, ST_CUPTI_MEMSET_BYTES);
    if (!has_times(reader, record.start, record.end)) return;
    bool has_graph = bytes >= ST_CUPTI_MEMSET_GRAPH_BYTES;
    const int64_t values[ST_COUNT_C_MEMSET] = {
        [ST_MEMSET_C_stream] = record.stream,
        [ST_MEMSET_C_start_device] = (int64_t)record.start,
        [ST_MEMSET_C_duration_ns] = (int64_t)(record.end - record.start),
        [ST_MEMSET_C_correlation] = record.correlation,
        [ST_MEMSET_C_bytes] = (int64_t)record.bytes,
        [ST_MEMSET_C_memory] = memory_of(record.memory_kind),
        [ST_MEMSET_C_device] = record.device,
        [ST_MEMSET_C_context] = record.context,
        [ST_MEMSET_C_graph] = has_graph ? record.graph : 0,
        [ST_MEMSET_C_graph_node] = has_graph ? (int64_t)record.graph_node : 0,
    };
    add_row(reader, &rows->memset, values, NULL, ST_CUPTI_MEMSET);
}

static void read_api(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes, struct st_device_rows *rows)
{
    struct st_cupti_api record = {0};

    LOAD(record, at, bytes, sizeof(record));
    /* another tool may have the whole kind delivered */
    if (record.cbid >= ST_CUPTI_CBIDS || reader->call_of_cbid[record.cbid] == ST_CBID_IGNORED) return;
    if (!has_times(reader, record.start, record.end)) return;
    if (st_outside_call(record.correlation, record.start)) return;
    const int64_t values[ST_COUNT_C_DRIVER_API] = {
        [ST_DRIVER_API_C_thread] = record.thread,
        [ST_DRIVER_API_C_start_device] = (int64_t)record.start,
        [ST_DRIVER_API_C_duration_ns] = (int64_t)(record.end - record.start),
        [ST_DRIVER_API_C_correlation] = record.correlation,
        [ST_DRIVER_API_C_call] = reader->call_of_cbid[record.cbid],
        [ST_DRIVER_API_C_result] = (int32_t)record.result,
    };
    add_row(reader, &rows->driver_api, values, NULL, ST_CUPTI_DRIVER);
}

static void read_device(struct st_cupti_reader *reader, const uint8_t *at, size_t bytes, struct st_device_rows *rows)
{
    static const char digits[] = "0123456789abcdef";
    struct st_cupti_device record = {0};
    char uuid[2 * sizeof(record.uuid)];
    struct st_text texts[2] = {[1] = {uuid, sizeof(uuid)}};

    LOAD(record, at, bytes, sizeof(record));
    if (record.device >= 64 || (reader->known_devices >> record.device & 1) != 0) return;
    for (size_t i = 0; i < sizeof(record.uuid); i++) {
        uuid[2 * i] = digits[record.uuid[i] >> 4];
        uuid[2 * i + 1] = digits[record.uuid[i] & 15];
    }
    if (!st_names_read(&reader->names, record.name, &texts[0])) texts[0] = (struct st_text){"", 0};
    const int64_t values[ST_COUNT_C_DEVICE] = {[ST_DEVICE_C_device] = record.device};
    add_row(reader, &rows->device, values, texts, ST_CUPTI_DEVICE);
    reader->known_devices |= UINT64_C(1) << record.device;
}

void st_cupti_read(struct st_cupti_reader *reader, const uint8_t *buffer, size_t valid_bytes,
                   struct st_device_rows *rows)
{
    size_t at = 0;
    size_t step;
    uint32_t kind;

    for (; (step = record_bytes(&reader->sizes, buffer + at, valid_bytes - at, &kind)) != 0; at += step) {
        switch (kind) {
        case ST_CUPTI_CONCURRENT_KERNEL:
            read_kernel(reader, buffer + at, step, rows);
            break;
        case ST_CUPTI_MEMCPY:
            read_memcpy(reader, buffer + at, step, rows);
            break;
        case ST_CUPTI_MEMCPY2:
            read_memcpy_peer(reader, buffer + at, step, rows);
            break;
        case ST_CUPTI_MEMSET:
            read_memset(reader, buffer + at, step, rows);
            break;
        case ST_CUPTI_DRIVER:
            read_api(reader, buffer + at, step, rows);
            break;
        case ST_CUPTI_DEVICE:
            read_device(reader, buffer + at, step, rows);
            break;
        default:
            break; /* of a kind that another tool enabled */
        }
    }
    if (at < valid_bytes) reader->unread++;
}
