/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parser of the stage map: text to rules, errors with line and column. Runs in the preloaded library's
 * constructor and in the analyzer: no allocation, no output, no state. Any thread.
 *
 *   map     := { rule | comment | blank } separated by newline or `;`
 *   rule    := source pattern `->` meaning
 *   pattern := word | "quoted", with \" and \\ inside
 *   meaning := NAME | `request` | `step` | NAME `step` | NAME `step-end` | `load` | `off`
 *            | `begin` NAME | `end` NAME | `begin request` | `end request`
 *
 * A comment runs from a `#` in front of a word to the end of the line.
 */
#include "config/map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORDS 2 /* a meaning has at most two */

struct parser {
    struct st_map *map;
    struct st_map_error *error;
    const char *begin, *at, *end; /* the whole text and where we are */
    const char *line_begin, *rule_begin;
    const char *origin; /* copied into the arena */
    int line;
};

struct word {
    const char *begin; /* where it starts in the source: for messages */
    const char *text;  /* in the arena */
    size_t length;
    bool quoted;
};

static const char *const source_names[] = {
    [ST_MAP_NVTX] = "nvtx",     [ST_MAP_PYTHON] = "python", [ST_MAP_SYMBOL] = "symbol",
    [ST_MAP_KERNEL] = "kernel", [ST_MAP_LOG] = "log",
};

const char *st_map_source_name(enum st_map_source source)
{
    return source > 0 && source < sizeof(source_names) / sizeof(source_names[0]) ? source_names[source] : NULL;
}

/* Words that have a meaning of their own, and a row that the report itself makes. */
static const char *const reserved_names[] = {"request", "step", "step-end", "begin", "end", "off", "unattributed"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Always false, so that `return fail(…)` reads well. Columns count characters, not bytes. */
__attribute__((format(printf, 3, 4))) static bool fail(struct parser *p, const char *where, const char *format, ...)
{
    va_list arguments;

    p->error->line = p->line;
    p->error->column = 1;
    for (const char *at = p->line_begin; at < where; at++)
        if (((unsigned char)*at & 0xC0) != 0x80) p->error->column++;
    va_start(arguments, format);
    vsnprintf(p->error->what, sizeof(p->error->what), format, arguments);
    va_end(arguments);
    return false;
}

/* Copies into the arena and terminates. NULL, with the error set, if it is full. */
static char *keep(struct parser *p, const char *where, const char *text, size_t length)
{
    struct st_map *map = p->map;
    char *ret = map->arena + map->arena_used;

    if (length + 1 > map->arena_bytes - map->arena_used) {
        fail(p, where, "the map is too long: its texts need more than %zu bytes", map->arena_bytes);
        return NULL;
    }
    memcpy(ret, text, length);
    ret[length] = '\0';
    map->arena_used += length + 1;
    return ret;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Bytes behind the current one on its line. */
static size_t line_rest(const struct parser *p)
{
    const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));

    return (size_t)((newline != NULL ? newline : p->end) - p->at) - 1;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && is_blank(*p->at)) p->at++;
}

static bool at_arrow(const struct parser *p)
{
    return p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] == '>';
}

/* End of the rule: end of text, a separator, or a comment. */
static bool at_rule_end(const struct parser *p)
{
    return p->at >= p->end || *p->at == '\n' || *p->at == ';' || *p->at == '#';
}

