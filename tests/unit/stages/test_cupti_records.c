/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From activity buffers to rows: on made-up buffers in the layouts of three libcupti versions, on broken
 * ones, and side by side with the walker of a real libcupti where one is installed (it needs no driver).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/device/buffers.h"
#include "preload/device/records.h"
#include "preload/record/window.h"

/* Record sizes as measured with the real libraries. */
enum { V11_8, V12_4, V13_0, VERSIONS };
static const struct st_cupti_sizes layouts[VERSIONS] = {
    [V11_8] = {.bytes = {[1] = 88, [2] = 88, [4] = 40, [5] = 40, [8] = 176, [10] = 200, [22] = 96, [38] = 40}},
    [V12_4] = {.bytes = {[1] = 88, [2] = 88, [4] = 40, [5] = 40, [8] = 184, [10] = 208, [22] = 96, [38] = 40}},
    [V13_0] = {.bytes = {[1] = 96, [2] = 88, [4] = 40, [5] = 40, [8] = 184, [10] = 216, [22] = 96, [38] = 56}},
};

/* No window is set. */
const struct st_window_rule *st_window_rule(void)
{
    return NULL;
}

bool st_window_next_flip(struct st_window_flip *ret_flip, bool *ret_is_whole)
{
    return false;
}

static struct st_cupti_reader reader;
static struct st_device_rows rows;
static _Alignas(8) uint8_t buffer[8192];
static size_t used;

static struct st_rows *all_rows(int n)
{
    struct st_rows *all[] = {&rows.kernel, &rows.copy, &rows.memset, &rows.driver_api, &rows.device, &rows.string};
    return n < 6 ? all[n] : NULL;
}

static void begin(const struct st_cupti_sizes *sizes)
{
    static const uint16_t tables[] = {ST_T_KERNEL, ST_T_COPY, ST_T_MEMSET, ST_T_DRIVER_API, ST_T_DEVICE, ST_T_STRING};

    st_names_finish(&reader.names);
    memset(&reader, 0, sizeof(reader));
    reader.sizes = *sizes;
    for (int i = 0; i < ST_CUPTI_CBIDS; i++) reader.call_of_cbid[i] = ST_CBID_IGNORED;
    for (int i = 0; all_rows(i) != NULL; i++) {
        st_rows_reset(all_rows(i));
        all_rows(i)->table = tables[i];
    }
    memset(buffer, 0xA5, sizeof(buffer)); /* what a record does not fill must not matter */
    used = 0;
}

static void put(const void *record, size_t bytes)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof(kind));
    size_t size = reader.sizes.bytes[kind];
    memcpy(buffer + used, record, bytes < size ? bytes : size);
    used += size;
}

static void put_kernel(uint64_t start, uint64_t end, const char *name)
{
    struct st_cupti_kernel record = {.kind = ST_CUPTI_CONCURRENT_KERNEL,
                                     .start = start,
                                     .end = end,
                                     .device = 1,
                                     .context = 2,
                                     .stream = 7,
                                     .correlation = 99,
                                     .name = name,
                                     .graph_node = 5,
                                     .graph = 3};
    put(&record, sizeof(record));
}

static void put_api(uint32_t cbid, uint32_t thread, uint32_t correlation)
{
    struct st_cupti_api record = {.kind = ST_CUPTI_DRIVER,
                                  .cbid = cbid,
                                  .start = 1000,
                                  .end = 1300,
                                  .thread = thread,
                                  .correlation = correlation,
                                  .result = 719};
    put(&record, sizeof(record));
}

static int64_t cell(const struct st_rows *table, uint32_t row, int column)
{
    int64_t value;
    assert_true(row < table->count);
    int columns = st_table_find(table->table)->column_count;
    memcpy(&value, table->cells.bytes + sizeof(value) * (row * (uint32_t)columns + (uint32_t)column), sizeof(value));
    return value;
}

static void assert_text(const struct st_rows *table, size_t at, const char *expected)
{
    assert_true(at + strlen(expected) <= table->texts.length);
    assert_memory_equal(table->texts.bytes + at, expected, strlen(expected));
}

