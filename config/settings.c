/* SPDX-License-Identifier: Apache-2.0 */
/* Checking the values of settings; see settings.h. */
#include "settings.h"

#include <string.h>

const struct st_setting st_settings[ST_SETTING_COUNT] = {
#define ST_SETTING(ID, option_, letter_, KIND, allowed_, now_, default_, help_) \
    [ST_SET_##ID] = {"STAGETAP_" #ID, option_, letter_, ST_KIND_##KIND, allowed_, now_, default_, help_},
#include "settings.def"
#undef ST_SETTING
};

const struct st_setting *st_setting_find(const char *variable)
{
    for (size_t i = 0; i < ST_SETTING_COUNT; i++) {
        if (strcmp(st_settings[i].variable, variable) == 0) {
            return &st_settings[i];
        }
    }
    return NULL;
}

/* Place of the word in a list like a|b|c, or -1. */
static int place_in_list(const char *list, char separator, const char *word, size_t length)
{
    for (int place = 0; *list; place++) {
        size_t item = strcspn(list, (char[]){separator, '\0'});
        if (item == length && length && memcmp(list, word, length) == 0) {
            return place;
        }
        list += item + (list[item] != '\0');
    }
    return -1;
}

int st_list_place(const char *list, char separator, const char *word)
{
    return place_in_list(list, separator, word, strlen(word));
}

static void append(char *ret, size_t size, const char *text, size_t length)
{
    size_t used = strlen(ret), room = size - used - 1;
    length = length < room ? length : room;
    memcpy(ret + used, text, length);
    ret[used + length] = '\0';
}

void st_setting_choices(const struct st_setting *setting, char *ret, size_t size)
{
    const char *now = setting->now, *allowed = setting->allowed;
    ret[0] = '\0';
    if (!now || !*now) {
        append(ret, size, allowed, strlen(allowed));
        append(ret, size, " (later versions; none in this one)", now ? 35 : 0);
        return;
    }
    char separator = strchr(allowed, '|') ? '|' : ',';
    append(ret, size, now, strlen(now));
    append(ret, size, " (later versions: ", 18);
    for (bool is_first = true; *allowed; allowed += *allowed != '\0') {
        size_t length = strcspn(allowed, (char[]){separator, '\0'});
        if (place_in_list(now, '|', allowed, length) < 0) {
            append(ret, size, &separator, !is_first);
            append(ret, size, allowed, length);
            is_first = false;
        }
        allowed += length;
    }
    append(ret, size, ")", 1);
}

bool st_setting_works(const struct st_setting *setting, const char *value)
{
    return !setting->now || st_list_place(setting->now, '|', value) >= 0;
}

int st_setting_choice(const struct st_setting *setting, const char *value)
{
    return st_list_place(setting->allowed, '|', value);
}

static const char *get_number(const char *text, uint64_t limit, uint64_t *ret_value)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
        if (value > limit) {
            return NULL;
        }
    }
    *ret_value = value;
    return at == text ? NULL : at;
}

bool st_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char UNITS[] = "KMGT";
    uint64_t value = 0;
    const char *at = get_number(text, UINT64_C(1) << 40, &value);
    if (!at) {
        return false;
    }
    const char *unit = *at ? strchr(UNITS, *at >= 'a' ? *at - 32 : *at) : NULL;
    if (unit) {
        for (const char *u = UNITS; u <= unit; u++) {
            if (value > UINT64_MAX / 1024) {
                return false;
            }
            value *= 1024;
        }
        at++;
        at += *at == 'i';
        at += *at == 'B';
    }
    *ret_bytes = value;
    return *at == '\0';
}

bool st_parse_duration(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        uint64_t ns;
    } UNITS[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
    uint64_t value = 0;
    const char *at = get_number(text, 1000000000, &value);
    for (size_t i = 0; at && i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        if (strcmp(at, UNITS[i].suffix) == 0) {
            *ret_ns = value * UNITS[i].ns;
            return true;
        }
    }
    return false;
}

/* Digits with an optional fraction; not strtod, which follows the target's locale. */
static const char *get_decimal(const char *at, double *ret_value)
{
    uint64_t whole = 0;
    at = get_number(at, 1000000, &whole);
    *ret_value = (double)whole;
    if (at && *at == '.') {
        double unit = 0.1;
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10) {
            *ret_value += (*at - '0') * unit;
        }
    }
    return at;
}

