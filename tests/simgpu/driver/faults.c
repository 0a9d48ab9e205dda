/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_FAULTS: a comma list of `word` or `word=value`. One table; values are numbers (see faults.h). */
#include "faults.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum value_kind { PLAIN, NUMBER, PERCENT, VERSION };

static struct fault {
    const char *name;
    enum value_kind kind;
    long value;
} faults[] = {
    {"no-cupti", PLAIN, -1},       {"cupti-layout", VERSION, -1},   {"subscriber-taken", PLAIN, -1},
    {"no-privilege", PLAIN, -1},   {"drop", PERCENT, -1},           {"unordered", PLAIN, -1},
    {"zero-timestamps", PLAIN, -1}, {"clock-step", PLAIN, -1},      {"launch-fail", NUMBER, -1},
    {"malloc-fail", NUMBER, -1},   {"hang-at-exit", PLAIN, -1},     {"abort", NUMBER, -1},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool valid = true;

static struct fault *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strlen(faults[i].name) == length && memcmp(faults[i].name, name, length) == 0) {
            return &faults[i];
        }
    }
    return NULL;
}

/* The value of one word; -1 when it is not of the kind that the fault takes. */
static long parse_value(enum value_kind kind, const char *text)
{
    char *end;
    long value, minor;

    if (kind == PLAIN) {
        return text == NULL ? 1 : -1;
    }
    if (text == NULL || *text < '0' || *text > '9') {
        return -1;
    }
    value = strtol(text, &end, 10);
    switch (kind) {
    case NUMBER:
        return *end == '\0' && value > 0 ? value : -1;
    case PERCENT:
        return strcmp(end, "%") == 0 && value > 0 && value <= 100 ? value : -1;
    default:
        if (*end != '.' || end[1] < '0' || end[1] > '9') {
            return -1;
        }
        minor = strtol(end + 1, &end, 10);
        return *end == '\0' ? value * 1000 + minor * 10 : -1;
    }
}

static void parse(void)
{
    const char *list = getenv("SIMGPU_FAULTS");
    char *copy = strdup(list != NULL ? list : "");
    char *rest = copy;
    char *word;

    while (copy != NULL && (word = strsep(&rest, ",")) != NULL) {
        char *equals = strchr(word, '=');
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        struct fault *fault = find(word, length);
        long value = fault == NULL ? -1 : parse_value(fault->kind, equals != NULL ? equals + 1 : NULL);

        if (*word == '\0') {
            continue;
        }
        if (value < 0) {
            fprintf(stderr, "simgpu: SIMGPU_FAULTS: '%s' is not known (the list: tests/simgpu/README.md)\n", word);
            valid = false;
        } else {
            fault->value = value;
        }
    }
    free(copy);
}

long simgpu_fault(const char *name)
{
    struct fault *fault;

    pthread_once(&once, parse);
    fault = find(name, strlen(name));
    return fault != NULL ? fault->value : -1;
}

bool sim_faults_valid(void)
{
    pthread_once(&once, parse);
    return valid;
}
