/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small JSON writer onto a stream: no document in memory, always valid UTF-8, keys in the order of the
 * calls. `key` is NULL inside an array and at the top. Write errors stay in the stream (ferror). One thread.
 */
#ifndef ST_RENDER_JSON_H
#define ST_RENDER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ST_JSON_MAX_DEPTH 32

struct st_json {
    FILE *out;
    int line_depth; /* containers down to this depth put each member on its own line; 0 = all on one line */
    int depth;
    bool has_member[ST_JSON_MAX_DEPTH];
    bool is_array[ST_JSON_MAX_DEPTH];
};

void st_json_init(struct st_json *json, FILE *out, int line_depth);

void st_json_object(struct st_json *json, const char *key);
void st_json_array(struct st_json *json, const char *key);
/* Close the innermost object or array; the outermost ends with a newline. */
void st_json_end(struct st_json *json);

void st_json_int(struct st_json *json, const char *key, int64_t value);
/* value / 10^decimals, exactly. */
void st_json_decimal(struct st_json *json, const char *key, int64_t value, int decimals);
void st_json_bool(struct st_json *json, const char *key, bool value);
void st_json_null(struct st_json *json, const char *key);
/* A NUL-terminated text; NULL writes null. */
void st_json_string(struct st_json *json, const char *key, const char *text);
/* Any bytes: controls become \u00NN, what is no UTF-8 becomes U+FFFD. */
void st_json_text(struct st_json *json, const char *key, const char *text, size_t length);

#endif
