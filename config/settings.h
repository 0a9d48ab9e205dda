/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of surface §1: one list (settings.def) and the checks of their values, for the preloaded
 * library (bad value: default) and for `stagetap run` (bad value: refused). No allocation, no printing.
 */
#ifndef ST_CONFIG_SETTINGS_H
#define ST_CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum st_setting_kind {
    ST_KIND_TEXT,
    ST_KIND_MAP,
    ST_KIND_CHOICE,
    ST_KIND_CHOICES,
    ST_KIND_SIZE,
    ST_KIND_DURATION,
    ST_KIND_WINDOW,
    ST_KIND_META,
    ST_KIND_ROUNDS,
    ST_KIND_LOG,
};

enum st_setting_id {
#define ST_SETTING(ID, option, letter, KIND, allowed, now, default_text, help) ST_SET_##ID,
#include "settings.def"
#undef ST_SETTING
    ST_SETTING_COUNT
};

struct st_setting {
    const char *variable; /* STAGETAP_… */
    const char *option;   /* of `stagetap run`, without -- */
    char letter;          /* short option, or 0 */
    enum st_setting_kind kind;
    const char *allowed;  /* what a value may be, for messages */
    const char *now;      /* those of them that this version can do, as a|b; NULL = all, "" = none */
    const char *default_text;
    const char *help;
};
extern const struct st_setting st_settings[ST_SETTING_COUNT];

/* Is the value well-formed? (A map's rules and files are not looked at.) */
bool st_setting_check(const struct st_setting *setting, const char *value);

/* Can this version do what a well-formed value asks for? */
bool st_setting_works(const struct st_setting *setting, const char *value);

/* What a value may be in this version, and what only in later ones: "trace|off (later versions: baseline)". */
void st_setting_choices(const struct st_setting *setting, char *ret, size_t size);

/* The setting of a variable name, or NULL. */
const struct st_setting *st_setting_find(const char *variable);

/* Place of `word` in a list like a|b|c, from 0; -1 if it is not there. */
int st_list_place(const char *list, char separator, const char *word);
/* … in the choices of a setting. */
int st_setting_choice(const struct st_setting *setting, const char *value);

/* "2G", "64K", "1000": powers of 1024. False: not a size. */
bool st_parse_size(const char *text, uint64_t *ret_bytes);
/* "1s", "250ms", "10us", "5m". False: not a time. */
bool st_parse_duration(const char *text, uint64_t *ret_ns);

/* Where full detail is wanted. Items of one kind are alternatives; kinds that are there must all hold. */
#define ST_MAX_WINDOW_ITEMS 16
struct st_window_rule {
    struct st_window_range {
        uint64_t first, last; /* steps, requests: times: ns from the start of the trace */
    } steps[ST_MAX_WINDOW_ITEMS], requests[ST_MAX_WINDOW_ITEMS], times[ST_MAX_WINDOW_ITEMS];
    uint32_t step_count, request_count, time_count;
    bool uses_profiler; /* between cudaProfilerStart and cudaProfilerStop */
};
bool st_parse_window(const char *text, struct st_window_rule *ret_rule);
/* Is `value` in one of the ranges, `last` included? */
static inline bool st_window_has(const struct st_window_range *ranges, uint32_t count, uint64_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (value >= ranges[i].first && value <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* The steady rule: warmup=N, or stable=P%/K. Exactly one of the two is set. */
struct st_rounds_rule {
    bool is_stable_rule;
    uint32_t warmup_count;
    double stable_percent;
    uint32_t stable_count;
};
bool st_parse_rounds(const char *text, struct st_rounds_rule *ret_rule);

#endif
