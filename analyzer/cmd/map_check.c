/* SPDX-License-Identifier: Apache-2.0 */
/* `stagetap map check MAP [FILE]`: are these rules right, what do they mean, and what do they match? Main thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/map.h"
#include "analyzer/cmd/map_load.h"
#include "analyzer/cmd/map_match.h"
#include "analyzer/cmd/map_warn.h"
#include "analyzer/cmd/map_words.h"
#include "analyzer/render/json.h"

struct check {
    const struct st_map_command *command;
    const char *value;
    struct st_map map;
    enum st_map_verdict verdict;
    struct st_map_run run; /* model NULL: no FILE was given */
    struct st_map_result *results;
    struct st_json json; /* while mistakes and warnings are listed */
};

/* ---- mistakes and warnings ---- */

static void say_mistake(void *context, const struct st_map_mistake *mistake)
{
    char line[1024];

    st_map_mistake_text(mistake, line, sizeof(line));
    st_say_error("%s", line);
}

static void write_mistake(void *context, const struct st_map_mistake *mistake)
{
    struct check *check = context;

    say_mistake(NULL, mistake);
    st_json_object(&check->json, NULL);
    st_json_string(&check->json, "origin", mistake->origin);
    st_json_int(&check->json, "line", mistake->line);
    st_json_int(&check->json, "column", mistake->column);
    st_json_string(&check->json, "what", mistake->what);
    st_json_end(&check->json);
}

static void say_warning(void *context, const struct st_map_warning *warning)
{
    if (warning->rule != NULL) {
        st_say_error("%s: line %u, column %u: warning: %s", warning->rule->origin, warning->rule->line_number,
                     warning->rule->column, warning->what);
    } else {
        const struct check *check = context;
        st_say_error("%s: warning: %s", strstr(check->value, "->") != NULL ? "inline" : check->value, warning->what);
    }
}

static void write_warning(void *context, const struct st_map_warning *warning)
{
    struct check *check = context;

    say_warning(check, warning);
    st_json_object(&check->json, NULL);
    st_json_string(&check->json, "kind", warning->kind);
    if (warning->rule != NULL) {
        st_json_int(&check->json, "rule", warning->rule - check->map.rules);
    } else {
        st_json_null(&check->json, "rule");
    }
    st_json_string(&check->json, "what", warning->what);
    st_json_end(&check->json);
}

/* ---- matches in words ---- */

static const char *counted_name(enum st_map_counted counted)
{
    static const char *const names[] = {
        [ST_MAP_NOT_KNOWN] = "not known", [ST_MAP_RECORDED] = "recorded", [ST_MAP_EVALUATED] = "names seen"};

    return names[counted];
}

static bool never_matched(const struct st_map_result *result)
{
    return result->counted != ST_MAP_NOT_KNOWN && result->matched == 0;
}

static void write_near(const struct st_map_result *result, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (uint32_t i = 0; i < result->near_count && used < size; i++) {
        used += (size_t)snprintf(ret + used, size - used, "%s%s (seen %" PRId64 " time%s)", i > 0 ? ", or " : "",
                                 result->near[i]->text, result->near[i]->count,
                                 result->near[i]->count == 1 ? "" : "s");
    }
}

static void write_matched(const struct st_map_rule *rule, const struct st_map_result *result, char *ret, size_t size)
{
    static const char *const not_known[] = {
        [ST_MAP_NVTX] = "the run had no nvtx rule, so its ranges were not noted; run it with this map",
        [ST_MAP_PYTHON] = "the run has no names of Python functions",
        [ST_MAP_SYMBOL] = "the run has no names of native functions; STAGETAP_COLLECT=stacks notes them",
        [ST_MAP_KERNEL] = "the run has no device records",
        [ST_MAP_LOG] = "the run has no lines; run it with this map",
    };
    const char *plural = result->matched == 1 ? "" : "s";
    char near[1024];

    write_near(result, near, sizeof(near));
    if (result->counted == ST_MAP_NOT_KNOWN) {
        snprintf(ret, size, "not known how often: %s", not_known[rule->source]);
    } else if (result->matched == 0) {
        snprintf(ret, size, "never matched%s%s%s", near[0] != '\0' ? "; did you mean " : "", near,
                 near[0] != '\0' ? "?" : "");
    } else if (rule->source == ST_MAP_KERNEL) {
        snprintf(ret, size, "matched %" PRId64 " kernel%s that ran", result->matched, plural);
    } else if (result->counted == ST_MAP_RECORDED) {
        snprintf(ret, size, "matched %" PRId64 " time%s", result->matched, plural);
    } else {
        snprintf(ret, size, "matches names that were seen %" PRId64 " time%s", result->matched, plural);
    }
}

