/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap map names [FILE]`: what was seen in a run that a rule could match. Main thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/map.h"
#include "analyzer/cmd/map_words.h"
#include "analyzer/render/json.h"

#define RULE_BYTES 1024
#define TO_FILL_IN "…"

static bool is_wanted(const struct st_map_command *command, uint8_t source)
{
    return command->source == 0 || command->source == source;
}

static int by_source_and_count(const void *left, const void *right)
{
    const struct st_map_name *a = left, *b = right;

    if (a->source != b->source) return (int)a->source - (int)b->source;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return strcmp(a->text, b->text);
}

static void write_rule(const struct st_map_name *name, char ret[RULE_BYTES])
{
    char meaning[160] = TO_FILL_IN;

    if (name->rule != NULL) {
        st_map_meaning((enum st_map_role)name->rule->role, name->rule->name, meaning, sizeof(meaning));
    }
    st_map_rule_for((enum st_map_source)name->source, name->text, name->is_cut, meaning, ret, RULE_BYTES);
}

/* ---- sources without a name ---- */

static bool has_names(const struct st_map_names *names, uint8_t source)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->items[i].source == source) return true;
    }
    return false;
}

/* Was there a rule of this source in any process? */
static bool has_rules(const struct st_model *model, uint8_t source)
{
    for (size_t i = 0; i < model->trace_count; i++) {
        for (size_t k = 0; k < model->traces[i].rule_count; k++) {
            if (model->traces[i].rules[k].source == source) return true;
        }
    }
    return false;
}

/* Why there are no names of a source, and what to do to get some. */
static const char *what_to_do(const struct st_model *model, uint8_t source)
{
    switch ((enum st_map_source)source) {
    case ST_MAP_NVTX:
        return has_rules(model, source)
                   ? "the program opened no NVTX range"
                   : "not looked for, as the map had no nvtx rule; run it with one, any one: STAGETAP_MAP='nvtx "
                     "request -> request'";
    case ST_MAP_PYTHON:
        return "no Python function was on the stack of a CUDA call; is this a Python program? STAGETAP_PY must not be "
               "off";
    case ST_MAP_SYMBOL:
        return "native functions are noted only on demand: run it with STAGETAP_COLLECT=stacks; `nm -D --defined-only "
               "LIB | grep ' T '` lists what a library exports";
    case ST_MAP_KERNEL:
        return st_model_has_device_time(model) ? "no kernel ran"
                                               : "kernels have names only where device times were collected: `stagetap "
                                                 "report` says why they were not";
    case ST_MAP_LOG:
        return "printed lines are noted only where the map has a log rule; a rule can be written from what the program "
               "prints: log \"sampling completed*\" -> end sample";
    }
    return "";
}

/* ---- the answer ---- */

static bool print_source(const struct st_map_command *command, const struct st_map_name *names, size_t count)
{
    size_t shown = command->top > 0 && (uint64_t)command->top < count ? (size_t)command->top : count;
    bool is_kernel = names->source == ST_MAP_KERNEL, ok;
    struct st_grid grid;
    char rule[RULE_BYTES];

    st_grid_init(&grid);
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "count");
    if (is_kernel) st_grid_add_column(&grid, ST_GRID_TIME, 0, "device");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "rule");
    for (size_t i = 0; i < shown; i++) {
        st_grid_add_value(&grid, true, names[i].count);
        if (is_kernel) st_grid_add_value(&grid, true, names[i].device_ns);
        write_rule(&names[i], rule);
        st_grid_add_text(&grid, rule);
    }
    st_style_line(&command->style, "%s: %zu name%s%s", st_map_source_name((enum st_map_source)names->source), count,
                  count == 1 ? "" : "s",
                  names->source == ST_MAP_PYTHON || names->source == ST_MAP_SYMBOL
                      ? ", counted in samples of stacks where no rule counted them"
                      : "");
    ok = st_grid_print(&grid, &command->style);
    st_grid_finish(&grid);
    if (shown < count) st_style_line(&command->style, "%zu of %zu shown (--top)", shown, count);
    return ok;
}

static bool print_text(const struct st_map_command *command, const struct st_map_run *run)
{
    const struct st_map_names *names = &run->names;
    const struct st_model *model = run->model;
    bool ok = true;

    st_style_line(&command->style, "%s%s: names that a rule of a stage map could match", model->traces[0].file,
                  model->trace_count > 1 ? " …" : "");
    for (size_t i = 0, end; ok && i < names->count; i = end) {
        for (end = i; end < names->count && names->items[end].source == names->items[i].source; end++) continue;
        if (!is_wanted(command, names->items[i].source)) continue;
        ok = print_source(command, &names->items[i], end - i);
    }
    for (uint8_t source = ST_MAP_NVTX; source <= ST_MAP_LOG; source++) {
        if (!is_wanted(command, source) || has_names(names, source)) continue;
        st_style_line(&command->style, "%s: no names: %s", st_map_source_name((enum st_map_source)source),
                      what_to_do(model, source));
    }
    return ok;
}

