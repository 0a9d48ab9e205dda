/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in words; see map_words.h. */
#include "analyzer/cmd/map_words.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/util/text.h"

const char *st_map_role_name(enum st_map_role role)
{
    static const char *const names[] = {
        [ST_MAP_STAGE] = "stage", [ST_MAP_REQUEST] = "request", [ST_MAP_STEP] = "step", [ST_MAP_STEP_END] = "step-end",
        [ST_MAP_BEGIN] = "begin", [ST_MAP_END] = "end",         [ST_MAP_LOAD] = "load", [ST_MAP_OFF] = "off",
        [ST_MAP_BEGIN_REQUEST] = "begin request", [ST_MAP_END_REQUEST] = "end request"};

    return role < sizeof(names) / sizeof(names[0]) ? names[role] : NULL;
}

/* ---- sentences ---- */

/* "the Python function a.b:C.d", "an NVTX range whose name matches step *". */
static void write_subject(const struct st_map_rule *rule, char *ret, size_t size)
{
    static const struct {
        const char *exact, *matching;
    } words[] = {
        [ST_MAP_NVTX] = {"an NVTX range of the name", "an NVTX range whose name matches"},
        [ST_MAP_PYTHON] = {"the Python function", "a Python function that matches"},
        [ST_MAP_SYMBOL] = {"the native function", "a native function whose name matches"},
        [ST_MAP_KERNEL] = {"the kernel", "a kernel whose name matches"},
        [ST_MAP_LOG] = {"the line", "a line that matches"},
    };
    bool is_glob = strpbrk(rule->pattern, "*?") != NULL;

    snprintf(ret, size, "%s %s", is_glob ? words[rule->source].matching : words[rule->source].exact, rule->pattern);
}

/* When something begins and ends: a function, a range; a line is an instant. */
static const struct {
    const char *during, *at_begin, *at_end;
} verbs[] = {
    [ST_MAP_NVTX] = {"is open", "opens", "closes"},
    [ST_MAP_PYTHON] = {"runs", "begins", "returns"},
    [ST_MAP_SYMBOL] = {"runs", "begins", "returns"},
    [ST_MAP_LOG] = {"is printed", "is printed", "is printed"},
};

static void write_consequence(const struct st_map_rule *rule, char *ret, size_t size)
{
    switch (st_map_role_in_force(rule)) {
    case ST_MAP_STAGE:
        snprintf(ret, size, "that is the stage %s", rule->name);
        break;
    case ST_MAP_REQUEST:
        snprintf(ret, size, "that is one request, the making of one picture or batch");
        break;
    case ST_MAP_STEP:
        if (rule->name[0] != '\0') {
            snprintf(ret, size, "that is one step of %s", rule->name);
        } else {
            snprintf(ret, size, "that is one step of the stage around it");
        }
        break;
    case ST_MAP_STEP_END:
        snprintf(ret, size, "one step of %s is over and the next one begins",
                 rule->name[0] != '\0' ? rule->name : "the stage around it");
        break;
    case ST_MAP_BEGIN:
        snprintf(ret, size,
                 "the stage %s opens, if it is not open; `end %s`, the next stage, or the end of the request closes it",
                 rule->name, rule->name);
        break;
    case ST_MAP_END:
        snprintf(ret, size, "the stage %s that `begin %s` opened is over", rule->name, rule->name);
        break;
    case ST_MAP_LOAD:
        snprintf(ret, size, "that is %s: loading, which is kept apart from requests", rule->name);
        break;
    case ST_MAP_OFF:
        snprintf(ret, size, "nothing inside it is recorded as a stage");
        break;
    case ST_MAP_BEGIN_REQUEST:
        snprintf(ret, size, "a request begins; one that `begin request` opened before is over");
        break;
    case ST_MAP_END_REQUEST:
        snprintf(ret, size, "the request that `begin request` opened is over");
        break;
    }
}

static void write_kernel_sentence(const struct st_map_rule *rule, const char *subject, char *ret, size_t size)
{
    snprintf(ret, size,
             "Device work of %s counts as %s, with its launches; this labels device work only: host figures stay with "
             "the range that launched it.",
             subject, rule->name);
}

void st_map_sentence(const struct st_map_rule *rule, char *ret, size_t size)
{
    char subject[512], consequence[256], text[ST_MAP_SENTENCE_BYTES];
    bool has_captures = strchr(rule->name, '$') != NULL;
    const char *verb;

    write_subject(rule, subject, sizeof(subject));
    if (rule->source == ST_MAP_KERNEL) {
        write_kernel_sentence(rule, subject, text, sizeof(text));
    } else {
        write_consequence(rule, consequence, sizeof(consequence));
        verb = verbs[rule->source].during;
        if (rule->role == ST_MAP_STEP_END) {
            verb = verbs[rule->source].at_end;
        } else if (rule->role == ST_MAP_BEGIN || rule->role == ST_MAP_END || rule->role == ST_MAP_BEGIN_REQUEST ||
                   rule->role == ST_MAP_END_REQUEST) {
            verb = verbs[rule->source].at_begin;
        }
        snprintf(text, sizeof(text), "When %s %s, %s.", subject, verb, consequence);
    }
    snprintf(ret, size, "%s%s", text,
             has_captures ? " $1 … $9 are what each * stood for; of many names, 64 are told apart." : "");
}

/* ---- rules ---- */

void st_map_meaning(enum st_map_role role, const char *name, char *ret, size_t size)
{
    switch (role) {
    case ST_MAP_STAGE:
    case ST_MAP_LOAD:
        snprintf(ret, size, "%s", name);
        break;
    case ST_MAP_BEGIN:
    case ST_MAP_END:
        snprintf(ret, size, "%s %s", st_map_role_name(role), name);
        break;
    default: /* step and step-end stand behind the name, if there is one */
        snprintf(ret, size, "%s%s%s", name, name[0] != '\0' ? " " : "", st_map_role_name(role));
        break;
    }
}

static bool needs_quotes(const char *name)
{
    return name[0] == '"' || name[0] == '#' || name[0] == '\0' || strpbrk(name, " \t;\"") != NULL ||
           strstr(name, "->") != NULL;
}

/* `?` stands for what cannot be in a map or would not be printed as it is: control characters, what is no UTF-8. */
static const char *copy_character(const char *name, char *ret, size_t *ret_length)
{
    uint32_t code;

    *ret_length = st_utf8_decode(name, strlen(name), &code);
    if (*ret_length > 0 && !st_code_is_unsafe(code)) {
        memcpy(ret, name, *ret_length);
        return name + *ret_length;
    }
    *ret = '?';
    *ret_length = 1;
    for (name++; ((unsigned char)*name & 0xC0) == 0x80;) name++; /* as st_map_glob() takes a character */
    return name;
}

void st_map_rule_for(enum st_map_source source, const char *name, bool is_cut, const char *meaning, char *ret,
                     size_t size)
{
    const char *quote = needs_quotes(name) ? "\"" : "";
    size_t used = (size_t)snprintf(ret, size, "%s %s", st_map_source_name(source), quote);

    while (*name != '\0' && used + 5 < size) {
        size_t length = strlen(name);
        uint32_t code;

        if (is_cut && length < 4 && st_utf8_decode(name, length, &code) == 0) break; /* cut within a character */
        if (quote[0] != '\0' && (*name == '"' || *name == '\\')) ret[used++] = '\\';
        name = copy_character(name, ret + used, &length);
        used += length;
    }
    if (used < size) snprintf(ret + used, size - used, "%s%s -> %s", is_cut ? "*" : "", quote, meaning);
}
