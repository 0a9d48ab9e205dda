/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's symbol is `_Z`, its name, and the types of its parameters. The name is written out; template arguments,
 * and what stands in front of a local name, are only stepped over (cxx_skip.c). So no table of substitutions is kept:
 * where a name begins with one that is not a standard abbreviation, it is not understood.
 */
#include "config/cxx_name.h"

#include <string.h>

#include "config/cxx_skip.h"

static void put(struct st_cxx *r, const char *text, size_t length)
{
    if (r->quiet > 0) return;
    if (length >= r->size - r->used) {
        r->failed = true;
        return;
    }
    memcpy(r->out + r->used, text, length);
    r->used += length;
}

static void put_text(struct st_cxx *r, const char *text)
{
    put(r, text, strlen(text));
}

/* ---- one component ---- */

/* The codes of operators, with how many operands they have in an expression. */
const struct st_cxx_operator *st_cxx_operator(const char *at)
{
    static const struct st_cxx_operator operators[] = {
        {"nw", " new", 0},     {"na", " new[]", 0}, {"dl", " delete", 1}, {"da", " delete[]", 1},
        {"aw", " co_await", 1},
        {"ps", "+", 1},        {"ng", "-", 1},      {"ad", "&", 1},       {"de", "*", 1},         {"co", "~", 1},
        {"pl", "+", 2},        {"mi", "-", 2},      {"ml", "*", 2},       {"dv", "/", 2},         {"rm", "%", 2},
        {"an", "&", 2},        {"or", "|", 2},      {"eo", "^", 2},       {"aS", "=", 2},         {"pL", "+=", 2},
        {"mI", "-=", 2},       {"mL", "*=", 2},     {"dV", "/=", 2},      {"rM", "%=", 2},        {"aN", "&=", 2},
        {"oR", "|=", 2},       {"eO", "^=", 2},     {"ls", "<<", 2},      {"rs", ">>", 2},        {"lS", "<<=", 2},
        {"rS", ">>=", 2},      {"eq", "==", 2},     {"ne", "!=", 2},      {"lt", "<", 2},         {"gt", ">", 2},
        {"le", "<=", 2},       {"ge", ">=", 2},     {"ss", "<=>", 2},     {"nt", "!", 1},         {"aa", "&&", 2},
        {"oo", "||", 2},       {"pp", "++", 1},     {"mm", "--", 1},      {"cm", ",", 2},         {"pm", "->*", 2},
        {"pt", "->", 2},       {"cl", "()", 0},     {"ix", "[]", 2},      {"qu", "?", 3},
    };

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (operators[i].code[0] == at[0] && operators[i].code[1] == at[1]) return &operators[i];
    return NULL;
}

static void source_name(struct st_cxx *r)
{
    size_t length = st_cxx_number(r);

    if (length == 0 || strnlen(r->at, length) < length) {
        r->failed = true;
        return;
    }
    if (length >= 10 && strncmp(r->at, "_GLOBAL_", 8) == 0 && r->at[9] == 'N') {
        put_text(r, "(anonymous namespace)");
    } else {
        put(r, r->at, length);
    }
    r->at += length;
}

static void operator_name(struct st_cxx *r)
{
    const struct st_cxx_operator *found;

    put_text(r, "operator");
    if (st_cxx_take(r, "cv")) {
        put_text(r, " cast");
        st_cxx_type(r);
    } else if (st_cxx_take(r, "li")) {
        put_text(r, "\"\" ");
        source_name(r);
    } else if ((found = st_cxx_operator(r->at)) != NULL) {
        r->at += 2;
        put_text(r, found->text);
    } else {
        r->failed = true;
    }
}

/* `_` is the first, `0_` the second … */
static void put_ordinal(struct st_cxx *r)
{
    char digits[12];
    size_t n = sizeof(digits), value = *r->at == '_' ? 1 : st_cxx_number(r) + 2;

    if (!st_cxx_take(r, "_")) r->failed = true;
    for (; value > 0 && n > 0; value /= 10) digits[--n] = (char)('0' + value % 10);
    put(r, digits + n, sizeof(digits) - n);
    put_text(r, "}");
}

static void unnamed(struct st_cxx *r)
{
    if (st_cxx_take(r, "Ul")) {
        put_text(r, "{lambda#");
        st_cxx_lambda_parameters(r);
    } else if (st_cxx_take(r, "Ut")) {
        put_text(r, "{unnamed type#");
    } else {
        r->failed = true;
    }
    put_ordinal(r);
}

