/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap map`: what a stage map means, and what could stand in one. Main thread. */
#include "analyzer/cmd/map.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/traces.h"

enum { KEY_JSON = 0x2000, KEY_FORMAT, KEY_TOP, KEY_SOURCE };

static const struct argp_option map_options[] = {
    {"json", KEY_JSON, NULL, 0, "the document stagetap.map/1 (check) or stagetap.names/1 (names), whole", 1},
    {"format", KEY_FORMAT, "FORMAT", 0, "csv or md: one table", 1},
    {"source", KEY_SOURCE, "SOURCE", 0, "names: only those of nvtx, python, symbol, kernel or log", 2},
    {"top", KEY_TOP, "N", 0, "names: lines of each source (default 20); 0 = all", 2},
    {0},
};

static uint8_t parse_source(const char *text)
{
    for (int source = ST_MAP_NVTX; st_map_source_name((enum st_map_source)source) != NULL; source++) {
        if (strcmp(text, st_map_source_name((enum st_map_source)source)) == 0) return (uint8_t)source;
    }
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct st_map_command *command = state->input;

    switch (key) {
    case KEY_JSON:
        command->json = true;
        return 0;
    case KEY_FORMAT:
        if (strcmp(argument, "csv") != 0 && strcmp(argument, "md") != 0) {
            argp_error(state, "--format=%s: give csv or md", argument);
        }
        command->style.format = argument[0] == 'c' ? ST_GRID_FORMAT_CSV : ST_GRID_FORMAT_MD;
        return 0;
    case KEY_TOP:
        if (!st_count_parse(argument, &command->top)) argp_error(state, "--top=%s: give a number", argument);
        return 0;
    case KEY_SOURCE:
        command->source = parse_source(argument);
        if (command->source == 0) {
            argp_error(state, "--source=%s: give nvtx, python, symbol, kernel or log", argument);
        }
        return 0;
    case ARGP_KEY_ARG:
        if (command->word_count == 3) argp_error(state, "%s: one argument too many", argument);
        command->words[command->word_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int st_map_run_open(const char *word, struct st_map_run *ret)
{
    const char *const words[] = {word};
    struct st_run_files files;
    struct st_err err = {.offset = -1};
    enum st_status status = st_reader_find_run(words, word != NULL ? 1 : 0, &files, &err);

    *ret = (struct st_map_run){0};
    if (status == ST_OK) {
        status = st_traces_load(&files, &ret->model);
        st_run_files_finish(&files);
    } else {
        st_say_err(&err);
    }
    if (status != ST_OK) return status == ST_USAGE ? ST_EXIT_USAGE : ST_EXIT_UNREADABLE;
    if (st_map_names_collect(ret->model, ST_NONE, &ret->names)) return ST_EXIT_OK;
    st_say_error("out of memory");
    st_map_run_finish(ret);
    return ST_EXIT_UNREADABLE;
}

void st_map_run_finish(struct st_map_run *run)
{
    st_map_names_finish(&run->names);
    st_model_destroy(run->model);
    *run = (struct st_map_run){0};
}

static int run(int argc, char **argv)
{
    static const struct argp argp = {
        map_options, parse_option, "check MAP [FILE]\nnames [FILE]",
        "check: what each rule of a stage map – rules, a file or presets joined with + – means, in a sentence; every "
        "mistake with its line and column; warnings for what is most likely a slip. With FILE also how often each rule "
        "matched in that run, which never did, and names that it may have meant. Without one, `names` takes the newest "
        "run here.\n\n"
        "names: what could stand in a map: NVTX ranges, Python and native functions, printed lines and kernels that "
        "were seen in a run, each as a rule to paste; behind -> stands what it is now, or … for you to fill in."
        "\vExit status: 0 all is well; 1 check found a mistake, or a rule that never matched; 2 usage, or no such "
        "preset; 3 a file that cannot be read."};
    struct st_map_command command = {.top = 20, .style = {.out = stdout}};

    argp_parse(&argp, argc, argv, 0, NULL, &command);
    if (command.word_count >= 2 && strcmp(command.words[0], "check") == 0) return st_map_check_run(&command);
    if ((command.word_count == 1 || command.word_count == 2) && strcmp(command.words[0], "names") == 0) {
        return st_map_names_run(&command);
    }
    st_say_error("map: say stagetap map check MAP [FILE], or stagetap map names [FILE]");
    return ST_EXIT_USAGE;
}

const struct st_command st_command_map = {
    "map", "check MAP [FILE] | names [FILE]", "what the rules of a stage map mean and match; names that one could map",
    run};
