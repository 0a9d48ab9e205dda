/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model file, one statement a line, `#` begins a comment; of several lines that fit, the first counts. The
 * grammar and the defaults are described in tests/simgpu/README.md.
 */
#include "model.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "context.h"
#include "kernel_name.h"
#include "truth.h"

enum { RULES_MAX = 256, WORDS_MAX = 8, COPY_H2D = 1, COPY_D2H = 2, COPY_D2D = 8, COPY_P2P = 10 };

struct kernel_rule {
    char *glob;
    struct sim_kernel_cost cost;
};

struct copy_rule {
    uint32_t copy_kind; /* 0: memset */
    uint32_t memory;    /* 0: any */
    double bytes_per_ns, fixed_ns;
};

struct sim_model sim_model = {.devices = 1, .queue = 1024, .speed = 1.0, .speed_after_ns = SIM_NEVER};

static struct kernel_rule kernel_rules[RULES_MAX];
static unsigned kernel_rule_count;
static struct copy_rule copy_rules[RULES_MAX];
static unsigned copy_rule_count;

/* Kernels of simgpu's cuBLAS: their argument is thousands of floating-point operations, of which there are 50 a ns. */
#define MATRIX_KERNELS "simgpu_"
static const struct sim_kernel_cost matrix_cost = {.fixed_ns = 3000, .per_argument_ns = 0.02};

/* GB/s is bytes per nanosecond. */
static const struct copy_rule default_rules[] = {
    {COPY_H2D, SIM_MEMORY_PAGEABLE, 6, 10000}, {COPY_D2H, SIM_MEMORY_PAGEABLE, 6, 10000},
    {COPY_H2D, 0, 24, 6000},                   {COPY_D2H, 0, 24, 6000},
    {COPY_D2D, 0, 700, 3000},                  {COPY_P2P, 0, 20, 8000},
    {0, 0, 1000, 2000},
};

/* ---- numbers with units ------------------------------------------------------------------------------------- */

static bool parse_with_unit(const char *text, const char *const units[], const double scales[], double *value)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || !(number >= 0) || number > 1e18) {
        return false;
    }
    for (unsigned i = 0; units[i] != NULL; i++) {
        if (strcmp(end, units[i]) == 0) {
            *value = number * scales[i];
            return true;
        }
    }
    return false;
}

static bool parse_time(const char *text, double *ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s", NULL};
    static const double scales[] = {1, 1e3, 1e6, 1e9};

    return parse_with_unit(text, units, scales, ns);
}

static bool parse_rate(const char *text, double *bytes_per_ns)
{
    static const char *const units[] = {"GB/s", "MB/s", NULL};
    static const double scales[] = {1, 1e-3};

    return parse_with_unit(text, units, scales, bytes_per_ns) && *bytes_per_ns > 0;
}