static void skip_tags(struct st_cxx *r)
{
    r->quiet++;
    while (!r->failed && st_cxx_take(r, "B")) source_name(r);
    r->quiet--;
}

void st_cxx_unqualified(struct st_cxx *r)
{
    while (!r->failed && st_cxx_take(r, "W")) { /* a module */
        r->quiet++;
        st_cxx_take(r, "P");
        source_name(r);
        r->quiet--;
    }
    st_cxx_take(r, "F"); /* a friend */
    st_cxx_take(r, "L"); /* of this file only */
    if (*r->at >= '0' && *r->at <= '9') {
        source_name(r);
    } else if (*r->at == 'U') {
        unnamed(r);
    } else if (st_cxx_take(r, "DC")) {
        r->quiet++;
        while (!r->failed && !st_cxx_take(r, "E")) source_name(r);
        r->quiet--;
        put_text(r, "{binding}");
    } else {
        operator_name(r);
    }
    skip_tags(r);
}

/* ---- names ---- */

/* Sa, Ss …; false: another substitution. */
static bool standard_abbreviation(struct st_cxx *r)
{
    static const struct {
        char code;
        const char *text;
    } names[] = {{'t', "std"},
                 {'a', "std::allocator"},
                 {'b', "std::basic_string"},
                 {'s', "std::basic_string"},
                 {'i', "std::basic_istream"},
                 {'o', "std::basic_ostream"},
                 {'d', "std::basic_iostream"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (r->at[0] != 'S' || r->at[1] != names[i].code) continue;
        r->at += 2;
        put_text(r, names[i].text);
        skip_tags(r);
        return true;
    }
    return false;
}

/* The class is called as what was put last. */
static void constructor(struct st_cxx *r, size_t last, size_t last_length)
{
    bool is_destructor = *r->at == 'D', inherits = r->at[1] == 'I';
    char name[ST_CXX_NAME_BYTES];

    r->at += inherits ? 2 : 1;
    if (*r->at < '0' || *r->at > '9' || last_length == 0 || last_length > sizeof(name)) {
        r->failed = r->failed || *r->at < '0' || *r->at > '9' || r->quiet == 0;
        if (r->failed) return;
    }
    r->at++;
    if (inherits) st_cxx_type(r);
    if (is_destructor) put_text(r, "~");
    if (r->quiet == 0) {
        memcpy(name, r->out + last, last_length);
        put(r, name, last_length);
    }
    skip_tags(r);
}

static bool at_constructor(const struct st_cxx *r)
{
    return (r->at[0] == 'C' && (r->at[1] == 'I' || (r->at[1] >= '1' && r->at[1] <= '5'))) ||
           (r->at[0] == 'D' && r->at[1] >= '0' && r->at[1] <= '5');
}

/* A prefix that is only stepped over: a substitution, a template parameter, decltype. */
static bool skipped_prefix(struct st_cxx *r)
{
    bool is_type = *r->at == 'S' || *r->at == 'T' || (r->at[0] == 'D' && (r->at[1] == 't' || r->at[1] == 'T'));

    if (!is_type) return false;
    if (r->quiet == 0) {
        r->failed = true;
        return true;
    }
    st_cxx_prefix_type(r);
    return true;
}

/* N … E, behind the N. */
static void nested_name(struct st_cxx *r)
{
    size_t last = r->used, last_length = 0;
    bool is_first = true;

    st_cxx_take(r, "H"); /* explicit object parameter */
    while (*r->at == 'r' || *r->at == 'V' || *r->at == 'K') r->at++;
    if (*r->at == 'R' || *r->at == 'O') r->at++;
    while (!r->failed && !st_cxx_take(r, "E")) {
        size_t before = r->used;

        if (*r->at == 'I') {
            st_cxx_template_arguments(r);
            continue;
        }
        if (st_cxx_take(r, "M")) continue; /* a lambda in a member's initialiser */
        if (!is_first) put_text(r, "::");
        is_first = false;
        if (at_constructor(r)) {
            constructor(r, last, last_length);
            continue;
        }
        if (!standard_abbreviation(r) && !skipped_prefix(r)) st_cxx_unqualified(r);
        for (last = r->used; last > before && r->out[last - 1] != ':';) last--;
        last_length = r->used - last;
    }
}

/* Z encoding E name, behind the Z. */
static void local_name(struct st_cxx *r)
{
    st_cxx_encoding(r);
    if (!st_cxx_take(r, "E")) r->failed = true;
    if (st_cxx_take(r, "s")) { /* a text in a function */
        put_text(r, "::{text}");
    } else {
        put_text(r, "::");
        if (st_cxx_take(r, "d")) { /* in a default argument */
            put_text(r, "{default arg#");
            put_ordinal(r);
            put_text(r, "::");
        }
        st_cxx_name_part(r);
    }
    if (st_cxx_take(r, "__")) {
        st_cxx_number(r);
        st_cxx_take(r, "_");
    } else if (r->at[0] == '_' && r->at[1] >= '0' && r->at[1] <= '9') {
        r->at += 2;
    }
}

void st_cxx_name_part(struct st_cxx *r)
{
    if (!st_cxx_deeper(r)) return;
    if (st_cxx_take(r, "N")) {
        nested_name(r);
    } else if (st_cxx_take(r, "Z")) {
        local_name(r);
    } else {
        if (st_cxx_take(r, "St")) {
            put_text(r, "std::");
            st_cxx_unqualified(r);
        } else if (!standard_abbreviation(r) && !skipped_prefix(r)) {
            st_cxx_unqualified(r);
        }
        if (*r->at == 'I') st_cxx_template_arguments(r);
    }
    r->depth--;
}

/* ---- symbols ---- */

/* Ways to a function that are functions themselves: thunks of virtual ones, transaction clones. False: data. */
static bool special_prefix(struct st_cxx *r)
{
    if (st_cxx_take(r, "GTt") || st_cxx_take(r, "GTn")) return true;
    if (st_cxx_take(r, "Th")) {
        st_cxx_offset(r, 1);
    } else if (st_cxx_take(r, "Tv")) {
        st_cxx_offset(r, 2);
    } else if (st_cxx_take(r, "Tc")) {
        for (int i = 0; i < 2; i++) st_cxx_offset(r, st_cxx_take(r, "h") ? 1 : st_cxx_take(r, "v") ? 2 : 0);
    } else {
        return *r->at != 'T' && *r->at != 'G';
    }
    return true;
}

bool st_cxx_name(const char *symbol, char *ret, size_t size)
{
    struct st_cxx r = {.at = symbol + 2, .out = ret, .size = size};

    if (symbol[0] != '_' || symbol[1] != 'Z' || size == 0 || !special_prefix(&r)) return false;
    st_cxx_name_part(&r);
    if (r.failed || r.used == 0) return false;
    ret[r.used] = '\0';
    return true;
}

/* A number, a pointer or a reference is next. */
static bool at_small_type(const char *at)
{
    while (*at == 'r' || *at == 'V' || *at == 'K') at++;
    return *at != '\0' && (strchr("PROMvbcahstijlmxynofdeg", *at) != NULL ||
                           (*at == 'D' && at[1] != '\0' && strchr("defhsiun", at[1]) != NULL));
}

/* Of an instance of a template the result stands in front: it is held for one more. */
bool st_cxx_has_small_arguments(const char *symbol)
{
    struct st_cxx r = {.at = symbol + 2, .quiet = 1};

    if (symbol[0] != '_' || symbol[1] != 'Z' || !special_prefix(&r)) return false;
    st_cxx_name_part(&r);
    while (!r.failed && *r.at != '\0' && *r.at != '.') {
        if (!at_small_type(r.at)) return false;
        st_cxx_type(&r);
    }
    return !r.failed;
}

/* ---- patterns ---- */

/* Words of a name that a symbol spells otherwise. */
static bool is_abbreviated(const char *word, size_t length)
{
    static const char words[] = "operator new delete co_await cast std allocator basic_string basic_istream "
                                "basic_ostream basic_iostream anonymous namespace lambda unnamed type default arg "
                                "binding text";

    for (const char *at = words; (at = memchr(at, word[0], strlen(at))) != NULL; at++)
        if (strncmp(at, word, length) == 0) return true;
    return false;
}

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

size_t st_cxx_pattern_key(const char *pattern, const char **ret_key)
{
    size_t best = 0;

    for (const char *at = pattern; *at != '\0';) {
        const char *word = at;
        while (is_word_character(*at)) at++;
        size_t length = (size_t)(at - word);
        bool is_number = word > pattern && word[-1] == '#';
        if (length > best && !is_number && !is_abbreviated(word, length)) {
            best = length;
            *ret_key = word;
        }
        if (*at != '\0') at++;
    }
    return best;
}

bool st_cxx_matches(const char *pattern, const char *symbol, const char *name, struct st_map_capture *ret_captures)
{
    return st_map_glob(pattern, symbol, ret_captures) || (name != NULL && st_map_glob(pattern, name, ret_captures));
}
