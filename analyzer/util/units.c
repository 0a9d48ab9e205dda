/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers to text and back. No floating point: what is written is the exact value, rounded once. No state.
 */
#include "analyzer/util/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int64_t divisor;
} time_units[] = {
    [ST_UNIT_AUTO] = {"auto", 0},   [ST_UNIT_NS] = {"ns", 1},        [ST_UNIT_US] = {"us", 1000},
    [ST_UNIT_MS] = {"ms", 1000000}, [ST_UNIT_S] = {"s", 1000000000},
};

static int64_t power_of_10(int exponent)
{
    int64_t power = 1;

    while (exponent-- > 0) power *= 10;
    return power;
}

static int64_t magnitude(int64_t value)
{
    if (value == INT64_MIN) return INT64_MAX;
    return value < 0 ? -value : value;
}

bool st_unit_parse(const char *text, enum st_unit *ret_unit)
{
    for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++) {
        if (strcmp(text, time_units[i].name) == 0) {
            *ret_unit = (enum st_unit)i;
            return true;
        }
    }
    return false;
}

/* Decimals so that the largest value shows about four digits, but never more than the unit has. */
static int decimals_for(int64_t largest, int64_t divisor)
{
    int64_t whole = largest / divisor;
    int decimals = whole >= 100 ? 1 : whole >= 10 ? 2 : 3;

    while (decimals > 0 && divisor % power_of_10(decimals) != 0) decimals--;
    return decimals;
}

struct st_scale st_scale_time(enum st_unit unit, int64_t largest_ns)
{
    largest_ns = magnitude(largest_ns);
    if (unit == ST_UNIT_AUTO) {
        unit = largest_ns >= 10000000000 ? ST_UNIT_S
               : largest_ns >= 1000000   ? ST_UNIT_MS
               : largest_ns >= 1000      ? ST_UNIT_US
                                         : ST_UNIT_NS;
    }
    int64_t divisor = time_units[unit].divisor;
    return (struct st_scale){divisor, decimals_for(largest_ns, divisor), time_units[unit].name};
}

/* Would `value` be written as 0? */
static bool rounds_to_zero(const struct st_scale *scale, int64_t value)
{
    return value < scale->divisor / power_of_10(scale->decimals) - value;
}

struct st_scale st_scale_bytes(int64_t largest_bytes, int64_t smallest_bytes)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
    struct st_scale scale;
    int64_t divisor = 1;
    int step = 0;

    largest_bytes = magnitude(largest_bytes);
    while (step < 4 && largest_bytes / divisor >= 1000) {
        divisor *= 1000;
        step++;
    }
    scale = (struct st_scale){divisor, decimals_for(largest_bytes, divisor), names[step]};
    while (smallest_bytes > 0 && step > 0 && rounds_to_zero(&scale, smallest_bytes)) {
        if (scale.decimals < 3) {
            scale.decimals++;
        } else {
            step--;
            scale.divisor /= 1000;
            scale.name = names[step];
        }
    }
    return scale;
}

struct st_scale st_scale_count(void)
{
    return (struct st_scale){1, 0, ""};
}

char *st_scale_format(const struct st_scale *scale, int64_t value, char ret[ST_NUMBER_BYTES])
{
    uint64_t positive = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t power = (uint64_t)power_of_10(scale->decimals);
    uint64_t step = (uint64_t)scale->divisor / power;
    uint64_t rounded = positive / step + (positive % step >= step - positive % step ? 1 : 0);
    const char *sign = value < 0 && rounded != 0 ? "-" : "";

    if (scale->decimals == 0) {
        snprintf(ret, ST_NUMBER_BYTES, "%s%" PRIu64, sign, rounded);
    } else {
        snprintf(ret, ST_NUMBER_BYTES, "%s%" PRIu64 ".%0*" PRIu64, sign, rounded / power, scale->decimals,
                 rounded % power);
    }
    return ret;
}

char *st_scale_show(const struct st_scale *scale, int64_t value, char ret[ST_NUMBER_BYTES])
{
    if (value <= 0 || !rounds_to_zero(scale, value)) return st_scale_format(scale, value, ret);
    ret[0] = '<';
    if (scale->decimals == 0) {
        strcpy(ret + 1, "1");
    } else {
        snprintf(ret + 1, ST_NUMBER_BYTES - 1, "0.%0*d", scale->decimals, 1);
    }
    return ret;
}

char *st_time_format(enum st_unit unit, int64_t value_ns, char ret[ST_NUMBER_BYTES])
{
    struct st_scale scale;

    /* A single time reads best from 1 s on in seconds; a column changes later, to keep its small values. */
    if (unit == ST_UNIT_AUTO && magnitude(value_ns) >= 1000000000) unit = ST_UNIT_S;
    scale = st_scale_time(unit, value_ns);
    st_scale_show(&scale, value_ns, ret);
    strncat(ret, " ", ST_NUMBER_BYTES - strlen(ret) - 1);
    strncat(ret, scale.name, ST_NUMBER_BYTES - strlen(ret) - 1);
    return ret;
}

bool st_count_parse(const char *text, int64_t *ret_value)
{
    int64_t value = 0;

    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > (INT64_MAX - 9) / 10) return false;
        value = value * 10 + (*text - '0');
    }
    *ret_value = value;
    return true;
}
