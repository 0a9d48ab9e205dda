/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a stage map by name. One fixed arena for all parts, because the rules point into it. One thread.
 */
#include "analyzer/cmd/map_load.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/preset.h"

/* The library's own limits (preload/options.c): a map that passes here fits there. */
enum { MAX_FILE_BYTES = 256 << 10, MAX_RULES = 512, ARENA_BYTES = 512 << 10 };

struct words {
    char *text;
    size_t bytes;
};

__attribute__((format(printf, 2, 3))) static bool fail(const struct words *why, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why->text, why->bytes, format, arguments);
    va_end(arguments);
    return false;
}

static bool parse(struct st_map *map, const char *text, size_t length, const char *origin, const struct words *why)
{
    struct st_map_error error = {0};

    if (st_map_parse(map, text, length, origin, &error)) return true;
    return fail(why, "%s: line %d, column %d: %s", origin, error.line, error.column, error.what);
}

static bool load_file(struct st_map *map, const char *path, const struct words *why)
{
    FILE *file = fopen(path, "rce");
    char *text = NULL;
    size_t length;
    struct stat status;
    bool ok = false;

    if (file == NULL) return fail(why, "%s: %s", path, strerror(errno));
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        fclose(file);
        return fail(why, "%s: is a folder; name a map file", path);
    }
    text = malloc(MAX_FILE_BYTES + 1);
    if (text == NULL) {
        fail(why, "out of memory");
    } else {
        length = fread(text, 1, MAX_FILE_BYTES + 1, file);
        if (ferror(file)) {
            fail(why, "%s: cannot be read", path);
        } else if (length > MAX_FILE_BYTES) {
            fail(why, "%s: larger than %d bytes, this is no map", path, MAX_FILE_BYTES);
        } else {
            ok = parse(map, text, length, path, why);
        }
    }
    free(text);
    fclose(file);
    return ok;
}

static bool load_preset(struct st_map *map, const char *name, const struct words *why)
{
    const char *text = st_map_preset(name);
    char names[256] = "";

    if (text != NULL) return parse(map, text, strlen(text), name, why);
    for (const struct st_preset *preset = st_presets; preset->name != NULL; preset++) {
        strncat(names, " ", sizeof(names) - strlen(names) - 1);
        strncat(names, preset->name, sizeof(names) - strlen(names) - 1);
    }
    return fail(why, "\"%s\" is no preset; presets:%s; a file has a / in its name or ends in .map", name, names);
}

static bool load_part(struct st_map *map, const char *part, const struct words *why)
{
    size_t length = strlen(part);
    bool is_path = strchr(part, '/') != NULL || (length > 4 && strcmp(part + length - 4, ".map") == 0);

    if (length == 0) return fail(why, "an empty name; name a preset, a file or rules with ->");
    return is_path ? load_file(map, part, why) : load_preset(map, part, why);
}

bool st_map_load(const char *value, struct st_map *ret, char *why, size_t why_bytes)
{
    struct words words = {why, why_bytes};
    char *copy, *rest, *part;
    bool ok = true;

    memset(ret, 0, sizeof(*ret));
    ret->rules = calloc(MAX_RULES, sizeof(*ret->rules));
    ret->arena = malloc(ARENA_BYTES);
    ret->capacity = MAX_RULES;
    ret->arena_bytes = ARENA_BYTES;
    if (ret->rules == NULL || ret->arena == NULL) return fail(&words, "out of memory");
    if (strstr(value, "->") != NULL) return parse(ret, value, strlen(value), "inline", &words);
    copy = strdup(value);
    if (copy == NULL) return fail(&words, "out of memory");
    rest = copy;
    while (ok && (part = strsep(&rest, "+")) != NULL) ok = load_part(ret, part, &words);
    free(copy);
    return ok;
}

void st_map_load_finish(struct st_map *map)
{
    free(map->rules);
    free(map->arena);
    memset(map, 0, sizeof(*map));
}

bool st_map_load_check(const char *value, char *why, size_t why_bytes)
{
    struct st_map map;
    bool ok = st_map_load(value, &map, why, why_bytes);

    st_map_load_finish(&map);
    return ok;
}