static void test_every_layout(void **state)
{
    for (int version = 0; version < VERSIONS; version++) {
        struct st_cupti_memcpy copy = {.kind = ST_CUPTI_MEMCPY,
                                       .copy_kind = 2,
                                       .source_kind = 3,
                                       .target_kind = 1,
                                       .bytes = 4096,
                                       .start = 500,
                                       .end = 900,
                                       .stream = 8,
                                       .correlation = 44,
                                       .graph_node = 6,
                                       .graph = 2};
        struct st_cupti_memcpy_peer peer = {.kind = ST_CUPTI_MEMCPY2,
                                            .copy_kind = 10,
                                            .source_kind = 3,
                                            .target_kind = 3,
                                            .bytes = 77,
                                            .start = 1,
                                            .end = 2,
                                            .device = 9,
                                            .source_device = 0,
                                            .target_device = 1,
                                            .correlation = 45};
        struct st_cupti_memset set = {
            .kind = ST_CUPTI_MEMSET, .bytes = 64, .start = 10, .end = 12, .correlation = 46, .memory_kind = 3};
        uint32_t foreign[30] = {38};

        begin(&layouts[version]);
        reader.call_of_cbid[307] = 12;
        put_kernel(100, 350, "vector_add");
        put(foreign, 4);
        put_api(307, 4711, 99);
        put(&copy, sizeof(copy));
        put(&peer, sizeof(peer));
        put(&set, sizeof(set));
        st_cupti_read(&reader, buffer, used, &rows);

        assert_int_equal(rows.kernel.count, 1);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_start_device), 100);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_duration_ns), 250);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_device), 1);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_context), 2);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_stream), 7);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_correlation), 99);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_graph), 3);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_graph_node), 5);
        assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_name), 1);
        assert_int_equal(rows.string.count, 1);
        assert_text(&rows.string, 0, "vector_add");

        assert_int_equal(rows.driver_api.count, 1);
        assert_int_equal(cell(&rows.driver_api, 0, ST_DRIVER_API_C_thread), 4711);
        assert_int_equal(cell(&rows.driver_api, 0, ST_DRIVER_API_C_duration_ns), 300);
        assert_int_equal(cell(&rows.driver_api, 0, ST_DRIVER_API_C_call), 12);
        assert_int_equal(cell(&rows.driver_api, 0, ST_DRIVER_API_C_result), 719);

        assert_int_equal(rows.copy.count, 2);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_direction), ST_DIR_D2H);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_source_memory), ST_MEM_DEVICE);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_target_memory), ST_MEM_PAGEABLE);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_bytes), 4096);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_peer_device), -1);
        assert_int_equal(cell(&rows.copy, 0, ST_COPY_C_graph), 2);
        assert_int_equal(cell(&rows.copy, 1, ST_COPY_C_direction), ST_DIR_P2P);
        assert_int_equal(cell(&rows.copy, 1, ST_COPY_C_device), 0);
        assert_int_equal(cell(&rows.copy, 1, ST_COPY_C_peer_device), 1);
        assert_int_equal(cell(&rows.copy, 1, ST_COPY_C_correlation), 45);

        assert_int_equal(rows.memset.count, 1);
        assert_int_equal(cell(&rows.memset, 0, ST_MEMSET_C_bytes), 64);
        assert_int_equal(cell(&rows.memset, 0, ST_MEMSET_C_memory), ST_MEM_DEVICE);
        assert_int_equal(reader.invalid + reader.unread + reader.no_memory, 0);
        assert_int_equal(st_cupti_count(&reader.sizes, buffer, used), 6);
    }
}

/* Records of CUDA 11.0 end before the graph's id. */
static void test_short_kernel_record(void **state)
{
    struct st_cupti_sizes sizes = {.bytes = {[10] = 144}};

    begin(&sizes);
    put_kernel(100, 200, "a");
    st_cupti_read(&reader, buffer, used, &rows);
    assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_graph), 0);
    assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_graph_node), 0);
}