static bool parse_count(const char *text, unsigned long least, unsigned long most, uint32_t *value)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || number < least || number > most) {
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

/* ---- statements --------------------------------------------------------------------------------------------- */

/* `300us`, `2us+0.5ns*threads` or `2us+0.5ns*argument` */
static bool parse_kernel(char **words, unsigned count)
{
    struct kernel_rule *rule = &kernel_rules[kernel_rule_count];
    struct sim_kernel_cost *cost = &rule->cost;
    char *plus, *times;

    if (count != 3 || kernel_rule_count == RULES_MAX) {
        return false;
    }
    plus = strchr(words[2], '+');
    if (plus != NULL) {
        *plus++ = '\0';
        times = strchr(plus, '*');
        if (times == NULL || (strcmp(times, "*threads") != 0 && strcmp(times, "*argument") != 0)) {
            return false;
        }
        *times++ = '\0';
        if (!parse_time(plus, *times == 't' ? &cost->per_thread_ns : &cost->per_argument_ns)) {
            return false;
        }
    }
    rule->glob = strdup(words[1]);
    kernel_rule_count++;
    return rule->glob != NULL && parse_time(words[2], &cost->fixed_ns);
}

static int find_word(const char *word, const char *const words[])
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* `copy h2d pageable 6GB/s 10us`, the kind of memory and the time may be left out; `memset 1000GB/s 2us` */
static bool parse_copy(char **words, unsigned count)
{
    static const char *const directions[] = {"h2d", "d2h", "d2d", "p2p", NULL};
    static const uint32_t copy_kinds[] = {COPY_H2D, COPY_D2H, COPY_D2D, COPY_P2P};
    static const char *const memories[] = {"pageable", "pinned", "device", "managed", NULL};
    static const uint32_t memory_kinds[] = {SIM_MEMORY_PAGEABLE, SIM_MEMORY_PINNED, SIM_MEMORY_DEVICE,
                                            SIM_MEMORY_MANAGED};
    struct copy_rule *rule = &copy_rules[copy_rule_count];
    unsigned at = 1;
    int found;

    if (copy_rule_count == RULES_MAX) {
        return false;
    }
    if (strcmp(words[0], "copy") == 0) {
        found = at < count ? find_word(words[at++], directions) : -1;
        if (found < 0) {
            return false;
        }
        rule->copy_kind = copy_kinds[found];
        found = at < count ? find_word(words[at], memories) : -1;
        if (found >= 0) {
            rule->memory = memory_kinds[found];
            at++;
        }
    }
    if (at >= count || !parse_rate(words[at++], &rule->bytes_per_ns) ||
        (at < count && !parse_time(words[at++], &rule->fixed_ns))) {
        return false;
    }
    copy_rule_count++;
    return at == count;
}

static bool parse_host_cost(char **words, unsigned count, uint64_t *ns)
{
    double value;

    if (count != 2 || !parse_time(words[1], &value)) {
        return false;
    }
    *ns = (uint64_t)value;
    return true;
}

static bool parse_streams(char **words, unsigned count)
{
    static const char *const ways[] = {"concurrent", "serial", NULL};
    int way = count == 2 ? find_word(words[1], ways) : -1;

    sim_model.serial = way == 1;
    return way >= 0;
}

/* `speed 0.92 after 3s` */
static bool parse_speed(char **words, unsigned count)
{
    double after_ns = 0;
    char *end;

    if (count != 2 && (count != 4 || strcmp(words[2], "after") != 0 || !parse_time(words[3], &after_ns))) {
        return false;
    }
    sim_model.speed = strtod(words[1], &end);
    sim_model.speed_after_ns = (uint64_t)after_ns;
    return *end == '\0' && sim_model.speed > 0 && sim_model.speed < 1e6;
}

static bool parse_foreign(char **words, unsigned count)
{
    char *percent = count == 2 ? strchr(words[1], '%') : NULL;

    if (percent == NULL || percent[1] != '\0') {
        return false;
    }
    *percent = '\0';
    return parse_count(words[1], 0, 95, &sim_model.foreign_percent);
}

static bool parse_statement(char **words, unsigned count)
{
    if (strcmp(words[0], "kernel") == 0) {
        return parse_kernel(words, count);
    }
    if (strcmp(words[0], "copy") == 0 || strcmp(words[0], "memset") == 0) {
        return parse_copy(words, count);
    }
    if (strcmp(words[0], "launch") == 0) {
        return parse_host_cost(words, count, &sim_model.launch_ns);
    }
    if (strcmp(words[0], "first-launch") == 0) {
        return parse_host_cost(words, count, &sim_model.first_launch_ns);
    }
    if (strcmp(words[0], "queue") == 0) {
        return count == 2 && parse_count(words[1], 1, 1 << 20, &sim_model.queue);
    }
    if (strcmp(words[0], "devices") == 0) {
        return count == 2 && parse_count(words[1], 0, SIM_DEVICES_MAX, &sim_model.devices);
    }
    if (strcmp(words[0], "streams") == 0) {
        return parse_streams(words, count);
    }
    if (strcmp(words[0], "small-d2h") == 0) {
        sim_model.zero_small_d2h = true;
        return count == 2 && strcmp(words[1], "zero") == 0;
    }
    if (strcmp(words[0], "speed") == 0) {
        return parse_speed(words, count);
    }
    return strcmp(words[0], "foreign") == 0 && parse_foreign(words, count);
}

static bool parse_line(const char *path, unsigned number, char *line)
{
    char *words[WORDS_MAX], *rest = line, *word;
    char whole[256];
    unsigned count = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    snprintf(whole, sizeof(whole), "%s", line);
    while ((word = strsep(&rest, " \t")) != NULL) {
        if (*word != '\0' && count < WORDS_MAX) {
            words[count++] = word;
        }
    }
    if (count > 0 && !parse_statement(words, count)) {
        fprintf(stderr, "simgpu: %s:%u: not understood: %s (the grammar: tests/simgpu/README.md)\n", path, number,
                whole);
        return false;
    }
    return true;
}

bool sim_model_load(void)
{
    const char *path = getenv("SIMGPU_MODEL");
    char *line = NULL;
    size_t size = 0;
    unsigned number = 0;
    bool understood = true;
    FILE *file;

    sim_model.start_ns = sim_now_ns();
    if (path == NULL || *path == '\0') {
        return true;
    }
    file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "simgpu: SIMGPU_MODEL: %s: %m\n", path);
        return false;
    }
    while (understood && getline(&line, &size, file) > 0) {
        understood = parse_line(path, ++number, line);
    }
    free(line);
    fclose(file);
    return understood;
}

