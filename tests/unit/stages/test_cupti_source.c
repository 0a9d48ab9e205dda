/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUPTI source against made-up libraries that behave and misbehave: what is asked of them, in which
 * order, and what the capabilities say afterwards. Each case runs in a child process of its own, for the
 * source starts once in a process.
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
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/calls/calls.h"
#include "preload/device/cupti_abi.h"
#include "preload/device/device.h"
#include "preload/watch/watch.h"
#include "preload/writer/spawn.h"
#include "preload/record/window.h"

#define PATH "/made/up/libcupti.so.13"

/* assert_…() of cmocka would jump into the parent's test list. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s (log: %s)\n", __FILE__, __LINE__, #condition, told);                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* ---- a made-up libcupti ---- */

static struct {
    int subscribe_result; /* of Subscribe */
    bool is_old;          /* without what came after 11.0 */
    uint32_t refused_kind;
    int dropped_result;
    bool hangs; /* FlushAll(forced) */
    bool has_short_kernels;
    uint32_t version;
} fake = {.version = 130001};

static char told[4096]; /* what was called, in order */
static st_cupti_request_fn request;
static st_cupti_complete_fn complete;
static int records_to_deliver;

#define TELL(...) snprintf(told + strlen(told), sizeof(told) - strlen(told), __VA_ARGS__)

__thread uint32_t st_suppress;

/* No window is set. */
const struct st_window_rule *st_window_rule(void)
{
    return NULL;
}

bool st_window_next_flip(struct st_window_flip *ret_flip, bool *ret_is_whole)
{
    return false;
}

static int GetVersion(uint32_t *version)
{
    CHECK(st_suppress > 0);
    *version = fake.version;
    return 0;
}

static int GetResultString(int result, const char **text)
{
    *text = result == 15 ? "CUPTI_ERROR_NOT_INITIALIZED" : result == 14 ? "CUPTI_ERROR_NOT_COMPATIBLE" : NULL;
    return *text != NULL ? 0 : 1;
}

static int Subscribe(void **subscriber, st_cupti_callback_fn callback, void *user)
{
    TELL("subscribe ");
    *subscriber = &fake;
    return fake.subscribe_result;
}

static int Subscribe_v2(void **subscriber, st_cupti_callback_fn callback, void *user,
                        struct st_cupti_subscriber_params *params)
{
    CHECK(callback != NULL && params->struct_bytes == 32 && params->old_name_bytes >= 64);
    if (fake.subscribe_result == 39) strcpy(params->old_name, "Nsight Systems");
    return Subscribe(subscriber, callback, user);
}

static int Unsubscribe(void *subscriber)
{
    CHECK(subscriber == &fake);
    TELL("unsubscribe ");
    return 0;
}

static int GetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
    static const char *const names[] = {NULL,
                                        "cuInit",
                                        "cuLaunchKernel",
                                        "cuCtxGetCurrent",
                                        "cuMemcpyHtoD_v2",
                                        "cuLaunchHostFunc",
                                        "cuStreamSynchronize"};
    CHECK(domain == 1);
    if (cbid == 0 || cbid >= 7) return 1;
    *name = names[cbid];
    return 0;
}

static int GetTimestamp(uint64_t *timestamp)
{
    CHECK(st_suppress > 0);
    *timestamp = 123456789;
    return 0;
}

static int SetThreadIdType(uint32_t type)
{
    CHECK(type == 1);
    TELL("threads ");
    return 0;
}

static int ActivityRegisterCallbacks(st_cupti_request_fn request_fn, st_cupti_complete_fn complete_fn)
{
    TELL("register ");
    request = request_fn;
    complete = complete_fn;
    return 0;
}

static int ActivityEnable(uint32_t kind)
{
    CHECK(st_suppress > 0);
    TELL("kind%u ", kind);
    return kind == fake.refused_kind ? 14 : 0;
}

static int ActivityEnableAndDump(uint32_t kind)
{
    TELL("dump%u ", kind);
    return 0;
}

static int ActivityEnableDriverApi(uint32_t cbid, uint8_t enable)
{
    CHECK(enable == 1);
    TELL("call%u ", cbid);
    return 0;
}