static void test_times_that_are_none(void **state)
{
    begin(&layouts[V13_0]);
    put_kernel(0, 0, "a");
    put_kernel(0, 50, "a");
    put_kernel(50, 0, "a");
    put_kernel(50, 49, "a");
    put_kernel(50, 50, "a");
    st_cupti_read(&reader, buffer, used, &rows);
    assert_int_equal(reader.invalid, 4);
    assert_int_equal(rows.kernel.count, 1);
    assert_int_equal(reader.records[ST_CUPTI_CONCURRENT_KERNEL], 1);
    assert_int_equal(cell(&rows.kernel, 0, ST_KERNEL_C_duration_ns), 0);
}

static void test_calls_not_asked_for(void **state)
{
    begin(&layouts[V13_0]);
    reader.call_of_cbid[5] = 1;
    reader.call_of_cbid[6] = ST_CBID_UNKNOWN;
    put_api(5, 1, 10);
    put_api(4, 1, 11);
    put_api(6, 1, 12);
    put_api(ST_CUPTI_CBIDS, 1, 13);
    put_api(UINT32_MAX, 1, 14);
    st_cupti_read(&reader, buffer, used, &rows);
    assert_int_equal(rows.driver_api.count, 2);
    assert_int_equal(cell(&rows.driver_api, 0, ST_DRIVER_API_C_call), 1);
    assert_int_equal(cell(&rows.driver_api, 1, ST_DRIVER_API_C_call), -1);
}

static void test_cut_anywhere(void **state)
{
    begin(&layouts[V13_0]);
    for (int i = 0; i < 3; i++) put_kernel(10, 20, "k");
    for (size_t length = 0; length <= used; length++) {
        uint8_t *copy = malloc(length); /* a byte too far is found by a sanitizer */
        memcpy(copy, buffer, length);
        reader.unread = 0;
        st_rows_reset(&rows.kernel);
        st_cupti_read(&reader, copy, length, &rows);
        assert_int_equal(rows.kernel.count, length / 216);
        assert_int_equal(reader.unread, length % 216 != 0);
        assert_int_equal(st_cupti_count(&reader.sizes, copy, length), length / 216);
        free(copy);
    }
}

/* An emulator may not know the call that reads memory without a fault; then pointers are trusted (names.c). */
static void need_checked_reads(void)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};

    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1 && errno == ENOSYS) {
        printf("no process_vm_readv here: bad pointers are not tried\n");
        skip();
    }
}

static void test_noise(void **state)
{
    uint32_t seed = 1;

    need_checked_reads();
    begin(&layouts[V12_4]);
    for (int round = 0; round < 2000; round++) {
        size_t length = (size_t)(round % 600);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            buffer[i] = (uint8_t)(seed >> 24);
        }
        uint32_t kind = (uint32_t[]){10, 1, 2, 4, 8, 22}[round % 6]; /* else nearly every buffer ends at once */
        if (length >= 4) memcpy(buffer, &kind, sizeof(kind));
        st_cupti_read(&reader, buffer, length, &rows); /* name pointers are noise, too */
    }
    assert_true(reader.unread > 0);
}

static void test_devices_are_told_once(void **state)
{
    struct st_cupti_device device = {.kind = ST_CUPTI_DEVICE, .device = 1, .uuid = {0x0f, 0xa0}, .name = "SimGPU"};

    begin(&layouts[V11_8]);
    put(&device, sizeof(device));
    put(&device, sizeof(device));
    device.device = 64; /* more than we keep */
    put(&device, sizeof(device));
    st_cupti_read(&reader, buffer, used, &rows);
    assert_int_equal(rows.device.count, 1);
    assert_int_equal(cell(&rows.device, 0, ST_DEVICE_C_device), 1);
    assert_text(&rows.device, 0, "SimGPU0fa00000000000000000000000000000");
}