/* ---- durations ---------------------------------------------------------------------------------------------- */

struct sim_kernel_cost sim_model_kernel(const char *name)
{
    char base[256];
    uint64_t from_name_ns = 5000;

    sim_kernel_base_name(name, base, sizeof(base));
    for (unsigned i = 0; i < kernel_rule_count; i++) {
        const struct kernel_rule *rule = &kernel_rules[i];

        if (fnmatch(rule->glob, name, 0) == 0 || fnmatch(rule->glob, base, 0) == 0) {
            return rule->cost;
        }
    }
    if (strncmp(base, MATRIX_KERNELS, strlen(MATRIX_KERNELS)) == 0) {
        return matrix_cost;
    }
    sim_kernel_name_time(base, &from_name_ns);
    return (struct sim_kernel_cost){.fixed_ns = (double)from_name_ns};
}

static const struct copy_rule *find_copy_rule(uint32_t copy_kind, uint32_t memory)
{
    unsigned defaults = sizeof(default_rules) / sizeof(default_rules[0]);

    for (unsigned i = 0; i < copy_rule_count + defaults; i++) {
        const struct copy_rule *rule = i < copy_rule_count ? &copy_rules[i] : &default_rules[i - copy_rule_count];

        if (rule->copy_kind == copy_kind && (rule->memory == 0 || rule->memory == memory)) {
            return rule;
        }
    }
    return &default_rules[defaults - 1];
}

uint64_t sim_model_transfer_ns(uint32_t copy_kind, uint32_t memory, uint64_t bytes)
{
    return (uint64_t)((double)bytes / find_copy_rule(copy_kind, memory)->bytes_per_ns + 0.5);
}

uint64_t sim_model_copy_ns(uint32_t copy_kind, uint32_t memory, uint64_t bytes)
{
    const struct copy_rule *rule = find_copy_rule(copy_kind, memory);

    return (uint64_t)(rule->fixed_ns + (double)bytes / rule->bytes_per_ns + 0.5);
}

uint64_t sim_model_memset_ns(uint64_t bytes)
{
    return sim_model_copy_ns(0, 0, bytes);
}

uint64_t sim_model_at_speed(uint64_t duration_ns, uint64_t when_ns)
{
    if (sim_model.speed_after_ns == SIM_NEVER || when_ns < sim_model.start_ns + sim_model.speed_after_ns) {
        return duration_ns;
    }
    return (uint64_t)((double)duration_ns / sim_model.speed + 0.5);
}