static size_t size_of(uint32_t kind)
{
    switch (kind) {
    case 1:
        return 96;
    case 2:
        return 88;
    case 4:
    case 5:
        return 40;
    case 8:
        return 184;
    case 10:
        return fake.has_short_kernels ? 96 : 216;
    case 22:
        return 96;
    default:
        return 0;
    }
}

static int ActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, void **record)
{
    uint32_t kind;
    memcpy(&kind, *record != NULL ? *record : buffer, sizeof(kind));
    if (size_of(kind) == 0) return 21;
    *record = *record != NULL ? (uint8_t *)*record + size_of(kind) : buffer;
    return 0;
}

static int ActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    CHECK(st_suppress > 0 && context == NULL && stream == 0);
    if (fake.dropped_result == 0) *dropped = 3;
    return fake.dropped_result;
}

static int ActivityFlushAll(uint32_t flags)
{
    CHECK(st_suppress > 0);
    TELL("flush%u ", flags);
    if (flags == 1 && fake.hangs) sleep(60);
    for (; records_to_deliver > 0; records_to_deliver--) {
        struct st_cupti_kernel kernel = {.kind = 10, .start = 100, .end = 200, .name = "k"};
        struct st_cupti_api api = {.kind = 4, .cbid = 2, .start = 90, .end = 95, .thread = 7};
        uint8_t *buffer;
        size_t bytes, max_records;
        request(&buffer, &bytes, &max_records);
        memset(buffer, 0, 216);
        memcpy(buffer, &kernel, sizeof(kernel));
        memcpy(buffer + 216, &api, sizeof(api));
        complete(NULL, 0, buffer, bytes, 216 + 40);
    }
    return 0;
}

/* ---- what the rest of the preloaded library gives ---- */

void *st_watch_real_dlopen(const char *file, int flags)
{
    return strcmp(file, PATH) == 0 ? &fake : NULL;
}

