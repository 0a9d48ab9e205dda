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

/* Where what is wrong goes: the first mistake into `why`, or each into `say`. */
struct loader {
    struct st_map *map;
    char *why;
    size_t why_bytes;
    void (*say)(const char *line);
    const char *origin;
};

__attribute__((format(printf, 2, 3))) static void tell(const struct loader *loader, const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (loader->say != NULL) {
        loader->say(line);
    } else {
        snprintf(loader->why, loader->why_bytes, "%s", line);
    }
}

static void tell_mistake(void *context, const struct st_map_error *error)
{
    const struct loader *loader = context;

    tell(loader, "%s: line %d, column %d: %s", loader->origin, error->line, error->column, error->what);
}

static enum st_map_verdict parse(struct loader *loader, const char *text, size_t length, const char *origin)
{
    struct st_map_error error = {0};

    loader->origin = origin;
    if (loader->say != NULL) {
        return st_map_check(loader->map, text, length, origin, tell_mistake, loader) == 0 ? ST_MAP_RIGHT
                                                                                          : ST_MAP_MISTAKEN;
    }
    if (st_map_parse(loader->map, text, length, origin, &error)) return ST_MAP_RIGHT;
    tell_mistake(loader, &error);
    return ST_MAP_MISTAKEN;
}

static enum st_map_verdict read_file(struct loader *loader, FILE *file, const char *path)
{
    char *text = malloc(MAX_FILE_BYTES + 1);
    enum st_map_verdict verdict = ST_MAP_UNREADABLE;
    size_t length;

    if (text == NULL) {
        tell(loader, "out of memory");
        return ST_MAP_UNREADABLE;
    }
    length = fread(text, 1, MAX_FILE_BYTES + 1, file);
    if (ferror(file)) {
        tell(loader, "%s: cannot be read", path);
    } else if (length > MAX_FILE_BYTES) {
        tell(loader, "%s: larger than %d bytes, this is no map", path, MAX_FILE_BYTES);
    } else {
        verdict = parse(loader, text, length, path);
    }
    free(text);
    return verdict;
}

static enum st_map_verdict load_file(struct loader *loader, const char *path)
{
    FILE *file = fopen(path, "rce");
    enum st_map_verdict verdict = ST_MAP_UNREADABLE;
    struct stat status;

    if (file == NULL) {
        tell(loader, "%s: %s", path, strerror(errno));
        return ST_MAP_UNREADABLE;
    }
    if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
        tell(loader, "%s: is a folder; name a map file", path);
    } else {
        verdict = read_file(loader, file, path);
    }
    fclose(file);
    return verdict;
}

static enum st_map_verdict load_preset(struct loader *loader, const char *name)
{
    const struct st_preset *preset = st_preset_find(name);
    struct st_map_error error;
    char names[256] = "";

    if (preset != NULL) {
        if (st_preset_parse(preset, loader->map, &error)) return ST_MAP_RIGHT;
        loader->origin = name;
        tell_mistake(loader, &error);
        return ST_MAP_MISTAKEN;
    }
    for (const struct st_preset *each = st_presets; each->name != NULL; each++) {
        strncat(names, " ", sizeof(names) - strlen(names) - 1);
        strncat(names, each->name, sizeof(names) - strlen(names) - 1);
    }
    tell(loader, "\"%s\" is no preset; presets:%s; a file has a / in its name or ends in .map", name, names);
    return ST_MAP_NO_PRESET;
}

static enum st_map_verdict load_part(struct loader *loader, const char *part)
{
    size_t length = strlen(part);
    bool is_path = strchr(part, '/') != NULL || (length > 4 && strcmp(part + length - 4, ".map") == 0);

    if (length > 0) return is_path ? load_file(loader, part) : load_preset(loader, part);
    tell(loader, "an empty name; name a preset, a file or rules with ->");
    return ST_MAP_NO_PRESET;
}

static enum st_map_verdict load(struct loader *loader, const char *value)
{
    struct st_map *map = loader->map;
    enum st_map_verdict worst = ST_MAP_RIGHT;
    char *copy = strdup(value), *rest = copy, *part;

    memset(map, 0, sizeof(*map));
    map->rules = calloc(MAX_RULES, sizeof(*map->rules));
    map->arena = malloc(ARENA_BYTES);
    map->capacity = MAX_RULES;
    map->arena_bytes = ARENA_BYTES;
    if (map->rules == NULL || map->arena == NULL || copy == NULL) {
        tell(loader, "out of memory");
        worst = ST_MAP_UNREADABLE;
    } else if (strstr(value, "->") != NULL) {
        worst = parse(loader, value, strlen(value), "inline");
    } else {
        while ((worst == ST_MAP_RIGHT || loader->say != NULL) && (part = strsep(&rest, "+")) != NULL) {
            enum st_map_verdict verdict = load_part(loader, part);
            if (verdict > worst) worst = verdict;
        }
    }
    free(copy);
    return worst;
}

bool st_map_load(const char *value, struct st_map *ret, char *why, size_t why_bytes)
{
    struct loader loader = {.map = ret, .why = why, .why_bytes = why_bytes};

    return load(&loader, value) == ST_MAP_RIGHT;
}

enum st_map_verdict st_map_load_all(const char *value, struct st_map *ret, void (*say)(const char *line))
{
    struct loader loader = {.map = ret, .say = say};

    return load(&loader, value);
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

bool st_map_idle_rules(const struct st_map *map, char *ret, size_t size)
{
    uint32_t log = 0;

    for (uint32_t i = 0; i < map->count; i++) log += map->rules[i].source == ST_MAP_LOG;
    if (log == 0) return false;
    snprintf(ret, size, "%u of %u rules (log) are not followed by this version: they match nothing", log, map->count);
    return true;
}