static bool read_quoted(struct parser *p, struct word *ret)
{
    struct st_map *map = p->map;
    char *out = map->arena + map->arena_used;
    bool has_room = map->arena_used < map->arena_bytes; /* for the end of the text */

    for (p->at++; has_room && p->at < p->end && *p->at != '"' && *p->at != '\n'; p->at++) {
        if (*p->at == '\\' && p->end - p->at >= 2 && (p->at[1] == '"' || p->at[1] == '\\')) p->at++;
        has_room = map->arena_used + 1 < map->arena_bytes;
        if (has_room) map->arena[map->arena_used++] = *p->at;
    }
    if (!has_room)
        return fail(p, ret->begin, "the map is too long: its texts need more than %zu bytes", map->arena_bytes);
    if (p->at >= p->end || *p->at != '"') return fail(p, ret->begin, "the quote is not closed on this line");
    p->at++;
    ret->text = out;
    ret->length = (size_t)(map->arena + map->arena_used - out);
    map->arena[map->arena_used++] = '\0';
    ret->quoted = true;
    if (!at_rule_end(p) && !is_blank(*p->at) && !at_arrow(p))
        return fail(p, p->at, "a blank is missing after the closing quote");
    return true;
}

/* A word ends at a blank, a separator or an arrow; `#` inside a word belongs to it. */
static bool read_word(struct parser *p, struct word *ret)
{
    *ret = (struct word){.begin = p->at};
    if (*p->at == '"') return read_quoted(p, ret);
    while (p->at < p->end && !is_blank(*p->at) && *p->at != '\n' && *p->at != ';' && !at_arrow(p)) p->at++;
    ret->length = (size_t)(p->at - ret->begin);
    ret->text = keep(p, ret->begin, ret->begin, ret->length);
    return ret->text != NULL;
}

static bool is_word(const struct word *word, const char *text)
{
    return !word->quoted && strcmp(word->text, text) == 0;
}

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < COUNT(reserved_names); i++)
        if (strcmp(name, reserved_names[i]) == 0) return true;
    return false;
}

static bool has_good_slashes(const char *name)
{
    return name[0] != '/' && name[strlen(name) - 1] != '/' && strstr(name, "//") == NULL;
}

bool st_map_is_name(const char *name)
{
    return name[0] != '\0' && !is_reserved(name) && has_good_slashes(name);
}

static bool check_name(struct parser *p, const struct word *word, const char *pattern)
{
    int stars = 0;

    if (is_reserved(word->text))
        return fail(p, word->begin, "'%s' is reserved and cannot be a stage name", word->text);
    if (word->length == 0) return fail(p, word->begin, "a stage name cannot be empty");
    if (word->length > ST_MAP_MAX_NAME)
        return fail(p, word->begin, "a stage name has at most %d bytes", ST_MAP_MAX_NAME);
    if (!has_good_slashes(word->text))
        return fail(p, word->begin, "'%.40s': '/' stands between two names (output/d2h)", word->text);
    for (const char *at = pattern; *at != '\0'; at++) stars += *at == '*';
    for (const char *at = word->text; *at != '\0'; at++) {
        if (*at != '$') continue;
        if (at[1] < '1' || at[1] > '9')
            return fail(p, word->begin, "'%.40s': '$' must be followed by a digit 1 … 9", word->text);
        if (at[1] - '0' > stars) return fail(p, word->begin, "$%c: the pattern has %d '*'", at[1], stars);
    }
    return true;
}

/* "sample/step" is the row of steps. A kernel may be moved there. */
static bool is_row_of_steps(const struct word *name)
{
    const char *slash = strrchr(name->text, '/');

    return slash != NULL && strcmp(slash + 1, "step") == 0;
}

static bool set_name(struct parser *p, struct st_map_rule *rule, enum st_map_role role, const struct word *name)
{
    rule->role = (uint8_t)role;
    rule->name = name->text;
    if (rule->source != ST_MAP_KERNEL && is_row_of_steps(name))
        return fail(p, name->begin, "'%.40s' is the row of steps; a step is written as NAME step", name->text);
    return check_name(p, name, rule->pattern);
}

