/* SPDX-License-Identifier: Apache-2.0 */
/* Facts for META chunks; see facts.h. By default no environment beyond the allow-list below, no arguments. */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "backends.h"
#include "libc.h"
#include "libraries.h"
#include "options.h"
#include "preload/calls/calls.h"
#include "preload/calls/capture.h"
#include "preload/device/device.h"
#include "preload/record/record.h"
#include "preload/stages/python.h"
#include "preload/stages/python_facts.h"
#include "preload/stages/recognise.h"
#include "preload/stages/seen.h"
#include "preload/stages/stages.h"
#include "preload/stages/symbols.h"
#include "preload/stages/unwind.h"
#include "preload/trace/notes.h"
#include "preload/trace/table.h"
#include "preload/watch/watch.h"
#include "where.h"

/* Variables of others that change timing or what a figure means; recorded as KEY "env.NAME". */
static const char *const ENVIRONMENT[] = {
    "CUDA_LAUNCH_BLOCKING",    "CUDA_VISIBLE_DEVICES",        "CUDA_MODULE_LOADING",
    "CUDA_DEVICE_ORDER",       "CUDA_DEVICE_MAX_CONNECTIONS", "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",      "PYTORCH_NO_CUDA_MEMORY_CACHING", "NVIDIA_TF32_OVERRIDE",
    "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "CUDA_CACHE_DISABLE", "OMP_NUM_THREADS",
    "CUBLAS_WORKSPACE_CONFIG", "CUDA_FORCE_PTX_JIT",          "CUDA_DISABLE_PERF_BOOST",
    "PYTORCH_TUNABLEOP_ENABLED", "TORCHDYNAMO_DISABLE",       "TORCH_COMPILE_DISABLE",
};

/* For who has only the file. */
__attribute__((used)) static const char version_mark[] = ST_VERSION_MARK ST_VERSION;

static char program_name[128];

void st_facts_set_program(const char *program)
{
    snprintf(program_name, sizeof(program_name), "%s", program);
}

bool st_facts_simulated(void)
{
    struct st_watch_provider provider;
    for (uint32_t n = 0; st_watch_get_provider(n, &provider); n++) {
        if (provider.simulated) {
            return true;
        }
    }
    return false;
}

static struct st_text text_of(const char *text)
{
    return (struct st_text){text, (uint32_t)strlen(text)};
}

static void add_key(struct st_rows *rows, enum st_key_group group, const char *key, const char *value)
{
    st_rows_add(rows, (int64_t[ST_COUNT_C_KEY]){group, 0, 0}, (struct st_text[]){text_of(key), text_of(value)});
}

static void add_declared(struct st_rows *rows)
{
    const char *at = st_options.values[ST_SET_META];
    while (at && *at) {
        size_t length = strcspn(at, ";"), key = strcspn(at, "=");
        if (key < length) {
            st_rows_add(rows, (int64_t[ST_COUNT_C_KEY]){ST_KEY_DECLARED, 0, 0},
                        (struct st_text[]){{at, (uint32_t)key}, {at + key + 1, (uint32_t)(length - key - 1)}});
        }
        at += length + (at[length] != '\0');
    }
}

/* What this trace has so far. A forked child's begins with nothing. */
static struct {
    uint32_t row_names, host_functions, recognised, seen;
} written;

/* Which map is in force, why, and what its presets were checked against; later rows count. */
static void add_map(struct st_rows *rows)
{
    struct st_recognised recognised;
    st_recognise_tell(&recognised);
    bool any = recognised.names[0] != '\0';
    add_key(rows, ST_KEY_SETTING, "map", any ? recognised.names : st_options.map_origin);
    add_key(rows, ST_KEY_SETTING, "map.why", any ? recognised.why : st_options.map_why);
    add_key(rows, ST_KEY_SETTING, "map.checked", any ? recognised.checked : st_options.map_checked);
}

