/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON writer. Escapes more than RFC 8259 asks for: every character that could steer a terminal, because
 * people read JSON on one. One thread.
 */
#include "analyzer/render/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "analyzer/util/text.h"
#include "analyzer/util/units.h"

void st_json_init(struct st_json *json, FILE *out, int line_depth)
{
    memset(json, 0, sizeof(*json));
    json->out = out;
    json->line_depth = line_depth;
}

static void new_line(const struct st_json *json, int depth)
{
    fprintf(json->out, "\n%*s", depth * 2, "");
}

static void write_text(FILE *out, const char *text, size_t length)
{
    fputc('"', out);
    while (length > 0) {
        uint32_t code;
        size_t taken = st_utf8_decode(text, length, &code);

        if (taken == 0) {
            fputs("\xef\xbf\xbd", out);
            taken = 1;
        } else if (code == '"' || code == '\\') {
            fprintf(out, "\\%c", (char)code);
        } else if (code == '\n') {
            fputs("\\n", out);
        } else if (code == '\t') {
            fputs("\\t", out);
        } else if (st_code_is_unsafe(code) && code < 0x10000) {
            fprintf(out, "\\u%04x", code);
        } else if (st_code_is_unsafe(code)) {
            code -= 0x10000;
            fprintf(out, "\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
        } else {
            fwrite(text, 1, taken, out);
        }
        text += taken;
        length -= taken;
    }
    fputc('"', out);
}

/* Comma, line break and key in front of the next value. */
static void begin_member(struct st_json *json, const char *key)
{
    if (json->depth == 0) return;
    assert(json->is_array[json->depth - 1] == (key == NULL));
    if (json->has_member[json->depth - 1]) fputc(',', json->out);
    if (json->depth <= json->line_depth) {
        new_line(json, json->depth);
    } else if (json->has_member[json->depth - 1]) {
        fputc(' ', json->out);
    }
    json->has_member[json->depth - 1] = true;
    if (key != NULL) {
        write_text(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

static void end_value(struct st_json *json)
{
    if (json->depth == 0) fputc('\n', json->out);
}

static void begin_container(struct st_json *json, const char *key, bool is_array)
{
    begin_member(json, key);
    assert(json->depth < ST_JSON_MAX_DEPTH);
    fputc(is_array ? '[' : '{', json->out);
    json->has_member[json->depth] = false;
    json->is_array[json->depth] = is_array;
    json->depth++;
}

void st_json_object(struct st_json *json, const char *key)
{
    begin_container(json, key, false);
}

void st_json_array(struct st_json *json, const char *key)
{
    begin_container(json, key, true);
}

void st_json_end(struct st_json *json)
{
    assert(json->depth > 0);
    json->depth--;
    if (json->has_member[json->depth] && json->depth < json->line_depth) new_line(json, json->depth);
    fputc(json->is_array[json->depth] ? ']' : '}', json->out);
    end_value(json);
}

void st_json_int(struct st_json *json, const char *key, int64_t value)
{
    begin_member(json, key);
    fprintf(json->out, "%" PRId64, value);
    end_value(json);
}

void st_json_decimal(struct st_json *json, const char *key, int64_t value, int decimals)
{
    struct st_scale scale = {1, decimals, ""};
    char number[ST_NUMBER_BYTES];

    for (int i = 0; i < decimals; i++) scale.divisor *= 10;
    begin_member(json, key);
    fputs(st_scale_format(&scale, value, number), json->out);
    end_value(json);
}

void st_json_bool(struct st_json *json, const char *key, bool value)
{
    begin_member(json, key);
    fputs(value ? "true" : "false", json->out);
    end_value(json);
}

void st_json_null(struct st_json *json, const char *key)
{
    begin_member(json, key);
    fputs("null", json->out);
    end_value(json);
}

void st_json_string(struct st_json *json, const char *key, const char *text)
{
    if (text == NULL) {
        st_json_null(json, key);
        return;
    }
    st_json_text(json, key, text, strlen(text));
}

void st_json_text(struct st_json *json, const char *key, const char *text, size_t length)
{
    begin_member(json, key);
    write_text(json->out, text, length);
    end_value(json);
}