static bool read_meaning_words(struct parser *p, struct word *words, int *ret_count)
{
    const char *start;

    skip_blanks(p);
    start = p->at;
    for (*ret_count = 0; !at_rule_end(p); skip_blanks(p)) {
        if (at_arrow(p)) return fail(p, p->at, "a second '->': one rule a line, or ';' between two");
        if (*ret_count == MAX_WORDS)
            return fail(p, p->at, "too many words after '->'; put a name with blanks in quotes");
        if (!read_word(p, &words[(*ret_count)++])) return false;
    }
    if (*ret_count == 0)
        return fail(p, start,
                    "nothing after '->'; allowed: a stage name, request, step, NAME step, NAME step-end, "
                    "begin NAME, end NAME, begin request, end request, load, off");
    return true;
}

/* `begin` and `end` of a stage, or of a request. */
static bool parse_mark(struct parser *p, struct st_map_rule *rule, bool is_begin, const struct word *what)
{
    if (!is_word(what, "request")) return set_name(p, rule, is_begin ? ST_MAP_BEGIN : ST_MAP_END, what);
    rule->role = is_begin ? ST_MAP_BEGIN_REQUEST : ST_MAP_END_REQUEST;
    return true;
}

static bool parse_meaning(struct parser *p, struct st_map_rule *rule)
{
    struct word words[MAX_WORDS];
    int count;

    if (!read_meaning_words(p, words, &count)) return false;
    rule->name = "";
    if (count == 2) {
        if (is_word(&words[0], "begin") || is_word(&words[0], "end"))
            return parse_mark(p, rule, is_word(&words[0], "begin"), &words[1]);
        if (is_word(&words[1], "step")) return set_name(p, rule, ST_MAP_STEP, &words[0]);
        if (is_word(&words[1], "step-end")) return set_name(p, rule, ST_MAP_STEP_END, &words[0]);
        return fail(p, words[1].begin,
                    "'%.40s' after a stage name; allowed: NAME step, NAME step-end, begin NAME, "
                    "end NAME, begin request, end request",
                    words[1].text);
    }
    if (is_word(&words[0], "request")) {
        rule->role = ST_MAP_REQUEST;
    } else if (is_word(&words[0], "step")) {
        rule->role = ST_MAP_STEP;
    } else if (is_word(&words[0], "off")) {
        rule->role = ST_MAP_OFF;
    } else if (is_word(&words[0], "begin") || is_word(&words[0], "end")) {
        return fail(p, words[0].begin, "'%s' needs a stage name after it", words[0].text);
    } else if (is_word(&words[0], "step-end")) {
        return fail(p, words[0].begin, "'step-end' needs a stage name before it");
    } else {
        bool load = strncmp(words[0].text, "load", 4) == 0 && (words[0].text[4] == '\0' || words[0].text[4] == '/');
        return set_name(p, rule, load ? ST_MAP_LOAD : ST_MAP_STAGE, &words[0]);
    }
    return true;
}

static bool parse_source(struct parser *p, struct st_map_rule *rule)
{
    struct word word;

    if (at_arrow(p)) return fail(p, p->at, "a source and a pattern are missing before '->'");
    if (!read_word(p, &word)) return false;
    for (size_t i = 1; i < COUNT(source_names); i++) {
        if (!is_word(&word, source_names[i])) continue;
        rule->source = (uint8_t)i;
        return true;
    }
    return fail(p, word.begin, "unknown source '%.40s'; allowed: nvtx, python, symbol, kernel, log", word.text);
}

/* A function's name has no parameters and no template arguments: `(*`, `(*)` or `()` behind it say nothing and are cut
 * off, others would never match. */