/* A name is one row however often it comes; an address may mean another name in the next round. */
static void test_names(void **state)
{
    char name[64] = "first";
    char other[] = "first";
    char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    need_checked_reads();
    begin(&layouts[V13_0]);
    assert_int_equal(st_names_intern_pointer(&reader.names, NULL, &rows.string), 0);
    assert_int_equal(st_names_intern_pointer(&reader.names, name, &rows.string), 1);
    assert_int_equal(st_names_intern_pointer(&reader.names, other, &rows.string), 1);
    strcpy(name, "second");
    assert_int_equal(st_names_intern_pointer(&reader.names, name, &rows.string), 1); /* same round: not read again */
    st_names_next_round(&reader.names);
    assert_int_equal(st_names_intern_pointer(&reader.names, name, &rows.string), 2);
    assert_int_equal(rows.string.count, 2);

    memset(gone, 'x', 8192);
    munmap(gone + 4096, 4096);
    assert_int_equal(st_names_intern_pointer(&reader.names, gone, &rows.string), 0); /* runs into nothing */
    gone[4095] = '\0';
    st_names_next_round(&reader.names);
    assert_int_equal(st_names_intern_pointer(&reader.names, gone + 4090, &rows.string), 3);
    munmap(gone, 4096);
    st_names_next_round(&reader.names);
    assert_int_equal(st_names_intern_pointer(&reader.names, gone + 4090, &rows.string), 0);

    for (int i = 0; i < 5000; i++) { /* growth of both tables */
        char *text = other;          /* one address, many rounds */
        text[0] = (char)('a' + i % 25);
        text[1] = (char)('a' + i / 25 % 25);
        text[2] = (char)('a' + i / 625);
        st_names_next_round(&reader.names);
        assert_int_equal(st_names_intern_pointer(&reader.names, text, &rows.string), 4 + i);
    }
    st_names_next_round(&reader.names);
    for (int i = 0; i < 64; i++) (void)st_names_intern_pointer(&reader.names, name + i, &rows.string);
    assert_int_equal(st_names_intern(&reader.names, "first", 5, &rows.string), 1);
}

static struct st_cupti_sizes told;

static int walk(uint8_t *bytes, size_t valid, void **record)
{
    uint32_t kind;
    if (*record == NULL) {
        memcpy(&kind, bytes, sizeof(kind));
        if (kind >= ST_CUPTI_KINDS || told.bytes[kind] == 0) return 21;
        *record = bytes;
        return 0;
    }
    memcpy(&kind, *record, sizeof(kind));
    *record = (uint8_t *)*record + told.bytes[kind];
    return 0;
}

static int refuse(uint8_t *bytes, size_t valid, void **record)
{
    return 15;
}

static void test_measure(void **state)
{
    struct st_cupti_sizes measured;

    told = layouts[V12_4];
    told.bytes[38] = 44; /* not a multiple of 8: not believed */
    assert_true(st_cupti_measure(walk, &measured));
    told.bytes[38] = 0;
    assert_memory_equal(&measured, &told, sizeof(told));
    assert_false(st_cupti_measure(refuse, &measured));
}

static void test_real_library(void **state)
{
    static const char *const paths[] = {CUDA_HOME "/lib/libcupti.so.13", CUDA_HOME "/lib64/libcupti.so.13",
                                        CUDA_HOME "/extras/CUPTI/lib64/libcupti.so.13"};
    void *handle = NULL;
    st_cupti_next_record_fn next_record;
    struct st_cupti_sizes sizes;
    void *record = NULL;
    size_t at = 0;
    int count = 0;

    for (int i = 0; i < 3 && handle == NULL; i++) handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        printf("no libcupti of a toolkit here: its own walker is not compared\n");
        skip();
    }
    void *address = dlsym(handle, "cuptiActivityGetNextRecord");
    assert_non_null(address);
    memcpy(&next_record, &address, sizeof(address));
    assert_true(st_cupti_measure(next_record, &sizes));
    assert_true(sizes.bytes[ST_CUPTI_CONCURRENT_KERNEL] >= 216); /* 13.0; only ever appended to */
    assert_true(sizes.bytes[ST_CUPTI_MEMCPY] >= 96);
    assert_true(sizes.bytes[ST_CUPTI_MEMCPY2] >= 96);
    assert_true(sizes.bytes[ST_CUPTI_MEMSET] >= 88);
    assert_int_equal(sizes.bytes[ST_CUPTI_DRIVER], 40);
    assert_true(sizes.bytes[ST_CUPTI_DEVICE] >= 184);

    /* the library's walk and ours over one buffer: same places, same number */
    begin(&sizes);
    reader.call_of_cbid[1] = 0;
    for (int i = 0; i < 5; i++) {
        uint32_t set[64] = {ST_CUPTI_MEMSET}, sync[64] = {38}, copy[64] = {ST_CUPTI_MEMCPY2};
        put_kernel(10, 20, "k");
        put_api(1, 1, 1);
        put(set, 4);
        put(sync, 4);
        put(copy, 4);
    }
    while (next_record(buffer, used, &record) == 0) {
        uint32_t kind;
        assert_ptr_equal(record, buffer + at);
        memcpy(&kind, buffer + at, sizeof(kind));
        at += sizes.bytes[kind];
        count++;
    }
    assert_int_equal(count, 25);
    assert_int_equal(at, used);
    assert_int_equal(st_cupti_count(&sizes, buffer, used), 25);
}