/* ---- the answer ---- */

static void print_text(const struct check *check)
{
    const struct st_style *style = &check->command->style;
    char sentence[ST_MAP_SENTENCE_BYTES], matched[2048];
    uint32_t never = 0, unknown = 0;

    for (uint32_t i = 0; i < check->map.count; i++) {
        const struct st_map_rule *rule = &check->map.rules[i];

        st_map_sentence(rule, sentence, sizeof(sentence));
        st_style_line(style, "%s, line %u: %s", rule->origin, rule->line_number, rule->text);
        st_style_line(style, "    %s", sentence);
        if (check->results == NULL) continue;
        write_matched(rule, &check->results[i], matched, sizeof(matched));
        st_style_line(style, "    %s", matched);
        never += never_matched(&check->results[i]);
        unknown += check->results[i].counted == ST_MAP_NOT_KNOWN;
    }
    if (check->results == NULL) {
        st_style_line(style, "%u rules", check->map.count);
    } else {
        st_style_line(style, "%s%s: of %u rules %u matched, %u never did, of %u it is not known",
                      check->run.model->traces[0].file, check->run.model->trace_count > 1 ? " …" : "",
                      check->map.count, check->map.count - never - unknown, never, unknown);
    }
}

static bool print_table(const struct check *check)
{
    static const char *const texts[] = {"source", "pattern", "meaning", "name", "in words"};
    struct st_grid grid;
    bool ok;

    st_grid_init(&grid);
    st_grid_add_column(&grid, ST_GRID_TEXT, 0, "origin");
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "line");
    st_grid_add_column(&grid, ST_GRID_COUNT, 0, "column");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) st_grid_add_column(&grid, ST_GRID_TEXT, 0, texts[i]);
    if (check->results != NULL) {
        st_grid_add_column(&grid, ST_GRID_COUNT, 0, "matched");
        st_grid_add_column(&grid, ST_GRID_TEXT, 0, "counted");
        st_grid_add_column(&grid, ST_GRID_TEXT, 0, "near");
    }
    for (uint32_t i = 0; i < check->map.count; i++) {
        const struct st_map_rule *rule = &check->map.rules[i];
        const struct st_map_result *result = check->results != NULL ? &check->results[i] : NULL;
        char sentence[ST_MAP_SENTENCE_BYTES], near[1024];

        st_map_sentence(rule, sentence, sizeof(sentence));
        st_grid_add_text(&grid, rule->origin);
        st_grid_add_value(&grid, true, rule->line_number);
        st_grid_add_value(&grid, true, rule->column);
        st_grid_add_text(&grid, st_map_source_name((enum st_map_source)rule->source));
        st_grid_add_text(&grid, rule->pattern);
        st_grid_add_text(&grid, st_map_role_name((enum st_map_role)rule->role));
        st_grid_add_text(&grid, rule->name[0] != '\0' ? rule->name : NULL);
        st_grid_add_text(&grid, sentence);
        if (result == NULL) continue;
        write_near(result, near, sizeof(near));
        st_grid_add_value(&grid, result->counted != ST_MAP_NOT_KNOWN, result->matched);
        st_grid_add_text(&grid, counted_name(result->counted));
        st_grid_add_text(&grid, near[0] != '\0' ? near : NULL);
    }
    ok = st_grid_print(&grid, &check->command->style);
    st_grid_finish(&grid);
    return ok;
}

static void write_result(struct st_json *json, const struct st_map_result *result)
{
    if (result != NULL && result->counted != ST_MAP_NOT_KNOWN) {
        st_json_int(json, "matched", result->matched);
    } else {
        st_json_null(json, "matched");
    }
    st_json_string(json, "counted", result != NULL ? counted_name(result->counted) : NULL);
    st_json_array(json, "near");
    for (uint32_t i = 0; result != NULL && i < result->near_count; i++) {
        st_json_object(json, NULL);
        st_json_string(json, "name", result->near[i]->text);
        st_json_int(json, "count", result->near[i]->count);
        st_json_end(json);
    }
    st_json_end(json);
}