static bool print_table(const struct st_map_command *command, const struct st_map_names *names)
{
    struct st_grid grid;
    char rule[RULE_BYTES];
    bool ok;

    st_grid_init(&grid);
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "source");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "name");
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "count");
    st_grid_add_column(&grid, ST_GRID_TIME, 0, "device");
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "rule");
    for (size_t i = 0; i < names->count; i++) {
        const struct st_map_name *name = &names->items[i];

        if (!is_wanted(command, name->source)) continue;
        write_rule(name, rule);
        st_grid_add_text(&grid, st_map_source_name((enum st_map_source)name->source));
        st_grid_add_text(&grid, name->text);
        st_grid_add_value(&grid, true, name->count);
        st_grid_add_value(&grid, name->source == ST_MAP_KERNEL, name->device_ns);
        st_grid_add_text(&grid, rule);
    }
    ok = st_grid_print(&grid, &command->style);
    st_grid_finish(&grid);
    return ok;
}

static void write_name(struct st_json *json, const struct st_map_name *name)
{
    char rule[RULE_BYTES], meaning[160];

    write_rule(name, rule);
    st_json_object(json, NULL);
    st_json_string(json, "source", st_map_source_name((enum st_map_source)name->source));
    st_json_string(json, "name", name->text);
    st_json_bool(json, "is_cut", name->is_cut);
    st_json_int(json, "count", name->count);
    if (name->source == ST_MAP_KERNEL) {
        st_json_int(json, "device_ns", name->device_ns);
    } else {
        st_json_null(json, "device_ns");
    }
    if (name->rule != NULL) {
        st_map_meaning((enum st_map_role)name->rule->role, name->rule->name, meaning, sizeof(meaning));
        st_json_string(json, "meaning", meaning);
    } else {
        st_json_null(json, "meaning");
    }
    st_json_string(json, "rule", rule);
    st_json_end(json);
}

static int64_t untold_of(const struct st_model *model)
{
    int64_t sum = 0;

    for (size_t i = 0; i < model->trace_count; i++) {
        int64_t value = 0;
        if (st_model_counter(&model->traces[i], "seen.untold", &value)) sum += value;
    }
    return sum;
}

static void write_json(const struct st_map_command *command, const struct st_map_run *run)
{
    struct st_json json;

    st_json_init(&json, stdout, 2);
    st_json_object(&json, NULL);
    st_json_string(&json, "schema", "stagetap.names/1");
    st_json_array(&json, "files");
    for (size_t i = 0; i < run->model->trace_count; i++) st_json_string(&json, NULL, run->model->traces[i].file);
    st_json_end(&json);
    st_json_array(&json, "names");
    for (size_t i = 0; i < run->names.count; i++) {
        if (is_wanted(command, run->names.items[i].source)) write_name(&json, &run->names.items[i]);
    }
    st_json_end(&json);
    st_json_int(&json, "untold", untold_of(run->model));
    st_json_array(&json, "none");
    for (uint8_t source = ST_MAP_NVTX; source <= ST_MAP_LOG; source++) {
        if (!is_wanted(command, source) || has_names(&run->names, source)) continue;
        st_json_object(&json, NULL);
        st_json_string(&json, "source", st_map_source_name((enum st_map_source)source));
        st_json_string(&json, "why", what_to_do(run->model, source));
        st_json_end(&json);
    }
    st_json_end(&json);
    st_json_end(&json);
}

int st_map_names_run(const struct st_map_command *command)
{
    struct st_map_run run;
    int64_t untold;
    bool ok = true;
    int code = st_map_run_open(command->word_count == 2 ? command->words[1] : NULL, &run);

    if (code != ST_EXIT_OK) return code;
    if (run.names.count > 0) {
        qsort(run.names.items, run.names.count, sizeof(*run.names.items), by_source_and_count);
    }
    if (command->json) {
        write_json(command, &run);
    } else if (command->style.format != ST_GRID_FORMAT_TEXT) {
        ok = print_table(command, &run.names);
    } else {
        ok = print_text(command, &run);
    }
    untold = untold_of(run.model);
    if (untold > 0) st_say_error("there was no room for more names; %" PRId64 " times others were met", untold);
    if (!ok) st_say_error("out of memory");
    st_map_run_finish(&run);
    return ok ? ST_EXIT_OK : ST_EXIT_UNREADABLE;
}
