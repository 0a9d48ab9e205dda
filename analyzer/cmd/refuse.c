/* SPDX-License-Identifier: Apache-2.0 */
/* The checks. They read files that a value names and change nothing. */
#include "analyzer/cmd/refuse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/map_load.h"

static bool is_readable_file(const char *path, char why[ST_WHY_BYTES])
{
    if (access(path, R_OK) == 0) return true;
    snprintf(why, ST_WHY_BYTES, "%.300s: %s", path, strerror(errno));
    return false;
}

bool st_value_is_usable(const struct st_setting *setting, const char *value, char why[ST_WHY_BYTES])
{
    if (!st_setting_check(setting, value)) {
        char choices[160];

        st_setting_choices(setting, choices, sizeof(choices));
        snprintf(why, ST_WHY_BYTES, "not allowed; allowed: %s", choices);
        return false;
    }
    if (!st_setting_works(setting, value)) {
        snprintf(why, ST_WHY_BYTES, "not in this version%s%s", setting->now[0] != '\0' ? "; it has: " : "",
                 setting->now);
        return false;
    }
    switch ((enum st_setting_id)(setting - st_settings)) {
    case ST_SET_MAP:
        return st_map_load_check(value, why, ST_WHY_BYTES);
    case ST_SET_CUPTI:
        return is_readable_file(value, why);
    default:
        return true;
    }
}

bool st_environment_is_usable(char *const *environment, char why[ST_WHY_BYTES])
{
    for (; *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        const struct st_setting *setting;
        char variable[64], reason[ST_WHY_BYTES];

        if (equals == NULL || strncmp(*environment, "STAGETAP_", 9) != 0) continue;
        if (strncmp(*environment, "STAGETAP_INTERNAL_", 18) == 0) continue;
        snprintf(variable, sizeof(variable), "%.*s", (int)(equals - *environment), *environment);
        setting = st_setting_find(variable);
        if (setting == NULL) {
            snprintf(why, ST_WHY_BYTES, "%s: no such setting; `stagetap help run` lists them", variable);
            return false;
        }
        /* an empty variable is as good as none */
        if (equals[1] == '\0' || st_value_is_usable(setting, equals + 1, reason)) continue;
        snprintf(why, ST_WHY_BYTES, "%s=%.80s: %.350s", variable, equals + 1, reason);
        return false;
    }
    return true;
}