static void add_settings(struct st_rows *rows)
{
    for (int i = 0; i < ST_SETTING_COUNT; i++) {
        bool is_path = i == ST_SET_OUT || i == ST_SET_MAP || i == ST_SET_CUPTI; /* may name a person: not recorded */
        if (!is_path && i != ST_SET_META) {
            add_key(rows, ST_KEY_SETTING, st_settings[i].option,
                    st_options.values[i] ? st_options.values[i] : st_settings[i].default_text);
        }
    }
    add_map(rows);
    for (int i = 0; i < st_options.note_count; i++) {
        add_key(rows, ST_KEY_NOTE, "setting", st_options.notes[i]);
    }
}

static void add_found(struct st_rows *rows)
{
    struct utsname system;
    char text[256];
    add_key(rows, ST_KEY_FOUND, "program", program_name);
    add_key(rows, ST_KEY_FOUND, "stagetap", version_mark + strlen(ST_VERSION_MARK));
    add_key(rows, ST_KEY_FOUND, "glibc", gnu_get_libc_version());
    if (uname(&system) == 0) {
        snprintf(text, sizeof(text), "%s %s %s", system.sysname, system.release, system.machine);
        add_key(rows, ST_KEY_FOUND, "os", text);
    }
    for (size_t i = 0; i < sizeof(ENVIRONMENT) / sizeof(ENVIRONMENT[0]); i++) {
        const char *value = st_options_environment(ENVIRONMENT[i]);
        if (value) {
            snprintf(text, sizeof(text), "env.%s", ENVIRONMENT[i]);
            add_key(rows, ST_KEY_FOUND, text, value);
        }
    }
}

