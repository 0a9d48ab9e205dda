/* SPDX-License-Identifier: Apache-2.0 */
/* Just enough of the Itanium C++ mangling: _Z<length><name> and _ZN[<qualifier>](<length><name>)+. */
#include "kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_kernel_base_name(const char *name, char *base, size_t size)
{
    const char *at = name;
    const char *last = name;
    size_t last_length = strlen(name);

    if (strncmp(name, "_Z", 2) == 0) {
        at += 2;
        if (*at == 'N') {
            at++;
            while (*at == 'K' || *at == 'V') {
                at++;
            }
        }
        if (*at == 'L') {
            at++; /* a static function */
        }
        while (isdigit((unsigned char)*at)) {
            char *text;
            unsigned long length = strtoul(at, &text, 10);

            if (length == 0 || length > strlen(text)) {
                break;
            }
            last = text;
            last_length = length;
            at = text + length;
        }
    }
    snprintf(base, size, "%.*s", (int)last_length, last);
}

bool sim_kernel_name_time(const char *base, uint64_t *ns)
{
    static const struct {
        const char *unit;
        uint64_t scale;
    } units[] = {{"us", 1000}, {"ns", 1}, {"ms", 1000000}};
    const char *digits = strrchr(base, '_');
    char *end;
    unsigned long long number;

    if (digits == NULL || !isdigit((unsigned char)digits[1])) {
        return false;
    }
    number = strtoull(digits + 1, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) == 0 && number < 1000000000000ull) {
            *ns = number * units[i].scale;
            return true;
        }
    }
    return false;
}