static bool check_symbol(struct parser *p, struct word *word)
{
    static const char *const ends[] = {"(*)", "()", "(*"};
    char *text = p->map->arena + (word->text - p->map->arena);

    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t length = strlen(ends[i]), rest = word->length - length;
        bool is_operator = word->length >= length + 8 && memcmp(text + rest - 8, "operator", 8) == 0;
        if (word->length <= length || is_operator || strcmp(text + rest, ends[i]) != 0) continue;
        text[rest] = '\0';
        word->length = rest;
        break;
    }
    for (const char *at = text; *at != '\0'; at++) {
        bool is_operator = at - text >= 8 && memcmp(at - 8, "operator", 8) == 0;
        if (is_operator) at += strspn(at, "<>=-*()[]");
        if (*at == '(' && strncmp(at, "(anonymous namespace)", 21) != 0)
            return fail(p, word->begin, "a function's name has no parameters: end the pattern in front of '('");
        if (*at == '<' || *at == '[')
            return fail(p, word->begin, "names have no template arguments: std::vector::push_back");
        if (*at == '\0') break;
    }
    return true;
}

static bool parse_pattern(struct parser *p, struct st_map_rule *rule)
{
    struct word word;

    skip_blanks(p);
    if (at_rule_end(p) || at_arrow(p))
        return fail(p, p->at, "a pattern is missing after '%s'", source_names[rule->source]);
    if (!read_word(p, &word)) return false;
    if (word.length == 0) return fail(p, word.begin, "the pattern is empty");
    rule->pattern = word.text;
    if (rule->source == ST_MAP_SYMBOL && !check_symbol(p, &word)) return false;
    if (rule->source == ST_MAP_PYTHON) {
        const char *colon = strchr(word.text, ':');
        if (colon == NULL || colon == word.text || colon[1] == '\0' || strchr(colon + 1, ':') != NULL)
            return fail(p, word.begin, "a python pattern is module:function, for example PIL.Image:Image.save");
    }
    skip_blanks(p);
    if (at_rule_end(p)) return fail(p, p->at, "'->' is missing after the pattern");
    if (!at_arrow(p)) return fail(p, p->at, "'->' expected here; put a pattern with blanks in quotes");
    p->at += 2;
    return true;
}

/* The rule from `begin` to here for people to read: columns of blanks become one blank. */
static const char *keep_rule(struct parser *p, const char *begin)
{
    char *text = keep(p, begin, begin, (size_t)(p->at - begin));
    char *to = text;
    bool quoted = false, at_word = true; /* a quote opens where a word begins */

    if (text == NULL) return NULL;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '"' && (quoted || at_word)) {
            quoted = !quoted;
        } else if (quoted && *from == '\\' && (from[1] == '"' || from[1] == '\\')) {
            *to++ = *from++;
        }
        at_word = is_blank(*from) || (from > text && from[-1] == '-' && *from == '>');
        if (!quoted && is_blank(*from) && (is_blank(from[1]) || from[1] == '\0')) continue;
        *to++ = *from;
    }
    *to = '\0';
    return text;
}

static bool parse_rule(struct parser *p)
{
    struct st_map *map = p->map;
    struct st_map_rule rule = {0};
    const char *begin = p->at;

    p->rule_begin = begin;
    if (map->count == map->capacity) return fail(p, begin, "more than %u rules", map->capacity);
    rule.line_number = (uint16_t)(p->line < UINT16_MAX ? p->line : UINT16_MAX);
    rule.column = (uint16_t)(begin - p->line_begin < UINT16_MAX ? begin - p->line_begin + 1 : UINT16_MAX);
    if (!parse_source(p, &rule) || !parse_pattern(p, &rule) || !parse_meaning(p, &rule)) return false;
    if (rule.source == ST_MAP_KERNEL && rule.role != ST_MAP_STAGE && rule.role != ST_MAP_LOAD)
        return fail(p, begin, "a kernel rule moves device work to a stage; after '->' only a stage name is allowed");
    if (rule.source == ST_MAP_LOG && rule.role == ST_MAP_OFF)
        return fail(p, begin, "a log rule cannot mean off: a printed line is an instant, nothing lies below it");
    rule.text = keep_rule(p, begin);
    if (rule.text == NULL) return false;
    rule.origin = p->origin;
    map->rules[map->count++] = rule;
    return true;
}