static void add_calls(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_CALLDEF};
    for (uint16_t i = 0; i < st_call_count; i++) {
        const struct st_call_row *row = &st_calls[i];
        st_rows_add(&rows, (int64_t[ST_COUNT_C_CALLDEF]){i, row->layer, row->class_id, row->blocks, 0, row->does},
                    (struct st_text[]){text_of(row->name)});
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

static void add_rules(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_RULE};
    const struct st_map_rule *rule;
    for (uint32_t i = 0; (rule = st_stages_rule(i)) != NULL; i++) {
        if (!st_stages_rule_counts(i)) {
            continue;
        }
        int64_t matched = (int64_t)st_stages_matched(i);
        st_rows_add(&rows, (int64_t[ST_COUNT_C_RULE]){i, rule->source, rule->role, matched, 0, 0, 0},
                    (struct st_text[]){text_of(rule->pattern), text_of(rule->name), text_of(rule->text)});
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

static void add_name(struct st_rows *rows, enum st_name_kind kind, uint64_t key, const char *text)
{
    st_rows_add(rows, (int64_t[ST_COUNT_C_NAME]){kind, (int64_t)st_ticks(), (int64_t)key, 0},
                (struct st_text[]){text_of(text)});
}

/* Names that were not written before: a ring announces its thread's row names, but not every name has a ring. */
static void add_new_names(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_NAME};
    for (uint32_t count = st_row_name_count(); written.row_names < count; written.row_names++) {
        add_name(&rows, ST_NAME_ROW, written.row_names + 1, st_row_name_text(written.row_names + 1));
    }
    const void *function;
    for (; (function = st_watch_host_function(written.host_functions)); written.host_functions++) {
        char text[256];
        st_where(st_watch_unwrap((void *)(uintptr_t)function), text, sizeof(text)); /* it may be a stage function */
        add_name(&rows, ST_NAME_HOST_FUNCTION, (uintptr_t)function, text);
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

/* Host functions that were registered with the runtime before the trace began. */
static void add_early_names(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_NAME};
    int kind;
    uint64_t key;
    const char *text;
    for (uint32_t n = 0; st_call_early_name(n, &kind, &key, &text); n++) {
        add_name(&rows, kind, key, text);
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

void st_facts_add_start(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    memset(&written, 0, sizeof(written));
    written.recognised = st_recognise_count();
    add_declared(&keys);
    add_settings(&keys);
    add_found(&keys);
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
    add_calls(payload);
    add_rules(payload);
    add_new_names(payload);
    add_early_names(payload);
}

static void add_providers(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    struct st_watch_provider provider;
    for (uint32_t n = 0; st_watch_get_provider(n, &provider); n++) {
        char key[32], value[128];
        snprintf(key, sizeof(key), "provider.%u", n + 1);
        snprintf(value, sizeof(value), "%s%s", provider.soname, provider.simulated ? " (simulated)" : "");
        add_key(&keys, ST_KEY_FOUND, key, value);
    }
    if (st_facts_simulated()) { /* the driver may come after the header was written */
        add_key(&keys, ST_KEY_FOUND, "simulated", "yes");
    }
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
}

static void add_libraries(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    const char *key;
    char version[ST_LIBRARY_VERSION_BYTES];
    for (uint32_t n = 0; st_library_get(n, &key, version); n++) {
        if (version[0] != '\0') {
            add_key(&keys, ST_KEY_FOUND, key, version);
        }
    }
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
}

static void add_python(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    const char *description = st_python_description(), *note = st_python_note();
    const char *key, *value;
    if (description) {
        add_key(&keys, ST_KEY_FOUND, "python", description);
    }
    for (uint32_t n = 0; st_python_fact(n, &key, &value); n++) {
        add_key(&keys, ST_KEY_FOUND, key, value);
    }
    if (note) {
        add_key(&keys, ST_KEY_NOTE, "setting", note);
    }
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
}

static void add_counters(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_COUNTER};
    struct st_watch_stats stats;
    struct st_python_stats python;
    st_watch_get_stats(&stats);
    struct st_unwind_stats unwound;
    st_python_get_stats(&python);
    st_unwind_get_stats(&unwound);
    const struct {
        const char *name;
        uint64_t value;
    } COUNTERS[] = {
        {"lookups.asked", stats.lookups_asked},
        {"lookups.found", stats.lookups_found},
        {"lookups.wrapped", stats.lookups_wrapped},
        {"lookups.passed", stats.lookups_passed},
        {"lookups.not_found", stats.lookups_not_found},
        {"watch.edits", stats.edits},
        {"watch.edits_refused", stats.edits_refused},
        {"watch.slots", stats.slots},
        {"watch.slots_refused", stats.slots_refused},
        {"watch.out_of_reach", stats.out_of_reach},
        {"watch.thrown", stats.thrown},
        {"watch.abandoned", stats.abandoned},
        {"watch.too_deep", stats.too_deep},
        {"watch.bound_before", stats.bound_before},
        {"watch.unbounded", stats.unbounded},
        {"host_functions.untimed", stats.host_untimed},
        {"capture.untracked", st_capture_untracked()},
        {"unwind.walks", unwound.walks},
        {"unwind.known", unwound.known},
        {"unwind.too_deep", unwound.too_deep},
        {"seen.untold", st_seen_untold()},
        {"python.codes", python.codes},
        {"python.mismatches", python.mismatches},
    };
    for (size_t i = 0; i < sizeof(COUNTERS) / sizeof(COUNTERS[0]); i++) {
        st_rows_add(&rows, (int64_t[ST_COUNT_C_COUNTER]){(int64_t)COUNTERS[i].value, 0},
                    (struct st_text[]){text_of(COUNTERS[i].name)});
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

static void add_misses(struct st_buffer *payload)
{
    struct st_rows rows = {.table = ST_T_NOT_INTERCEPTED};
    struct st_watch_miss miss;
    for (uint32_t n = 0; st_watch_get_miss(n, &miss); n++) {
        st_rows_add(&rows, (int64_t[ST_COUNT_C_NOT_INTERCEPTED]){miss.version, (int64_t)miss.flags, 0, 0},
                    (struct st_text[]){text_of(miss.symbol), text_of(miss.caller)});
    }
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

/* What could not be seen as a whole, in words. */
static void add_unreached(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    struct st_watch_unreached unreached;
    struct st_watch_stats stats;
    char text[512];
    for (uint32_t n = 0; st_watch_get_unreached(n, &unreached); n++) {
        snprintf(text, sizeof(text), "%s (%s) is in another link namespace (dlmopen): its calls were not seen%s",
                 unreached.soname, unreached.path, st_watch_is_audited() ? "" : "; `stagetap run --audit` reaches it");
        add_key(&keys, ST_KEY_NOTE, "out of reach", text);
    }
    st_watch_get_stats(&stats);
    if (stats.bound_before) {
        snprintf(text, sizeof(text),
                 "%llu object%s (first: %s) came in one dlopen with the CUDA library that they use: what their "
                 "constructors called was not seen; `stagetap run --audit` sees it",
                 (unsigned long long)stats.bound_before, stats.bound_before == 1 ? "" : "s",
                 st_watch_first_bound_before());
        add_key(&keys, ST_KEY_NOTE, "out of reach", text);
    }
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
}

/* A preset was recognised since the last time: what it is, and its rules. */
static void add_recognised(struct st_buffer *payload)
{
    uint32_t count = st_recognise_count();
    if (count == written.recognised) {
        return;
    }
    written.recognised = count;
    struct st_rows keys = {.table = ST_T_KEY};
    add_map(&keys);
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
    add_rules(payload);
}

/* Why rules met nothing. */
static void add_reasons(struct st_buffer *payload)
{
    struct st_rows keys = {.table = ST_T_KEY};
    char text[512];
    for (uint32_t i = 0; i < st_options.map.count; i++) {
        if (st_symbols_reason(i, text, sizeof(text))) {
            add_key(&keys, ST_KEY_NOTE, "rule", text);
        }
    }
    st_table_encode(&keys, payload);
    st_rows_finish(&keys);
}

/* Names from the n-th on: as they come, and all of them with their final counts at the end. */
static void add_seen(struct st_buffer *payload, uint32_t n)
{
    struct st_rows rows = {.table = ST_T_SEEN};
    enum st_map_source source;
    uint64_t count;
    const char *text;
    for (; st_seen_get(n, &source, &count, &text); n++) {
        st_rows_add(&rows, (int64_t[ST_COUNT_C_SEEN]){source, (int64_t)count, 0}, (struct st_text[]){text_of(text)});
    }
    written.seen = n;
    st_table_encode(&rows, payload);
    st_rows_finish(&rows);
}

/* What ran there is not collected, whether it is much or nothing. */
static void add_backends(struct st_rows *capabilities)
{
    struct st_backend backend;
    char why[96];
    for (uint32_t n = 0; st_backend_get(n, &backend); n++) {
        snprintf(why, sizeof(why), "%s is loaded; only CUDA is followed", backend.soname);
        st_rows_add(capabilities, (int64_t[ST_COUNT_C_CAPABILITY]){[ST_CAPABILITY_C_state] = ST_CAP_NOT_COLLECTED},
                    (struct st_text[]){text_of(backend.name), text_of("host"), text_of(why)});
    }
}

void st_facts_add_state(struct st_buffer *payload, bool is_final)
{
    add_new_names(payload);
    add_recognised(payload);
    add_counters(payload);
    add_python(payload);
    add_libraries(payload);
    add_providers(payload);
    add_misses(payload);
    add_unreached(payload);
    struct st_rows device = {.table = ST_T_KEY};
    st_device_facts(&device);
    st_table_encode(&device, payload);
    st_rows_finish(&device);
    struct st_rows capabilities = {.table = ST_T_CAPABILITY};
    st_stages_capabilities(&capabilities);
    add_backends(&capabilities);
    st_table_encode(&capabilities, payload);
    st_rows_finish(&capabilities);
    if (is_final) {
        add_rules(payload);
        add_reasons(payload);
        st_unwind_tell_seen();
    }
    add_seen(payload, is_final ? 0 : written.seen);
}