static void write_rules(struct st_json *json, const struct check *check)
{
    char sentence[ST_MAP_SENTENCE_BYTES];

    st_json_array(json, "rules");
    for (uint32_t i = 0; i < check->map.count; i++) {
        const struct st_map_rule *rule = &check->map.rules[i];

        st_map_sentence(rule, sentence, sizeof(sentence));
        st_json_object(json, NULL);
        st_json_string(json, "origin", rule->origin);
        st_json_int(json, "line", rule->line_number);
        st_json_int(json, "column", rule->column);
        st_json_string(json, "text", rule->text);
        st_json_string(json, "source", st_map_source_name((enum st_map_source)rule->source));
        st_json_string(json, "pattern", rule->pattern);
        st_json_string(json, "meaning", st_map_role_name((enum st_map_role)rule->role));
        st_json_string(json, "name", rule->name[0] != '\0' ? rule->name : NULL);
        st_json_string(json, "in_words", sentence);
        write_result(json, check->results != NULL ? &check->results[i] : NULL);
        st_json_end(json);
    }
    st_json_end(json);
}

static void write_files(struct st_json *json, const struct st_model *model)
{
    st_json_array(json, "files");
    for (size_t i = 0; model != NULL && i < model->trace_count; i++) st_json_string(json, NULL, model->traces[i].file);
    st_json_end(json);
}

/* ---- the course of it ---- */

/* Loads the map; with --json the document is begun, and what is wrong with it written. */
static void load_map(struct check *check)
{
    bool json = check->command->json;

    if (json) {
        st_json_init(&check->json, stdout, 2);
        st_json_object(&check->json, NULL);
        st_json_string(&check->json, "schema", "stagetap.map/1");
        st_json_string(&check->json, "map", check->value);
        st_json_array(&check->json, "mistakes");
    }
    check->verdict = st_map_load_all(check->value, &check->map, json ? write_mistake : say_mistake, check);
    if (json) {
        st_json_end(&check->json);
        st_json_array(&check->json, "warnings");
    }
    if (check->verdict <= ST_MAP_MISTAKEN) st_map_warn(&check->map, json ? write_warning : say_warning, check);
    if (json) st_json_end(&check->json);
}

static bool match(struct check *check)
{
    if (check->run.model == NULL) return true;
    check->results = calloc(check->map.count + 1u, sizeof(*check->results));
    return check->results != NULL &&
           st_map_match(&check->map, check->run.model, &check->run.names, check->results);
}

static bool answer(struct check *check)
{
    if (check->command->json) {
        write_files(&check->json, check->run.model);
        write_rules(&check->json, check);
        st_json_end(&check->json);
        return true;
    }
    if (check->verdict != ST_MAP_RIGHT || check->map.count == 0) return true;
    if (check->command->style.format != ST_GRID_FORMAT_TEXT) return print_table(check);
    print_text(check);
    return true;
}

static int code_of(const struct check *check)
{
    static const int codes[] = {[ST_MAP_RIGHT] = ST_EXIT_OK,
                                [ST_MAP_MISTAKEN] = ST_EXIT_FOUND,
                                [ST_MAP_NO_PRESET] = ST_EXIT_USAGE,
                                [ST_MAP_UNREADABLE] = ST_EXIT_UNREADABLE};

    if (check->verdict != ST_MAP_RIGHT) return codes[check->verdict];
    if (check->map.count == 0) {
        st_say_error("%s: has no rules", check->value);
        return ST_EXIT_FOUND;
    }
    for (uint32_t i = 0; check->results != NULL && i < check->map.count; i++) {
        if (never_matched(&check->results[i])) return ST_EXIT_FOUND;
    }
    return ST_EXIT_OK;
}

int st_map_check_run(const struct st_map_command *command)
{
    struct check check = {.command = command, .value = command->words[1]};
    int code = ST_EXIT_OK;

    if (command->word_count == 3) code = st_map_run_open(command->words[2], &check.run);
    if (code != ST_EXIT_OK) return code;
    load_map(&check);
    if (match(&check) && answer(&check)) {
        code = code_of(&check);
    } else {
        st_say_error("out of memory");
        code = ST_EXIT_UNREADABLE;
    }
    free(check.results);
    st_map_run_finish(&check.run);
    st_map_load_finish(&check.map);
    return code;
}