void *st_watch_real_dlsym(void *handle, const char *name)
{
    static const char *const optional[] = {"cuptiSubscribe_v2", "cuptiSetThreadIdType", "cuptiActivityEnableAndDump",
                                           "cuptiActivityEnableDriverApi", "cuptiGetResultString"};
    CHECK(handle == &fake);
    for (int i = 0; i < 5 && fake.is_old; i++)
        if (strcmp(name, optional[i]) == 0) return NULL;
#define ADDRESS(function, parameters, is_optional)                                                                     \
    if (strcmp(name, "cupti" #function) == 0) return (void *)function;
    ST_CUPTI_FUNCTIONS(ADDRESS)
#undef ADDRESS
    CHECK(!"unknown function");
    return NULL;
}

const char *st_watch_real_dlerror(void)
{
    return NULL;
}

static void *find_function(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

int st_call_find(const char *name)
{
    return strcmp(name, "cuLaunchKernel") == 0 ? 17 : -1;
}

/* ---- asking the source ---- */

static struct st_device_rows rows;
static char why[512];

static void collect(bool is_final)
{
    struct st_rows *all[] = {&rows.kernel, &rows.copy, &rows.memset, &rows.driver_api, &rows.device, &rows.string};
    static const uint16_t tables[] = {ST_T_KERNEL, ST_T_COPY, ST_T_MEMSET, ST_T_DRIVER_API, ST_T_DEVICE, ST_T_STRING};
    for (int i = 0; i < 6; i++) all[i]->table = tables[i];
    st_device_source.collect(&rows, is_final);
    CHECK(st_suppress == 0);
}

/* State of a kind; its reason is left in `why`. */
static int state_of(const char *kind)
{
    struct st_rows capabilities = {.table = ST_T_CAPABILITY};
    size_t at = 0;
    st_device_source.capabilities(&capabilities);
    for (uint32_t i = 0; i < capabilities.count; i++) {
        const int64_t *cells = (const int64_t *)(const void *)capabilities.cells.bytes + i * ST_COUNT_C_CAPABILITY;
        const char *texts = (const char *)capabilities.texts.bytes + at;
        size_t length = (size_t)cells[ST_CAPABILITY_C_kind];
        at += length + (size_t)cells[ST_CAPABILITY_C_source] + (size_t)cells[ST_CAPABILITY_C_why];
        if (length != strlen(kind) || memcmp(texts, kind, length) != 0) continue;
        snprintf(why, sizeof(why), "%.*s", (int)cells[ST_CAPABILITY_C_why],
                 texts + length + cells[ST_CAPABILITY_C_source]);
        int state = (int)cells[ST_CAPABILITY_C_state];
        st_rows_finish(&capabilities);
        return state;
    }
    CHECK(!"no such kind");
    return -1;
}

static bool facts_hold(const char *text)
{
    struct st_rows keys = {.table = ST_T_KEY};
    st_device_facts(&keys);
    return keys.count > 0 && memmem(keys.texts.bytes, keys.texts.length, text, strlen(text)) != NULL;
}

static void run(void (*scenario)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        scenario();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define CASE(name)                                                                                                     \
    static void name(void);                                                                                            \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        run(name);                                                                                                     \
    }                                                                                                                  \
    static void name(void)

CASE(all_well)
{
    uint64_t losses[ST_LOST_CAUSES] = {0};

    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strstr(why, "cuInit") != NULL);
    CHECK(st_device_source.clock() == 0);
    CHECK(!facts_hold("cupti"));
    collect(false);
    CHECK(told[0] == '\0');

    st_device_start(PATH, NULL);
    CHECK(st_suppress == 0);
    CHECK(strcmp(told, "subscribe unsubscribe register threads call2 call4 call6 dump8 kind10 kind2 kind22 kind1 ") ==
          0);
    CHECK(state_of("kernel") == ST_CAP_ACCEPTED && why[0] == '\0');
    CHECK(state_of("driver_api") == ST_CAP_ACCEPTED);
    CHECK(facts_hold("cupti.path" PATH) && facts_hold("cupti.version13.0"));
    CHECK(st_device_source.clock() == 123456789);

    records_to_deliver = 2;
    collect(false);
    CHECK(rows.kernel.count == 2 && rows.driver_api.count == 2 && rows.string.count == 1);
    CHECK(((const int64_t *)(const void *)rows.driver_api.cells.bytes)[ST_DRIVER_API_C_call] == 17);
    CHECK(state_of("kernel") == ST_CAP_SEEN && state_of("driver_api") == ST_CAP_SEEN);
    CHECK(state_of("memcpy") == ST_CAP_ACCEPTED); /* nothing came yet */
    records_to_deliver = 1;
    collect(true);
    CHECK(rows.kernel.count == 3);
    CHECK(strstr(told, "flush0 flush0 flush1 ") != NULL);
    CHECK(st_device_source.clock() == 123456789); /* the last clock row comes after the last flush */
    st_device_source.losses(losses);
    CHECK(losses[ST_LOST_DEVICE_DROPPED] == 6 && losses[ST_LOST_DEVICE_INVALID] == 0);
    told[0] = '\0';
    collect(true);
    st_device_start(PATH, NULL); /* only once */
    CHECK(told[0] == '\0');
}

CASE(another_tool)
{
    fake.subscribe_result = 39;
    st_device_start(PATH, NULL);
    CHECK(strcmp(told, "subscribe ") == 0); /* nothing else is touched */
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strstr(why, "Nsight Systems") != NULL);
    CHECK(state_of("driver_api") == ST_CAP_NOT_COLLECTED);
    CHECK(st_device_source.clock() == 0);
    collect(true);
    CHECK(rows.kernel.count == 0);
}

CASE(no_privileges)
{
    fake.subscribe_result = 35;
    st_device_start(PATH, NULL);
    CHECK(state_of("memset") == ST_CAP_NOT_COLLECTED && strstr(why, "NVreg_RestrictProfilingToAdminUsers=0") != NULL);
}

CASE(not_initialized)
{
    fake.subscribe_result = 15;
    st_device_start(PATH, NULL);
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED);
    CHECK(strstr(why, PATH) != NULL && strstr(why, "CUPTI_ERROR_NOT_INITIALIZED") != NULL);
    CHECK(facts_hold("cupti.tried" PATH));
}