/* ---- buffers ---- */

static int taken;
static uint8_t first_bytes[256];

static void take(void *arg, const uint8_t *bytes, size_t valid)
{
    assert_ptr_equal(arg, &taken);
    assert_int_equal(valid, 8);
    first_bytes[taken++] = bytes[0];
}

static void *complete_some(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        uint8_t *bytes;
        size_t size, records;
        st_buffers_request(&bytes, &size, &records);
        assert_non_null(bytes);
        memset(bytes, 0, 8);
        st_buffers_complete(NULL, 0, bytes, size, 0);
    }
    return NULL;
}

static void ignore(void *arg, const uint8_t *bytes, size_t valid)
{
    (*(int *)arg)++;
}

static void test_buffers(void **state)
{
    static struct st_cupti_sizes sizes;
    uint8_t *lent[129];
    size_t size, records;
    pthread_t threads[4];

    sizes = layouts[V13_0];
    assert_true(st_buffers_init(&sizes));
    for (int i = 0; i < 129; i++) {
        st_buffers_request(&lent[i], &size, &records);
        assert_int_equal(records, 0);
        assert_int_equal(size, i < 64 ? 1 << 20 : i < 128 ? 4096 : 0);
        assert_int_equal((uintptr_t)lent[i] % 8, 0);
        for (int j = 0; j < i; j++) assert_ptr_not_equal(lent[i], lent[j]);
        if (lent[i] != NULL) memset(lent[i], i, size);
    }
    assert_null(lent[128]);
    for (int i = 63; i >= 0; i--) st_buffers_complete(NULL, 0, lent[i], 1 << 20, 8);
    st_buffers_take(take, &taken);
    assert_int_equal(taken, 64);
    for (int i = 0; i < 64; i++) assert_int_equal(first_bytes[i], 63 - i); /* in order of completion */
    st_buffers_take(take, &taken);
    assert_int_equal(taken, 64);

    for (int i = 64; i < 128; i++) { /* spare ones: counted and thrown away */
        uint32_t kind = ST_CUPTI_DRIVER;
        for (int j = 0; j < 3; j++) memcpy(lent[i] + j * 40, &kind, sizeof(kind));
        st_buffers_complete(NULL, 0, lent[i], 4096, 120);
    }
    assert_int_equal(st_buffers_discarded(), 64 * 3);
    st_buffers_complete(NULL, 0, (uint8_t *)&size, 8, 8); /* not one of ours */
    st_buffers_complete(NULL, 0, NULL, 0, 0);

    taken = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, complete_some, NULL);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 100; j++) st_buffers_take(ignore, &taken);
        pthread_join(threads[i], NULL);
    }
    st_buffers_take(ignore, &taken);
    assert_true(taken >= 64);
    st_buffers_request(&lent[0], &size, &records); /* all came back */
    assert_int_equal(size, 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_layout),
        cmocka_unit_test(test_short_kernel_record),
        cmocka_unit_test(test_times_that_are_none),
        cmocka_unit_test(test_calls_not_asked_for),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_devices_are_told_once),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_measure),
        cmocka_unit_test(test_real_library),
        cmocka_unit_test(test_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
