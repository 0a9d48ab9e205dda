/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap map check MAP`: are these rules right, and what do they mean? Main thread. */
#include <argp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/map_load.h"
#include "analyzer/render/grid.h"

struct map_options {
    const char *words[2];
    int word_count;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct map_options *options = state->input;

    if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
    if (options->word_count == 2) argp_error(state, "%s: one argument too many", argument);
    options->words[options->word_count++] = argument;
    return 0;
}

static const char *source_name(uint8_t source)
{
    static const char *const names[] = {[ST_MAP_NVTX] = "nvtx",
                                        [ST_MAP_PYTHON] = "python",
                                        [ST_MAP_SYMBOL] = "symbol",
                                        [ST_MAP_KERNEL] = "kernel",
                                        [ST_MAP_LOG] = "log"};

    return source < sizeof(names) / sizeof(names[0]) ? names[source] : NULL;
}

static const char *role_name(uint8_t role)
{
    static const char *const names[] = {
        [ST_MAP_STAGE] = "stage", [ST_MAP_REQUEST] = "request", [ST_MAP_STEP] = "step", [ST_MAP_STEP_END] = "step-end",
        [ST_MAP_BEGIN] = "begin", [ST_MAP_END] = "end",         [ST_MAP_LOAD] = "load", [ST_MAP_OFF] = "off",
        [ST_MAP_BEGIN_REQUEST] = "begin request", [ST_MAP_END_REQUEST] = "end request"};

    return role < sizeof(names) / sizeof(names[0]) ? names[role] : NULL;
}

static bool print_rules(const struct st_map *map)
{
    struct st_style style = {.out = stdout};
    struct st_grid grid;
    bool ok;

    st_grid_init(&grid);
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "origin");
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "line");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "source");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "pattern");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "meaning");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "name");
    for (uint32_t i = 0; i < map->count; i++) {
        const struct st_map_rule *rule = &map->rules[i];

        st_grid_add_text(&grid, rule->origin);
        st_grid_add_value(&grid, true, rule->line_number);
        st_grid_add_text(&grid, source_name(rule->source));
        st_grid_add_text(&grid, rule->pattern);
        st_grid_add_text(&grid, role_name(rule->role));
        st_grid_add_text(&grid, rule->name[0] != '\0' ? rule->name : NULL);
    }
    ok = st_grid_print(&grid, &style);
    st_grid_finish(&grid);
    return ok;
}

static void say_line(const char *line)
{
    st_say_error("%s", line);
}

/* Two rules for the same names: the first one counts, so the second is most likely a slip. */
static void warn_of_doubles(const struct st_map *map)
{
    for (uint32_t i = 1; i < map->count; i++) {
        const struct st_map_rule *rule = &map->rules[i], *first = map->rules;

        while (first < rule && (first->source != rule->source || strcmp(first->pattern, rule->pattern) != 0)) first++;
        if (first == rule) continue;
        st_say_error(
            "%s: line %u: warning: %s %s stands in %s, line %u already; the first one counts, this one never does",
            rule->origin, rule->line_number, source_name(rule->source), rule->pattern, first->origin,
            first->line_number);
    }
}

static int check(const char *value)
{
    static const int codes[] = {[ST_MAP_RIGHT] = ST_EXIT_OK,
                                [ST_MAP_MISTAKEN] = ST_EXIT_FOUND,
                                [ST_MAP_NO_PRESET] = ST_EXIT_USAGE,
                                [ST_MAP_UNREADABLE] = ST_EXIT_UNREADABLE};
    struct st_map map;
    enum st_map_verdict verdict = st_map_load_all(value, &map, say_line);
    int code = codes[verdict];

    char idle[160];

    warn_of_doubles(&map);
    if (verdict == ST_MAP_RIGHT && st_map_idle_rules(&map, idle, sizeof(idle))) st_say_error("%s: %s", value, idle);
    if (verdict == ST_MAP_RIGHT && map.count == 0) {
        st_say_error("%s: has no rules", value);
        code = ST_EXIT_FOUND;
    } else if (verdict == ST_MAP_RIGHT && !print_rules(&map)) {
        code = ST_EXIT_UNREADABLE;
    }
    st_map_load_finish(&map);
    return code;
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        NULL, parse_option, "check MAP",
        "Check a stage map – rules, a file or presets joined with + – and list its rules. Every mistake is told with "
        "its place; two rules for the same pattern are a warning, rules that this version does not follow (log) a "
        "remark."
        "\vExit status: 0 right, 1 a mistake was found, 2 no such preset, 3 a file that cannot be read."};
    struct map_options options = {0};

    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.word_count != 2 || strcmp(options.words[0], "check") != 0) {
        st_say_error("map: say stagetap map check MAP");
        return ST_EXIT_USAGE;
    }
    return check(options.words[1]);
}

const struct st_command st_command_map = {"map", "check MAP", "check a stage map and list its rules", run};
