/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping over types, template arguments and expressions of the Itanium C++ ABI; see cxx_skip.h. */
#include "config/cxx_skip.h"

#include <string.h>

#define MAX_DEPTH 192 /* of nested parts; a stack frame each */
#define MAX_NUMBER 100000000u

static void expression(struct st_cxx *r);

/* ---- small parts ---- */

bool st_cxx_take(struct st_cxx *r, const char *text)
{
    size_t length = strlen(text);

    if (r->failed || strncmp(r->at, text, length) != 0) return false;
    r->at += length;
    return true;
}

static void need(struct st_cxx *r, const char *text)
{
    if (!st_cxx_take(r, text)) r->failed = true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

size_t st_cxx_number(struct st_cxx *r)
{
    size_t value = 0;

    for (; is_digit(*r->at) && !r->failed; r->at++) {
        value = 10 * value + (size_t)(*r->at - '0');
        if (value > MAX_NUMBER) r->failed = true;
    }
    return value;
}

void st_cxx_offset(struct st_cxx *r, int count)
{
    if (count == 0) r->failed = true;
    while (count-- > 0) {
        st_cxx_take(r, "n");
        while (is_digit(*r->at)) r->at++;
        need(r, "_");
    }
}

bool st_cxx_deeper(struct st_cxx *r)
{
    if (r->depth >= MAX_DEPTH) r->failed = true;
    if (r->failed) return false;
    r->depth++;
    return true;
}

/* Digits and capitals up to `_`: numbers of substitutions and parameters. */
static void sequence(struct st_cxx *r)
{
    while (is_digit(*r->at) || (*r->at >= 'A' && *r->at <= 'Z')) r->at++;
    need(r, "_");
}

static void quiet_name(struct st_cxx *r)
{
    r->quiet++;
    st_cxx_name_part(r);
    r->quiet--;
}

static void quiet_unqualified(struct st_cxx *r)
{
    r->quiet++;
    st_cxx_unqualified(r);
    r->quiet--;
}

static void optional_arguments(struct st_cxx *r)
{
    if (*r->at == 'I') st_cxx_template_arguments(r);
}

static void expressions_until(struct st_cxx *r, const char *end)
{
    while (!r->failed && !st_cxx_take(r, end)) expression(r);
}

/* ---- types ---- */

static void template_parameter(struct st_cxx *r) /* behind the T */
{
    if (st_cxx_take(r, "L")) {
        st_cxx_number(r);
        need(r, "_");
    }
    sequence(r);
}

static void substitution(struct st_cxx *r) /* behind the S */
{
    if (*r->at >= 'a' && *r->at <= 'z') {
        r->at++;
    } else {
        sequence(r);
    }
}

void st_cxx_prefix_type(struct st_cxx *r)
{
    if (st_cxx_take(r, "S")) {
        substitution(r);
    } else if (st_cxx_take(r, "T")) {
        template_parameter(r);
    } else {
        r->at += 2; /* Dt, DT */
        expression(r);
        need(r, "E");
    }
}

static void types_until_end(struct st_cxx *r)
{
    while (!r->failed && !st_cxx_take(r, "E")) {
        if ((r->at[0] == 'R' || r->at[0] == 'O') && r->at[1] == 'E') r->at++; /* the function's own qualifier */
        else st_cxx_type(r);
    }
}

static void sized(struct st_cxx *r) /* number or expression, then _ */
{
    if (is_digit(*r->at)) {
        st_cxx_number(r);
    } else if (*r->at != '_') {
        expression(r);
    }
    need(r, "_");
}

/* Types that begin with D, behind it. */
static void d_type(struct st_cxx *r)
{
    char c = *r->at;

    if (c != '\0') r->at++;
    switch (c) {
    case 'd': case 'e': case 'f': case 'h': case 's': case 'i': case 'u': case 'a': case 'c': case 'n':
        break;
    case 'F':
        st_cxx_number(r);
        if (*r->at == 'x' || *r->at == 'b' || *r->at == '_') r->at++;
        else r->failed = true;
        break;
    case 'B': case 'U':
        sized(r);
        break;
    case 't': case 'T':
        expression(r);
        need(r, "E");
        break;
    case 'v':
        sized(r);
        st_cxx_type(r);
        break;
    case 'p': case 'x':
        st_cxx_type(r);
        break;
    case 'o': /* noexcept: a function type follows */
        st_cxx_type(r);
        break;
    case 'O':
        expression(r);
        need(r, "E");
        st_cxx_type(r);
        break;
    case 'w':
        types_until_end(r);
        st_cxx_type(r);
        break;
    case 'k': case 'K':
        quiet_name(r);
        break;
    default:
        r->failed = true;
    }
}

static void t_type(struct st_cxx *r) /* behind the T */
{
    if (*r->at == 's' || *r->at == 'u' || *r->at == 'e') {
        r->at++;
        quiet_name(r);
        return;
    }
    template_parameter(r);
    optional_arguments(r);
}

static void plain_type(struct st_cxx *r)
{
    char c = *r->at;

    if (is_digit(c) || c == 'N' || c == 'Z' || (c == 'S' && r->at[1] == 't')) {
        quiet_name(r);
        return;
    }
    if (c != '\0') r->at++;
    switch (c) {
    case 'r': case 'V': case 'K': case 'P': case 'R': case 'O': case 'C': case 'G':
        st_cxx_type(r);
        break;
    case 'u':
        quiet_unqualified(r);
        optional_arguments(r);
        break;
    case 'U':
        quiet_unqualified(r);
        optional_arguments(r);
        st_cxx_type(r);
        break;
    case 'D':
        d_type(r);
        break;
    case 'F':
        st_cxx_take(r, "Y");
        types_until_end(r);
        break;
    case 'A':
        sized(r);
        st_cxx_type(r);
        break;
    case 'M':
        st_cxx_type(r);
        st_cxx_type(r);
        break;
    case 'T':
        t_type(r);
        break;
    case 'S':
        substitution(r);
        optional_arguments(r);
        break;
    default:
        if (c == '\0' || strchr("vwbcahstijlmxynofdegz", c) == NULL) r->failed = true;
    }
}

void st_cxx_type(struct st_cxx *r)
{
    if (!st_cxx_deeper(r)) return;
    plain_type(r);
    r->depth--;
}

/* ---- template arguments ---- */

static void literal(struct st_cxx *r) /* behind the L */
{
    if (st_cxx_take(r, "_Z") || st_cxx_take(r, "Z")) {
        r->quiet++;
        st_cxx_encoding(r);
        r->quiet--;
    } else {
        st_cxx_type(r);
        while (is_digit(*r->at) || (*r->at >= 'a' && *r->at <= 'z') || *r->at == '_' || *r->at == '.') r->at++;
    }
    need(r, "E");
}

/* Ty, Tn type, Tt … E, Tp …: the declaration of a template parameter. False: none. */
static bool parameter_declaration(struct st_cxx *r)
{
    if (st_cxx_take(r, "Ty")) return true;
    if (st_cxx_take(r, "Tk")) {
        quiet_name(r);
    } else if (st_cxx_take(r, "Tn")) {
        st_cxx_type(r);
    } else if (st_cxx_take(r, "Tp")) {
        if (!parameter_declaration(r)) r->failed = true;
    } else if (st_cxx_take(r, "Tt")) {
        while (!r->failed && !st_cxx_take(r, "E"))
            if (!parameter_declaration(r)) r->failed = true;
    } else {
        return false;
    }
    return true;
}

static void argument(struct st_cxx *r)
{
    if (parameter_declaration(r)) return;
    if (st_cxx_take(r, "L")) {
        literal(r);
    } else if (st_cxx_take(r, "X")) {
        expression(r);
        need(r, "E");
    } else if (*r->at == 'J' || *r->at == 'I') { /* a pack; I in front of gcc 4.9 */
        st_cxx_template_arguments(r);
    } else {
        st_cxx_type(r);
    }
}

void st_cxx_template_arguments(struct st_cxx *r)
{
    if (!st_cxx_deeper(r)) return;
    r->at++; /* I or J */
    while (!r->failed && !st_cxx_take(r, "E")) {
        if (st_cxx_take(r, "Q")) expression(r);
        else argument(r);
    }
    r->depth--;
}

void st_cxx_lambda_parameters(struct st_cxx *r)
{
    while (!r->failed && parameter_declaration(r)) continue;
    if (st_cxx_take(r, "Q")) expression(r);
    types_until_end(r);
}

void st_cxx_encoding(struct st_cxx *r)
{
    if (!st_cxx_deeper(r)) return;
    st_cxx_name_part(r);
    while (!r->failed && *r->at != 'E' && *r->at != '\0' && *r->at != '.') {
        if (st_cxx_take(r, "Q")) expression(r);
        else st_cxx_type(r);
    }
    r->depth--;
}

/* ---- expressions ---- */

static void function_parameter(struct st_cxx *r) /* behind fp, fL number p */
{
    if (st_cxx_take(r, "T")) return; /* this */
    while (*r->at == 'r' || *r->at == 'V' || *r->at == 'K') r->at++;
    sequence(r);
}

/* The last part of an unresolved name. */
static void base_name(struct st_cxx *r)
{
    if (st_cxx_take(r, "dn")) {
        if (is_digit(*r->at)) quiet_unqualified(r);
        else st_cxx_type(r);
    } else {
        st_cxx_take(r, "on");
        quiet_unqualified(r);
    }
    optional_arguments(r);
}

static bool at_base_name(const char *at)
{
    return is_digit(at[0]) || (at[0] == 'o' && at[1] == 'n') || (at[0] == 'd' && at[1] == 'n');
}

/* sr …, behind it: names up to an `E`, and the last name; older compilers leave the `E` out after one of them. */
static void unresolved_name(struct st_cxx *r)
{
    if (is_digit(*r->at)) {
        base_name(r);
        while (!r->failed && is_digit(*r->at)) base_name(r);
        if (*r->at == 'E' && at_base_name(r->at + 1)) {
            r->at++;
            base_name(r);
        }
        return;
    }
    bool has_levels = st_cxx_take(r, "N");
    st_cxx_type(r);
    optional_arguments(r);
    while (has_levels && !r->failed && !st_cxx_take(r, "E")) base_name(r);
    base_name(r);
}

static void new_expression(struct st_cxx *r)
{
    expressions_until(r, "_");
    st_cxx_type(r);
    if (st_cxx_take(r, "pi")) expressions_until(r, "E");
    else if (*r->at == 'i') expression(r);
    else need(r, "E");
}

static bool named_expression(struct st_cxx *r)
{
    static const char *const of_type_and_value[] = {"sc", "dc", "rc", "cc"};

    for (size_t i = 0; i < sizeof(of_type_and_value) / sizeof(of_type_and_value[0]); i++) {
        if (!st_cxx_take(r, of_type_and_value[i])) continue;
        st_cxx_type(r);
        expression(r);
        return true;
    }
    if (st_cxx_take(r, "st") || st_cxx_take(r, "ti") || st_cxx_take(r, "at")) {
        st_cxx_type(r);
    } else if (st_cxx_take(r, "sz") || st_cxx_take(r, "te") || st_cxx_take(r, "az") || st_cxx_take(r, "nx") ||
               st_cxx_take(r, "tw") || st_cxx_take(r, "sp") || st_cxx_take(r, "sZ")) {
        expression(r);
    } else if (st_cxx_take(r, "sP")) {
        while (!r->failed && !st_cxx_take(r, "E")) argument(r);
    } else if (st_cxx_take(r, "sr")) {
        unresolved_name(r);
    } else if (st_cxx_take(r, "cl") || st_cxx_take(r, "cp") || st_cxx_take(r, "il")) {
        expressions_until(r, "E");
    } else if (st_cxx_take(r, "tl")) {
        st_cxx_type(r);
        expressions_until(r, "E");
    } else if (st_cxx_take(r, "cv")) {
        st_cxx_type(r);
        if (st_cxx_take(r, "_")) expressions_until(r, "E");
        else expression(r);
    } else if (st_cxx_take(r, "nw") || st_cxx_take(r, "na")) {
        new_expression(r);
    } else if (st_cxx_take(r, "dt") || st_cxx_take(r, "pt")) {
        expression(r);
        expression(r); /* an unresolved name */
    } else if (st_cxx_take(r, "ds") || st_cxx_take(r, "di")) {
        expression(r);
        expression(r);
    } else if (st_cxx_take(r, "dX")) {
        expression(r);
        expression(r);
        expression(r);
    } else if (!st_cxx_take(r, "tr")) {
        return false;
    }
    return true;
}

/* Parameters and folds, behind the f. */
static void f_expression(struct st_cxx *r)
{
    bool is_parameter = st_cxx_take(r, "p");

    if (!is_parameter && r->at[0] == 'L' && is_digit(r->at[1])) {
        r->at++;
        st_cxx_number(r);
        need(r, "p");
        is_parameter = true;
    }
    if (is_parameter) {
        function_parameter(r);
        return;
    }
    bool has_start = *r->at == 'L' || *r->at == 'R';
    if ((!has_start && *r->at != 'l' && *r->at != 'r') || st_cxx_operator(r->at + 1) == NULL) {
        r->failed = true;
        return;
    }
    r->at += 3;
    expression(r);
    if (has_start) expression(r);
}

static void operation(struct st_cxx *r)
{
    const struct st_cxx_operator *found = st_cxx_operator(r->at);

    if (found == NULL || found->operands == 0) {
        r->failed = true;
        return;
    }
    r->at += 2;
    if (found->text[0] == found->text[1]) st_cxx_take(r, "_"); /* ++x, --x */
    for (int i = 0; i < found->operands; i++) expression(r);
}

static void any_expression(struct st_cxx *r)
{
    st_cxx_take(r, "gs"); /* :: in front */
    if (st_cxx_take(r, "L")) {
        literal(r);
    } else if (st_cxx_take(r, "T")) {
        template_parameter(r);
        optional_arguments(r);
    } else if (at_base_name(r->at)) {
        base_name(r);
    } else if (*r->at == 'f' && r->at[1] != '\0') {
        r->at++;
        f_expression(r);
    } else if (st_cxx_take(r, "X")) {
        expression(r);
        need(r, "E");
    } else if (st_cxx_take(r, "u")) {
        quiet_unqualified(r);
        while (!r->failed && !st_cxx_take(r, "E")) argument(r);
    } else if (!named_expression(r)) {
        operation(r);
    }
}

static void expression(struct st_cxx *r)
{
    if (!st_cxx_deeper(r)) return;
    any_expression(r);
    r->depth--;
}
