/* SPDX-License-Identifier: Apache-2.0 */
/* What cxx_name.c and cxx_skip.c share: one symbol that is being read. Each step takes at least one character or
 * fails; nested parts are bounded. */
#ifndef ST_CONFIG_CXX_SKIP_H
#define ST_CONFIG_CXX_SKIP_H

#include <stdbool.h>
#include <stddef.h>

struct st_cxx {
    const char *at; /* NUL-terminated */
    char *out;
    size_t used, size;
    int quiet; /* above 0: nothing is written out */
    int depth;
    bool failed; /* from then on `at` stands still */
};

struct st_cxx_operator {
    char code[3];
    const char *text;
    int operands; /* in an expression; 0: has a form of its own */
};
/* NULL: none begins here. */
const struct st_cxx_operator *st_cxx_operator(const char *at);

/* ---- cxx_skip.c ---- */

/* Is `text` next? Then step over it. Never after a failure. */
bool st_cxx_take(struct st_cxx *r, const char *text);
/* Decimal digits; too many fail. */
size_t st_cxx_number(struct st_cxx *r);
/* `count` numbers that may be negative, each with its `_`. */
void st_cxx_offset(struct st_cxx *r, int count);
/* False, and failed: too deep. Else the caller counts `depth` down again. */
bool st_cxx_deeper(struct st_cxx *r);
void st_cxx_type(struct st_cxx *r);
/* A substitution, template parameter or decltype in front of a nested name. */
void st_cxx_prefix_type(struct st_cxx *r);
void st_cxx_template_arguments(struct st_cxx *r);
void st_cxx_lambda_parameters(struct st_cxx *r);
/* The name is written out unless quiet, the types behind it are not; ends before `E`, a dot or the end. */
void st_cxx_encoding(struct st_cxx *r);

/* ---- cxx_name.c ---- */

void st_cxx_name_part(struct st_cxx *r);
void st_cxx_unqualified(struct st_cxx *r);

#endif