CASE(no_library)
{
    st_device_start(NULL, NULL);
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strstr(why, "no libcupti found") != NULL);
}

CASE(one_kind_refused)
{
    fake.refused_kind = 2;
    st_device_start(PATH, NULL);
    CHECK(state_of("memset") == ST_CAP_NOT_COLLECTED && strcmp(why, "CUPTI_ERROR_NOT_COMPATIBLE") == 0);
    CHECK(state_of("kernel") == ST_CAP_ACCEPTED && state_of("memcpy") == ST_CAP_ACCEPTED);
}

CASE(no_peer_copies)
{
    fake.refused_kind = 22;
    st_device_start(PATH, NULL);
    CHECK(state_of("memcpy") == ST_CAP_DEGRADED && strstr(why, "between devices") != NULL);
}

CASE(old_library)
{
    fake.is_old = true;
    fake.version = 18;
    st_device_start(PATH, NULL);
    CHECK(strcmp(told, "subscribe unsubscribe register kind4 kind8 kind10 kind2 kind22 kind1 ") == 0);
    CHECK(state_of("driver_api") == ST_CAP_DEGRADED && strstr(why, "thread ids") != NULL);
    CHECK(facts_hold("cupti.version11.8"));
}

CASE(short_records)
{
    fake.has_short_kernels = true;
    st_device_start(PATH, NULL);
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strstr(why, "96 bytes") != NULL);
    CHECK(strstr(told, "kind10 ") == NULL && strstr(told, "kind1 ") != NULL);
}

CASE(unknown_losses)
{
    uint64_t losses[ST_LOST_CAUSES] = {0};

    fake.dropped_result = 14;
    st_device_start(PATH, NULL);
    collect(false);
    CHECK(state_of("device_loss") == ST_CAP_DEGRADED);
    st_device_source.losses(losses);
    CHECK(losses[ST_LOST_DEVICE_DROPPED] == 0);
}

CASE(hang_at_the_end)
{
    struct timespec begin, end;

    fake.hangs = true;
    st_device_start(PATH, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    collect(true);
    clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK(end.tv_sec - begin.tv_sec >= 1 && end.tv_sec - begin.tv_sec <= 4);
    CHECK(state_of("kernel") == ST_CAP_DEGRADED && strstr(why, "did not come back") != NULL);
    CHECK(st_device_source.clock() == 0);
    told[0] = '\0';
    collect(true);
    CHECK(told[0] == '\0');
}

CASE(refused_by_settings)
{
    st_device_refuse("turned off");
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strcmp(why, "turned off") == 0);
    st_device_start(PATH, NULL);
    CHECK(told[0] == '\0');
}

CASE(forked)
{
    st_device_start(PATH, NULL);
    told[0] = '\0';
    st_device_fork_child();
    collect(false);
    collect(true);
    st_device_start(PATH, NULL);
    CHECK(st_device_source.clock() == 0);
    CHECK(told[0] == '\0'); /* hands off */
    CHECK(state_of("kernel") == ST_CAP_NOT_COLLECTED && strstr(why, "forked") != NULL);
}

CASE(forked_before)
{
    st_device_refuse("no");
    st_device_fork_child();
    st_device_start(PATH, NULL); /* the parent never used it: the child may */
    CHECK(state_of("kernel") == ST_CAP_ACCEPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_well),        cmocka_unit_test(test_another_tool),
        cmocka_unit_test(test_no_privileges),   cmocka_unit_test(test_not_initialized),
        cmocka_unit_test(test_no_library),      cmocka_unit_test(test_one_kind_refused),
        cmocka_unit_test(test_no_peer_copies),  cmocka_unit_test(test_old_library),
        cmocka_unit_test(test_short_records),   cmocka_unit_test(test_unknown_losses),
        cmocka_unit_test(test_hang_at_the_end), cmocka_unit_test(test_refused_by_settings),
        cmocka_unit_test(test_forked),          cmocka_unit_test(test_forked_before),
    };
    st_spawn_find = find_function;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