static bool check_characters(struct parser *p)
{
    for (const char *at = p->begin; at < p->end; at++) {
        if (*at == '\n') {
            p->line++;
            p->line_begin = at + 1;
        } else if (((unsigned char)*at < ' ' && !is_blank(*at)) || *at == 0x7f) {
            return fail(p, at, "control character 0x%02x in the map: not a text?", (unsigned)(unsigned char)*at);
        }
    }
    p->line = 1;
    p->line_begin = p->begin;
    return true;
}

static bool parse_rules(struct parser *p)
{
    while (p->at < p->end) {
        skip_blanks(p);
        if (p->at >= p->end) break;
        if (*p->at == '#') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else if (*p->at == '\n') {
            p->line_begin = ++p->at;
            p->line++;
        } else if (*p->at == ';') {
            p->at++;
        } else if (!parse_rule(p)) {
            return false;
        }
    }
    return true;
}

/* From the begin of a rule with a mistake to its end: the next separator that is not in quotes or a comment. */
static void skip_rule(struct parser *p, const char *begin)
{
    bool quoted = false;

    for (p->at = begin; p->at < p->end && *p->at != '\n' && (quoted || *p->at != ';'); p->at++) {
        if (*p->at == '\\' && quoted && p->end - p->at > 1 && p->at[1] != '\n') {
            p->at++;
        } else if (*p->at == '"') {
            if (!quoted && memchr(p->at + 1, '"', line_rest(p)) == NULL) { /* never closed: the line is lost */
                p->at += line_rest(p) + 1;
                return;
            }
            quoted = !quoted;
        } else if (*p->at == '#' && !quoted && p->at > begin && is_blank(p->at[-1])) {
            while (p->at + 1 < p->end && p->at[1] != '\n') p->at++;
        }
    }
}

/* At the begin of `text`, behind the byte order mark that some editors write. */
static struct parser parser_for(struct st_map *map, const char *text, size_t length, struct st_map_error *error)
{
    static const char mark[] = "\xEF\xBB\xBF";
    const char *end = text + length;

    if (length >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0) text += strlen(mark);
    return (struct parser){
        .map = map, .error = error, .begin = text, .at = text, .end = end, .line_begin = text, .line = 1};
}

int st_map_check(struct st_map *map, const char *text, size_t length, const char *origin, st_map_mistake_fn each,
                 void *context)
{
    struct st_map_error error = {0};
    struct parser p = parser_for(map, text, length, &error);
    int mistakes = 0;

    p.origin = keep(&p, text, origin, strlen(origin));
    if (p.origin == NULL || !check_characters(&p)) {
        each(context, &error);
        return 1;
    }
    while (!parse_rules(&p)) {
        each(context, &error);
        mistakes++;
        skip_rule(&p, p.rule_begin);
        if (map->count == map->capacity) break; /* every later rule would say the same */
    }
    return mistakes;
}

bool st_map_parse(struct st_map *map, const char *text, size_t length, const char *origin,
                  struct st_map_error *ret_error)
{
    struct parser p = parser_for(map, text, length, ret_error);
    uint32_t count = map->count;
    size_t used = map->arena_used;

    *ret_error = (struct st_map_error){0};
    p.origin = keep(&p, text, origin, strlen(origin));
    if (p.origin != NULL && check_characters(&p) && parse_rules(&p)) return true;
    map->count = count;
    map->arena_used = used;
    return false;
}

enum st_map_role st_map_role_in_force(const struct st_map_rule *rule)
{
    enum st_map_role role = (enum st_map_role)rule->role;

    if (rule->source != ST_MAP_LOG) return role;
    switch (role) {
    case ST_MAP_STAGE:
    case ST_MAP_LOAD:
        return ST_MAP_BEGIN;
    case ST_MAP_REQUEST:
        return ST_MAP_BEGIN_REQUEST;
    case ST_MAP_STEP:
        return ST_MAP_STEP_END;
    default:
        return role;
    }
}