bool st_parse_rounds(const char *text, struct st_rounds_rule *ret_rule)
{
    struct st_rounds_rule rule = {0};
    uint64_t count = 0;
    const char *end;
    if (strncmp(text, "warmup=", 7) == 0) {
        end = get_number(text + 7, 1000000, &count);
        rule.warmup_count = (uint32_t)count;
    } else if (strncmp(text, "stable=", 7) == 0) {
        const char *after = get_decimal(text + 7, &rule.stable_percent);
        rule.is_stable_rule = true;
        if (!after || after[0] != '%' || after[1] != '/' || !(rule.stable_percent > 0 && rule.stable_percent <= 100)) {
            return false;
        }
        end = get_number(after + 2, 1000000, &count);
        rule.stable_count = (uint32_t)count;
        if (end && count < 2) {
            return false;
        }
    } else {
        return false;
    }
    if (!end || *end) {
        return false;
    }
    *ret_rule = rule;
    return true;
}

/* A-B with 1 <= A <= B, or a single number. */
static bool get_range(const char *at, struct st_window_range *ret_range)
{
    at = get_number(at, UINT32_MAX, &ret_range->first);
    ret_range->last = ret_range->first;
    if (at && *at == '-') {
        at = get_number(at + 1, UINT32_MAX, &ret_range->last);
    }
    return at && !*at && ret_range->first >= 1 && ret_range->last >= ret_range->first;
}

/* START+LENGTH */
static bool get_times(char *at, struct st_window_range *ret_range)
{
    char *plus = strchr(at, '+');
    if (!plus) {
        return false;
    }
    *plus = '\0';
    bool good = st_parse_duration(at, &ret_range->first) && st_parse_duration(plus + 1, &ret_range->last);
    ret_range->last += ret_range->first;
    return good;
}

static bool add_window_item(struct st_window_rule *rule, const char *text, size_t length)
{
    char item[64];
    if (length >= sizeof(item)) {
        return false;
    }
    memcpy(item, text, length);
    item[length] = '\0';
    if (strcmp(item, "profiler") == 0) {
        return rule->uses_profiler = true;
    }
    if (strncmp(item, "steps:", 6) == 0) {
        return rule->step_count < ST_MAX_WINDOW_ITEMS && get_range(item + 6, &rule->steps[rule->step_count++]);
    }
    if (strncmp(item, "requests:", 9) == 0) {
        return rule->request_count < ST_MAX_WINDOW_ITEMS && get_range(item + 9, &rule->requests[rule->request_count++]);
    }
    return strncmp(item, "time:", 5) == 0 && rule->time_count < ST_MAX_WINDOW_ITEMS &&
           get_times(item + 5, &rule->times[rule->time_count++]);
}

bool st_parse_window(const char *text, struct st_window_rule *ret_rule)
{
    memset(ret_rule, 0, sizeof(*ret_rule));
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (!add_window_item(ret_rule, text, length)) {
            return false;
        }
        text += length;
        if (!*text) {
            return true;
        }
    }
}

/* key=value, keys not empty; an empty item (a trailing `;`) is fine. */
static bool is_meta(const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    return length == 0 || (equals && equals > text);
}

static bool each_item(const char *value, char separator, bool (*is_good)(const char *, size_t))
{
    for (;;) {
        size_t length = strcspn(value, (char[]){separator, '\0'});
        if (!is_good(value, length)) {
            return false;
        }
        if (!value[length]) {
            return true;
        }
        value += length + 1;
    }
}

static bool is_collectable(const char *text, size_t length)
{
    return place_in_list(st_settings[ST_SET_COLLECT].allowed, ',', text, length) >= 0;
}

static bool is_size_in_range(const struct st_setting *setting, const char *value)
{
    uint64_t bytes;
    if (!st_parse_size(value, &bytes)) {
        return false;
    }
    if (setting == &st_settings[ST_SET_BUFFER]) {
        return bytes >= 64 << 10 && bytes <= 16 << 20;
    }
    return bytes >= 64 << 10;
}

bool st_setting_check(const struct st_setting *setting, const char *value)
{
    uint64_t ns;
    struct st_rounds_rule rule;
    struct st_window_rule window;
    switch (setting->kind) {
    case ST_KIND_TEXT:
    case ST_KIND_MAP:
        return value[0] != '\0';
    case ST_KIND_CHOICE:
        return st_setting_choice(setting, value) >= 0;
    case ST_KIND_CHOICES:
        return strcmp(value, "none") == 0 || each_item(value, ',', is_collectable);
    case ST_KIND_SIZE:
        return is_size_in_range(setting, value);
    case ST_KIND_DURATION:
        return st_parse_duration(value, &ns) && ns >= 10000000;
    case ST_KIND_WINDOW:
        return st_parse_window(value, &window);
    case ST_KIND_META:
        return each_item(value, ';', is_meta);
    case ST_KIND_ROUNDS:
        return st_parse_rounds(value, &rule);
    case ST_KIND_LOG: {
        size_t length = strcspn(value, "=");
        return place_in_list("quiet|warn|debug", '|', value, length) >= 0 && (!value[length] || value[length + 1]);
    }
    }
    return false;
}
